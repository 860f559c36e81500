"""Activations with their derivatives.

z is the weighted sum of a node, h its value, and what follows are the parameters of its activation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from bneuralt.reference.nodes import Vector

__all__ = ["PARAMETER_SLOPES", "SLOPE", "VALUE", "sigmoid"]


def sigmoid(z: float) -> float:
    """Return 1 / (1 + exp(-z)), without overflow."""
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def _sigmoid_slope(z: float) -> float:
    return sigmoid(z) * sigmoid(-z)


def _tanh_slope(z: float) -> float:
    return 1.0 - math.tanh(z) ** 2


#: phi(z)
VALUE: dict[str, Callable[..., float]] = {
    "linear": lambda z: z,
    "sigmoid": sigmoid,
    "tanh": math.tanh,
    "relu": lambda z: max(z, 0.0),
    "leaky_relu": lambda z, slope: z if z > 0 else slope * z,
    "gaussian": lambda z, center, width: math.exp(-(((z - center) / width) ** 2)),
    "linear_sigmoid": lambda z, scale, offset: scale * sigmoid(z) + offset,
    "linear_tanh": lambda z, scale, offset: scale * math.tanh(z) + offset,
    "bipolar": lambda z, steepness: math.tanh(steepness * z) / steepness,
    "unipolar": lambda z, steepness: 2 * abs(steepness) * sigmoid(2 * abs(steepness) * z),
}

#: d phi(z) / dz
SLOPE: dict[str, Callable[..., float]] = {
    "linear": lambda z: 1.0,
    "sigmoid": _sigmoid_slope,
    "tanh": _tanh_slope,
    "relu": lambda z: 1.0 if z > 0 else 0.0,
    "leaky_relu": lambda z, slope: 1.0 if z > 0 else slope,
    "gaussian": lambda z, center, width: (
        -2 * (z - center) / width**2 * VALUE["gaussian"](z, center, width)
    ),
    "linear_sigmoid": lambda z, scale, offset: scale * _sigmoid_slope(z),
    "linear_tanh": lambda z, scale, offset: scale * _tanh_slope(z),
    "bipolar": lambda z, steepness: _tanh_slope(steepness * z),
    "unipolar": lambda z, steepness: 4 * steepness**2 * _sigmoid_slope(2 * abs(steepness) * z),
}

#: d phi(z) / d(parameters), for activations that have some
PARAMETER_SLOPES: dict[str, Callable[..., Vector]] = {
    "leaky_relu": lambda z, slope: [0.0 if z > 0 else z],
    "gaussian": lambda z, center, width: [
        2 * (z - center) / width**2 * VALUE["gaussian"](z, center, width),
        2 * (z - center) ** 2 / width**3 * VALUE["gaussian"](z, center, width),
    ],
    "linear_sigmoid": lambda z, scale, offset: [sigmoid(z), 1.0],
    "linear_tanh": lambda z, scale, offset: [math.tanh(z), 1.0],
    "bipolar": lambda z, steepness: [
        (z * _tanh_slope(steepness * z) - math.tanh(steepness * z) / steepness) / steepness
    ],
    "unipolar": lambda z, steepness: [
        math.copysign(2.0, steepness) * sigmoid(2 * abs(steepness) * z)
        + 4 * steepness * z * _sigmoid_slope(2 * abs(steepness) * z)
    ],
}
