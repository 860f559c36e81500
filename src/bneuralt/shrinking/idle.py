"""Removal of leaves and branches that contribute almost nothing to their nodes."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.expressions import interval
from bneuralt.tree import NeuralTree
from bneuralt.tree.node_values import node_sums, node_values
from bneuralt.tree.simplify import simplify

__all__ = ["without_idle_branches"]

#: A leaf or branch is idle if its contribution varies by less than this share of the deviation of
#: the weighted sum of its node.
TOLERANCE = 1e-6


def without_idle_branches(
    tree: NeuralTree, X: FloatArray, low: FloatArray, high: FloatArray, tolerance: float = TOLERANCE
) -> NeuralTree:
    """Return a tree without idle leaves and branches, whose means become part of biases.

    A leaf or branch is idle if its contribution to the weighted sum of its node varies by no more
    than `tolerance` times the deviation of this sum. How much it varies is bounded for all inputs
    between `low` and `high`, so that values that are rare among the rows count.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
        Rows that deviations are computed from.
    low, high : array of shape (n_inputs,)
        Smallest and largest value of each input.
    tolerance : float

    Returns
    -------
    NeuralTree
        `tree` itself if nothing is idle, otherwise simplified (`bneuralt.tree.simplify`).

    Examples
    --------
    >>> tree = NeuralTree(1, 1, [-1, 0], [0, 2], [0, 1], [0, 0], [1.0, 0.5, 1e-9, 2.0, 1.0])
    >>> X = np.linspace(0.0, 1.0, 5)[:, np.newaxis]
    >>> without_idle_branches(tree, X, X[0], X[-1]).parameters.round(6)
    array([1., 2.])
    """
    k, n_nodes = tree.n_outputs, tree.parent.size
    parent = np.concatenate([tree.parent[k:], tree.leaf_parent])  # of edges and leaves
    with np.errstate(over="ignore", invalid="ignore"):  # NaN, if weights diverged: not idle
        smallest, largest = _contributions(tree, low, high)
        span = largest - smallest
        # no deviation is larger than half the span of the sum, so that most trees need no rows
        highest = np.bincount(parent, weights=span, minlength=n_nodes) / 2
        if not np.any(span <= tolerance * highest[parent]):
            return tree
        deviation = node_sums(tree, X, node_values(tree, X)).std(axis=0)
        idle = np.flatnonzero(span <= tolerance * deviation[parent])
    if not idle.size:
        return tree
    parameters = tree.parameters.astype(np.float64)
    np.add.at(parameters, parent[idle], (smallest[idle] + largest[idle]) / 2)
    parameters[n_nodes + idle] = 0.0
    return simplify(tree.astype(np.float64).with_parameters(parameters)).astype(tree.dtype)


def _contributions(tree: NeuralTree, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return bounds of the contributions of all edges and leaves to their nodes."""
    k, n_nodes = tree.n_outputs, tree.parent.size
    leaves = _product(tree.leaf_weight, np.stack([low, high])[:, tree.leaf_input])
    edges = np.zeros((2, n_nodes - k))
    sums = tree.bias + np.stack(
        [np.bincount(tree.leaf_parent, weights=end, minlength=n_nodes) for end in leaves]
    )
    expressions, starts = tree.node_expressions, tree.level_start.tolist()
    for first, last in zip(starts[-2:0:-1], starts[:1:-1], strict=True):
        level = slice(first, last)
        ends = np.empty((2, last - first))
        for expression in {id(each): each for each in expressions[level]}.values():
            of_this = np.array([other is expression for other in expressions[level]])
            ends[:, of_this] = interval(expression, {"z": tuple(sums[:, level][:, of_this])})
        below = slice(first - k, last - k)
        edges[:, below] = _product(tree.edge[below], ends)
        for end in range(2):
            np.add.at(sums[end], tree.parent[level], edges[end, below])
    return np.hstack([edges, leaves])


def _product(weight: FloatArray, ends: FloatArray) -> FloatArray:
    """Return the bounds of weights times values between two ends."""
    return np.sort(weight.astype(np.float64) * ends, axis=0)
