"""`feature_importances_` is the mean of absolute contributions, weighted like the rows."""

import numpy as np
import pytest

from bneuralt import BNeuralForestRegressor, BNeuralTClassifier, BNeuralTRegressor


def _rows():
    """Rows in which the first column matters in one half, and the second in the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    is_first = np.arange(300) < 150
    X[is_first, 1] = X[~is_first, 0] = 0.0
    weight = np.where(is_first, 9.0, 1.0) * rng.uniform(0.5, 1.5, 300)
    return X, X[:, 0] - X[:, 1], weight


@pytest.mark.parametrize("cls", [BNeuralTRegressor, BNeuralForestRegressor, BNeuralTClassifier])
def test_importances_are_weighted_means_of_contributions(cls):
    X, y, weight = _rows()
    if cls is BNeuralTClassifier:
        y = np.digitize(y, [-0.5, 0.5])  # three classes: each has its own score
    model = cls(random_state=0, max_epochs=10).fit(X, y, sample_weight=weight)
    values = np.abs(model.explain(X).values).reshape(300, 3, -1).sum(axis=2)
    expected = weight @ values
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-3)
    unweighted = values.sum(axis=0)
    assert not np.allclose(expected / expected.sum(), unweighted / unweighted.sum(), atol=0.02)


def test_a_row_of_weight_two_counts_as_two_rows():
    X, y, _ = _rows()
    weight = np.where(np.arange(300) < 100, 2.0, 1.0)
    settings = {"random_state": 0, "max_epochs": 10}
    weighted = BNeuralTRegressor(**settings).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(300), weight.astype(int))
    repeated = BNeuralTRegressor(**settings).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.feature_importances_, repeated.feature_importances_, rtol=1e-6
    )
