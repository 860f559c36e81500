"""Proofs of monotone effects: the signs of all paths from a feature to the prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bneuralt._typing import IntArray
from bneuralt.expressions import direction, without_order
from bneuralt.model import Model
from bneuralt.tree import NeuralTree
from bneuralt.tree.monotonic import UNKNOWN, leaf_effects

__all__ = ["FeatureEffect", "MonotonicProof", "SignedPath", "check_monotonic"]

_WORDS = {1: "increasing", -1: "decreasing", 0: "without effect", None: "not proven"}


class SignedPath(NamedTuple):
    """A path from a leaf of a feature to the prediction.

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
        Sign of the effect along this path: that of the product of the weights, times -1 if the
        prediction decreases with the output (the first of two classes). None if an activation on
        the path may decrease.
    """

    tree: int
    leaf: int
    nodes: tuple[int, ...]
    weights: tuple[float, ...]
    sign: int | None


@dataclass(frozen=True)
class FeatureEffect:
    """The proven direction of the effect of one feature.

    Attributes
    ----------
    feature : int
    name : str
    constraint : int
        The constraint of `monotonic_cst`: -1, 0 or 1.
    direction : int or None
        1: the prediction never decreases if only this feature increases; -1: it never increases;
        0: it does not change; None: the signs prove none of these. A category or a date with an
        effect has no direction; for a number with missing values, the direction is that for its
        other values.
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
    def paths(self) -> list[SignedPath]:
        """All paths from the feature to the prediction."""
        return list(self._walk())

    def _walk(self) -> Iterator[SignedPath]:
        for t, (tree, effects) in enumerate(zip(self._trees, self._effects, strict=True)):
            for leaf in np.flatnonzero(np.isin(tree.leaf_input, self._inputs)).tolist():
                nodes, weights = [int(tree.leaf_parent[leaf])], [float(tree.leaf_weight[leaf])]
                while (parent := int(tree.parent[nodes[-1]])) >= 0:
                    weights.append(float(tree.edge[nodes[-1] - tree.n_outputs]))
                    nodes.append(parent)
                sign = None if effects[leaf] == UNKNOWN else int(effects[leaf])
                yield SignedPath(t, leaf, tuple(nodes), tuple(weights), sign)

    def __str__(self) -> str:
        pairs = zip(self._trees, self._effects, strict=True)
        signs = np.concatenate([e[np.isin(t.leaf_input, self._inputs)] for t, e in pairs])
        counted = {"positive": 1, "negative": -1, "zero": 0, "unknown": UNKNOWN}
        counts = [f"{np.sum(signs == s)} {word}" for word, s in counted.items() if s in signs]
        effect = f"{self.name}: {_WORDS[self.direction]} ({', '.join(counts) or 'no'} paths)"
        if self.constraint == 0:
            return effect
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        return f"{effect}; constraint {self.constraint:+d} {verdict}"


@dataclass(frozen=True)
class MonotonicProof:
    """The directions of the effects of all features that the signs of the weights prove.

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
        """Return the effect of a feature from its position or name."""
        if isinstance(feature, str):
            names = [entry.name for entry in self.features]
            if feature not in names:
                raise KeyError(f"{feature!r} is not a feature; they are {', '.join(names)}")
            return self.features[names.index(feature)]
        return self.features[feature]

    def __str__(self) -> str:
        return "\n".join(map(str, self.features))


def check_monotonic(model: Model) -> MonotonicProof:
    """Prove monotone effects of features; see `ExplainingMethods.check_monotonic`."""
    model = model.in_raw_units()
    along = [direction(entry.expression).sign for entry in model.inputs]
    effects = [_effects_of_cells(model, tree, along) for tree in model.trees]
    has = {sign: np.zeros(model.n_inputs, dtype=bool) for sign in (-1, 1, UNKNOWN)}
    for tree, effect in zip(model.trees, effects, strict=True):
        for sign, places in has.items():
            places[tree.leaf_input[effect == sign]] = True
    features = []
    for i, column in enumerate(model.columns):
        # an indicator of missing values is constant for all other values
        inputs = [j for j in column.inputs if along[j] != 0]
        falls, rises, unknown = (bool(has[sign][inputs].any()) for sign in (-1, 1, UNKNOWN))
        unknown |= any(along[j] is None and (has[1][j] or has[-1][j]) for j in inputs)
        proven = None if unknown or (falls and rises) else int(rises) - int(falls)
        constraint = model.constraints[i] if model.constraints else 0
        features.append(
            FeatureEffect(i, column.name, constraint, proven, inputs, model.trees, effects)
        )
    return MonotonicProof(tuple(features))


def _effects_of_cells(model: Model, tree: NeuralTree, along: Sequence[int | None]) -> IntArray:
    """Return the sign of the effect of the column of each leaf on the prediction."""
    if model.classes is not None and model.task == "classes":
        if len(model.classes) != 2:
            raise ValueError(
                f"a monotone effect needs two classes, y has {len(model.classes)} classes: it is "
                "the effect on the probability of the second class"
            )
        effects = leaf_effects(tree, (-1, 1))
    else:
        output = direction(without_order(model.link), "outputs").sign
        effects = leaf_effects(tree, 1 if output is None else output)
        if output is None:
            effects = np.where(effects == 0, 0, UNKNOWN)
    reverses = np.array([sign == -1 for sign in along])[tree.leaf_input]
    return np.where(reverses & (effects != UNKNOWN), -effects, effects)
