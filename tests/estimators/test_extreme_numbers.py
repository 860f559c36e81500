"""Numbers at the ends of their range in tables, targets and weights."""

from __future__ import annotations

import numpy as np
import pytest

from bneuralt import (
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
)
from bneuralt.tree.forward import OutputOverflow

X = np.random.default_rng(0).normal(size=(80, 3))


LINEAR = Growth(activation="leaky_relu", n_joined=1)  # without an upper limit
STRAIGHT = {"scale": "standard", "ramps": 0}  # without limits of the features
LABELS = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("value", [123456789.0, 0.1, 1e39, -1e300, 5.0])
@pytest.mark.parametrize("activation", ["linear", "sigmoid"])
def test_constant_targets_are_predicted_exactly(value: float, activation: str) -> None:
    model = BNeuralTRegressor(
        max_epochs=2, random_state=0, growth=Growth(output_activation=activation)
    )
    np.testing.assert_array_equal(model.fit(X, np.full(80, value)).predict(X), value)


def test_forests_predict_constant_targets_exactly() -> None:
    forest = BNeuralForestRegressor(n_estimators=2, max_epochs=2, random_state=0)
    np.testing.assert_array_equal(forest.fit(X, np.full(80, 123456789.0)).predict(X), 123456789.0)


@pytest.mark.parametrize("scale", [1e39, 1e-39, 1e150])
def test_targets_beyond_the_range_of_float32(scale: float) -> None:
    y = X[:, 0]
    model = BNeuralTRegressor(max_epochs=100, random_state=0).fit(X, scale * y)
    assert np.mean(np.square(model.predict(X) / scale - y)) < 0.08


def test_a_target_whose_span_overflows_is_called_y() -> None:
    y = np.where(LABELS, 1e308, -1e308)
    with pytest.raises(ValueError, match="smallest value of y overflows"):
        BNeuralTRegressor().fit(X, y)


def test_sample_weights_whose_sum_overflows_are_named() -> None:
    with pytest.raises(ValueError, match=r"^sample_weight is as large as 1e\+308"):
        BNeuralTClassifier().fit(X, LABELS, sample_weight=np.full(80, 1e308))


@pytest.mark.parametrize("weight", [np.inf, np.nan, 1e308])
def test_class_weights_that_are_not_finite_are_named(weight: float) -> None:
    model = BNeuralTClassifier(class_weight={0: 1.0, 1: weight})
    with pytest.raises(ValueError, match=r"^class_weight="):
        model.fit(X, LABELS)


def test_weights_beyond_float32_are_refused_with_scaled_targets_too() -> None:
    model = BNeuralTRegressor(dtype="float32")
    with pytest.raises(ValueError, match=r"sample_weight.*not finite in float32"):
        model.partial_fit(X, X[:, 0], sample_weight=np.full(80, 1e100))


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("estimator", [BNeuralTRegressor, BNeuralForestRegressor])
def test_predictions_that_overflow_are_refused(estimator: type, loss: str) -> None:
    y = np.exp(X[:, 0])
    model = estimator(loss=loss, max_epochs=5, random_state=4, growth=LINEAR, **STRAIGHT)
    model.fit(X, y)
    # too large for the exponential function, or for float32 itself
    far = np.vstack([X[:2], np.where(X[:2] > 0, 3e38 if loss == "squared_error" else 1e9, -1.0)])
    assert np.isfinite(model.predict(X)).all()
    for method in (model.predict, lambda table: model.score(table, np.ones(4))):
        with pytest.raises(OutputOverflow, match="of X has values too large") as caught:
            method(far)
        assert caught.value.row >= 2 or loss == "squared_error"


def test_small_counts_underflow_to_positive_numbers() -> None:
    model = BNeuralTRegressor(
        loss="poisson", max_epochs=20, random_state=0, growth=LINEAR, **STRAIGHT
    )
    low = model.fit(X, np.exp(X[:, 0])).predict([[-1e9, 0, 0]])
    assert 0 < low < 1e-300


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("estimator", [BNeuralTRegressor, BNeuralForestRegressor])
def test_predictions_of_limited_features_do_not_overflow(estimator: type, loss: str) -> None:
    model = estimator(loss=loss, max_epochs=5, random_state=0, growth=LINEAR)
    model.fit(X, np.exp(X[:, 0]))
    far = model.predict([[1e300, -1e300, 1e308], [-1e308, 1e39, 1e39]])
    assert np.isfinite(far).all()
    np.testing.assert_array_equal(far, model.predict([[1e6, -1e6, 1e6], [-1e6, 1e6, 1e6]]))
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[np.inf, 0.0, 0.0]])
