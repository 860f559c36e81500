"""Expressions in PyTorch: one function for each operation, with the derivatives of the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from bneuralt.expressions import Expression

__all__ = ["FUNCTIONS", "compute"]

#: Arguments of exp are limited as in the core, by the bytes of a number.
EXP_LIMIT = {2: 11.0, 4: 87.0, 8: 708.0}


def _limited(a: Tensor) -> Tensor:
    limit = EXP_LIMIT[a.element_size()]
    return a.clamp(-limit, limit)


# torch.minimum and torch.maximum divide the derivative where both numbers are equal.
def _minimum(a: Tensor, b: Tensor) -> Tensor:
    return torch.where((a <= b) | a.isnan(), a, b)


def _maximum(a: Tensor, b: Tensor) -> Tensor:
    return torch.where((a > b) | a.isnan(), a, b)


#: The function of each operation on numbers and vectors.
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "minimum": _minimum,
    "maximum": _maximum,
    "absolute": torch.abs,
    "square": torch.square,
    "sqrt": torch.sqrt,
    "exp": lambda a: torch.exp(_limited(a)),
    "log": torch.log,
    "tanh": torch.tanh,
    # never 0: shares keep their proportions
    "sigmoid": lambda a: torch.sigmoid(_limited(a)),
    "greater": torch.gt,
    "is_missing": torch.isnan,
    "select": torch.where,
    "if_missing": lambda a, default: torch.where(a.isnan(), default, a),
    "largest": lambda vector: vector.amax(dim=-1, keepdim=True),
    "total": lambda vector: vector.sum(dim=-1, keepdim=True),
    "ordered": lambda vector, places: vector.sort(dim=-1).values[..., list(places)],
}


def compute(expression: Expression, variables: Mapping[str, Tensor]) -> Tensor:
    """Compute an expression.

    Parameters
    ----------
    expression : Expression
    variables : dict
        Values of the variables, of one type; those of vectors along the last axis.
    """
    if expression.operation == "variable":
        return variables[expression.value]
    if expression.is_constant:
        like = next(iter(variables.values()))
        return like.new_tensor(_representable(expression.value, like.dtype))
    parts: list[Any] = [compute(part, variables) for part in expression.arguments]
    if expression.value is not None:
        parts.append(expression.value)
    return FUNCTIONS[expression.operation](*parts)


def _representable(number: float, dtype: torch.dtype) -> float:
    """Return a number that stays finite, and does not become 0, in a type."""
    limits = torch.finfo(dtype)
    if number == 0 or number != number:
        return number
    size = min(max(abs(number), limits.tiny), limits.max)
    return size if number > 0 else -size
