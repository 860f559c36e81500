"""Proofs of monotone effects: the signs of all paths from a feature to the prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import IntArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.tree import NeuralTree
from bneuralt.tree.monotonic import UNKNOWN, leaf_effects

__all__ = ["FeatureEffect", "MonotonicProof", "Path", "check_monotonic"]

_WORDS = {1: "increasing", -1: "decreasing", 0: "without effect", None: "not proven"}


class Path(NamedTuple):
    """One way from a feature to the prediction.

    Attributes
    ----------
    tree : int
        Position of the tree in the model.
    leaf : int
        Position of the leaf in the tree.
    nodes : tuple of int
        The function nodes from the leaf up to the output.
    weights : tuple of float
        The leaf's weight, and that of each edge above it.
    sign : int or None
        Sign of the effect along this path: that of the product of the weights, times -1 where the
        prediction falls as the output rises (the first of two classes). None if an activation on
        the way may decrease.
    """

    tree: int
    leaf: int
    nodes: tuple[int, ...]
    weights: tuple[float, ...]
    sign: int | None


@dataclass(frozen=True)
class FeatureEffect:
    """What is proven about the effect of one feature.

    Attributes
    ----------
    feature : int
    name : str
    constraint : int
        -1, 0 or 1: what `monotonic_cst` asks for.
    direction : int or None
        1: the prediction never falls as the feature rises, all else being equal; -1: it never
        rises; 0: it does not change; None: none of this follows from the signs. A category or a
        date with an effect has no direction; for a number with missing values, the direction is
        that among the known ones.
    """

    feature: int
    name: str
    constraint: int
    direction: int | None
    _inputs: Sequence[int]
    _trees: Sequence[NeuralTree]
    _effects: Sequence[IntArray]

    @property
    def holds(self) -> bool:
        """Whether the constraint is met."""
        return self.constraint == 0 or self.direction in (0, self.constraint)

    @property
    def paths(self) -> list[Path]:
        """All paths from the feature to the prediction."""
        return list(self._walk())

    def _walk(self) -> Iterator[Path]:
        for t, (tree, effects) in enumerate(zip(self._trees, self._effects, strict=True)):
            for leaf in np.flatnonzero(np.isin(tree.leaf_input, self._inputs)).tolist():
                nodes, weights = [int(tree.leaf_parent[leaf])], [float(tree.leaf_weight[leaf])]
                while (parent := int(tree.parent[nodes[-1]])) >= 0:
                    weights.append(float(tree.edge[nodes[-1] - tree.n_outputs]))
                    nodes.append(parent)
                sign = int(effects[leaf])
                known = None if sign == UNKNOWN else sign
                yield Path(t, leaf, tuple(nodes), tuple(weights), known)

    def __str__(self) -> str:
        pairs = zip(self._trees, self._effects, strict=True)
        signs = np.concatenate([e[np.isin(t.leaf_input, self._inputs)] for t, e in pairs])
        counted = {"positive": 1, "negative": -1, "zero": 0, "unknown": UNKNOWN}
        counts = [f"{np.sum(signs == s)} {word}" for word, s in counted.items() if s in signs]
        found = f"{_WORDS[self.direction]} ({', '.join(counts) or 'no'} paths)"
        if self.constraint == 0:
            return f"{self.name}: {found}"
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return f"{self.name}: {found}; constraint {self.constraint:+d} {verdict}"


@dataclass(frozen=True)
class MonotonicProof:
    """What the signs of the weights prove about the effects of all features.

    Attributes
    ----------
    features : tuple of FeatureEffect
        One for each feature, in their order.
    """

    features: tuple[FeatureEffect, ...]

    @property
    def holds(self) -> bool:
        """Whether all constraints of the model are met."""
        return all(feature.holds for feature in self.features)

    @property
    def constrained(self) -> tuple[FeatureEffect, ...]:
        """The features with a constraint."""
        return tuple(feature for feature in self.features if feature.constraint)

    def __getitem__(self, feature: int | str) -> FeatureEffect:
        """Return what is proven about a feature, given its position or name."""
        if isinstance(feature, str):
            names = [entry.name for entry in self.features]
            if feature not in names:
                raise KeyError(f"{feature!r} is not a feature; they are {', '.join(names)}")
            return self.features[names.index(feature)]
        return self.features[feature]

    def __str__(self) -> str:
        return "\n".join(map(str, self.features))


def check_monotonic(model: Any) -> MonotonicProof:
    """Return what the signs of a model's weights prove about the effects of its features.

    If no activation decreases, the effect of a leaf has the sign of the product of the weights on
    its path to the output. A feature whose paths all have the same sign has a monotone effect, for
    all values of all features: this is a proof, not a sample. Features can be monotone without
    such a proof.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library, with or without `monotonic_cst`; a regressor or a
        classifier of two classes. The prediction is that of `predict`, or the probability of the
        second class. With several columns of y, or several quantiles, an effect is the same on all.

    Returns
    -------
    MonotonicProof
        Its `holds` says whether all constraints are met; printing it lists all features.

    Examples
    --------
    >>> from bneuralt import BNeuralTRegressor, check_monotonic
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> X = X[["bmi", "bp", "s5"]]
    >>> reg = BNeuralTRegressor(max_depth=2, monotonic_cst={"bmi": 1}, random_state=0).fit(X, y)
    >>> proof = check_monotonic(reg)
    >>> proof.holds, proof["bmi"].direction
    (True, 1)
    >>> all(path.sign in (0, 1) for path in proof["bmi"].paths)
    True
    """
    if not isinstance(model, NeuralTreeEstimator):
        raise TypeError(
            f"check_monotonic takes a tree or a forest of bneuralt, got {type(model).__name__}"
        )
    check_is_fitted(model)
    output_sign: Any = 1
    if is_classifier(model) and not model.multilabel_:
        output_sign = model._output_signs()
    trees = model._trees
    effects = [leaf_effects(tree, np.asarray(output_sign)) for tree in trees]
    constraints = model._feature_signs()
    n_features = model.n_features_in_
    if constraints is None:
        constraints = np.zeros(n_features, dtype=np.int8)
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(n_features)])
    has = {sign: np.zeros(trees[0].n_inputs, dtype=bool) for sign in (-1, 1, UNKNOWN)}
    for tree, effect in zip(trees, effects, strict=True):
        for sign, found in has.items():
            found[tree.leaf_input[effect == sign]] = True
    features = []
    for i in range(n_features):
        inputs, is_number = _inputs_of(model, i)
        falls, rises, unknown = (bool(has[sign][inputs].any()) for sign in (-1, 1, UNKNOWN))
        direction = _direction(falls, rises, unknown or (not is_number and (falls or rises)))
        features.append(
            FeatureEffect(i, str(names[i]), int(constraints[i]), direction, inputs, trees, effects)
        )
    return MonotonicProof(tuple(features))


def _inputs_of(model: Any, i: int) -> tuple[list[int], bool]:
    """Return the inputs through which a feature has its effect, and whether it is a number.

    The input that says that a number is missing is none of them.
    """
    inputs = list(model.encoder_.inputs_of(i))
    is_number = model.encoder_.features[i].kind == "number"
    return (inputs[:1] if is_number else inputs), is_number


def _direction(falls: bool, rises: bool, unknown: bool) -> int | None:
    if unknown or (falls and rises):
        return None
    return int(rises) - int(falls)
