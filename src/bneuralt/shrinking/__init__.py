"""Smaller models: simplified, without idle branches, pruned to a size, or rounded."""

from bneuralt.shrinking.bent_leaves import BentLeaves, InputChange, bend_leaves
from bneuralt.shrinking.compaction import Compaction
from bneuralt.shrinking.idle import without_idle_branches
from bneuralt.shrinking.pruning import prune
from bneuralt.shrinking.rounding import round_weights
from bneuralt.shrinking.simplifying import SaturatedNode, saturated_nodes, simplify_trees
from bneuralt.shrinking.sizes import BYTES, WEIGHTS, SizeUnit

__all__ = [
    "BYTES",
    "WEIGHTS",
    "BentLeaves",
    "Compaction",
    "InputChange",
    "SaturatedNode",
    "SizeUnit",
    "bend_leaves",
    "prune",
    "round_weights",
    "saturated_nodes",
    "simplify_trees",
    "without_idle_branches",
]
