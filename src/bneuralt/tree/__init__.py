"""What a tree is: its arrays, how one is drawn, and how it is written to a file."""

from bneuralt.tree.neural_tree import NeuralTree, forward_many, mean_forward

__all__ = ["NeuralTree", "forward_many", "mean_forward"]
