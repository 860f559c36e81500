"""Random trees: `random_tree` draws one, `GrowthRule` says how large trees become."""

from __future__ import annotations

from bneuralt.tree.growth import GrowthRule, LeafSampler
from bneuralt.tree.neural_tree import NeuralTree
from bneuralt.tree.walk import outputs_above

__all__ = ["GrowthRule", "LeafSampler", "outputs_above", "random_tree"]

random_tree = NeuralTree.random
