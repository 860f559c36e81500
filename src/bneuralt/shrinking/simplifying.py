"""Exact simplification of models, and nodes whose values are almost constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bneuralt.model import Model
from bneuralt.tree.node_values import node_values
from bneuralt.tree.simplify import simplify
from bneuralt.tree.walk import sum_up

__all__ = ["SaturatedNode", "saturated_nodes", "simplify_trees"]


class SaturatedNode(NamedTuple):
    """A function node whose value is almost constant over some rows.

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
        Number of weights of the node and its subtree.
    """

    tree: int
    node: int
    value: float
    span: float
    n_weights: int


def simplify_trees(model: Model, constants: Sequence[SaturatedNode] = ()) -> Model:
    """Return a model whose trees have fewer weights and the same outputs, up to rounding.

    Parameters
    ----------
    model : Model
    constants : sequence of SaturatedNode
        Nodes that are replaced by constants, which is not exact.

    Returns
    -------
    Model
        Its trees keep their dtype.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1, 0], [0, 0], [0, 1], [0, 0], [1.0, 4.0, 3.0, 2.0, 1.0])
    >>> simplify_trees(Model.of_tree(tree)).trees[0].parameters
    array([13.,  5.])
    """
    values: list[dict[int, float]] = [{} for _ in model.trees]
    for entry in constants:
        values[entry.tree][entry.node] = entry.value
    trees = (simplify(*pair) for pair in zip(model.trees, values, strict=True))
    return replace(model, trees=tuple(trees))


def saturated_nodes(model: Model, X: Any, tolerance: float = 1e-3) -> list[SaturatedNode]:
    """Return function nodes of almost constant value; see `ExplainingMethods.saturated_nodes`.

    Examples
    --------
    A saturated sigmoid, whose value is 1 for all rows:

    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1, 0], [0, 1], [0, 1], [0, 0], [0.0, 50.0, 2.0, 1.0, 1.0])
    >>> saturated_nodes(Model.of_tree(tree), np.linspace(0, 1, 5)[:, np.newaxis])
    [SaturatedNode(tree=0, node=1, value=1.0, span=0.0, n_weights=3)]
    """
    model = model.in_raw_units()
    if not tolerance >= 0:
        raise ValueError(f"tolerance={tolerance!r} must be 0 or more")
    inputs = model.encode(X)
    saturated = []
    for position, tree in enumerate(model.trees):
        values = node_values(tree, inputs)
        low, high = values.min(axis=0), values.max(axis=0)
        sizes = sum_up(tree.parent, 2 + np.diff(tree.leaf_start))
        hidden = np.zeros(tree.parent.size, dtype=bool)  # below a saturated node
        for node in range(tree.n_outputs, tree.parent.size):
            above = int(tree.parent[node])
            span = float(high[node] - low[node])
            is_saturated = span <= tolerance
            if is_saturated and not hidden[above]:
                value = float(low[node] + span / 2)
                saturated.append(SaturatedNode(position, node, value, span, int(sizes[node])))
            hidden[node] = hidden[above] or is_saturated
    return saturated
