"""Formulas as data: a small closed set of operations that every export translates.

Activations, links and the inputs that a column becomes are expressions. `evaluate` computes them
with NumPy; `bneuralt.export` translates them to other languages, one function or template for each
operation. Operations on vectors (`largest`, `total`, `ordered`) are for links, which take all
outputs of a tree together; operations on cells (`number`, `lookup`, `date_part`) are for inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray

__all__ = [
    "NUMBER",
    "OPERATIONS",
    "OUTPUTS",
    "Affine",
    "Expression",
    "Lookup",
    "absolute",
    "affine",
    "constant",
    "date_part",
    "direction",
    "evaluate",
    "exp",
    "greater",
    "if_missing",
    "interval",
    "is_missing",
    "largest",
    "log",
    "lookup",
    "maximum",
    "minimum",
    "ordered",
    "select",
    "sigmoid",
    "slope",
    "sqrt",
    "square",
    "substitute",
    "tanh",
    "total",
    "variable",
]

#: Arguments of exp are limited to this size, so that its values stay positive and finite.
EXP_LIMIT = 708.0


class Lookup(NamedTuple):
    """The number that stands for each text.

    Attributes
    ----------
    texts : tuple of str
    numbers : tuple of float
        One for each text.
    unknown, missing : float
        For other texts, and for a cell without a value.
    """

    texts: tuple[str, ...]
    numbers: tuple[float, ...]
    unknown: float
    missing: float


@dataclass(frozen=True)
class Expression:
    """An operation on the results of other expressions.

    Attributes
    ----------
    operation : str
        One of `OPERATIONS`.
    arguments : tuple of Expression
    value : float, str, tuple or Lookup
        Of a constant, the name of a variable, the part of a date, the places of `ordered`, or the
        table of a `lookup`.

    Examples
    --------
    >>> z = variable("z")
    >>> evaluate(2 * tanh(z) + 1, {"z": np.zeros(2)})
    array([1., 1.])
    """

    operation: str
    arguments: tuple[Expression, ...] = ()
    value: Any = None

    def __add__(self, other: Operand) -> Expression:
        return _add(self, _expression(other))

    def __radd__(self, other: Operand) -> Expression:
        return _add(_expression(other), self)

    def __sub__(self, other: Operand) -> Expression:
        return _operate("subtract", self, _expression(other))

    def __rsub__(self, other: Operand) -> Expression:
        return _operate("subtract", _expression(other), self)

    def __mul__(self, other: Operand) -> Expression:
        return _multiply(self, _expression(other))

    def __rmul__(self, other: Operand) -> Expression:
        return _multiply(_expression(other), self)

    def __truediv__(self, other: Operand) -> Expression:
        return _operate("divide", self, _expression(other))

    def __rtruediv__(self, other: Operand) -> Expression:
        return _operate("divide", _expression(other), self)

    def __neg__(self) -> Expression:
        return -1.0 * self

    @property
    def is_constant(self) -> bool:
        """Whether this is a constant."""
        return self.operation == "constant"

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables."""
        if self.operation == "variable":
            return frozenset([self.value])
        return frozenset().union(*(part.variables for part in self.arguments))


Operand = Expression | float


def _expression(operand: Operand) -> Expression:
    return operand if isinstance(operand, Expression) else constant(operand)


# -- making expressions -------------------------------------------------------------------


def constant(value: float) -> Expression:
    """Return a number as an expression."""
    return Expression("constant", value=float(value))


def variable(name: str) -> Expression:
    """Return a named value, which `evaluate` and translators are given."""
    return Expression("variable", value=name)


def _operate(operation: str, *arguments: Expression, value: Any = None) -> Expression:
    """Return an operation; one on constants is carried out at once."""
    if arguments and all(part.is_constant for part in arguments):
        numbers = [np.float64(part.value) for part in arguments]
        with np.errstate(all="ignore"):
            result = float(OPERATIONS[operation].value(*numbers))
        if math.isfinite(result):
            return constant(result)
    return Expression(operation, arguments, value)


def _add(a: Expression, b: Expression) -> Expression:
    if a.is_constant and a.value == 0:
        return b
    if b.is_constant and b.value == 0:
        return a
    if {a.operation, b.operation} == {"minimum", "maximum"} and set(a.arguments) == set(
        b.arguments
    ):
        return _add(*a.arguments)
    return _operate("add", a, b)


def _multiply(a: Expression, b: Expression) -> Expression:
    for one, other in ((a, b), (b, a)):
        if one.is_constant and one.value in (0, 1):
            return other if one.value else one
    return _operate("multiply", a, b)


def minimum(a: Operand, b: Operand) -> Expression:
    """Return the smaller of two numbers."""
    return _operate("minimum", _expression(a), _expression(b))


def maximum(a: Operand, b: Operand) -> Expression:
    """Return the larger of two numbers."""
    return _operate("maximum", _expression(a), _expression(b))


def absolute(a: Operand) -> Expression:
    """Return the absolute value."""
    return _operate("absolute", _expression(a))


def square(a: Operand) -> Expression:
    """Return the square."""
    return _operate("square", _expression(a))


def sqrt(a: Operand) -> Expression:
    """Return the square root."""
    return _operate("sqrt", _expression(a))


def exp(a: Operand) -> Expression:
    """Return the exponential; its argument is limited to what float64 can hold."""
    return _operate("exp", _expression(a))


def log(a: Operand) -> Expression:
    """Return the natural logarithm."""
    return _operate("log", _expression(a))


def tanh(a: Operand) -> Expression:
    """Return the hyperbolic tangent."""
    return _operate("tanh", _expression(a))


def sigmoid(a: Operand) -> Expression:
    """Return 1 / (1 + exp(-a))."""
    return _operate("sigmoid", _expression(a))


def greater(a: Operand, b: Operand) -> Expression:
    """Return whether a is greater than b, as a condition for `select`."""
    return Expression("greater", (_expression(a), _expression(b)))


def is_missing(a: Expression) -> Expression:
    """Return whether a number is missing, as a condition for `select`."""
    return Expression("is_missing", (a,))


def select(condition: Expression, a: Operand, b: Operand) -> Expression:
    """Return a where the condition holds, else b."""
    return Expression("select", (condition, _expression(a), _expression(b)))


def if_missing(a: Expression, default: Operand) -> Expression:
    """Return a number, or a default where it is missing."""
    return Expression("if_missing", (a, _expression(default)))


#: The cell of a column as a number, which may be missing.
NUMBER = Expression("number")


def lookup(table: Lookup) -> Expression:
    """Return the number that stands for the text of a cell; never missing."""
    return Expression("lookup", value=table)


def date_part(part: str) -> Expression:
    """Return a part of the date in a cell ("year", "month", ...), which may be missing."""
    return Expression("date_part", value=part)


#: All outputs of a tree, or their mean over the trees.
OUTPUTS = variable("outputs")


def largest(vector: Expression) -> Expression:
    """Return the largest number of a vector."""
    return Expression("largest", (vector,))


def total(vector: Expression) -> Expression:
    """Return the sum of a vector."""
    return Expression("total", (vector,))


def ordered(vector: Expression, places: Sequence[int]) -> Expression:
    """Return a vector whose entry k is the number of rank `places[k]` (0: the smallest)."""
    return Expression("ordered", (vector,), tuple(places))


def substitute(expression: Expression, values: Mapping[str, Operand]) -> Expression:
    """Return an expression with some variables replaced; what becomes constant is computed.

    Examples
    --------
    >>> substitute(variable("a") * variable("b"), {"a": 1.0})
    Expression(operation='variable', arguments=(), value='b')
    """
    if expression.operation == "variable":
        return _expression(values.get(expression.value, expression))
    parts = tuple(substitute(part, values) for part in expression.arguments)
    if parts == expression.arguments:
        return expression
    if expression.operation == "add":
        return _add(*parts)
    if expression.operation == "multiply":
        return _multiply(*parts)
    if expression.operation in _CONDITIONS:
        return Expression(expression.operation, parts, expression.value)
    return _operate(expression.operation, *parts, value=expression.value)


# -- evaluation ---------------------------------------------------------------------------

Range = tuple[float, float]


class Operation(NamedTuple):
    """What an operation computes.

    Attributes
    ----------
    value : callable
        From the values of the arguments to the result.
    slopes : callable or None
        From the values of the arguments to the derivative by each of them.
    """

    value: Callable[..., Any]
    slopes: Callable[..., tuple[Any, ...]] | None = None


def _exp(x: Any) -> Any:
    return np.exp(np.clip(x, -EXP_LIMIT, EXP_LIMIT))


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # of either sign, without overflow
    return np.where(np.asarray(x) < 0, small, 1.0) / (1.0 + small)


def _sigmoid_slope(x: Any) -> tuple[Any]:
    return (_sigmoid(x) * _sigmoid(-x),)


def _look_up(cell: Any, table: Lookup) -> FloatArray:
    numbers = dict(zip(table.texts, table.numbers, strict=True))
    of_text = [numbers.get(text, table.unknown) for text in cell.texts]
    return np.array([*of_text, table.missing])[cell.values]  # the code -1 stands for missing


def _date_part(cell: Any, part: str) -> FloatArray:
    values = DATE_PARTS[part](cell.values).astype(np.float64)
    return np.where(cell.is_missing, np.nan, values)


#: The parts of a date, and how to compute them from datetime64 values.
DATE_PARTS: dict[str, Callable[[Array], Array]] = {
    "year": lambda dates: dates.astype("datetime64[Y]").astype(np.int64) + 1970,
    "month": lambda dates: dates.astype("datetime64[M]").astype(np.int64) % 12 + 1,
    "weekday": lambda dates: (dates.astype("datetime64[D]").astype(np.int64) + 3) % 7,
    "hour": lambda dates: dates.astype("datetime64[h]").astype(np.int64) % 24,
}

#: Operations that combine numbers. At a border, slopes are those of the core: that of 0 for the
#: larger of 0 and 0, so that the slope of the smaller one is the rest.
_NUMERIC: dict[str, Operation] = {
    "add": Operation(np.add, lambda a, b: (1.0, 1.0)),
    "subtract": Operation(np.subtract, lambda a, b: (1.0, -1.0)),
    "multiply": Operation(np.multiply, lambda a, b: (b, a)),
    "divide": Operation(np.divide, lambda a, b: (1.0 / b, -a / b**2)),
    "minimum": Operation(np.minimum, lambda a, b: (1.0 * (a <= b), 1.0 * (a > b))),
    "maximum": Operation(np.maximum, lambda a, b: (1.0 * (a > b), 1.0 * (a <= b))),
    "absolute": Operation(np.abs, lambda a: (np.sign(a),)),
    "square": Operation(np.square, lambda a: (2.0 * a,)),
    "sqrt": Operation(np.sqrt, lambda a: (0.5 / np.sqrt(a),)),
    "exp": Operation(_exp, lambda a: (_exp(a),)),
    "log": Operation(np.log, lambda a: (1.0 / a,)),
    "tanh": Operation(np.tanh, lambda a: (1.0 - np.tanh(a) ** 2,)),
    "sigmoid": Operation(_sigmoid, _sigmoid_slope),
}

_CONDITIONS: dict[str, Operation] = {
    "greater": Operation(np.greater),
    "is_missing": Operation(np.isnan),
    "select": Operation(np.where),
    "if_missing": Operation(lambda a, default: np.where(np.isnan(a), default, a)),
}

_CELLS: dict[str, Operation] = {
    "number": Operation(lambda cell: cell.values),
    "lookup": Operation(_look_up),
    "date_part": Operation(_date_part),
}

_VECTORS: dict[str, Operation] = {
    "largest": Operation(lambda v: v.max(axis=-1, keepdims=True)),
    "total": Operation(lambda v: v.sum(axis=-1, keepdims=True)),
    "ordered": Operation(lambda v, places: np.sort(v, axis=-1)[..., list(places)]),
}

#: Every operation by name.
OPERATIONS: dict[str, Operation] = {
    "constant": Operation(lambda value: value),
    "variable": Operation(lambda value: value),
    **_NUMERIC,
    **_CONDITIONS,
    **_CELLS,
    **_VECTORS,
}


def evaluate(expression: Expression, variables: Mapping[str, Any], cell: Any = None) -> Any:
    """Compute an expression with NumPy.

    Parameters
    ----------
    expression : Expression
    variables : dict
        Values of the variables, numbers or arrays; those of vectors along the last axis.
    cell : Column, optional
        The column that `number`, `lookup` and `date_part` read.

    Examples
    --------
    >>> powers = exp(OUTPUTS - largest(OUTPUTS))
    >>> evaluate(powers / total(powers), {"outputs": np.array([[1.0, 1.0]])})
    array([[0.5, 0.5]])
    """
    operation = expression.operation
    if operation == "constant":
        return expression.value
    if operation == "variable":
        return variables[expression.value]
    values = [evaluate(part, variables, cell) for part in expression.arguments]
    if operation in _CELLS:
        values.append(cell)
    if expression.value is not None:
        values.append(expression.value)
    return OPERATIONS[operation].value(*values)


def slope(expression: Expression, variables: Mapping[str, Any], by: str) -> Any:
    """Compute the derivative of a numeric expression by one of its variables.

    Examples
    --------
    >>> float(slope(square(variable("z")), {"z": 3.0}, "z"))
    6.0
    """
    if expression.operation == "variable":
        return 1.0 if expression.value == by else 0.0
    if by not in expression.variables:
        return 0.0
    operation = OPERATIONS[expression.operation]
    if operation.slopes is None:
        raise ValueError(f"the operation {expression.operation!r} has no derivative")
    values = [np.asarray(evaluate(part, variables)) for part in expression.arguments]
    inner = [slope(part, variables, by) for part in expression.arguments]
    outer = operation.slopes(*values)
    # A part that does not depend on the variable may have an infinite derivative.
    pairs = zip(outer, inner, expression.arguments, strict=True)
    return sum(a * b for a, b, part in pairs if by in part.variables)


# -- what follows from the form of an expression ------------------------------------------


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
        return Affine(inner.offset / divisor, inner.factor / divisor, inner.core)
    return Affine(0.0, 1.0, expression)


class Direction(NamedTuple):
    """Whether an expression rises or falls with a variable.

    Attributes
    ----------
    sign : int or None
        1, -1, 0 if it does not depend on the variable, None if nothing is proven.
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


def direction(expression: Expression, by: str) -> Direction:
    """Return whether an expression provably rises or falls with a variable, everywhere.

    Examples
    --------
    >>> z, a = variable("z"), variable("a")
    >>> direction(tanh(a * z) / a, "z").sign, direction(square(z), "z").sign
    (1, None)
    """
    operation, parts = expression.operation, expression.arguments
    if by not in expression.variables:
        return Direction(0)
    if operation == "variable":
        return Direction(1)
    if operation in ("exp", "tanh", "sigmoid", "sqrt", "log"):
        return direction(parts[0], by)
    if operation in ("add", "minimum", "maximum"):
        return direction(parts[0], by).joined(direction(parts[1], by))
    if operation == "subtract":
        return direction(parts[0], by).joined(direction(parts[1], by).times(-1))
    if operation in ("multiply", "divide"):
        a, b = parts
        if by in a.variables and by not in b.variables:
            return _scaled(direction(a, by), b)
        if operation == "multiply" and by not in a.variables:
            return _scaled(direction(b, by), a)
    return _UNPROVEN


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


def interval(expression: Expression, ranges: Mapping[str, Range]) -> Range:
    """Return bounds of the values of a numeric expression.

    Parameters
    ----------
    expression : Expression
    ranges : dict
        Smallest and largest value of each variable.

    Examples
    --------
    >>> interval(square(variable("z")) + 1, {"z": (-2.0, 1.0)})
    (1.0, 5.0)
    """
    operation = expression.operation
    if operation == "constant":
        return expression.value, expression.value
    if operation == "variable":
        return ranges[expression.value]
    parts = [interval(part, ranges) for part in expression.arguments]
    if operation in ("square", "absolute"):
        ((low, high),) = parts
        ends = sorted(float(OPERATIONS[operation].value(end)) for end in (low, high))
        return (0.0 if low <= 0.0 <= high else ends[0]), ends[1]
    if operation not in _NUMERIC:
        raise ValueError(f"the operation {operation!r} has no bounds")
    if operation == "divide" and parts[1][0] <= 0.0 <= parts[1][1]:
        return -math.inf, math.inf
    # All others are monotone in each argument: the extremes are at corners.
    corners: list[tuple[float, ...]] = [()]
    for ends in parts:
        corners = [(*corner, end) for corner in corners for end in ends]
    with np.errstate(all="ignore"):
        values = [float(OPERATIONS[operation].value(*map(np.float64, c))) for c in corners]
    return min(values), max(values)
