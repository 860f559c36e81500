"""Inputs of C code that are lines between limits are the expressions that they stand for."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.export.c.line_inputs import line_of
from bneuralt.expressions import NUMBER, absolute, evaluate, if_missing, maximum, minimum, tanh
from bneuralt.tables.columns import Column

NUMBERS = st.integers(-6, 6).map(lambda n: n / 2)
X = np.linspace(-8, 8, 41)


@st.composite
def limited_lines(draw):
    expression = if_missing(NUMBER, draw(NUMBERS)) if draw(st.booleans()) else NUMBER
    for _ in range(draw(st.integers(0, 5))):
        number = draw(NUMBERS)
        step = draw(st.sampled_from(["add", "multiply", "minimum", "maximum", "from limit"]))
        if step == "add":
            expression = expression + number
        elif step == "multiply":
            expression = expression * (number or 1.0)
        elif step == "minimum":
            expression = minimum(expression, number)
        elif step == "maximum":
            expression = maximum(expression, number)
        else:
            expression = maximum(number, expression)
    return expression


@given(limited_lines())
def test_values_of_lines(expression):
    line = line_of(expression)
    values = np.clip(line.offset + line.factor * X, line.low, line.high)
    expected = evaluate(expression, {}, Column("number", X))
    np.testing.assert_allclose(values, np.broadcast_to(expected, X.shape), atol=1e-12)
    assert line.low <= line.high and not math.isnan(line.low)


@pytest.mark.parametrize("expression", [tanh(NUMBER), absolute(NUMBER), NUMBER * NUMBER])
def test_other_functions_are_no_lines(expression):
    assert line_of(expression) is None
