"""Removal of leaves and branches that contribute almost nothing to their nodes."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.expressions import interval
from bneuralt.tree import NeuralTree
from bneuralt.tree.simplify import simplify

__all__ = ["without_idle_branches"]

#: A leaf or branch is idle if its contribution varies by no more than this share of the span of the
#: weighted sum of its node, which is about what is lost by rounding to float32.
TOLERANCE = 1e-7


def without_idle_branches(
    tree: NeuralTree, low: FloatArray, high: FloatArray, tolerance: float = TOLERANCE
) -> NeuralTree:
    """Return a tree without idle leaves and branches, whose means become part of biases.

    A leaf or branch is idle if its contribution to the weighted sum of its node varies by no more
    than `tolerance` times the span of this sum. Both are bounds for all inputs between `low` and
    `high`, so that values count that few rows have.

    Parameters
    ----------
    tree : NeuralTree
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
    >>> without_idle_branches(tree, np.zeros(1), np.ones(1)).parameters.round(6)
    array([1., 2.])
    """
    k, n_nodes = tree.n_outputs, tree.parent.size
    parent = np.concatenate([tree.parent[k:], tree.leaf_parent])  # of edges and leaves
    with np.errstate(over="ignore", invalid="ignore"):  # infinite or NaN: not idle
        smallest, largest = _contributions(tree, low, high)
        span = largest - smallest
        of_sum = np.bincount(parent, weights=span, minlength=n_nodes)
        idle = np.flatnonzero((span <= tolerance * of_sum[parent]) & np.isfinite(of_sum[parent]))
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
            z = tuple(sums[:, level][:, of_this])
            ends[0, of_this], ends[1, of_this] = interval(expression, {"z": z})
        below = slice(first - k, last - k)
        edges[:, below] = _product(tree.edge[below], ends)
        for end in range(2):
            np.add.at(sums[end], tree.parent[level], edges[end, below])
    return np.hstack([edges, leaves])


def _product(weight: FloatArray, ends: FloatArray) -> FloatArray:
    """Return the bounds of weights times values between two ends."""
    return np.sort(weight.astype(np.float64) * ends, axis=0)
