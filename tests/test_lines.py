"""Inputs that are lines of columns, and those that are the columns themselves."""

import numpy as np
import pytest

from bneuralt.lines import IDENTITY, ClampedLine, InputLines

LINES = InputLines.of(
    [[IDENTITY, ClampedLine.ramp(0.0, 2.0)], [ClampedLine.ramp(1.0, 3.0)], [IDENTITY]]
)
#: One of the inputs is a sum.
SUMS = InputLines.of(
    [[IDENTITY, (ClampedLine.ramp(0.0, 2.0), ClampedLine.ramp(4.0, 5.0))], [IDENTITY], [IDENTITY]]
)


def test_inputs_that_are_columns():
    assert LINES.unchanged_columns.tolist() == [0, -1, -1, 2]
    assert LINES.column_of_input.tolist() == [0, 0, 1, 2]
    assert LINES.n_inputs == 4


def test_ramps_rise_between_their_ends():
    X = np.array([[-1.0, 0.0, 5.0], [1.0, 2.0, 6.0], [9.0, 9.0, 7.0]])
    expected = [[-1.0, 0.0, 0.0, 5.0], [1.0, 0.5, 0.5, 6.0], [9.0, 1.0, 1.0, 7.0]]
    np.testing.assert_array_equal(LINES.apply(X), expected)


@pytest.mark.parametrize("lines", [LINES, SUMS])
@pytest.mark.parametrize("inputs", [[0], [1], [1, 3], [2, 3], [0, 1, 2, 3], []])
def test_some_inputs_are_those_of_all(lines, inputs):
    X = np.random.default_rng(0).normal(2.0, 3.0, (20, 3))
    some = lines.take(np.array(inputs, dtype=int))
    assert some.n_inputs == len(inputs)
    np.testing.assert_array_equal(some.apply(X), lines.apply(X)[:, inputs])
