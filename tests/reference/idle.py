"""Bounds of what edges and leaves contribute to the weighted sums of their nodes."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.expressions import interval
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import NAMES

__all__ = ["contribution_bounds"]


def contribution_bounds(tree: NeuralTree, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the smallest and the largest contribution of each edge and leaf.

    Parameters
    ----------
    tree : NeuralTree
    low, high : array of shape (n_inputs,)
        Smallest and largest value of each input.

    Returns
    -------
    array of shape (2, n_edges + n_leaves)
        Edges first, in the order of the nodes below them.
    """
    k, n_nodes = tree.n_outputs, tree.parent.size
    edges: list[list[float]] = [[] for _ in range(n_nodes - k)]
    leaves = [
        sorted([float(weight) * low[i], float(weight) * high[i]])
        for weight, i in zip(tree.leaf_weight, tree.leaf_input, strict=True)
    ]
    for node in reversed(range(k, n_nodes)):
        below = [edges[child - k] for child in np.flatnonzero(tree.parent == node)]
        below += [leaves[leaf] for leaf in np.flatnonzero(tree.leaf_parent == node)]
        ends = float(tree.bias[node]) + np.sum(below, axis=0)
        values = _values_between(tree, node, *ends.tolist())
        edges[node - k] = sorted(float(tree.edge[node - k]) * value for value in values)
    return np.array(edges + leaves).T


def _values_between(tree: NeuralTree, node: int, low: float, high: float) -> tuple[float, float]:
    """Return the smallest and the largest value of a node whose weighted sum has these limits."""
    expression = tree.node_expressions[node]
    ends: tuple[float, float] = interval(expression, {"z": (low, high)})
    if NAMES[tree.activation[node]] == "leaky_relu":  # its two parts are bounded separately there
        places = [low, high, min(max(0.0, low), high)]
        values = [interval(expression, {"z": (place, place)})[0] for place in places]
        return min(values), max(values)
    return ends
