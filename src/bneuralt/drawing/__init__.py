"""Drawings of trees: in text, and as plots with matplotlib."""

from bneuralt.drawing.terminal import draw_tree, use_color

__all__ = ["draw_tree", "use_color"]
