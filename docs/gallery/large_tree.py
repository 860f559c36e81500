"""A tree of 20,000 nodes, drawn completely."""

from bneuralt import NeuralTree, plot_tree

tree = NeuralTree.random(50, 10, n_weights=26_000, random_state=0)

drawing = plot_tree(tree, max_leaves=None)
