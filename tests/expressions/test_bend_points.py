"""Tests of the bends of expressions: compared with second differences of their values."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.expressions import (
    NUMBER,
    absolute,
    date_part,
    evaluate,
    exp,
    greater,
    if_missing,
    is_missing,
    knots,
    maximum,
    minimum,
    select,
    sigmoid,
    square,
    tanh,
)
from bneuralt.tables.columns import Column

X = if_missing(NUMBER, 2.0)


@st.composite
def clamped_lines(draw):
    numbers = st.integers(-8, 8).map(lambda n: n / 4)
    slope = draw(numbers.filter(bool))
    low = draw(numbers)
    return minimum(maximum((X - draw(numbers)) * slope, low), low + 1 + abs(draw(numbers)))


def values(expression, x):
    return evaluate(expression, {}, Column("number", np.asarray(x, dtype=np.float64)))


@given(clamped_lines(), clamped_lines())
def test_an_expression_is_straight_between_its_knots(first, second):
    expression = first + 2.0 * second
    bends = knots(expression)
    ends = np.array([bends[0] - 3.0, *bends, bends[-1] + 3.0])
    for low, high in pairwise(ends):
        y = values(expression, np.linspace(low, high, 5))
        np.testing.assert_allclose(np.diff(y, 2), 0.0, atol=1e-12)


@given(clamped_lines())
def test_a_clamped_line_bends_at_each_of_its_two_knots(line):
    bends = knots(line)
    assert len(bends) == 2
    for x in bends:
        left, middle, right = values(line, [x - 0.01, x, x + 0.01])
        assert abs(left - 2 * middle + right) > 1e-6


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (X, ()),
        (select(is_missing(NUMBER), 1.0, 0.0), ()),
        (minimum(date_part("year"), 3.0), ()),
        (absolute(2 * X - 3), (1.5,)),
        (select(greater(X, 4.0), 1.0, 0.0), (4.0,)),
        (minimum(X, 1 - X), (0.5,)),
        (minimum(square(X), 4.0), (-2.0, 2.0)),
        (maximum(3 * tanh(X) + 1, 1.0), (0.0,)),
        (maximum(tanh(X), 2.0), ()),
        *((maximum(tanh(X), limit), ()) for limit in (-1.0, 1.0)),  # which are never reached
        *((minimum(sigmoid(X), limit), ()) for limit in (0.0, 1.0)),
        (minimum(sigmoid(X), 0.5), (0.0,)),
        (maximum(exp(X), 0.0), ()),
        (maximum(exp(X), 1.0), (0.0,)),
        (maximum(square(X), 0.0), (0.0,)),
        (maximum(absolute(X), 0.0), (0.0,)),
    ],
)
def test_bends_are_solutions_of_equations(expression, expected):
    assert knots(expression) == pytest.approx(expected)


def test_an_equation_without_a_solution_is_refused():
    with pytest.raises(ValueError, match="'multiply' cannot be computed"):
        knots(minimum(X * X, 2.0))
