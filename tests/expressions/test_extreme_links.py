"""Links of outputs far from 0: probabilities are exact where exponentials would overflow."""

import numpy as np
import pytest

from bneuralt.expressions import evaluate, sigmoid, variable
from bneuralt.training.losses import SOFTMAX, shares


@pytest.mark.parametrize("shift", [0.0, 1e3, -1e3, 1e300])
def test_softmax_depends_on_differences_only(shift):
    outputs = np.array([[0.0, 1.0, -1.0], [0.0, 800.0, -800.0]])
    values = evaluate(SOFTMAX, {"outputs": outputs + shift})
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values.sum(axis=1), 1.0)
    if abs(shift) < 1e6:
        powers = np.exp(outputs[0] - 1.0)
        np.testing.assert_allclose(values[0], powers / powers.sum(), rtol=1e-9)
        np.testing.assert_allclose(values[1], [0.0, 1.0, 0.0], atol=1e-12)


def test_sigmoids_of_large_numbers():
    values = evaluate(
        sigmoid(variable("outputs")), {"outputs": np.array([[-800.0, -1.0, 0.0, 1.0, 800.0]])}
    )
    np.testing.assert_allclose(values, [[0.0, 1 / (1 + np.e), 0.5, np.e / (1 + np.e), 1.0]])


def test_shares_are_at_least_the_smallest_before_they_are_divided():
    values = evaluate(shares(0.1), {"outputs": np.array([[-1.0, 0.5, 0.5], [0.2, 0.2, 0.1]])})
    np.testing.assert_allclose(values, [[0.1 / 1.1, 0.5 / 1.1, 0.5 / 1.1], [0.4, 0.4, 0.2]])
