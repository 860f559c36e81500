"""Pictures of trees with matplotlib (the extra ``bneuralt[plot]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["COLORS", "draw_tree", "radial_layout"]

#: The colours of the paper's drawings.
COLORS = {"root": "black", "output": "#d62728", "function": "#1f77b4", "leaf": "#2ca02c"}


def radial_layout(tree: NeuralTree) -> tuple[np.ndarray, np.ndarray]:
    """Place the nodes of a tree on circles around its root.

    Every leaf gets the same angle, a node stands in the middle of its leaves, and its distance
    from the centre is its depth, so that no two edges cross.

    Returns
    -------
    function_xy : ndarray of shape (n_nodes, 2)
        Positions of the stored function nodes.
    leaf_xy : ndarray of shape (n_leaves, 2)
        Positions of the leaves.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.drawing.pictures import radial_layout
    >>> tree = NeuralTree.random(4, 3, random_state=0)
    >>> nodes, leaves = radial_layout(tree)
    >>> len(leaves) == tree.n_leaves
    True
    """
    n_nodes, n_leaves = len(tree.parent), tree.n_leaves
    parent = np.asarray(tree.parent)
    # Breadth-first numbering: parents come before their children, so one pass in each
    # direction is enough, and recursion depth is no limit.
    width = np.bincount(tree.leaf_parent, minlength=n_nodes).astype(float)
    for node in range(n_nodes - 1, tree.n_outputs - 1, -1):
        width[parent[node]] += width[node]
    start = np.zeros(n_nodes)
    filled = np.zeros(n_nodes)  # leaf slots of a node that its children have taken so far
    depth = np.zeros(n_nodes)
    taken = 0.0
    first_depth = 0.0 if tree.n_outputs == 1 else 1.0
    for node in range(n_nodes):
        if node < tree.n_outputs:
            start[node], depth[node] = taken, first_depth
            taken += width[node]
        else:
            above = parent[node]
            start[node], depth[node] = start[above] + filled[above], depth[above] + 1
            filled[above] += width[node]
    leaf_slot = np.zeros(n_leaves)
    for leaf, above in enumerate(tree.leaf_parent):
        leaf_slot[leaf] = start[above] + filled[above]
        filled[above] += 1
    turn = 2 * np.pi / max(n_leaves, 1)
    node_angle = (start + width / 2) * turn
    leaf_angle = (leaf_slot + 0.5) * turn
    leaf_depth = depth[tree.leaf_parent] + 1
    return _polar(depth, node_angle), _polar(leaf_depth, leaf_angle)


def draw_tree(
    tree: NeuralTree,
    ax: Axes | None = None,
    *,
    root_color: str = COLORS["root"],
    edge_color: str = "0.55",
) -> Axes:
    """Draw a tree around its root: class nodes red, function nodes blue, leaves green.

    The root of a classification tree is black; that of a regression tree is its output, and red.

    Parameters
    ----------
    tree : NeuralTree
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    root_color, edge_color : color
        Colours of a classification tree's root and of the lines between nodes.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.drawing.pictures import draw_tree
    >>> ax = draw_tree(NeuralTree.random(4, 3, random_state=0))
    >>> ax.figure.savefig("tree.svg")  # doctest: +SKIP
    """
    if ax is None:
        from matplotlib.figure import Figure

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
    # One line with gaps: a tenth of the file size of a line for each edge.
    gaps = np.full((len(ends), 1, 2), np.nan)
    edges = np.concatenate([ends, gaps], axis=1).reshape(-1, 2)
    # Marks shrink as trees grow and axes get smaller, but stay visible.
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


def _polar(radius: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
