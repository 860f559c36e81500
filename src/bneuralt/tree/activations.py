"""Activation functions: their names, codes, values, and derivatives.

A node stores its activation as a small code, the position of its name in `NAMES`. Every
derivative is written in terms of the function's *value* h = phi(z), which is what
backpropagation has at hand once the forward pass is done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["ACTIVATIONS", "LEAKY_SLOPE", "NAMES", "OUTPUT_NAMES", "Activation", "activation_code"]

LEAKY_SLOPE = 0.01


def _sigmoid(z: np.ndarray) -> np.ndarray:
    # exp of a non-positive number never overflows, and keeps tiny values exact.
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


@dataclass(frozen=True)
class Activation:
    """One activation function.

    Attributes
    ----------
    name : str
        Its name, as users write it.
    value : callable
        z -> h = phi(z), elementwise.
    derivative : callable
        h -> phi'(z), elementwise, from the value h.

    Examples
    --------
    >>> tanh = ACTIVATIONS["tanh"]
    >>> float(tanh.derivative(tanh.value(0.0)))
    1.0
    """

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]


#: Every activation by name. The order is part of the file format and of the compiled core:
#: new ones go to the end.
ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        Activation("linear", lambda z: z, lambda h: np.ones_like(h)),
        Activation("sigmoid", _sigmoid, lambda h: h * (1.0 - h)),
        Activation("tanh", np.tanh, lambda h: 1.0 - h * h),
        Activation("relu", lambda z: np.maximum(z, 0.0), lambda h: np.where(h > 0, 1.0, 0.0)),
        Activation(
            "leaky_relu",
            lambda z: np.where(z > 0, z, LEAKY_SLOPE * z),
            lambda h: np.where(h > 0, 1.0, LEAKY_SLOPE),
        ),
    )
}

#: Names in the order of their codes.
NAMES: tuple[str, ...] = tuple(ACTIVATIONS)

#: What an output node may use.
OUTPUT_NAMES: tuple[str, ...] = ("linear", "sigmoid")


def activation_code(name: str, *, output: bool = False) -> int:
    """Return the code of an activation.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    output : bool
        Whether it is meant for an output node, where only `OUTPUT_NAMES` are allowed.

    Examples
    --------
    >>> activation_code("tanh")
    2
    """
    allowed = OUTPUT_NAMES if output else NAMES
    if name not in allowed:
        where = "output_activation" if output else "activation"
        raise ValueError(f"{where}={name!r} is not known: choose one of {', '.join(allowed)}")
    return NAMES.index(name)
