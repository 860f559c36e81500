"""Attributions of trees: kernels against their plain counterparts, and sums against outputs."""

import numpy as np
import pytest
from hypothesis import given, settings

from bneuralt import NeuralTree
from bneuralt.arrays import NotFiniteError
from bneuralt.tree.activations import NAMES
from bneuralt.tree.contributions import contributions, jacobian
from bneuralt.tree.walk import outputs_above
from tests import reference
from tests.helpers.strategies import draw_tree, neural_trees, seeds


def rows_and_baseline(rng, tree, n_rows=5):
    return rng.normal(size=(n_rows, tree.n_inputs)), rng.normal(size=tree.n_inputs)


def scale_of(tree, X):
    """How large the terms are that outputs are sums of."""
    return 1 + np.abs(tree.forward(X)).max() + np.abs(tree.parameters).max()


@settings(max_examples=60)
@given(neural_trees(), seeds)
def test_shares_are_those_of_the_reference(tree, seed):
    X, baseline = rows_and_baseline(np.random.default_rng(seed), tree)
    values = tree.contributions(X, baseline)
    for x, shares in zip(X, values, strict=True):
        expected = reference.rescaled_contributions(tree, x, baseline)
        np.testing.assert_allclose(shares, expected, rtol=1e-8, atol=1e-9 * scale_of(tree, X))


@settings(max_examples=30)
@given(neural_trees(), seeds)
def test_integrated_gradients_are_those_of_the_reference(tree, seed):
    X, baseline = rows_and_baseline(np.random.default_rng(seed), tree, 2)
    integrals = tree.contributions(X, baseline, method="integrated_gradients", n_steps=3)
    for x, shares in zip(X, integrals, strict=True):
        expected = reference.integrated_gradients(tree, x, baseline, n_steps=3)
        np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-11 * scale_of(tree, X))


@settings(max_examples=60)
@given(neural_trees(), seeds)
def test_the_jacobian_is_that_of_the_reference(tree, seed):
    X, _ = rows_and_baseline(np.random.default_rng(seed), tree)
    for x, row in zip(X, jacobian(tree, X), strict=True):
        expected = reference.jacobian(tree, x)
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-11 * scale_of(tree, X))


@pytest.mark.parametrize("first", range(0, 500, 125))
def test_shares_of_500_random_trees_add_up(first):
    for seed in range(first, first + 125):
        rng = np.random.default_rng(seed)
        name = NAMES[seed % len(NAMES)]
        output = NAMES[seed // len(NAMES) % len(NAMES)]
        tree = draw_tree(rng, int(rng.integers(1, 4)), name, output, mixed=seed % 2 == 1)
        X, baseline = rows_and_baseline(rng, tree, 10)
        X[0] = baseline + 1e-7 * rng.normal(size=tree.n_inputs)
        X[1] = baseline
        difference = tree.forward(X) - tree.forward(baseline)
        shares = tree.contributions(X, baseline, by="output")
        np.testing.assert_allclose(shares, difference, rtol=1e-10, atol=1e-10)
        assert not tree.contributions(X, baseline)[1].any()


def test_every_instruction_set_and_number_of_rows(engine):
    rng = np.random.default_rng(0)
    for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 2e-4)):
        tree = draw_tree(rng, 3, mixed=True).astype(dtype)
        for n_rows in (1, 7, 64, 300):
            X, baseline = rows_and_baseline(rng, tree, n_rows)
            difference = tree.forward(X) - tree.forward(baseline)
            shares = tree.contributions(X, baseline, by="output")
            assert shares.dtype == dtype
            np.testing.assert_allclose(shares, difference, rtol=tolerance, atol=tolerance)
            parts = jacobian(tree, X)
            np.testing.assert_allclose(parts[-1:], jacobian(tree, X[-1:]), rtol=1e-4, atol=1e-4)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 3, mixed=True)
    X, baseline = rows_and_baseline(rng, tree, 5000)
    one, two = (tree.contributions(X, baseline, n_threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_sums_by_input_node_and_output_agree():
    rng = np.random.default_rng(3)
    tree = NeuralTree.random(4, 2, random_state=rng)
    X, baseline = rows_and_baseline(rng, tree)
    by_leaf = tree.contributions(X, baseline)
    by_input = tree.contributions(X, baseline, by="input")
    by_node = tree.contributions(X, baseline, by="node")
    output = outputs_above(tree.parent)[tree.leaf_parent]
    for k in range(2):
        for i in range(4):
            chosen = (output == k) & (tree.leaf_input == i)
            np.testing.assert_allclose(by_input[:, i, k], by_leaf[:, chosen].sum(axis=1))
    np.testing.assert_allclose(by_node[:, :2], tree.contributions(X, baseline, by="output"))


def test_integrated_gradients_converge_to_the_difference():
    rng = np.random.default_rng(1)
    tree = NeuralTree.random(4, 2, activation="tanh", random_state=rng)
    X, baseline = rows_and_baseline(rng, tree)
    shares = tree.contributions(X, baseline, by="output", method="integrated_gradients", n_steps=64)
    np.testing.assert_allclose(shares, tree.forward(X) - tree.forward(baseline), atol=1e-8)


def test_close_rows_have_shares_without_noise():
    # The two leaves cancel almost: the quotient of differences alone would be all rounding error.
    tree = NeuralTree(2, 1, [-1], [2], [0, 0], [0, 1], [0.3, 1.0, -1.0])
    shares = tree.contributions([[5.0, 5.0 + 1e-13]], [0.0, 0.0])
    slope = 1 - np.tanh(0.3) ** 2
    np.testing.assert_allclose(shares, [[5 * slope, -5 * slope]], rtol=1e-9)


def test_wrong_arguments_are_named():
    tree = NeuralTree.random(3, 2, random_state=0)
    X = np.zeros((2, 3))
    with pytest.raises(ValueError, match=r"baseline has shape \(2,\).*shape \(3,\)"):
        tree.contributions(X, [0.0, 1.0])
    with pytest.raises(ValueError, match="baseline has values that are not finite"):
        tree.contributions(X, [0.0, 1.0, np.nan])
    with pytest.raises(ValueError, match="by='class' must be one of"):
        tree.contributions(X, by="class")
    with pytest.raises(ValueError, match="method='shap' must be one of"):
        contributions(tree, X, method="shap")
    with pytest.raises(ValueError, match="n_steps=0 must be"):
        contributions(tree, X, n_steps=0)
    with pytest.raises(ValueError, match="4 features"):
        tree.contributions(np.zeros((2, 4)))
    with pytest.raises(NotFiniteError):
        tree.contributions([[0.0, np.inf, 0.0]])


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_mirror_the_baseline(name):
    """The sums are opposite: slopes of even functions are equal there, and no secant."""
    tree = NeuralTree(2, 1, [-1], [NAMES.index(name)], [0, 0], [0, 1], [0.0, 0.75, -0.5])
    x = np.array([1.5, -2.0])
    shares = tree.contributions(x[np.newaxis], -x)[0]
    np.testing.assert_allclose(shares, reference.rescaled_contributions(tree, x, -x), rtol=1e-9)
    difference = tree.forward(x[np.newaxis]) - tree.forward(-x[np.newaxis])
    np.testing.assert_allclose(shares.sum(), difference[0, 0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_rows_close_to_the_baseline_on_the_other_side_of_a_bend(name):
    tree = NeuralTree(1, 1, [-1], [NAMES.index(name)], [0], [0], [0.0, 1.0])
    x, baseline = np.array([1e-6]), np.array([-3e-6])
    shares = tree.contributions(x[np.newaxis], baseline)[0]
    expected = reference.rescaled_contributions(tree, x, baseline)
    np.testing.assert_allclose(shares, expected, rtol=1e-9)
    difference = tree.forward(x[np.newaxis]) - tree.forward(baseline[np.newaxis])
    np.testing.assert_allclose(shares.sum(), difference[0, 0], rtol=1e-4)
