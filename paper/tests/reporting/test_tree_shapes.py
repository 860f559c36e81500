"""Shapes of trees: every node has its place on a circle around the root."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt_paper.reporting.tree_shapes import radial_layout


def test_a_tree_deeper_than_pythons_stack():
    n = 5000
    tree = NeuralTree(
        1, 1, np.arange(-1, n - 1), [0] + [1] * (n - 1), [n - 1], [0], np.zeros(2 * n)
    )
    nodes, leaves = radial_layout(tree)
    np.testing.assert_allclose(np.hypot(*nodes.T), np.arange(n))
    np.testing.assert_allclose(np.hypot(*leaves.T), [n])


def leaf_slots(tree):
    """The leaves in the order of a depth-first walk: children first, then a node's own leaves."""

    def visit(node):
        for child in range(tree.child_start[node], tree.child_start[node + 1]):
            yield from visit(child)
        yield from range(tree.leaf_start[node], tree.leaf_start[node + 1])

    return [leaf for output in range(tree.n_outputs) for leaf in visit(output)]


@given(seed=st.integers(0, 2**31), n_outputs=st.integers(1, 4))
@settings(max_examples=30)
def test_leaves_are_placed_in_depth_first_order(seed, n_outputs):
    tree = NeuralTree.random(4, n_outputs, max_depth=3, max_children=4, random_state=seed)
    nodes, leaves = radial_layout(tree)
    angles = np.arctan2(leaves[:, 1], leaves[:, 0]) % (2 * np.pi)
    expected = (np.arange(tree.n_leaves) + 0.5) * 2 * np.pi / tree.n_leaves
    np.testing.assert_allclose(angles[leaf_slots(tree)], expected)
    if n_outputs > 1:
        np.testing.assert_allclose(np.hypot(*nodes[:n_outputs].T), 1)
    else:
        np.testing.assert_allclose(nodes[0], 0)
