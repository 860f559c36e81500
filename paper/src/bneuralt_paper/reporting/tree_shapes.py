"""The shapes of trees, as the paper draws them: around the root, with nodes in three colours."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bneuralt.tree import NeuralTree
from bneuralt_paper._typing import FloatArray, IntArray
from bneuralt_paper.images.result_files import DrawnTree

__all__ = ["COLORS", "outputs_above", "plot_tree_shape", "radial_layout", "tree_of"]

#: The colours of the paper's drawings.
COLORS = {"root": "black", "output": "#d62728", "function": "#1f77b4", "leaf": "#2ca02c"}


def radial_layout(tree: NeuralTree) -> tuple[FloatArray, FloatArray]:
    """Place the nodes of a tree on circles around its root.

    Each leaf takes up the same angle, each function node is centred above its leaves, and the
    distance from the centre is the depth. Edges therefore never cross.

    Parameters
    ----------
    tree : NeuralTree
        The tree to lay out.

    Returns
    -------
    function_xy : float array of shape (n_nodes, 2)
        Positions of the stored function nodes.
    leaf_xy : float array of shape (n_leaves, 2)
        Positions of the leaves.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree.random(4, 3, random_state=0)
    >>> nodes, leaves = radial_layout(tree)
    >>> len(leaves) == tree.n_leaves
    True
    """
    parent, leaf_parent = tree.parent, tree.leaf_parent
    n_leaves = np.diff(tree.leaf_start)
    n_leaves_below = n_leaves.copy()
    for node in range(parent.size - 1, tree.n_outputs - 1, -1):  # children follow their parents
        n_leaves_below[parent[node]] += n_leaves_below[node]
    first_slot = _first_slots(tree, n_leaves_below)
    # The leaves of a node come after those of its function children.
    first_own_slot = first_slot + n_leaves_below - n_leaves
    leaf_rank = np.arange(tree.n_leaves) - tree.leaf_start[leaf_parent]
    leaf_slot = first_own_slot[leaf_parent] + leaf_rank
    depth = _levels(parent) + (tree.n_outputs > 1)
    slot_angle = 2 * np.pi / tree.n_leaves
    return (
        _polar(depth, (first_slot + n_leaves_below / 2) * slot_angle),
        _polar(depth[leaf_parent] + 1, (leaf_slot + 0.5) * slot_angle),
    )


def _levels(parent: IntArray) -> IntArray:
    """Return the number of edges between each function node and its output."""
    levels = np.zeros(parent.size, dtype=int)
    for node, above in enumerate(parent):
        levels[node] = levels[above] + 1 if above >= 0 else 0
    return levels


def outputs_above(parent: IntArray) -> IntArray:
    """Return the output to which each function node belongs."""
    owners = np.arange(parent.size)
    for node, above in enumerate(parent):
        owners[node] = owners[above] if above >= 0 else node
    return owners


def tree_of(drawn: DrawnTree) -> NeuralTree:
    """Return a tree with the structure of a published one, and weights of 0."""
    n_nodes, n_leaves = len(drawn.parent), len(drawn.leaf_parent)
    n_weights = 2 * n_nodes - (drawn.n_outputs if drawn.n_outputs > 1 else 1) + n_leaves
    codes, inputs = np.zeros(n_nodes, dtype=int), np.zeros(n_leaves, dtype=int)
    parent, leaf_parent = np.array(drawn.parent), np.array(drawn.leaf_parent)
    return NeuralTree(1, drawn.n_outputs, parent, codes, leaf_parent, inputs, np.zeros(n_weights))


def _first_slots(tree: NeuralTree, n_leaves_below: IntArray) -> IntArray:
    """Return the first of the leaf slots that the subtree of each node takes up."""
    k, parent = tree.n_outputs, tree.parent
    before = np.cumsum(n_leaves_below) - n_leaves_below
    first_sibling = np.zeros_like(before)
    first_sibling[k:] = tree.child_start[parent[k:]]
    slots = before - before[first_sibling]
    for start, stop in pairwise(tree.level_start[1:]):
        slots[start:stop] += slots[parent[start:stop]]
    return slots


def plot_tree_shape(
    tree: NeuralTree,
    ax: Axes | None = None,
    *,
    root_color: str = COLORS["root"],
    edge_color: str = "0.55",
) -> Axes:
    """Plot a tree around its root: class nodes red, function nodes blue, leaves green.

    The root of a classification tree is black. The root of a regression tree is its output, and
    therefore red.

    Parameters
    ----------
    tree : NeuralTree
        The tree to plot.
    ax : matplotlib.axes.Axes, optional
        Where to plot; a new figure by default.
    root_color, edge_color : color
        Colours of a classification tree's root and of the lines between nodes.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> ax = plot_tree_shape(NeuralTree.random(4, 3, random_state=0))
    >>> ax.figure.savefig("tree.svg")  # doctest: +SKIP
    """
    if ax is None:
        ax = Figure(figsize=(5, 5)).add_subplot()
    nodes, leaves = radial_layout(tree)
    k = tree.n_outputs
    origin = np.zeros((1, 2))
    upper = [nodes[tree.parent[k:]], nodes[tree.leaf_parent]]
    lower = [nodes[k:], leaves]
    if k > 1:
        upper.append(np.repeat(origin, k, axis=0))
        lower.append(nodes[:k])
    ends = np.stack([np.concatenate(upper), np.concatenate(lower)], axis=1)
    # One line with gaps: the file is a tenth as large as with one line per edge.
    gaps = np.full((len(ends), 1, 2), np.nan)
    edges = np.concatenate([ends, gaps], axis=1).reshape(-1, 2)
    # Markers shrink for large trees and small axes, but stay visible.
    side = ax.get_window_extent().width / ax.figure.dpi
    area = float(np.clip(4500 / tree.size, 0.6, 36)) * min(1.0, side / 4)
    width = float(np.clip(150 / tree.size, 0.15, 0.9))
    ax.plot(edges[:, 0], edges[:, 1], color=edge_color, linewidth=width, zorder=1)
    for xy, color, scale in (
        (leaves, COLORS["leaf"], 0.7),
        (nodes[k:], COLORS["function"], 1.0),
        (nodes[:k], COLORS["output"], 2.0),
        (origin if k > 1 else origin[:0], root_color, 2.5),
    ):
        ax.scatter(xy[:, 0], xy[:, 1], s=area * scale, c=color, linewidths=0, zorder=2)
    reach = 1.05 * max(1.0, float(np.abs(leaves).max(initial=1.0)))
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set_axis_off()
    return ax


def _polar(radius: IntArray, angle: FloatArray) -> FloatArray:
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
