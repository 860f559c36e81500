"""Shrinking of models whose inputs are not scaled."""

import numpy as np

from bneuralt import BNeuralTRegressor


def test_a_model_without_scaling_is_shrunk_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] - 2 * X[:, 1]
    for scale in ("standard", None):
        model = BNeuralTRegressor(scale=scale, max_epochs=60, random_state=0).fit(X, y)
        smaller = model.compact(X, y, max_weights=20)
        assert smaller.tree_.n_parameters <= 20
        assert smaller.score(X, y) > 0.9
