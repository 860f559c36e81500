"""Activations as affine maps around few functions, which generated code has tables or code for."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from bneuralt.expressions import Expression, affine, evaluate

__all__ = ["ActivationForm", "activation_form"]


class ActivationForm(NamedTuple):
    """An activation as ``offset + unit * F(gain * z + shift)``.

    F is tanh ("tanh"), ``2 * exp(-t * t) - 1`` ("bell"), the identity with another slope below 0
    ("pieces"), or `curve`, an expression of z ("curve").
    """

    kind: str
    gain: float = 1.0
    shift: float = 0.0
    offset: float = 0.0
    unit: float = 1.0
    slope: float = 1.0
    curve: Expression | None = None


@cache
def activation_form(expression: Expression) -> ActivationForm:
    """Return the form of an activation, which is an expression of z.

    Examples
    --------
    >>> from bneuralt.expressions import sigmoid, variable
    >>> activation_form(sigmoid(variable("z")))[:5]
    ('tanh', 0.5, 0.0, 0.5, 0.5)
    """
    offset, unit, core = affine(expression)
    if core is None:
        return ActivationForm("tanh", gain=0.0, offset=offset, unit=0.0)
    if core.operation in ("tanh", "sigmoid"):
        line = _line(core.arguments[0])
        if line is not None:
            gain, shift = line
            if core.operation == "tanh":
                return ActivationForm("tanh", gain, shift, offset, unit)
            half = 0.5 * unit  # sigmoid(t) = (1 + tanh(t / 2)) / 2
            return ActivationForm("tanh", 0.5 * gain, 0.5 * shift, offset + half, half)
    bell = _bell(core) if core.operation == "exp" else None
    if bell is not None:
        gain, shift, height = bell
        half = 0.5 * height * unit
        return ActivationForm("bell", gain, shift, offset + half, half)
    return _pieces(expression) or ActivationForm("curve", offset=offset, unit=unit, curve=core)


def _line(expression: Expression) -> tuple[float, float] | None:
    """Return factor and offset of an affine function of z, None for any other expression."""
    offset, factor, core = affine(expression)
    return (factor, offset) if core is not None and core.operation == "variable" else None


def _bell(core: Expression) -> tuple[float, float, float] | None:
    """Return gain, shift and height of ``height * exp(-(gain * z + shift) ** 2)``."""
    offset, factor, inner = affine(core.arguments[0])
    if inner is None or inner.operation != "square" or factor >= 0:
        return None
    line = _line(inner.arguments[0])
    root = math.sqrt(-factor)
    return None if line is None else (root * line[0], root * line[1], math.exp(offset))


class _Kink(NamedTuple):
    """A function of z that consists of two lines."""

    at: float | None  # None: it is one line
    left: float
    right: float


def _pieces(expression: Expression) -> ActivationForm | None:
    """Return the form of a sum of lines and kinks in one place, where it is 0 and rises then."""
    line = _line(expression)
    if line is not None:
        return ActivationForm("pieces", *line)
    left = right = 0.0
    places: set[float] = set()
    for factor, core in _terms(expression):
        kink = _kink(core)
        if kink is None:
            return None
        left, right = left + factor * kink.left, right + factor * kink.right
        if kink.at is not None:
            places.add(kink.at)
    if len(places) != 1 or right <= 0.0:
        return None
    (at,) = places
    assert at is not None
    if evaluate(expression, {"z": at}) != 0.0:
        return None
    return ActivationForm("pieces", right, 0.0 - right * at, slope=left / right)


def _terms(expression: Expression) -> list[tuple[float, Expression]]:
    """Return the terms of a sum, each with its factor; constants are left out."""
    _, factor, core = affine(expression)
    if core is None:
        return []
    if core.operation not in ("add", "subtract"):
        return [(factor, core)]
    first, second = map(_terms, core.arguments)
    sign = 1.0 if core.operation == "add" else -1.0
    return [(factor * f, part) for f, part in first] + [
        (factor * sign * f, part) for f, part in second
    ]


def _kink(core: Expression) -> _Kink | None:
    """Return the two lines that a term consists of."""
    if core.operation == "variable":
        return _Kink(None, 1.0, 1.0)
    if core.operation == "absolute":
        line, level = _line(core.arguments[0]), 0.0
        slopes = (-1.0, 1.0)
    elif core.operation in ("minimum", "maximum"):
        a, b = core.arguments if core.arguments[1].is_constant else core.arguments[::-1]
        if not b.is_constant:
            return None
        line, level = _line(a), b.value
        slopes = (1.0, 0.0) if core.operation == "minimum" else (0.0, 1.0)
    else:
        return None
    if line is None:
        return None
    gain, shift = line
    left, right = (gain * slope for slope in (slopes if gain > 0 else slopes[::-1]))
    return _Kink((level - shift) / gain, left, right)
