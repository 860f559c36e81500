"""Smaller models: simplified exactly, or pruned to a number of weights or bytes."""

from bneuralt.shrinking.compaction import Compaction
from bneuralt.shrinking.pruning import prune
from bneuralt.shrinking.simplifying import SaturatedNode, saturated_nodes, simplify_trees
from bneuralt.shrinking.sizes import BYTES, WEIGHTS, SizeUnit

__all__ = [
    "BYTES",
    "WEIGHTS",
    "Compaction",
    "SaturatedNode",
    "SizeUnit",
    "prune",
    "saturated_nodes",
    "simplify_trees",
]
