"""Minimisation of smooth functions, beside SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize as of_scipy

from bneuralt.fitting.minimize import minimize


def quadratic(rng, n):
    """A convex function of n numbers, of any scale between 0.1 and 10 in each direction."""
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    matrix, slope = basis * rng.uniform(0.1, 10.0, n) @ basis.T, rng.normal(size=n)
    return lambda x: (float(x @ matrix @ x / 2 - slope @ x), matrix @ x - slope)


def logistic(rng, n):
    X, y = rng.normal(size=(50, n)), rng.integers(2, size=50)

    def objective(x):
        z = X @ x
        value = np.logaddexp(0.0, z).sum() - y @ z + x @ x / 2
        return float(value), X.T @ (1 / (1 + np.exp(-z)) - y) + x

    return objective


@given(
    st.integers(0, 10_000), st.integers(1, 8), st.sampled_from([quadratic, logistic]), st.booleans()
)
def test_the_minimum_is_that_of_scipy(seed, n, function, is_limited):
    rng = np.random.default_rng(seed)
    objective, start = function(rng, n), rng.normal(size=n)
    limits = (rng.uniform(-1.0, 0.0, n), rng.uniform(0.0, 1.0, n)) if is_limited else None
    found, value = minimize(objective, start, 300, limits)
    bounds = None if limits is None else list(zip(*limits, strict=True))
    other = of_scipy(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    assert value == pytest.approx(objective(found)[0])
    assert value <= other.fun + 1e-4 * max(1.0, abs(other.fun))
    if limits is not None:
        assert np.all((limits[0] <= found) & (found <= limits[1]))


def test_a_step_that_is_too_long_is_shortened():
    def steep(x):
        with np.errstate(over="ignore"):
            return float(np.cosh(20 * x[0])), 20 * np.sinh(20 * x)

    found, _ = minimize(steep, np.array([0.4]), 50)
    assert abs(found[0]) < 1e-3


def test_the_value_never_rises_and_few_calls_are_made():
    rng = np.random.default_rng(0)
    objective, values = logistic(rng, 5), []

    def noted(x):
        values.append(objective(x)[0])
        return objective(x)

    first = objective(np.zeros(5))
    _, value = minimize(noted, np.zeros(5), 4, first=first)
    assert value == min([first[0], *values]) and len(values) <= 8


def test_overflow_ends_in_a_finite_place():
    with np.errstate(over="ignore"):
        found, value = minimize(lambda x: (float(np.exp(x[0])), np.exp(x)), np.array([600.0]), 5)
    assert np.isfinite(found).all() and np.isfinite(value)
