"""Drawings of trees: in a terminal, and as pictures (with matplotlib)."""

from bneuralt.drawing.terminal import draw_tree, use_color

__all__ = ["draw_tree", "use_color"]
