"""Smaller trees: which weights to remove, and what it does to the others."""

from bneuralt.pruning.path import prune
from bneuralt.pruning.sizes import fewest_bytes, fewest_weights, table_bytes

__all__ = ["fewest_bytes", "fewest_weights", "prune", "table_bytes"]
