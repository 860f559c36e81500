"""The same tree as it is drawn by default: the strongest paths, and what is below them."""

from bneuralt import NeuralTree
from bneuralt.drawing import tree_svg

tree = NeuralTree.random(50, 10, n_weights=26_000, random_state=0)

drawing = tree_svg(tree)
