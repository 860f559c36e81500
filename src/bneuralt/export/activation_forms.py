"""Activations as affine maps around a few functions, which have tables or code in exports."""

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


def _pieces(expression: Expression) -> ActivationForm | None:
    """Return the form of a function of two lines that is 0 where they meet and rises then."""
    line = _line(expression)
    if line is not None:
        return ActivationForm("pieces", *line)
    kinks = _kinks(expression)
    if kinks is None or len(kinks) != 1:
        return None
    (at,) = kinks
    below, middle, above = (float(evaluate(expression, {"z": at + by})) for by in (-1, 0, 1))
    if middle != 0.0 or above <= 0.0:
        return None
    return ActivationForm("pieces", above, 0.0 - above * at, slope=(0.0 - below) / above)


def _kinks(expression: Expression) -> set[float] | None:
    """Return where a function of z that consists of lines bends, None for any other function."""
    core = affine(expression).core
    if core is None or core.operation == "variable":
        return set()
    if core.operation in ("add", "subtract"):
        a, b = map(_kinks, core.arguments)
        return None if a is None or b is None else a | b
    line, level = None, 0.0
    if core.operation == "absolute":
        line = _line(core.arguments[0])
    elif core.operation in ("minimum", "maximum"):
        part, limit = sorted(core.arguments, key=lambda argument: argument.is_constant)
        if limit.is_constant:
            line, level = _line(part), limit.value
    return None if line is None else {(level - line[1]) / line[0]}
