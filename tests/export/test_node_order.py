"""Nodes are evaluated in an order that keeps as few values as possible."""

import numpy as np
import pytest

from bneuralt import NeuralTree
from bneuralt.export.nodes import nodes_of
from tests.helpers.strategies import draw_tree


def fewest_kept(tree, node):
    """Return how many values must be kept at once to evaluate a subtree."""
    children = range(tree.child_start[node], tree.child_start[node + 1])
    needs = sorted((fewest_kept(tree, child) for child in children), reverse=True)
    return max([1, *(need + i for i, need in enumerate(needs))])


def kept_at_once(nodes):
    """Evaluate nodes in their order, and return the most values that are kept at once."""
    kept, most = [], 0
    for node in nodes:
        children = [child for _, child in node.children]
        if children:
            assert kept[-len(children) :] == children
            del kept[-len(children) :]
        kept.append(node.position)
        most = max(most, len(kept))
        if node.is_output:
            assert kept.pop() == node.position and not kept
    return most


@pytest.mark.parametrize("seed", range(20))
def test_values_kept_of_random_trees(seed):
    tree = draw_tree(np.random.default_rng(seed), 1 + seed % 3)
    nodes = nodes_of(tree)
    assert sorted(node.position for node in nodes) == list(range(tree.parent.size))
    assert kept_at_once(nodes) == max(fewest_kept(tree, k) for k in range(tree.n_outputs))


def test_a_deep_subtree_comes_before_shallow_ones():
    # The last child of the output is the deepest: evaluated last, it would need more room.
    parent = [-1, 0, 0, 0, 3, 3, 3]
    leaves = [1, 2, 4, 5, 6]
    n = len(parent) + len(parent) - 1 + len(leaves)
    tree = NeuralTree(1, 1, parent, [0] * 7, leaves, [0] * 5, np.ones(n))
    assert kept_at_once(nodes_of(tree)) == 3
