"""Minimisation of smooth functions of some numbers, by L-BFGS with few calls of the function.

`scipy.optimize.minimize` needs several times as long as the functions that small tables lead to.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bneuralt._typing import FloatArray

__all__ = ["minimize"]

#: Number of changes of arguments and slopes that the second derivatives are estimated from.
MEMORY = 8
#: A step must lower the value by this fraction of what its slope promises.
SUFFICIENT_DECREASE = 1e-4
MAX_SHORTER_STEPS = 20


def minimize(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    n_iterations: int,
    limits: tuple[FloatArray, FloatArray] | None = None,
    tolerance: float = 1e-9,
    first: tuple[float, FloatArray] | None = None,
) -> tuple[FloatArray, float]:
    """Return arguments of a low value, and the value.

    Parameters
    ----------
    objective : callable
        Returns value and slope. Its arguments should have a scale in which second derivatives are
        about 1.
    start : array of shape (n,)
    n_iterations : int
        Largest number of steps.
    limits : (array, array), optional
        Smallest and largest arguments.
    tolerance : float
        The end is reached where a step lowers the value by less than this fraction of it.
    first : (float, array), optional
        Value and slope at the start, if they are known.

    Examples
    --------
    >>> minimize(lambda x: (float(x @ x - 2 * x.sum()), 2 * x - 2), np.zeros(2), 5)
    (array([1., 1.]), -2.0)
    """
    x = _within(limits, start)
    value, slope = objective(x) if first is None else first
    pairs: list[tuple[FloatArray, FloatArray]] = []
    for _ in range(n_iterations):
        if limits is None:
            direction = _direction(slope, pairs)
        else:  # in the arguments that are not held by a limit
            is_free = ((x > limits[0]) | (slope < 0)) & ((x < limits[1]) | (slope > 0))
            direction = _direction(slope * is_free, [(s * is_free, y * is_free) for s, y in pairs])
        descent = float(direction @ slope)
        if not descent < 0.0:
            break
        step = 1.0
        for _ in range(MAX_SHORTER_STEPS):
            moved = _within(limits, x + step * direction)
            reached, other = objective(moved)
            excess = reached - value - step * descent
            if reached <= value + SUFFICIENT_DECREASE * step * descent:
                break
            # The lowest point of a parabola through both values.
            shorter = -0.5 * descent * step * step / excess if np.isfinite(excess) else 0.0
            step = min(max(shorter, 0.1 * step), 0.5 * step)
        else:
            break
        change, bend = moved - x, other - slope
        pairs = [*pairs[1 - MEMORY :], (change, bend)]
        gain, scale = value - reached, max(abs(value), abs(reached))
        x, value, slope = moved, reached, other
        if gain <= tolerance * scale:
            break
    return x, value


def _within(limits: tuple[FloatArray, FloatArray] | None, x: FloatArray) -> FloatArray:
    """Return the nearest arguments within limits."""
    return x if limits is None else np.minimum(np.maximum(x, limits[0]), limits[1])


def _direction(slope: FloatArray, pairs: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Return the direction to the minimum, by second derivatives from changes of the slope."""
    direction = -slope
    used = []
    for change, bend in reversed(pairs):  # `dot` of a few numbers takes a third of the time of `@`
        curvature = float(change.dot(bend))
        if curvature > 0.0:
            factor = float(change.dot(direction)) / curvature
            direction -= factor * bend
            used.append((change, bend, curvature, factor))
    if used:
        _, bend, curvature, _ = used[0]
        direction *= curvature / float(bend.dot(bend))
    for change, bend, curvature, factor in reversed(used):
        direction += (factor - float(bend.dot(direction)) / curvature) * change
    return direction
