"""Removal of leaves and branches that contribute almost nothing to their nodes."""

from __future__ import annotations

import numpy as np

from bneuralt import _core
from bneuralt._typing import FloatArray
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
    least, most = (np.ascontiguousarray(each, dtype=np.float64) for each in (low, high))
    idle, middle = _core.idle_branches(tree.core, least, most, tolerance)
    if not idle.size:
        return tree
    k, n_nodes = tree.n_outputs, tree.parent.size
    parent = np.concatenate([tree.parent[k:], tree.leaf_parent])  # of edges and leaves
    parameters = tree.parameters.astype(np.float64)
    np.add.at(parameters, parent[idle], middle)
    parameters[n_nodes + idle] = 0.0
    return simplify(tree.astype(np.float64).with_parameters(parameters)).astype(tree.dtype)
