"""Drawings of trees: in text, as SVG, as plots with matplotlib, and as formulas; curves."""

from bneuralt.drawing.curves import (
    plot_calibration,
    plot_confusion,
    plot_history,
    plot_precision_recall,
    plot_roc,
    plot_score_against_size,
)
from bneuralt.drawing.display import TreeDisplay, plot_tree, tree_svg
from bneuralt.drawing.formula import to_formula
from bneuralt.drawing.terminal import draw_tree, use_color

__all__ = [
    "TreeDisplay",
    "draw_tree",
    "plot_calibration",
    "plot_confusion",
    "plot_history",
    "plot_precision_recall",
    "plot_roc",
    "plot_score_against_size",
    "plot_tree",
    "to_formula",
    "tree_svg",
    "use_color",
]
