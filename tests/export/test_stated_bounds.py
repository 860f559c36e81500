"""The bound that a quantized model states is that of its worst output."""

import numpy as np
import pytest

from bneuralt import BNeuralTRegressor


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_the_stated_bound_is_the_largest_of_all_outputs(dtype):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 3))
    y = np.c_[X[:, 0], 100 * X[:, 1], X[:, 2] ** 2]  # in different units
    model = BNeuralTRegressor(max_epochs=20, random_state=0).fit(X, y)
    rounded = model.quantize(dtype)
    errors = np.abs(rounded.predict(X) - model.predict(X)).max(axis=0)
    assert errors[1] > errors[0]
    assert errors.max() <= rounded.error_bound_
    assert rounded.error_bound_ == max(rounded.integer_model_.bound)
    assert min(rounded.integer_model_.bound) < rounded.error_bound_
