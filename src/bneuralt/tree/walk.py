"""Traversals of a tree given as arrays: levels, outputs, subtrees.

All functions rely on the breadth-first numbering of `bneuralt.tree.neural_tree`: outputs come
first, a parent comes before its children, and the children of a node are neighbours. Loops run over
levels at most, never over nodes, and nothing is recursive.
"""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array, IntArray

__all__ = [
    "breadth_first",
    "node_levels",
    "outputs_above",
    "sum_up",
    "tops_above",
]


def breadth_first(parent: list[int], n_outputs: int) -> tuple[IntArray, IntArray]:
    """Return new numbers of nodes: those of a level, and children of a node, are neighbours.

    Parameters
    ----------
    parent : list of int
        Parent of each node, -1 for the outputs, which come first; a parent comes before its
        children.
    n_outputs : int

    Returns
    -------
    parent : int array of shape (n_nodes,)
        In the order of the new numbers, as new numbers.
    place : int array of shape (n_nodes,)
        The new number of each node.

    Examples
    --------
    >>> parent, place = breadth_first([-1, 0, 1, 0], 1)
    >>> parent.tolist(), place.tolist()
    ([-1, 0, 0, 1], [0, 1, 3, 2])
    """
    children: list[list[int]] = [[] for _ in parent]
    for node in range(n_outputs, len(parent)):
        children[parent[node]].append(node)
    order = list(range(n_outputs))
    for node in order:  # grows during the loop
        order.extend(children[node])
    place = np.empty(len(parent), dtype=np.int64)
    place[order] = np.arange(len(parent))
    above = np.array(parent)[order]
    return np.where(above < 0, -1, place[above]), place


def tops_above(parent: IntArray) -> IntArray:
    """Return the child of an output to whose subtree each node belongs, -1 for the outputs.

    Parameters
    ----------
    parent : int array of shape (n_nodes,)
        Parent of each node, -1 for the outputs.

    Examples
    --------
    >>> import numpy as np
    >>> tops_above(np.array([-1, -1, 0, 1, 2]))
    array([-1, -1,  2,  3,  2])
    """
    n_outputs = int(np.searchsorted(parent, 0))
    is_top = (parent >= 0) & (parent < n_outputs)
    above = np.where((parent < 0) | is_top, np.arange(parent.size), parent)
    while (above[above] != above).any():
        above = above[above]
    return np.where(parent < 0, -1, above)


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
    sizes = np.diff(_level_starts(parent))
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
    levels = _level_starts(parent)
    for start, stop in zip(levels[-2:0:-1], levels[:1:-1], strict=True):
        np.add.at(sums, parent[start:stop], sums[start:stop])
    return sums


def _level_starts(parent: IntArray) -> IntArray:
    """Return where each level starts, and the number of nodes behind the last."""
    starts = [0, int(np.searchsorted(parent, 0))]
    while starts[-1] < parent.size:  # the next level starts with the first child of this one
        starts.append(int(np.searchsorted(parent, starts[-1])))
    return np.array(starts)
