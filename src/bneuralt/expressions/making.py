"""`Expression`, and functions that make expressions."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bneuralt.expressions.operations import CONDITIONS, OPERATIONS, Lookup

__all__ = [
    "NUMBER",
    "OUTPUTS",
    "Expression",
    "absolute",
    "constant",
    "date_part",
    "exp",
    "greater",
    "if_missing",
    "is_missing",
    "largest",
    "log",
    "lookup",
    "maximum",
    "minimum",
    "ordered",
    "select",
    "sigmoid",
    "sqrt",
    "square",
    "substitute",
    "tanh",
    "total",
    "variable",
    "without_order",
]


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
    >>> from bneuralt.expressions import evaluate
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

    def of(self, arguments: Sequence[Expression]) -> Expression:
        """Return this operation on other arguments."""
        arguments, before = tuple(arguments), self.arguments
        if len(arguments) == len(before) and all(map(operator.is_, arguments, before)):
            return self  # most parts of a program stay as they are
        return Expression(self.operation, arguments, self.value)

    @property
    def is_constant(self) -> bool:
        """Whether this is a constant."""
        return self.operation == "constant"

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables."""
        names, waiting = set(), [self]
        while waiting:
            part = waiting.pop()
            if part.operation == "variable":
                names.add(part.value)
            waiting += part.arguments
        return frozenset(names)


Operand = Expression | float


def _expression(operand: Operand) -> Expression:
    return operand if isinstance(operand, Expression) else constant(operand)


def constant(value: float) -> Expression:
    """Return a number as an expression."""
    return Expression("constant", value=float(value))


@lru_cache(2**14)  # programs of forests have thousands of names, many times each
def variable(name: str) -> Expression:
    """Return a named value, which `evaluate` and translators are given."""
    return Expression("variable", value=name)


def _operate(operation: str, *arguments: Expression, value: Any = None) -> Expression:
    """Return an operation; an operation on constants is computed at once."""
    if arguments and all(part.is_constant for part in arguments):
        numbers = [np.float64(part.value) for part in arguments]
        with np.errstate(all="ignore"):
            result = float(OPERATIONS[operation].value(*numbers))
        if math.isfinite(result):
            return constant(result)
    return Expression(operation, arguments, value)


def _add(a: Expression, b: Expression) -> Expression:
    if a.is_constant and b.is_constant:  # of zeros with different signs, the sum
        return _operate("add", a, b)
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


def differs(a: Operand, value: float) -> Expression:
    """Return the condition that a number is another one than `value`; false if it is missing."""
    return greater(absolute(_expression(a) - value), 0.0)


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
    """Return an expression with some variables replaced; constant parts are computed.

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
    if expression.operation in CONDITIONS:
        return Expression(expression.operation, parts, expression.value)
    return _operate(expression.operation, *parts, value=expression.value)


def without_order(link: Expression) -> Expression:
    """Return a link without sorting of the outputs; each quantile is explained separately.

    Examples
    --------
    >>> without_order(exp(ordered(OUTPUTS, [1, 0]))) == exp(OUTPUTS)
    True
    """
    parts = tuple(without_order(part) for part in link.arguments)
    return parts[0] if link.operation == "ordered" else link.of(parts)
