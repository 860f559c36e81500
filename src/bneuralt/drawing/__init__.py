"""Drawings of trees: in text, as SVG, as plots with matplotlib, and as formulas; curves."""

from bneuralt.drawing.curves import plot_history, plot_score_against_size
from bneuralt.drawing.display import TreeDisplay, plot_tree, tree_svg
from bneuralt.drawing.pages import to_html
from bneuralt.drawing.terminal import draw_tree, use_color

__all__ = [
    "TreeDisplay",
    "draw_tree",
    "plot_history",
    "plot_score_against_size",
    "plot_tree",
    "to_html",
    "tree_svg",
    "use_color",
]
