"""Expressions in PyTorch: one function for each operation, with the derivatives of the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from bneuralt.export.printer import EXP_LIMITS, representable
from bneuralt.expressions import Expression

__all__ = ["FUNCTIONS", "compute"]


def _limited(a: Tensor) -> Tensor:
    limit = EXP_LIMITS[a.element_size()]
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
        return like.new_tensor(float(representable(expression.value, torch.finfo(like.dtype))))
    parts: list[Any] = [compute(part, variables) for part in expression.arguments]
    if expression.value is not None:
        parts.append(expression.value)
    return FUNCTIONS[expression.operation](*parts)
