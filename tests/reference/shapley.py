"""Shapley values by their definition, with which attributions are compared."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np

from bneuralt._typing import Array, FloatArray

__all__ = ["shapley_values"]

#: Largest number of features n, since 2**n rows are predicted.
MOST_FEATURES = 20


def shapley_values(
    predict: Callable[[FloatArray], Array], x: FloatArray, baseline: FloatArray
) -> FloatArray:
    """Return the exact Shapley values of one prediction against one baseline row.

    Every subset of the features is taken from the row and the others from the baseline, so this
    takes ``2**n_features`` predictions.

    Parameters
    ----------
    predict : callable
        From rows to an array of shape (n_rows, n_outputs).
    x, baseline : array of shape (n_features,)

    Returns
    -------
    array of shape (n_features, n_outputs)

    Examples
    --------
    >>> shapley_values(lambda X: X[:, :1] * X[:, 1:], np.array([2.0, 3.0]), np.zeros(2))
    array([[3.],
           [3.]])
    """
    n = x.size
    if n > MOST_FEATURES:
        raise ValueError(f"x has {n} features: exact Shapley values take at most {MOST_FEATURES}")
    subsets = np.arange(2**n)
    has = (subsets[:, np.newaxis] >> np.arange(n)) & 1 == 1
    outputs = np.asarray(predict(np.where(has, x, baseline)), dtype=np.float64)
    size = has.sum(axis=1)
    weights = np.array([factorial(s) * factorial(n - 1 - s) / factorial(n) for s in range(n)])
    values = np.empty((n, outputs.shape[1]))
    for i in range(n):
        without = subsets[~has[:, i]]
        gains = outputs[without + (1 << i)] - outputs[without]
        values[i] = weights[size[without]] @ gains
    return values
