"""The mean of several trees as one tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.tree.activations import ACTIVATIONS
from bneuralt.tree.joining import mean_tree


def drawn(n_trees, n_outputs, seed, **options):
    rng = np.random.default_rng(seed)
    trees = [
        NeuralTree.random(
            5, n_outputs, rng.integers(1, 5), output_activation="linear", random_state=rng,
            **options,
        )
        for _ in range(n_trees)
    ]  # fmt: skip
    return [tree.with_parameters(rng.normal(size=tree.n_parameters)) for tree in trees]


@given(
    st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(sorted(ACTIVATIONS)), min_size=1, max_size=3), st.booleans(),
)  # fmt: skip
def test_outputs_are_the_means(n_trees, n_outputs, seed, activation, trains):
    trees = drawn(n_trees, n_outputs, seed, activation=activation, train_activations=trains)
    X = np.random.default_rng(seed).normal(size=(7, 5))
    joined = mean_tree(trees)
    expected = np.mean([tree.forward(X) for tree in trees], axis=0)
    np.testing.assert_allclose(joined.forward(X), expected, rtol=1e-9, atol=1e-9)
    n_shared = (n_trees - 1) * n_outputs  # biases of the outputs
    assert joined.n_parameters == sum(tree.n_parameters for tree in trees) - n_shared


def test_types_are_kept():
    trees = [tree.astype(np.float32) for tree in drawn(2, 2, 1)]
    assert mean_tree(trees).dtype == np.float32


def test_other_outputs_are_refused():
    trees = [NeuralTree.random(2, 1, output_activation="sigmoid", random_state=i) for i in (0, 1)]
    with pytest.raises(ValueError, match="linear outputs"):
        mean_tree(trees)
