"""Update rules of optimizers.

Each rule returns the next theta from theta, the gradient g, the learning rate eta, the state of the
optimizer and its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.training.optimizers import Optimizer

__all__ = ["RULE", "Memory", "viewpoint"]


@dataclass
class Memory:
    """State of an optimizer between updates.

    m and v start as vectors of zeros, t counts the updates from 1.
    """

    m: FloatArray
    v: FloatArray
    t: int = 0


def _gd(theta: FloatArray, g: FloatArray, eta: float, memory: Memory) -> FloatArray:
    return theta - eta * g


def _momentum(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, gamma: float
) -> FloatArray:
    memory.v = gamma * memory.v + eta * g
    return theta - memory.v


def _adagrad(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, epsilon: float
) -> FloatArray:
    memory.v = memory.v + g**2
    step: FloatArray = eta * g / np.sqrt(memory.v + epsilon)
    return theta - step


def _rmsprop(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, beta: float, epsilon: float
) -> FloatArray:
    memory.v = beta * memory.v + (1 - beta) * g**2
    step: FloatArray = eta * g / np.sqrt(memory.v + epsilon)
    return theta - step


def _adam(
    theta: FloatArray,
    g: FloatArray,
    eta: float,
    memory: Memory,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> FloatArray:
    memory.m = beta1 * memory.m + (1 - beta1) * g
    memory.v = beta2 * memory.v + (1 - beta2) * g**2
    m_hat = memory.m / (1 - beta1**memory.t)
    v_hat = memory.v / (1 - beta2**memory.t)
    step: FloatArray = eta * m_hat / np.sqrt(v_hat + epsilon)
    return theta - step


def _adam_paper(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, *parameters: float
) -> FloatArray:
    memory.t = 1  # the paper corrects every update as if it were the first
    return _adam(theta, g, eta, memory, *parameters)


RULE: dict[str, Callable[..., FloatArray]] = {
    "gd": _gd,
    "momentum": _momentum,
    "nesterov": _momentum,  # the same step, from a gradient taken elsewhere: see `viewpoint`
    "adagrad": _adagrad,
    "rmsprop": _rmsprop,
    "adam": _adam,
    "adam_paper": _adam_paper,
}


def viewpoint(optimizer: Optimizer, theta: FloatArray, memory: Memory) -> FloatArray:
    """Return the weights at which the gradient is taken, which differ for Nesterov's rule."""
    if optimizer.name == "nesterov":
        (gamma,) = optimizer.numbers
        return theta - gamma * memory.v
    return theta
