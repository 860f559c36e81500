"""Rounding of weights: digits, and the change of outputs."""

from __future__ import annotations

import numpy as np
import pytest

from bneuralt import NeuralTree
from bneuralt.shrinking import round_weights
from bneuralt.training.losses import CrossEntropy, SquaredError


def random_case(seed, n_outputs=1):
    rng = np.random.default_rng(seed)
    tree = NeuralTree.random(3, n_outputs, n_weights=30, init="normal", random_state=seed)
    return tree.astype(np.float64), rng.normal(size=(200, 3)), np.ones(200)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_outputs_hardly_change(seed, n_outputs):
    tree, X, weight = random_case(seed, n_outputs)
    loss = SquaredError() if n_outputs == 1 else CrossEntropy()
    unit = 1 / tree.forward(X).std() if n_outputs == 1 else 1.0
    rounded = round_weights(tree, X, loss, weight, unit)
    assert rounded.n_parameters == tree.n_parameters
    change = np.square((rounded.forward(X) - tree.forward(X)) * unit).mean()
    assert change < 0.02
    assert all(float(f"{w:.7g}") == w for w in rounded.parameters)


def test_other_weights_make_up_for_rounding():
    """Of two equal inputs, the second weight takes up the error of the first."""
    X = np.random.default_rng(0).normal(size=(300, 1)) @ np.ones((1, 2))
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.0, 0.1004, 3.0049])
    with_others = round_weights(tree, X, SquaredError(), np.ones(300)).leaf_weight.sum()
    alone = round_weights(tree, X, SquaredError(), np.ones(300), compensates=False)
    assert abs(with_others - 3.1053) < abs(alone.leaf_weight.sum() - 3.1053)


def test_a_bias_keeps_the_decimals_that_matter():
    """A column of years: the bias is large, and its decimals decide."""
    X = np.random.default_rng(0).normal(2000.0, 3.0, size=(300, 1))
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], [-666.666666, 1 / 3])
    rounded = round_weights(tree, X, SquaredError(), np.ones(300))
    assert np.abs(rounded.forward(X) - tree.forward(X)).max() < 0.1
    assert all(float(f"{w:.7g}") == w for w in rounded.parameters)
