"""What functions of this package take as models: trees, and fitted estimators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import IntArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.forest import Forest
from bneuralt.estimators.inputs import names_of
from bneuralt.tree import NeuralTree

__all__ = [
    "check_model",
    "feature_names_of",
    "features_of_inputs",
    "trees_of",
    "with_changed_trees",
]


def check_model(model: Any, name: str) -> None:
    """Refuse what is neither a tree nor a fitted estimator of this library.

    Parameters
    ----------
    model : object
    name : str
        Function that the model was passed to, for the message.
    """
    if isinstance(model, NeuralTree):
        return
    if isinstance(model, type) or not isinstance(model, NeuralTreeEstimator):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise TypeError(f"{name} takes a NeuralTree or a fitted estimator of bneuralt, got {got}")
    check_is_fitted(model)


def trees_of(model: Any) -> Sequence[NeuralTree]:
    """Return the trees that a model consists of."""
    if isinstance(model, NeuralTree):
        return [model]
    trees: list[NeuralTree] = model._trees
    return trees


def with_changed_trees(model: Any, change: Callable[[NeuralTree, int], NeuralTree]) -> Any:
    """Return a copy of a model whose trees are what `change` makes of each tree and its position.

    The trees for scaled features, from which `warm_start` and `partial_fit` continue, are changed
    in the same way, so `change` must not depend on the scale of the inputs.
    """
    if isinstance(model, NeuralTree):
        return change(model, 0)
    changed = copy.copy(model)
    if isinstance(model, Forest):
        changed.estimators_ = [
            _with_changed_tree(member, change, i) for i, member in enumerate(model.estimators_)
        ]
        return changed
    return _with_changed_tree(model, change, 0)


def _with_changed_tree(
    member: Any, change: Callable[[NeuralTree, int], NeuralTree], position: int
) -> Any:
    changed = copy.copy(member)
    changed.tree_ = change(member.tree_, position)
    trained = getattr(member, "_trained_tree", None)
    # a scaled target may have put roots above the outputs: then nodes have other positions
    if trained is not None and trained.parent.size == member.tree_.parent.size:
        changed._trained_tree = change(trained, position)
        changed._optimizer_state = None  # belongs to the weights that there were
        changed._node_signs = None  # read from the tree when it is trained further
    return changed


def features_of_inputs(model: Any) -> IntArray:
    """Return the feature, a column of the user's table, from which each input comes."""
    n_inputs = trees_of(model)[0].n_inputs
    return np.arange(n_inputs) if isinstance(model, NeuralTree) else model.encoder_.groups


def feature_names_of(model: Any) -> list[str]:
    """Return the names of the features: those of the columns, or x0, x1, ..."""
    if isinstance(model, NeuralTree):
        return [f"x{i}" for i in range(model.n_inputs)]
    names = names_of(model)
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else list(names)
