"""Exact simplification of models, and nodes that are constant in practice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bneuralt.explaining.models import check_model, trees_of, with_changed_trees
from bneuralt.tree import NeuralTree
from bneuralt.tree.node_values import node_values
from bneuralt.tree.simplify import simplify as simplify_tree
from bneuralt.tree.walk import sum_up

__all__ = ["SaturatedNode", "saturated_nodes", "simplify"]


class SaturatedNode(NamedTuple):
    """A function node whose value hardly varies over some rows.

    Attributes
    ----------
    tree : int
        Position of the tree in the model.
    node : int
        Position of the node in the tree.
    value : float
        Middle of the range of its values.
    span : float
        Largest minus smallest value.
    n_weights : int
        Number of weights of the node and of everything below it.
    """

    tree: int
    node: int
    value: float
    span: float
    n_weights: int


def simplify(model: Any, *, saturated_on: Any = None, tolerance: float = 1e-3) -> Any:
    """Return a model with fewer weights and the same predictions, up to rounding.

    Leaves of the same input under one parent are merged, weights of 0 are removed, subtrees that do
    not depend on any input become part of a bias, and linear nodes below other nodes are replaced
    by their children.

    Parameters
    ----------
    model : NeuralTree or estimator
        A tree, or a fitted tree or forest of this library.
    saturated_on : array-like of shape (n_rows, n_features), optional
        Rows, such as the training rows. If given, function nodes whose values vary by no more than
        `tolerance` over these rows become constants as well. This changes predictions slightly, for
        other rows by any amount; `saturated_nodes` lists the nodes.
    tolerance : float
        See `saturated_on`.

    Returns
    -------
    model of the same type
        A copy; `model` is not modified.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import BNeuralTClassifier, simplify
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
    >>> small = simplify(clf)
    >>> small.n_parameters_ < clf.n_parameters_
    True
    >>> np.allclose(small.predict_proba(X), clf.predict_proba(X), atol=1e-5)
    True
    """
    check_model(model, "simplify")
    constants: dict[int, dict[int, float]] = {}
    if saturated_on is not None:
        for found in saturated_nodes(model, saturated_on, tolerance):
            constants.setdefault(found.tree, {})[found.node] = found.value
    return with_changed_trees(model, lambda tree, i: simplify_tree(tree, constants.get(i)))


def saturated_nodes(model: Any, X: ArrayLike, tolerance: float = 1e-3) -> list[SaturatedNode]:
    """Return the function nodes whose values hardly vary over some rows.

    Such a node, with everything below it, could be replaced by a constant; see `saturated_on` of
    `simplify`. Outputs, and nodes below a saturated one, are not listed.

    Parameters
    ----------
    model : NeuralTree or estimator
    X : array-like of shape (n_rows, n_features)
        Rows, such as the training rows.
    tolerance : float
        The largest difference between two values of a node that counts as saturated.

    Examples
    --------
    A sigmoid far out, whose value is 1 for all rows:

    >>> import numpy as np
    >>> from bneuralt import NeuralTree, saturated_nodes
    >>> tree = NeuralTree(1, 1, [-1, 0], [0, 1], [0, 1], [0, 0], [0.0, 50.0, 2.0, 1.0, 1.0])
    >>> saturated_nodes(tree, np.linspace(0, 1, 5)[:, np.newaxis])
    [SaturatedNode(tree=0, node=1, value=1.0, span=0.0, n_weights=3)]
    """
    check_model(model, "saturated_nodes")
    if not tolerance >= 0:
        raise ValueError(f"tolerance={tolerance!r} must be 0 or more")
    inputs = X if isinstance(model, NeuralTree) else model._filled(model._read_features(X))
    found = []
    for position, tree in enumerate(trees_of(model)):
        values = node_values(tree, inputs)
        low, high = values.min(axis=0), values.max(axis=0)
        own = 2 + np.diff(tree.leaf_start)
        sizes = sum_up(tree.parent, own)
        hidden = np.zeros(tree.parent.size, dtype=bool)  # below a saturated node
        for node in range(tree.n_outputs, tree.parent.size):
            above = int(tree.parent[node])
            span = float(high[node] - low[node])
            is_saturated = span <= tolerance
            if is_saturated and not hidden[above]:
                value = float(low[node] + span / 2)
                found.append(SaturatedNode(position, node, value, span, int(sizes[node])))
            hidden[node] = hidden[above] or is_saturated
    return found
