"""Bent inputs of columns of numbers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bneuralt.expressions import NUMBER, evaluate
from bneuralt.lines import InputLines
from bneuralt.tables.bends import Ramp
from bneuralt.tables.columns import Column
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.features import NumberFeature
from bneuralt.tables.polylines import Curve, sum_of_curves

places = st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True).map(sorted)
CURVE = Curve(((-1.0, 0.0), (0.0, 1.0), (2.0, 1.0), (3.0, 0.25)), mean=0.5)
X = np.array([-9.0, -1.0, -0.25, 0.0, 1.0, 2.5, 3.0, 8.0])
VALUES = [0.0, 0.0, 0.75, 1.0, 1.0, 0.625, 0.25, 0.25]


@st.composite
def parts(draw):
    """Weights and knots of functions that are straight between knots."""
    xs = draw(places)
    ys = draw(st.lists(st.integers(-8, 8), min_size=len(xs), max_size=len(xs)))
    knots = tuple((x / 4, y / 2) for x, y in zip(xs, ys, strict=True))
    return draw(st.integers(-40, 40)) / 10, knots


def interpolated(knots, x):
    return np.interp(x, *np.array(knots).T)


@given(st.lists(parts(), min_size=1, max_size=5))
def test_a_sum_of_curves_is_the_sum(functions):
    total = sum_of_curves(functions)
    x = np.linspace(-15, 15, 241)
    expected = sum(weight * interpolated(knots, x) for weight, knots in functions)
    value = total.constant
    if total.curve is not None:
        y = [y for _, y in total.curve.knots]
        assert y[0] == 0.0
        assert max(y) - min(y) == pytest.approx(1.0)
        assert max(y) >= -min(y) - 1e-9
        value = value + total.weight * total.curve(x)
    np.testing.assert_allclose(value, expected, atol=1e-9)


@given(st.lists(parts(), min_size=1, max_size=4))
def test_a_sum_bends_at_each_of_its_knots(functions):
    total = sum_of_curves(functions)
    assume(total.curve is not None)
    x, y = np.array(total.curve.knots).T
    slope = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])
    assert (np.abs(np.diff(slope)) > 1e-12).all()


def test_neighbouring_ramps_of_equal_weight_are_one_ramp():
    total = sum_of_curves([(0.3, ((60.0, 0.0), (65.0, 1.0))), (0.3, ((65.0, 0.0), (70.0, 1.0)))])
    assert total == (0.0, 0.6, Curve(((60.0, 0.0), (70.0, 1.0))))
    assert total.curve.text() == "60 to 70"


def test_a_number_less_a_ramp_can_be_flat():
    number, ramp = ((0.0, 0.0), (10.0, 10.0)), ((4.0, 0.0), (10.0, 1.0))
    total = sum_of_curves([(0.5, number), (-3.0, ramp)])
    assert total == (0.0, 2.0, Curve(((0.0, 0.0), (4.0, 1.0))))


def test_parts_that_cancel_leave_a_constant():
    number = ((1.0, 1.0), (5.0, 5.0))
    assert sum_of_curves([(2.0, number), (-2.0, number)]) == (0.0, 0.0, None)
    assert sum_of_curves([(2.0, number), (-8.0, ((1.0, 0.0), (5.0, 1.0)))]) == (2.0, 0.0, None)


@pytest.mark.parametrize(
    "functions",
    [
        [(1.0, ((0.0, 0.0), (1e-310, 1.0))), (1.0, ((0.0, 0.0), (1.0, 1.0)))],
        [(1e308, ((0.0, 0.0), (1.0, 1e10))), (1.0, ((0.0, 0.0), (1.0, 1.0)))],
        [(1e300, ((0.0, 0.0), (1.0, 1e8))), (1e300, ((0.0, 1e8), (1.0, 1.1e8)))],
    ],
)
def test_sums_that_cannot_be_computed_are_none(functions):
    assert sum_of_curves(functions) is None


def test_expression_lines_and_values_agree():
    assert CURVE(X).tolist() == VALUES
    assert evaluate(CURVE.expression(NUMBER), {}, Column("number", X)).tolist() == VALUES
    lines = InputLines.of([[CURVE.lines]])
    assert lines.apply(X[:, np.newaxis])[:, 0].tolist() == VALUES


@pytest.mark.parametrize("bounds", [None, (-0.5, 2.5)])
@pytest.mark.parametrize("has_gaps", [False, True])
def test_a_column_with_curves_is_encoded_by_its_expressions(has_gaps, bounds):
    ramps = (Ramp(-1.0, 0.0, 0.5), Ramp(0.0, 3.0, 0.5))
    feature = NumberFeature(0.5, has_gaps, limits=(-2.0, 4.0), ramps=ramps, bounds=bounds)
    feature = feature.with_curves([CURVE, Curve(((0.0, 0.0), (3.0, 1.0)), 0.125)])
    encoder = TableEncoder((feature,), ranges=((-9.0, 8.0),))
    values = np.append(X, np.nan) if has_gaps else X
    inputs = encoder.encode(values[:, np.newaxis])
    cell = Column("number", values)
    for entry, column in zip(encoder.inputs, inputs.T, strict=True):
        np.testing.assert_allclose(column, evaluate(entry.expression, {}, cell), atol=1e-15)
        if not np.isnan(values).any():
            assert entry.range[0] <= column.min() <= column.max() <= entry.range[1]
    assert encoder.mean_inputs.tolist() == [0.5, 0.5, 0.5, 0.5, 0.125] + [0.0] * has_gaps
    assert [len(knots or ()) for knots in feature.knots] == [2, 2, 2, 4, 2] + [0] * has_gaps


def test_names_of_curves_differ():
    near = CURVE._replace(knots=(*CURVE.knots[:-1], (3.0, 0.2500001)))
    inputs = NumberFeature(0.0).with_curves([CURVE, near]).inputs("age")
    assert inputs[1].name == "age: 0 up to -1, 1 at 0, 1 at 2, 0.25 from 3"
    assert len({entry.name for entry in inputs}) == 3
    assert NumberFeature(0.0).with_curves([CURVE]).inputs("age")[1].entry == CURVE.text()


def test_curves_are_stored():
    feature = NumberFeature(0.5).with_curves([CURVE, CURVE._replace(mean=None)])
    plain = feature.to_plain()
    assert plain["curves"][0] == [[[-1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [3.0, 0.25]], 0.5]
    assert TableEncoder.from_plain([plain]).features == (feature,)


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        (7, "not a list"),
        ([7], "instead of knots and a mean"),
        ([[[[0, 0], [1, 1]]]], "instead of knots and a mean"),
        ([[[[0, 0, 0]], 1]], "instead of 2 numbers"),
        ([[[[0, 0], [0, 1]], 1]], "must rise from 0 on"),
        ([[[[0, 1], [1, 0]], 1]], "must rise from 0 on"),
        ([[[[0, 0]], None]], "must rise from 0 on"),
        ([[[[0, 0], [1, "1"]], 1]], "not a finite number"),
    ],
)
def test_damaged_curves_are_refused(curves, message):
    plain = {**NumberFeature(0.5).with_curves([CURVE]).to_plain(), "curves": curves}
    with pytest.raises(ValueError, match=message):
        TableEncoder.from_plain([plain])
