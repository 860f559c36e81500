"""Means and ranges of columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bneuralt._typing import Array, FloatArray

__all__ = ["means_and_ranges", "rounded_mean"]


def rounded_mean(values: FloatArray, weight: FloatArray) -> float:
    """Return the mean of one column; see `means_and_ranges`."""
    if values.size == 0 or np.isinf(values).any():
        return 0.0
    return float(means_and_ranges(values[:, np.newaxis], weight)[0][0])


def means_and_ranges(X: Array, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the mean of each column, rounded to a millionth of its spread, minimum and maximum.

    So the mean does not depend on the order of the rows, by which sums differ in their last digits.
    Rows of weight 0 are ignored. X is gone through in blocks of rows, as it may be large.

    Examples
    --------
    >>> means_and_ranges(np.array([[0.1], [0.2], [0.3]]), np.ones(3))
    (array([0.2]), array([0.1]), array([0.3]))
    """

    def blocks() -> Iterator[tuple[FloatArray, FloatArray]]:
        n_rows = max(1, 100_000 // X.shape[1])
        for start in range(0, len(X), n_rows):
            part, own = X[start : start + n_rows], weight[start : start + n_rows]
            part, own = (part, own) if own.all() else (part[own > 0], own[own > 0])
            if own.size:
                yield part.astype(np.float64), own

    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for part, _ in blocks():
        low, high = np.minimum(low, part.min(axis=0)), np.maximum(high, part.max(axis=0))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        span = high - low
        usable = np.isfinite(span) & (span > 0)
        unit = np.where(usable, span, 1.0)
        total = sum((own @ ((part - low) / unit) for part, own in blocks()), np.zeros(low.size))
        mean = low + unit * total / weight.sum()
        step = 10.0 ** np.maximum(np.floor(np.log10(unit)) - 6, -300)
        # Dividing by a power of ten rounds better than multiplying by a negative power.
        fine = np.round(mean / step) / np.round(1 / step)
        rounded = np.where(step >= 1, np.round(mean / step) * step, fine)
    means: FloatArray = np.where(usable, np.where(np.isfinite(rounded), rounded, mean), low)
    return means, low, high
