"""Traversals of a tree given as arrays: children, levels, subtrees.

All functions rely on the breadth-first numbering of `bneuralt.tree.neural_tree`: outputs come
first, a parent comes before its children, and the children of a node are neighbours. Loops run over
levels at most, never over nodes, and nothing is recursive.
"""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array, IntArray

__all__ = [
    "child_starts",
    "leaf_starts",
    "level_starts",
    "node_levels",
    "outputs_above",
    "sum_up",
]


def child_starts(parent: IntArray, n_outputs: int) -> IntArray:
    """Return where the function children of each node start.

    Parameters
    ----------
    parent : int array of shape (n_nodes,)
        Parent of each node, -1 for the outputs.
    n_outputs : int
        Number of outputs.

    Returns
    -------
    int array of shape (n_nodes + 1,)
        The children of node i are the nodes ``start[i]`` to ``start[i + 1] - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> child_starts(np.array([-1, -1, 0, 0, 2]), 2)
    array([2, 4, 4, 5, 5, 5])
    """
    return n_outputs + np.searchsorted(parent[n_outputs:], np.arange(parent.size + 1))


def leaf_starts(leaf_parent: IntArray, n_nodes: int) -> IntArray:
    """Return where the leaves of each node start.

    Parameters
    ----------
    leaf_parent : int array of shape (n_leaves,)
        Parent of each leaf, never decreasing.
    n_nodes : int
        Number of function nodes.

    Returns
    -------
    int array of shape (n_nodes + 1,)
        The leaves of node i are ``start[i]`` to ``start[i + 1] - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> leaf_starts(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    return np.searchsorted(leaf_parent, np.arange(n_nodes + 1))


def level_starts(child_start: IntArray, n_outputs: int) -> IntArray:
    """Return where each level starts.

    Parameters
    ----------
    child_start : int array of shape (n_nodes + 1,)
        From `child_starts`.
    n_outputs : int
        Number of outputs.

    Returns
    -------
    int array of shape (n_levels + 1,)
        Level j holds the nodes j edges below the outputs: ``start[j]`` to ``start[j + 1] - 1``.

    Examples
    --------
    >>> import numpy as np
    >>> level_starts(child_starts(np.array([-1, -1, 0, 0, 2]), 2), 2)
    array([0, 2, 4, 5])
    """
    n_nodes = child_start.size - 1
    starts = [0, n_outputs]
    while starts[-1] < n_nodes:
        starts.append(int(child_start[starts[-1]]))
    return np.array(starts)


def node_levels(parent: IntArray) -> IntArray:
    """Return the level of each node: the number of edges between it and its output.

    Parameters
    ----------
    parent : int array of shape (n_nodes,)
        Parent of each node, -1 for the outputs.

    Returns
    -------
    int array of shape (n_nodes,)

    Examples
    --------
    >>> import numpy as np
    >>> node_levels(np.array([-1, -1, 0, 0, 2]))
    array([0, 0, 1, 1, 2])
    """
    sizes = np.diff(_level_starts_of(parent))
    return np.repeat(np.arange(sizes.size), sizes)


def outputs_above(parent: IntArray) -> IntArray:
    """Return the output whose subtree each node belongs to.

    Parameters
    ----------
    parent : int array of shape (n_nodes,)
        Parent of each node, -1 for the outputs.

    Returns
    -------
    int array of shape (n_nodes,)

    Examples
    --------
    >>> import numpy as np
    >>> outputs_above(np.array([-1, -1, 0, 1, 2]))
    array([0, 1, 0, 1, 0])
    """
    above = np.where(parent < 0, np.arange(parent.size), parent)
    while (parent[above] >= 0).any():
        above = above[above]  # twice as many edges up as before
    return above


def sum_up(parent: IntArray, values: Array) -> Array:
    """Return the sum of the values in each subtree.

    Parameters
    ----------
    parent : int array of shape (n_nodes,)
        Parent of each node, -1 for the outputs.
    values : array of shape (n_nodes,) or (n_nodes, n_columns)
        Values of each node. It is not modified.

    Returns
    -------
    array of the shape of `values`
        The values of each node plus those of all function nodes below it. Integers are summed in
        the dtype that `numpy.sum` uses.

    Examples
    --------
    >>> import numpy as np
    >>> sum_up(np.array([-1, -1, 0, 0, 2]), np.array([1, 10, 100, 1000, 10000]))
    array([11101,    10, 10100,  1000, 10000])
    """
    values = np.asarray(values)
    sums = values.astype(values[:0].sum().dtype)
    levels = _level_starts_of(parent)
    for start, stop in zip(levels[-2:0:-1], levels[:1:-1], strict=True):
        np.add.at(sums, parent[start:stop], sums[start:stop])
    return sums


def _level_starts_of(parent: IntArray) -> IntArray:
    n_outputs = int(np.searchsorted(parent, 0))
    return level_starts(child_starts(parent, n_outputs), n_outputs)
