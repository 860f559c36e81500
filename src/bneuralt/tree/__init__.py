"""Neural trees: arrays, random generation, evaluation and files."""

from bneuralt.tree.neural_tree import NeuralTree, forward_many, mean_forward

__all__ = ["NeuralTree", "forward_many", "mean_forward"]
