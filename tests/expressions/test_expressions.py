"""Expressions: values agree with plain Python; derivatives, bounds and forms with values."""

import datetime as dt
import math
import operator

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bneuralt.expressions import (
    OPERATIONS,
    OUTPUTS,
    Expression,
    affine,
    constant,
    date_part,
    direction,
    evaluate,
    interval,
    is_elementwise,
    lookup,
    slope,
    substitute,
    total,
    vector_jacobian,
)
from bneuralt.expressions.operations import CONDITIONS, DATE_PARTS, EXP_LIMIT, NUMERIC
from tests.helpers.expression_samples import (
    CELL_EXPRESSIONS,
    NUMBERS,
    VECTORS,
    A,
    B,
    arity,
    cells,
    operations_of,
)
from tests.helpers.sample_models import ALL_LINKS


def _divided(a, b):
    return a / b if b else math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * (
        math.copysign(1.0, b)
    )  # fmt: skip


def _of(function, is_defined):
    return lambda a: function(a) if is_defined(a) else math.nan


def _either(function):
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else function(a, b)


#: The operations on numbers in plain Python.
PLAIN = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divided,
    "minimum": _either(min),
    "maximum": _either(max),
    "absolute": abs,
    "square": lambda a: a * a,
    "sqrt": _of(math.sqrt, lambda a: a >= 0),
    "exp": lambda a: a if math.isnan(a) else math.exp(max(-EXP_LIMIT, min(EXP_LIMIT, a))),
    "log": lambda a: -math.inf if a == 0 else math.log(a) if a > 0 else math.nan,
    "tanh": math.tanh,
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)) if a > -700 else math.exp(a),
    "greater": operator.gt,
    "is_missing": math.isnan,
    "select": lambda condition, a, b: a if condition else b,
    "if_missing": lambda a, default: default if math.isnan(a) else a,
}


def plain(expression, values):
    """Compute an expression with Python's floats."""
    if expression.is_constant:
        return expression.value
    if expression.operation == "variable":
        return values[expression.value]
    return PLAIN[expression.operation](*(plain(part, values) for part in expression.arguments))


def test_every_operation_on_numbers_has_a_plain_twin():
    assert set(PLAIN) == {*NUMERIC, *CONDITIONS}


numbers = st.floats(-3, 3, allow_subnormal=False)


def expressions(operations=tuple(NUMERIC)):
    """Any expression of a, b and constants."""
    leaves = st.sampled_from([A, B]) | numbers.map(constant)

    def extend(inner):
        return st.sampled_from(operations).flatmap(
            lambda name: st.tuples(*[inner] * arity(name)).map(
                lambda parts: Expression(name, parts)
            )
        )

    return st.recursive(leaves, extend, max_leaves=6)


def evaluated(expression, **values):
    with np.errstate(all="ignore"):
        return float(evaluate(expression, {name: np.float64(v) for name, v in values.items()}))


def close(value, expected, scale=0.0):
    return math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9 * (1.0 + scale))


# -- values -------------------------------------------------------------------------------


@given(expression=expressions() | st.sampled_from(list(NUMBERS.values())), a=numbers, b=numbers)
def test_values_are_those_of_plain_python(expression, a, b):
    try:
        expected = plain(expression, {"a": a, "b": b})
    except OverflowError:
        return
    value = evaluated(expression, a=a, b=b)
    assume(math.isfinite(expected) and abs(expected) < 1e9)  # others grow with errors of rounding
    assert close(value, expected) or _is_rough(expression, a, b)


def _is_rough(expression, a, b):
    """Whether the last digits of a and b change the value, as close to a pole."""
    moved = [plain(expression, {"a": a * f, "b": b * f}) for f in (1 - 1e-13, 1 + 1e-13)]
    parts = [e for e in _parts(expression) if e.operation == "divide"]
    divisors = [plain(e.arguments[1], {"a": a, "b": b}) for e in parts]
    return not close(*moved) or any(abs(divisor) < 1e-6 for divisor in divisors)


def _parts(expression):
    yield expression
    for part in expression.arguments:
        yield from _parts(part)


@pytest.mark.parametrize("name", NUMBERS)
def test_gaps_and_large_numbers_are_those_of_plain_python(name):
    for a in (math.nan, 0.0, -0.0, 1e5, -1e5, 1e-300):
        for b in (0.0, 1.0, -2.5, 1e5):
            expected = plain(NUMBERS[name], {"a": a, "b": b})
            np.testing.assert_allclose(evaluated(NUMBERS[name], a=a, b=b), expected, rtol=1e-12)


@pytest.mark.parametrize("name", CELL_EXPRESSIONS)
def test_cells_are_read_as_plain_python_reads_them(name):
    kind, expression = CELL_EXPRESSIONS[name]
    column = cells(np.random.default_rng(0), kind, 200)
    if kind == "code":
        column = column.as_text()
    values = evaluate(expression, {}, column)
    for i, is_gap in enumerate(column.is_missing.tolist()):
        expected = evaluate(expression, {}, column.take(slice(i, i + 1)))[0]
        assert values[i] == expected or (math.isnan(values[i]) and math.isnan(expected))
        if is_gap and "lookup" in operations_of(expression):
            table = next(e.value for e in _parts(expression) if e.operation == "lookup")
            assert values[i] == evaluate(_replaced(expression, table.missing), {})


def _replaced(expression, number):
    """An expression with a number in place of what is read from the cell."""
    if expression.operation == "lookup":
        return constant(number)
    parts = tuple(_replaced(part, number) for part in expression.arguments)
    return Expression(expression.operation, parts, expression.value)


def test_texts_are_looked_up():
    column = cells(np.random.default_rng(0), "text", 200)
    table = CELL_EXPRESSIONS["lookup"][1].value
    numbers = dict(zip(table.texts, table.numbers, strict=True))
    expected = [
        table.missing if code < 0 else numbers.get(column.texts[code], table.unknown)
        for code in column.values.tolist()
    ]
    assert evaluate(lookup(table), {}, column).tolist() == expected


@pytest.mark.parametrize("part", DATE_PARTS)
def test_parts_of_dates(part):
    column = cells(np.random.default_rng(0), "date", 200)
    values = evaluate(date_part(part), {}, column)
    for value, date in zip(values.tolist(), column.values.tolist(), strict=True):
        if date is None:
            assert math.isnan(value)
        else:
            assert isinstance(date, dt.datetime)
            hours = (date - dt.datetime(1970, 1, 1)) // dt.timedelta(hours=1)
            others = {"weekday": date.weekday(), "elapsed": hours / 24}
            assert value == (others[part] if part in others else getattr(date, part))


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_taken_row_by_row(name):
    vectors = np.random.default_rng(0).normal(size=(4, 5, 3))
    values = evaluate(VECTORS[name], {"outputs": vectors})
    for index in np.ndindex(4, 5):
        np.testing.assert_array_equal(
            values[index], evaluate(VECTORS[name], {"outputs": vectors[index]})
        )


# -- derivatives --------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["a", "b"])
@pytest.mark.parametrize("name", [name for name, e in NUMBERS.items() if "select" not in repr(e)])
def test_slopes_are_quotients_of_differences(name, by):
    expression = NUMBERS[name]
    if not operations_of(expression) <= {*NUMERIC, "constant", "variable"}:
        with pytest.raises(ValueError, match="has no derivative"):
            slope(expression, {"a": 1.0, "b": 1.0}, "a")
        return
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0.2, 3.0, (2, 100)) * (1 if name in ("sqrt", "log") else rng.choice([-1, 1]))
    values = {"a": a, "b": b}
    step = 1e-6
    up, down = ({**values, by: values[by] + s} for s in (step, -step))
    expected = (evaluate(expression, up) - evaluate(expression, down)) / (2 * step)
    slopes = slope(expression, values, by) * np.ones(100)
    apart = (np.abs(a - b) > 1e-4) & (np.abs(np.abs(b) - 1) > 1e-4)  # from kinks
    np.testing.assert_allclose(slopes[apart], expected[apart], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CONDITIONS)
def test_choices_have_no_slope(name):
    parts = {"greater": (A, B), "is_missing": (A,), "if_missing": (A, B)}.get(name, (A, A, B))
    with pytest.raises(ValueError, match=f"{name!r} has no derivative"):
        slope(Expression(name, parts), {"a": 1.0, "b": 2.0}, "a")


@pytest.mark.parametrize("name", ALL_LINKS)
def test_jacobians_are_quotients_of_differences(name):
    rng = np.random.default_rng(0)
    link = ALL_LINKS[name]
    vectors = rng.permuted(np.tile([-0.7, 0.3, 0.8], (20, 1)), axis=1) + rng.uniform(
        0, 0.1, (20, 3)
    )
    derivatives = vector_jacobian(link, vectors)
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-6
        up, down = (evaluate(link, {"outputs": vectors + s}) for s in (step, -step))
        np.testing.assert_allclose(derivatives[:, :, j], (up - down) / 2e-6, rtol=1e-6, atol=1e-8)
    off_diagonal = derivatives * (1 - np.eye(3))
    assert is_elementwise(link) <= (not off_diagonal.any())


def test_vectors_with_choices_have_no_jacobian():
    with pytest.raises(ValueError, match="'if_missing' has no derivative"):
        vector_jacobian(Expression("if_missing", (OUTPUTS, total(OUTPUTS))), np.ones((1, 2)))


# -- bounds, directions and forms ---------------------------------------------------------


@given(
    expression=expressions(),
    ends=st.tuples(*[st.tuples(numbers, numbers).map(sorted)] * 2),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_intervals_contain_all_values(expression, ends, shares):
    low, high = interval(expression, dict(zip("ab", map(tuple, ends), strict=True)))
    a, b = (lo + share * (hi - lo) for (lo, hi), share in zip(ends, shares, strict=True))
    value = evaluated(expression, a=min(a, ends[0][1]), b=min(b, ends[1][1]))
    assert not math.isnan(low) and not math.isnan(high)
    margin = 1e-9 * (1 + abs(value)) if math.isfinite(value) else 0.0
    assert math.isnan(value) or low - margin <= value <= high + margin


@pytest.mark.parametrize(
    "name", sorted(set(OPERATIONS) - {*NUMERIC, "constant", "variable", "select"})
)
def test_other_operations_have_no_bounds(name):
    with pytest.raises(ValueError, match=f"{name!r} has no bounds"):
        interval(Expression(name), {})


@given(expression=expressions(), a=st.tuples(numbers, numbers).map(sorted), b=numbers)
def test_directions_are_those_of_values(expression, a, b):
    sign, flips = direction(expression, "a")
    assume(sign is not None and flips <= {"b"})
    low, high = (evaluated(expression, a=end, b=b) for end in a)
    assume(math.isfinite(low) and math.isfinite(high))
    rise = (high - low) * (-1 if flips and b < 0 else 1)
    tolerance = 1e-9 * (1 + abs(low) + abs(high))
    assert rise >= -tolerance if sign == 1 else rise <= tolerance
    if sign == 0:
        assert abs(rise) <= tolerance


def divides_by_zero(expression, **values):
    is_division = expression.operation == "divide"
    return (is_division and evaluated(expression.arguments[1], **values) == 0) or any(
        divides_by_zero(part, **values) for part in expression.arguments
    )


@given(expression=expressions(), a=numbers, b=numbers)
def test_substituting_variables_is_evaluating(expression, a, b):
    expected = evaluated(expression, a=a, b=b)
    assume(math.isfinite(expected))
    assume(not divides_by_zero(expression, a=a, b=b))  # of which sign the zero is not kept
    assert evaluated(substitute(expression, {"b": b}), a=a) == expected
    whole = substitute(expression, {"a": a, "b": b})
    assert evaluated(whole) == expected


@given(expression=expressions(("add", "subtract", "multiply", "divide", "tanh")), a=numbers)
def test_affine_parts_make_the_expression_again(expression, a):
    offset, factor, core = affine(expression)
    expected = evaluated(expression, a=a, b=0.5)
    assume(math.isfinite(expected))
    value = 0.0 if core is None else evaluated(core, a=a, b=0.5)
    assume(math.isfinite(offset) and math.isfinite(factor * value))
    assert close(offset + factor * value, expected, abs(offset) + abs(factor * value))


def test_dividing_by_zero_is_no_affine_part():
    assert affine(A / 0.0) == (0.0, 1.0, A / 0.0)
