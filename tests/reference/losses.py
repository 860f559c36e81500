"""Losses with their derivatives.

o are the outputs, t the targets; further arguments are the parameters of the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bneuralt.training.losses import Loss
from tests.reference.activations import logistic
from tests.reference.tree_nodes import Vector

__all__ = ["LOSS", "LOSS_GRADIENT", "targets"]


def _softmax(outputs: Vector) -> list[float]:
    largest = max(outputs)
    powers = [math.exp(o - largest) for o in outputs]
    return [p / sum(powers) for p in powers]


def _log_sum_exp(outputs: Vector) -> float:
    largest = max(outputs)
    return largest + math.log(sum(math.exp(o - largest) for o in outputs))


def _smoothed(t: Vector, smoothing: float) -> list[float]:
    """Distribute a share of the 1 of the true class evenly over all classes."""
    return [(1 - smoothing) * b + smoothing / len(t) for b in t]


def _huber(d: float, delta: float) -> float:
    return 0.5 * d * d if abs(d) <= delta else delta * (abs(d) - 0.5 * delta)


def _poisson(o: float, t: float) -> float:
    return math.exp(o) - t + (t * (math.log(t) - o) if t > 0 else 0.0)


def _label_cost(o: float, t: float, smoothing: float) -> float:
    """Return -log of the probability of a label; t is 1 where the row has it, else 0."""
    share = (1 - smoothing) * t + smoothing / 2
    return max(o, 0.0) + math.log1p(math.exp(-abs(o))) - share * o


def _sign(d: float) -> float:
    return float(d > 0) - float(d < 0)


def _pairs(o: Vector, t: Vector) -> Iterator[tuple[float, float]]:
    return zip(o, t, strict=True)


#: E(outputs, targets)
LOSS: dict[str, Callable[..., float]] = {
    "squared_error": lambda o, t: 0.5 * sum((a - b) ** 2 for a, b in _pairs(o, t)),
    "cross_entropy": lambda o, t, smoothing: sum(
        b * (_log_sum_exp(o) - a) for a, b in _pairs(o, _smoothed(t, smoothing))
    ),
    "absolute_error": lambda o, t: sum(abs(a - b) for a, b in _pairs(o, t)),
    "huber": lambda o, t, delta: sum(_huber(a - b, delta) for a, b in _pairs(o, t)),
    "pinball": lambda o, t, *quantiles: sum(
        max(q * (b - a), (q - 1) * (b - a))
        for q, (a, b) in zip(quantiles, _pairs(o, t), strict=True)
    ),
    "poisson": lambda o, t: sum(_poisson(a, b) for a, b in _pairs(o, t)),
    "binary_cross_entropy": lambda o, t, smoothing: sum(
        _label_cost(a, b, smoothing) for a, b in _pairs(o, t)
    ),
}

#: dE/d(outputs)
LOSS_GRADIENT: dict[str, Callable[..., list[float]]] = {
    "squared_error": lambda o, t: [a - b for a, b in _pairs(o, t)],
    "cross_entropy": lambda o, t, smoothing: [
        a - b for a, b in _pairs(_softmax(o), _smoothed(t, smoothing))
    ],
    "absolute_error": lambda o, t: [_sign(a - b) for a, b in _pairs(o, t)],
    "huber": lambda o, t, delta: [max(-delta, min(delta, a - b)) for a, b in _pairs(o, t)],
    "pinball": lambda o, t, *quantiles: [
        0.0 if a == b else (-q if a < b else 1 - q)
        for q, (a, b) in zip(quantiles, _pairs(o, t), strict=True)
    ],
    "poisson": lambda o, t: [math.exp(a) - b for a, b in _pairs(o, t)],
    "binary_cross_entropy": lambda o, t, smoothing: [
        logistic(a) - ((1 - smoothing) * b + smoothing / 2) for a, b in _pairs(o, t)
    ],
}


def targets(y: Any, n_outputs: int, loss: Loss) -> list[float]:
    """Return the target of each output.

    These are y itself, if it has a number for each output; the number y for all outputs; or 1 for
    class y and 0 for the others.

    Examples
    --------
    >>> from bneuralt.training.losses import get_loss
    >>> targets(1, 2, get_loss("cross_entropy"))
    [0.0, 1.0]
    """
    if np.ndim(y) == 1:
        return [float(number) for number in y]
    if n_outputs == 1 or loss.compares == "shared":
        return [float(y)] * n_outputs
    return [float(k == y) for k in range(n_outputs)]
