"""Drawings of trees: in text, as SVG, and as plots with matplotlib."""

from bneuralt.drawing.display import TreeDisplay, plot_tree, tree_svg
from bneuralt.drawing.terminal import draw_tree, use_color

__all__ = ["TreeDisplay", "draw_tree", "plot_tree", "tree_svg", "use_color"]
