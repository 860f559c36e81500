"""The bends of expressions of one number: where minima, maxima and choices change over."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from bneuralt.expressions.analysis import affine
from bneuralt.expressions.making import Expression

__all__ = ["distinct_knots", "knots"]

#: Knots that differ by this share of their size are the same but for rounding.
_SAME = 1e-12

#: Operations with an inverse -> the arguments for which they have a value.
_INVERSES: dict[str, Callable[[float], tuple[float, ...]]] = {
    "exp": lambda c: (math.log(c),) if c > 0 else (),
    "log": lambda c: (math.exp(c),) if c < 700 else (),
    "tanh": lambda c: (math.atanh(c),) if -1 < c < 1 else (),
    "sigmoid": lambda c: (math.log(c / (1 - c)),) if 0 < c < 1 else (),
    "sqrt": lambda c: (c * c,) if c >= 0 else (),
    "square": lambda c: (math.sqrt(c), -math.sqrt(c)) if c >= 0 else (),
    "absolute": lambda c: (c, -c) if c >= 0 else (),
}


def knots(expression: Expression) -> tuple[float, ...]:
    """Return the numbers in a cell at which an expression of it bends or jumps.

    They are solutions of equations: that the arguments of a minimum, a maximum or a comparison are
    equal, or that of an absolute value is 0. Between two knots the expression is smooth; it is a
    straight line if nothing but sums and multiples of the number are compared.

    Parameters
    ----------
    expression : Expression
        Of the number in a cell (`NUMBER`). Texts and parts of dates have no knots.

    Returns
    -------
    tuple of float
        In ascending order.

    Raises
    ------
    ValueError
        The arguments of a comparison are functions of the number of which there is no solution.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, if_missing, maximum, minimum
    >>> knots(minimum(maximum((if_missing(NUMBER, 3.0) - 1) * 0.5, 0.0), 4.0))
    (1.0, 9.0)
    """
    return tuple(sorted(set(_bends(expression))))


def distinct_knots(expressions: Iterable[Expression]) -> list[float]:
    """Return the knots of several expressions, those that differ by rounding once.

    Of several such knots, the one with the fewest digits is returned.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, maximum
    >>> distinct_knots(maximum(NUMBER, x) for x in (0.1 + 0.2, 0.3, 2.0))
    [0.3, 2.0]
    """
    distinct: list[float] = []
    for x in sorted({x for expression in expressions for x in knots(expression)}):
        if not distinct or x - distinct[-1] > _SAME * abs(x):
            distinct.append(x)
        elif len(repr(x)) < len(repr(distinct[-1])):
            distinct[-1] = x
    return distinct


def _bends(expression: Expression) -> Iterator[float]:
    for part in expression.arguments:
        yield from _bends(part)
    if expression.operation in ("minimum", "maximum", "greater"):
        yield from _solutions(expression.arguments[0] - expression.arguments[1], 0.0)
    elif expression.operation == "absolute":
        yield from _solutions(expression.arguments[0], 0.0)


def _solutions(expression: Expression, value: float) -> Iterator[float]:
    """Yield all numbers for which an expression has a value, and possibly some more."""
    offset, factor, core = affine(expression)
    if core is None or not _reads_number(core) or factor == 0.0:
        return
    value = (value - offset) / factor
    operation, parts = core.operation, core.arguments
    if operation == "number":
        yield value
    elif operation == "if_missing":
        yield from _solutions(parts[0], value)
    elif operation in ("minimum", "maximum"):
        for part in parts:
            yield from _solutions(part, value)
    elif operation == "select":
        for part in parts[1:]:
            yield from _solutions(part, value)
    elif operation in _INVERSES:
        for inner in _INVERSES[operation](value):
            yield from _solutions(parts[0], inner)
    elif operation in ("add", "subtract") and (line := _line(core)) is not None:
        if line[1]:
            yield (value - line[0]) / line[1]
    else:
        raise ValueError(f"the bends of an expression with {operation!r} cannot be computed")


def _line(expression: Expression) -> tuple[float, float] | None:
    """Return offset and slope of a line, None if the expression is none."""
    offset, factor, core = affine(expression)
    if core is None:
        return offset, 0.0
    if core.operation == "if_missing":
        core = core.arguments[0]
    if core.operation == "number":
        return offset, factor
    if core.operation not in ("add", "subtract"):
        return None
    lines = [_line(part) for part in core.arguments]
    if None in lines:
        return None
    (a, slope_a), (b, slope_b) = lines  # type: ignore[misc]
    sign = 1.0 if core.operation == "add" else -1.0
    return offset + factor * (a + sign * b), factor * (slope_a + sign * slope_b)


def _reads_number(expression: Expression) -> bool:
    return expression.operation == "number" or any(map(_reads_number, expression.arguments))
