"""Drawings of trees: in text, as SVG, as plots with matplotlib, and as formulas."""

from bneuralt.drawing.display import TreeDisplay, plot_tree, tree_svg
from bneuralt.drawing.formula import to_formula
from bneuralt.drawing.terminal import draw_tree, use_color

__all__ = ["TreeDisplay", "draw_tree", "plot_tree", "to_formula", "tree_svg", "use_color"]
