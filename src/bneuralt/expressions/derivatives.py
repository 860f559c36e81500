"""Derivatives of expressions as expressions."""

from __future__ import annotations

from collections.abc import Callable

from bneuralt.expressions.making import (
    Expression,
    constant,
    exp,
    greater,
    select,
    sigmoid,
    sqrt,
    square,
    tanh,
)

__all__ = ["derivative"]

#: From the arguments of an operation to its derivative by each of them.
_SLOPES: dict[str, Callable[..., tuple[Expression, ...]]] = {
    "add": lambda a, b: (constant(1.0), constant(1.0)),
    "subtract": lambda a, b: (constant(1.0), constant(-1.0)),
    "multiply": lambda a, b: (b, a),
    "divide": lambda a, b: (1.0 / b, -a / square(b)),
    "minimum": lambda a, b: (select(greater(a, b), 0.0, 1.0), select(greater(a, b), 1.0, 0.0)),
    "maximum": lambda a, b: (select(greater(a, b), 1.0, 0.0), select(greater(a, b), 0.0, 1.0)),
    "absolute": lambda a: (select(greater(a, 0.0), 1.0, -1.0),),
    "square": lambda a: (2.0 * a,),
    "sqrt": lambda a: (0.5 / sqrt(a),),
    "exp": lambda a: (exp(a),),
    "log": lambda a: (1.0 / a,),
    "tanh": lambda a: (1.0 - square(tanh(a)),),
    "sigmoid": lambda a: (sigmoid(a) * sigmoid(-a),),
}


def derivative(expression: Expression, by: str) -> Expression:
    """Return the derivative of a numeric expression by one of its variables.

    `slope` computes its value; as an expression it can also be bounded, by `interval`.

    Examples
    --------
    >>> from bneuralt.expressions import evaluate, variable
    >>> rises = derivative(square(variable("z")), "z")
    >>> float(evaluate(rises, {"z": 3.0}))
    6.0
    """
    if by not in expression.variables:
        return constant(0.0)
    if expression.operation == "variable":
        return constant(1.0)
    if expression.operation == "select":
        condition, a, b = expression.arguments
        return select(condition, derivative(a, by), derivative(b, by))
    if expression.operation not in _SLOPES:
        raise ValueError(f"the operation {expression.operation!r} has no derivative")
    slopes = _SLOPES[expression.operation](*expression.arguments)
    result = constant(0.0)
    for slope, part in zip(slopes, expression.arguments, strict=True):
        if by in part.variables:
            result = result + slope * derivative(part, by)
    return result
