"""What a tree is: its arrays, how one is drawn, and how it is written to a file."""

from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["NeuralTree"]
