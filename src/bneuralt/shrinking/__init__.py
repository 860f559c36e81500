"""Smaller models: simplified, without idle branches, pruned to a size, or rounded."""

from bneuralt.shrinking.compaction import Compaction
from bneuralt.shrinking.idle import without_idle_branches
from bneuralt.shrinking.pruning import prune
from bneuralt.shrinking.rounding import round_weights
from bneuralt.shrinking.simplifying import SaturatedNode, saturated_nodes, simplify_trees
from bneuralt.shrinking.sizes import BYTES, WEIGHTS, SizeUnit

__all__ = [
    "BYTES",
    "WEIGHTS",
    "Compaction",
    "SaturatedNode",
    "SizeUnit",
    "prune",
    "round_weights",
    "saturated_nodes",
    "simplify_trees",
    "without_idle_branches",
]
