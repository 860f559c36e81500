"""Trees over groups of inputs, one group for each feature."""

import numpy as np
import pytest

from bneuralt import (
    NeuralTree,
)


def test_leaves_are_drawn_per_feature():
    groups = np.repeat(np.arange(3), [1, 50, 1])
    tree = NeuralTree.random(52, 3, max_depth=7, groups=groups, random_state=0)
    counts = tree.input_counts
    assert len(set(counts[1:51])) == 1  # a leaf has an edge to each input of the feature
    drawn = counts[[0, 1, 51]]
    assert drawn.max() < 2 * drawn.min()
    assert np.all(np.diff(tree.leaf_parent) >= 0)


def test_the_edges_of_a_group_start_with_the_spread_of_one():
    groups = np.repeat(np.arange(2), [1, 100])
    tree = NeuralTree.random(101, 1, max_depth=8, groups=groups, random_state=0)
    drawn = tree.leaf_parent[tree.leaf_input < 2]  # one edge of each leaf
    children = np.bincount(np.concatenate([tree.parent[1:], drawn]))
    unit = tree.leaf_weight * np.sqrt(children[tree.leaf_parent])
    assert unit[tree.leaf_input == 0].std() == pytest.approx(1.5, rel=0.2)
    assert unit[tree.leaf_input > 0].std() == pytest.approx(0.15, rel=0.1)


def test_a_number_of_weights_counts_all_edges():
    groups = np.repeat(np.arange(4), [1, 5, 1, 3])
    for seed in range(5):
        tree = NeuralTree.random(10, 2, n_weights=500, groups=groups, random_state=seed)
        assert 450 <= tree.n_parameters <= 500
    with pytest.raises(ValueError, match="groups must be"):
        NeuralTree.random(3, groups=[0, 1], random_state=0)


@pytest.mark.parametrize("n_weights", [9, 60, 3000])
def test_trees_of_features_with_many_inputs_can_always_be_drawn(n_weights):
    groups = np.repeat([0, 1, 2], [1, 200, 2])
    least = 0
    for seed in range(20):
        tree = NeuralTree.random(203, 3, n_weights=n_weights, groups=groups, random_state=seed)
        n_leaves = sum(np.count_nonzero(tree.leaf_input == first) for first in (0, 1, 201))
        # only the smallest trees have more weights: two leaves for each output
        assert tree.n_parameters <= n_weights or n_leaves == 6
        least = max(least, min(tree.n_parameters, n_weights))
    assert least > 0.8 * n_weights
