"""Evaluation of expressions with NumPy: values and derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.expressions.making import Expression
from bneuralt.expressions.operations import CELLS, OPERATIONS, VECTORS

__all__ = ["evaluate", "is_elementwise", "slope", "vector_jacobian"]


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
    >>> from bneuralt.expressions import OUTPUTS, exp, largest, total
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
    if operation in CELLS:
        values.append(cell)
    if expression.value is not None:
        values.append(expression.value)
    return OPERATIONS[operation].value(*values)


def slope(expression: Expression, variables: Mapping[str, Any], by: str) -> Any:
    """Compute the derivative of a numeric expression by one of its variables.

    Examples
    --------
    >>> from bneuralt.expressions import square, variable
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


def vector_jacobian(expression: Expression, vector: FloatArray) -> FloatArray:
    """Compute the derivatives of a vector expression of `OUTPUTS`.

    Parameters
    ----------
    expression : Expression
        Of `OUTPUTS` alone.
    vector : array of shape (n_rows, k)
        Values of `OUTPUTS`.

    Returns
    -------
    array of shape (n_rows, k, k)
        The derivative of each entry of the result by each entry of the vector.

    Examples
    --------
    >>> from bneuralt.expressions import OUTPUTS, total
    >>> vector_jacobian(OUTPUTS / total(OUTPUTS), np.array([[1.0, 3.0]]))
    array([[[ 0.1875, -0.0625],
            [-0.1875,  0.0625]]])
    """
    n_rows, k = vector.shape
    tangents = _with_tangents(expression, np.asfortranarray(vector), {})[1]
    return np.zeros((n_rows, 1, k)) if tangents is None else np.moveaxis(tangents, 2, 0)


#: Values, of shape (n_rows, k or 1), and their derivatives, of shape (k or 1, k, n_rows), or None
#: for constants. Rows are next to each other in memory, because there are more rows than outputs.
_Tangents = tuple[FloatArray, FloatArray | None]


def _with_tangents(
    expression: Expression, vector: FloatArray, done: dict[int, _Tangents]
) -> _Tangents:
    """Return values and derivatives; parts that occur several times are computed once.

    `done` has the parts by their identity, because comparing expressions takes longer.
    """
    if id(expression) not in done:
        done[id(expression)] = _new_tangents(expression, vector, done)
    return done[id(expression)]


def _new_tangents(
    expression: Expression, vector: FloatArray, done: dict[int, _Tangents]
) -> _Tangents:
    n_rows, k = vector.shape
    if expression.operation == "variable":
        return vector, np.broadcast_to(np.eye(k)[:, :, np.newaxis], (k, k, n_rows))
    if expression.is_constant:
        return np.full((n_rows, 1), expression.value), None
    values, tangents = zip(
        *(_with_tangents(part, vector, done) for part in expression.arguments), strict=True
    )
    operation = OPERATIONS[expression.operation]
    result = operation.value(*values, *(() if expression.value is None else (expression.value,)))
    if all(tangent is None for tangent in tangents):
        return result, None
    if expression.operation == "total":
        return result, tangents[0].sum(axis=0, keepdims=True)
    if expression.operation in ("largest", "ordered"):
        if expression.operation == "largest":
            places = values[0].argmax(axis=1)[np.newaxis]
        else:
            places = values[0].argsort(axis=1, kind="stable")[:, list(expression.value)].T
        return result, np.take_along_axis(tangents[0], places[:, np.newaxis], axis=0)
    if operation.slopes is None:
        raise ValueError(f"the operation {expression.operation!r} has no derivative")
    terms = (
        np.asarray(outer).T[:, np.newaxis] * inner if np.ndim(outer) else outer * inner
        for outer, inner in zip(operation.slopes(*values), tangents, strict=True)
        if inner is not None
    )
    return result, reduce(np.add, terms)


def is_elementwise(expression: Expression) -> bool:
    """Return whether each entry of a vector expression depends on one entry of its vector only.

    Examples
    --------
    >>> from bneuralt.expressions import OUTPUTS, exp, total
    >>> is_elementwise(exp(OUTPUTS)), is_elementwise(OUTPUTS / total(OUTPUTS))
    (True, False)
    """
    inner = all(is_elementwise(part) for part in expression.arguments)
    return expression.operation not in VECTORS and inner
