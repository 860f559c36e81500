"""Our own drawings of the paper's schemes, Figures 1 to 4."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bneuralt.tree import NeuralTree
from bneuralt_paper.images.result_files import DrawnTree
from bneuralt_paper.reporting.figure_files import INK, STYLE
from bneuralt_paper.reporting.tree_shapes import COLORS, plot_tree_shape, tree_of

__all__ = ["schemes"]

#: A small tree: name, parent, place, kind.
_NODES = {
    "v0": (None, (0.5, 0.95), "root"),
    "v1": ("v0", (0.2, 0.68), "output"),
    "v2": ("v0", (0.75, 0.68), "output"),
    "v3": ("v1", (0.1, 0.4), "function"),
    "x1": ("v1", (0.34, 0.4), "leaf"),
    "x2": ("v2", (0.62, 0.4), "leaf"),
    "x3": ("v2", (0.88, 0.4), "leaf"),
    "x4": ("v3", (0.02, 0.12), "leaf"),
    "x5": ("v3", (0.22, 0.12), "leaf"),
}
_BINARY = DrawnTree(
    "a complete binary tree", 1, [-1, *((i - 1) // 2 for i in range(1, 15))],
    [7 + i // 2 for i in range(16)], 0.0,
)  # fmt: skip
_POST_ORDER = ("x4", "x5", "v3", "x1", "v1", "x2", "x3", "v2", "v0")
_PRE_ORDER = ("v0", "v1", "v3", "x4", "x5", "x1", "v2", "x2", "x3")


def schemes() -> Figure:
    """Draw Figures 1 to 4: a tree with classes, two shapes, both passes, and the gradient."""
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 4.6))
        axes = figure.subplots(2, 3)
        _small_tree(axes[0, 0], {name: name for name in _NODES}, "1: each class has a subtree")
        plot_tree_shape(tree_of(_BINARY), axes[0, 1])
        axes[0, 1].set_title("2: a binary dendritic tree ...", fontsize=8)
        tree = NeuralTree.random(5, 3, 4, 4, 0.4, rule="paper", random_state=1)
        plot_tree_shape(tree, axes[0, 2], root_color=INK)
        axes[0, 2].set_title("... and a random tree", fontsize=8)
        for ax, order, title in (
            (axes[1, 0], _POST_ORDER, "3: forward pass, post-order"),
            (axes[1, 1], _PRE_ORDER, "3: backward pass, pre-order"),
        ):
            _small_tree(ax, {name: str(i + 1) for i, name in enumerate(order)}, title)
        _chain(axes[1, 2])
        figure.subplots_adjust(left=0.02, right=0.98, top=0.93, bottom=0.03, hspace=0.25)
    return figure


def _small_tree(ax: Axes, labels: dict[str, str], title: str) -> None:
    for parent, place, _ in _NODES.values():
        if parent is not None:
            ax.plot(*np.transpose([place, _NODES[parent][1]]), color="0.55", lw=0.9, zorder=1)
    for name, (_, (x, y), kind) in _NODES.items():
        ax.scatter([x], [y], s=170, color=COLORS[kind] if kind != "root" else "0.35", zorder=2)
        ax.text(x, y, labels[name], ha="center", va="center", color="white", fontsize=7)
    ax.set(xlim=(-0.1, 1.1), ylim=(0, 1.08))
    ax.set_title(title, fontsize=8)
    ax.set_axis_off()


def _chain(ax: Axes) -> None:
    """Draw the way of the gradient from an output k over a node j to a leaf i."""
    for x, name, kind in ((0.12, "i", "leaf"), (0.5, "j", "function"), (0.88, "k", "output")):
        ax.scatter([x], [0.6], s=260, color=COLORS[kind], zorder=2)
        ax.text(x, 0.6, name, ha="center", va="center", color="white", fontsize=8)
    ax.plot([0.12, 0.88], [0.6, 0.6], color="0.55", lw=0.9, zorder=1)
    style: dict[str, Any] = {"ha": "center", "fontsize": 7}
    ax.text(0.31, 0.63, "w_ij", **style)
    ax.text(0.69, 0.63, "w_jk", **style)
    ax.text(0.5, 0.84, "slope of w_jk: delta_k h_j", **style)
    ax.text(0.5, 0.75, "slope of w_ij: delta_j x_i", **style)
    ax.text(0.5, 0.36, "delta_j = h_j (1 - h_j) delta_k w_jk", **style)
    ax.text(0.5, 0.45, "delta_k = (y' - y) y' (1 - y')", **style)
    ax.annotate("", (0.15, 0.27), (0.85, 0.27), arrowprops={"arrowstyle": "->", "ls": "--"})
    ax.set(xlim=(0, 1), ylim=(0.1, 1))
    ax.set_title("4: gradients from output to leaf", fontsize=8)
    ax.set_axis_off()
