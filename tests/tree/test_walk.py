"""Traversals of trees, compared with loops over single nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.tree.walk import (
    node_levels,
    outputs_above,
    sum_up,
)
from tests.helpers.strategies import neural_trees


def naive_levels(parent):
    levels = []
    for above in parent:
        levels.append(0 if above < 0 else levels[above] + 1)
    return levels


def naive_outputs(parent):
    outputs = []
    for node, above in enumerate(parent):
        outputs.append(node if above < 0 else outputs[above])
    return outputs


def naive_sums(parent, values):
    sums = np.array(values, dtype=float)
    for node in range(len(parent) - 1, -1, -1):
        if parent[node] >= 0:
            sums[parent[node]] += sums[node]
    return sums


def naive_starts(parents, n_nodes, first):
    """Where the entries of `parents` that belong to each node start, counted from `first`."""
    return [first + sum(p < node for p in parents) for node in range(n_nodes + 1)]


def check_against_loops(tree, seed):
    parent, k, n = tree.parent, tree.n_outputs, tree.parent.size
    np.testing.assert_array_equal(tree.child_start, naive_starts(parent[k:], n, k))
    np.testing.assert_array_equal(tree.leaf_start, naive_starts(tree.leaf_parent, n, 0))
    levels = naive_levels(parent)
    np.testing.assert_array_equal(node_levels(parent), levels)
    starts = [levels.index(level) for level in range(max(levels) + 1)]
    np.testing.assert_array_equal(tree.level_start, [*starts, n])
    np.testing.assert_array_equal(outputs_above(parent), naive_outputs(parent))
    rng = np.random.default_rng(seed)
    for values in (rng.normal(size=n), rng.normal(size=(n, 3)), rng.integers(0, 9, n)):
        before = values.copy()
        np.testing.assert_allclose(sum_up(parent, values), naive_sums(parent, values), atol=1e-12)
        np.testing.assert_array_equal(values, before)


@given(tree=neural_trees(max_inner_nodes=20), seed=st.integers(0, 2**32 - 1))
def test_every_traversal_equals_its_loop(tree, seed):
    check_against_loops(tree, seed)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_random_trees(n_outputs):
    for seed in range(3):
        check_against_loops(NeuralTree.random(5, n_outputs, max_depth=4, random_state=seed), seed)


def test_sums_of_small_integers_do_not_overflow():
    parent = np.array([-1, *[0] * 300], dtype=np.int32)
    assert sum_up(parent, np.full(301, 200, dtype=np.uint8))[0] == 301 * 200
    assert sum_up(parent, np.ones(301, dtype=bool))[0] == 301
    assert sum_up(parent, np.ones(301, dtype=np.float32)).dtype == np.float32


def test_a_tree_deeper_than_pythons_stack():
    n = 5000
    parent = np.arange(-1, n - 1)
    np.testing.assert_array_equal(node_levels(parent), np.arange(n))
    np.testing.assert_array_equal(sum_up(parent, np.ones(n, dtype=int)), np.arange(n, 0, -1))
    assert not outputs_above(parent).any()


def test_a_tree_of_many_nodes():
    parent = np.concatenate([[-1, -1], (np.arange(2, 20_000) - 2) // 3])
    assert sum_up(parent, np.ones(parent.size, dtype=int))[:2].sum() == parent.size
    np.testing.assert_array_equal(node_levels(parent), naive_levels(parent.tolist()))
    np.testing.assert_array_equal(outputs_above(parent), naive_outputs(parent.tolist()))
