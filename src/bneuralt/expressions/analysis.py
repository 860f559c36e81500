"""Analysis of expressions: bounds, directions, affine parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from bneuralt.expressions.making import Expression
from bneuralt.expressions.operations import CELLS, NUMERIC, OPERATIONS

__all__ = ["Affine", "Direction", "affine", "direction", "interval"]


class Affine(NamedTuple):
    """An expression as ``offset + factor * core``.

    Attributes
    ----------
    offset, factor : float
    core : Expression or None
        None for a constant.
    """

    offset: float
    factor: float
    core: Expression | None


def affine(expression: Expression) -> Affine:
    """Separate the constants that an expression adds and multiplies with.

    Examples
    --------
    >>> from bneuralt.expressions import tanh, variable
    >>> affine(3 * tanh(variable("z")) - 1)[:2]
    (-1.0, 3.0)
    """
    if expression.is_constant:
        return Affine(expression.value, 0.0, None)
    if expression.operation in ("add", "subtract"):
        a, b = map(affine, expression.arguments)
        sign = 1.0 if expression.operation == "add" else -1.0
        if b.core is None:
            return Affine(a.offset + sign * b.offset, a.factor, a.core)
        if a.core is None:
            return Affine(a.offset + sign * b.offset, sign * b.factor, b.core)
    if expression.operation == "multiply":
        for one, other in (expression.arguments, expression.arguments[::-1]):
            if one.is_constant:
                inner = affine(other)
                return Affine(one.value * inner.offset, one.value * inner.factor, inner.core)
    if expression.operation == "divide" and expression.arguments[1].is_constant:
        inner, divisor = affine(expression.arguments[0]), expression.arguments[1].value
        if divisor != 0:
            return Affine(inner.offset / divisor, inner.factor / divisor, inner.core)
    return Affine(0.0, 1.0, expression)


class Direction(NamedTuple):
    """Whether an expression rises or falls with a variable, or with the cell of a column.

    Attributes
    ----------
    sign : int or None
        1, -1, 0 if it does not depend on it, None if nothing is proven.
    flips : frozenset of str
        Other variables, each of which reverses the sign where it is negative.
    """

    sign: int | None
    flips: frozenset[str] = frozenset()

    def times(self, sign: int, flips: frozenset[str] = frozenset()) -> Direction:
        """Return the direction of a product with something of this sign."""
        if self.sign is None or self.sign * sign == 0:
            return Direction(None if self.sign is None and sign else 0)
        return Direction(self.sign * sign, self.flips ^ flips)

    def joined(self, other: Direction) -> Direction:
        """Return the direction of a sum."""
        for one, rest in ((self, other), (other, self)):
            if one.sign == 0:
                return rest
        return self if self == other else Direction(None)


_UNPROVEN = Direction(None)


def direction(expression: Expression, by: str | None = None) -> Direction:
    """Return whether an expression provably rises or falls with a variable, everywhere.

    Parameters
    ----------
    expression : Expression
    by : str, optional
        Name of the variable. By default the number in the cell of a column; the direction is that
        among cells where no value is missing, and none is a number that stands for that.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, if_missing, square, tanh, variable
    >>> z, a = variable("z"), variable("a")
    >>> direction(tanh(a * z) / a, "z").sign, direction(square(z), "z").sign
    (1, None)
    >>> direction(1 - if_missing(NUMBER, 3.0)).sign
    -1
    """
    operation, parts = expression.operation, expression.arguments
    if not _depends(expression, by):
        return Direction(0)
    if operation in ("variable", "number"):
        return Direction(1)
    if operation in ("exp", "tanh", "sigmoid", "sqrt", "log", "if_missing"):
        return direction(parts[0], by)
    if operation == "select" and parts[0].operation == "is_missing":
        return direction(parts[2], by)
    if operation == "select" and _is_other_number(parts[0]):
        return direction(parts[1], by)
    if operation in ("add", "minimum", "maximum"):
        return direction(parts[0], by).joined(direction(parts[1], by))
    if operation == "subtract":
        return direction(parts[0], by).joined(direction(parts[1], by).times(-1))
    if operation in ("multiply", "divide"):
        a, b = parts
        if not _depends(b, by):
            return _scaled(direction(a, by), b)
        if operation == "multiply" and not _depends(a, by):
            return _scaled(direction(b, by), a)
    return _UNPROVEN


def _is_other_number(condition: Expression) -> bool:
    """Return whether a condition is that a number differs from a constant; see `differs`."""
    if condition.operation != "greater":
        return False
    distance, zero = condition.arguments
    if distance.operation != "absolute" or not (zero.is_constant and zero.value == 0.0):
        return False
    (difference,) = distance.arguments
    return difference.operation in ("add", "subtract") and difference.arguments[1].is_constant


def _depends(expression: Expression, by: str | None) -> bool:
    """Return whether a variable, or the cell of a column, is in an expression."""
    if by is not None:
        return by in expression.variables
    return expression.operation in CELLS or any(_depends(p, by) for p in expression.arguments)


def _scaled(inner: Direction, factor: Expression) -> Direction:
    """Return the direction of a product with a factor that does not depend on the variable."""
    sign = _sign(factor)
    return _UNPROVEN if sign is None else inner.times(*sign)


def _sign(expression: Expression) -> tuple[int, frozenset[str]] | None:
    """Return the sign of an expression and the variables that flip it, None if not known."""
    if expression.is_constant:
        return int(np.sign(expression.value)), frozenset()
    if expression.operation == "variable":
        return 1, frozenset([expression.value])
    if expression.operation in ("absolute", "square", "exp", "sigmoid", "sqrt"):
        return 1, frozenset()
    if expression.operation in ("multiply", "divide"):
        signs = [_sign(part) for part in expression.arguments]
        if None not in signs:
            (a, flips_a), (b, flips_b) = signs  # type: ignore[misc]
            return a * b, flips_a ^ flips_b
    return None


def interval(expression: Expression, ranges: Mapping[str, Any]) -> Any:
    """Return bounds of the values of a numeric expression.

    Parameters
    ----------
    expression : Expression
    ranges : dict
        Smallest and largest value of each variable: numbers, or arrays of them for many intervals
        at once.

    Returns
    -------
    tuple of two float, or of two arrays

    Examples
    --------
    >>> from bneuralt.expressions import square, variable
    >>> interval(square(variable("z")) + 1, {"z": (-2.0, 1.0)})
    (1.0, 5.0)
    """
    with np.errstate(all="ignore"):
        low, high = _interval(expression, ranges)
    return (low, high) if np.ndim(low) or np.ndim(high) else (float(low), float(high))


def _interval(expression: Expression, ranges: Mapping[str, Any]) -> tuple[Any, Any]:
    operation = expression.operation
    if operation == "constant":
        return expression.value, expression.value
    if operation == "variable":
        low, high = ranges[expression.value]
        return low, high
    if operation == "select":
        return _interval_of_choice(expression, ranges)
    if operation not in NUMERIC:
        raise ValueError(f"the operation {operation!r} has no bounds")
    parts = [_interval(part, ranges) for part in expression.arguments]
    # Nearly all are monotone in each argument: the extremes are at corners.
    value = OPERATIONS[operation].value
    corners = [
        value(*(np.asarray(part, np.float64) for part in corner)) for corner in product(*parts)
    ]
    low, high = reduce(np.minimum, corners), reduce(np.maximum, corners)
    undefined = np.isnan(low)  # not defined everywhere, or a product of 0 and infinity
    low, high = np.where(undefined, -np.inf, low), np.where(undefined, np.inf, high)
    if operation in ("square", "absolute"):
        return np.where(_has_zero(*parts[0]), 0.0, low), high
    if operation == "divide":
        unbounded = _has_zero(*parts[1])
        return np.where(unbounded, -np.inf, low), np.where(unbounded, np.inf, high)
    return low, high


def _has_zero(low: Any, high: Any) -> Any:
    return (np.asarray(low) <= 0.0) & (np.asarray(high) >= 0.0)


def _interval_of_choice(expression: Expression, ranges: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return bounds of a `select`: of both choices, unless the condition is certain."""
    condition, *choices = expression.arguments
    a, b = (_interval(choice, ranges) for choice in choices)
    low, high = np.minimum(a[0], b[0]), np.maximum(a[1], b[1])
    if condition.operation != "greater":
        return low, high
    left, right = (_interval(part, ranges) for part in condition.arguments)
    always, never = np.greater(left[0], right[1]), np.less_equal(left[1], right[0])
    return (
        np.where(always, a[0], np.where(never, b[0], low)),
        np.where(always, a[1], np.where(never, b[1], high)),
    )
