"""Smaller trees: which weights to remove, and what it does to the others."""

from bneuralt.pruning.path import PruningPath, prune

__all__ = ["PruningPath", "prune"]
