"""Conformal prediction intervals, from the errors on rows that were not used for training.

If n such rows and a new row are exchangeable, the error of the new row is among the k smallest of
the n + 1 errors with probability k / (n + 1). So an interval whose half-width is the k-th smallest
error of the n rows, k = ceil((n + 1) * coverage), has that coverage for any model (Vovk et al.,
2005). With quantiles, the error is the distance of the target from the interval between two of
them (Romano, Patterson and Candes, 2019).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray

__all__ = [
    "Calibration",
    "calibrated_interval",
    "pinball",
    "weighted_quantile",
]


class Calibration(NamedTuple):
    """Residuals of predictions on rows that were not used for training.

    Attributes
    ----------
    residuals : array of shape (n_rows, n_outputs)
        Target minus prediction.
    weight : array of shape (n_rows,)
        Weight of each row.
    """

    residuals: FloatArray
    weight: FloatArray


def calibrated_interval(
    values: FloatArray,
    spread: FloatArray,
    calibration: Calibration,
    coverage: float,
    quantiles: FloatArray | None = None,
) -> FloatArray:
    """Return lower and upper ends, an array of shape (n_rows, 2, n_targets).

    Parameters
    ----------
    values : array of shape (n_rows, n_outputs)
        Predictions.
    spread : array of shape (n_rows, n_outputs)
        Scale of the residuals; those of the calibration are already divided by it.
    calibration : Calibration
    coverage : float
    quantiles : array of shape (n_outputs,), optional
        Set if the outputs are quantiles of one target.

    Examples
    --------
    >>> calibration = Calibration(np.array([[-1.0], [3.0], [2.0]]), np.ones(3))
    >>> values = np.array([[10.0]])
    >>> calibrated_interval(values, np.ones((1, 1)), calibration, 0.5)[:, :, 0]
    array([[ 8., 12.]])
    """
    if isinstance(coverage, bool) or not isinstance(coverage, (int, float, np.number)):
        raise TypeError(f"coverage must be a number between 0 and 1, got {coverage!r}")
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}")
    residuals, weight = calibration
    low = high = np.arange(values.shape[1])
    if quantiles is not None:
        low = np.array([np.abs(quantiles - (1 - coverage) / 2).argmin()])
        high = np.array([np.abs(quantiles - (1 + coverage) / 2).argmin()])
    errors = np.maximum(-residuals[:, low], residuals[:, high])
    reach = np.array([_reach(column, weight, coverage) for column in errors.T])
    ends = np.stack(
        [values[:, low] - reach * spread[:, low], values[:, high] + reach * spread[:, high]], axis=1
    )
    # Quantiles that are moved past each other leave a point.
    crossed = ends[:, 0] > ends[:, 1]
    return np.where(crossed[:, np.newaxis], ends.mean(axis=1, keepdims=True), ends)


def _reach(errors: FloatArray, weight: FloatArray, coverage: float) -> float:
    """Return the bound that the error of a new row stays below with this probability."""
    total = weight.sum()
    needed = coverage * (total + 1)
    if needed > total * (1 + 1e-12):
        least = int(np.ceil(coverage / (1 - coverage) - 1e-9))
        raise ValueError(
            f"coverage={coverage!r} needs {least} rows to calibrate on, there are {total:g}: hold "
            "out more rows in fit, or use a lower coverage"
        )
    order = errors.argsort()
    place = np.searchsorted(weight[order].cumsum(), needed * (1 - 1e-12))
    return float(errors[order[min(place, errors.size - 1)]])


def weighted_quantile(values: FloatArray, weight: FloatArray, quantile: float) -> float:
    """Return the weighted quantile: the smallest value with this share of the weight up to it.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    2.0
    """
    order = values.argsort()
    total = weight[order].cumsum()
    place = np.searchsorted(total, quantile * total[-1])
    return float(values[order[min(place, values.size - 1)]])


def pinball(target: Array, predicted: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return the pinball loss of each row and quantile.

    Examples
    --------
    >>> pinball(np.array([1.0]), np.array([[0.0, 3.0]]), np.array([0.1, 0.9]))
    array([[0.1, 0.2]])
    """
    difference = target[:, np.newaxis] - predicted
    return np.maximum(quantiles * difference, (quantiles - 1) * difference)
