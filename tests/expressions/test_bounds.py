"""Derivatives and bounds of expressions agree with their values."""

import inspect

import numpy as np
import pytest

from bneuralt.expressions import (
    OPERATIONS,
    Expression,
    absolute,
    derivative,
    evaluate,
    greater,
    interval,
    select,
    slope,
    square,
    variable,
)
from bneuralt.expressions.operations import NUMERIC

Z = variable("z")
ARGUMENTS = (0.5 + 1 / (1 + square(Z)), 2 + Z / (1 + absolute(Z)))
CASES = {
    name: Expression(name, ARGUMENTS[: len(inspect.signature(OPERATIONS[name].slopes).parameters)])
    for name in NUMERIC
} | {"select": select(greater(Z, 1.0), Z, 2 - square(Z))}


@pytest.mark.parametrize("name", NUMERIC)
def test_derivatives_are_slopes(name):
    z = np.linspace(-3, 3, 101) + 0.01
    values = evaluate(derivative(CASES[name], "z"), {"z": z})
    assert np.allclose(values, slope(CASES[name], {"z": z}, "z"))


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_all_values(name):
    edges = np.linspace(-3, 3, 13)
    lows, highs = interval(CASES[name], {"z": (edges[:-1], edges[1:])})
    for i in range(12):
        values = evaluate(CASES[name], {"z": np.linspace(edges[i], edges[i + 1], 50)})
        one = interval(CASES[name], {"z": (edges[i], edges[i + 1])})
        assert (lows[i], highs[i]) == one
        assert one[0] <= values.min() + 1e-12 and values.max() <= one[1] + 1e-12
        assert one[1] - one[0] < 1 + 4 * np.ptp(values)


def test_conditions_that_are_certain_choose():
    assert interval(CASES["select"], {"z": (1.5, 2.0)}) == (1.5, 2.0)
    assert interval(CASES["select"], {"z": (0.0, 1.0)}) == (1.0, 2.0)
    assert interval(CASES["select"], {"z": (0.0, 2.0)}) == (-2.0, 2.0)
