"""Activations with their derivatives, computed from their expressions.

z is the weighted sum of a node; further arguments are the parameters of its activation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bneuralt.expressions import evaluate, slope
from bneuralt.tree.activations import ACTIVATIONS, EXPRESSIONS
from tests.reference.tree_nodes import Vector

__all__ = ["PARAMETER_SLOPES", "SLOPE", "VALUE", "logistic"]


def logistic(z: float) -> float:
    """Return 1 / (1 + exp(-z)), without overflow."""
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def _names(activation: str) -> list[str]:
    return ["z", *(parameter.name for parameter in ACTIVATIONS[activation].entry.parameters)]


def _value(activation: str) -> Callable[..., float]:
    names, expression = _names(activation), EXPRESSIONS[activation]
    return lambda *values: float(evaluate(expression, dict(zip(names, values, strict=True))))


def _slope(activation: str, by: str) -> Callable[..., float]:
    names, expression = _names(activation), EXPRESSIONS[activation]
    return lambda *values: float(slope(expression, dict(zip(names, values, strict=True)), by))


def _parameter_slopes(activation: str) -> Callable[..., Vector]:
    slopes = [_slope(activation, name) for name in _names(activation)[1:]]
    return lambda *values: [by_parameter(*values) for by_parameter in slopes]


#: phi(z)
VALUE: dict[str, Callable[..., float]] = {name: _value(name) for name in ACTIVATIONS}

#: d phi(z) / dz
SLOPE: dict[str, Callable[..., float]] = {name: _slope(name, "z") for name in ACTIVATIONS}

#: d phi(z) / d(parameters), for activations that have some
PARAMETER_SLOPES: dict[str, Callable[..., Vector]] = {
    name: _parameter_slopes(name) for name in ACTIVATIONS if len(_names(name)) > 1
}
