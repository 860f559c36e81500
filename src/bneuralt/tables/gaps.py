"""Test whether missing values are related to the target: only then they get an input.

An input that says where a column has gaps is noise if values are missing at random, and trees that
have one for each column learn less from the values (`docs/lab/lab_book.md` has the figures).
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from bneuralt._typing import Array, FloatArray

__all__ = ["gaps_are_informative"]

#: Gaps that are unrelated to the target seem to be related to it with this probability.
SIGNIFICANCE = 0.01


def gaps_are_informative(gaps: Array, target: Array, weight: FloatArray) -> bool:
    """Return whether the target differs between rows with and without a value.

    A chi-squared test: for class numbers, of the table of gaps by classes; for other targets, of
    their correlation with the gaps (of several, the highest one).

    Parameters
    ----------
    gaps : bool array of shape (n_rows,)
    target : array of shape (n_rows,) or (n_rows, n_columns)
        Class numbers if it is of integers.
    weight : array of shape (n_rows,)
        How often each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> gaps, classes = np.arange(80) % 4 == 0, np.arange(80) % 2
    >>> gaps_are_informative(gaps, classes, np.ones(80))
    True
    >>> gaps_are_informative(gaps, np.arange(80) // 40, np.ones(80))
    False
    """
    total = float(weight.sum())
    share = float(weight[gaps].sum()) / total
    if not 0.0 < share < 1.0:
        return False
    if target.dtype.kind in "iu":
        n_members = np.bincount(target, weight)
        expected = share * n_members[n_members > 0]
        observed = np.bincount(target[gaps], weight[gaps], minlength=n_members.size)[n_members > 0]
        statistic = float(np.sum((observed - expected) ** 2 / expected)) / (1.0 - share)
        return bool(chdtrc(max(1, expected.size - 1), statistic) < SIGNIFICANCE)
    values = target.reshape(len(target), -1)
    values = values - np.average(values, axis=0, weights=weight)
    variance = weight @ np.square(values) / total
    covariance = (weight[gaps] @ values[gaps]) / total
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.where(variance > 0, covariance**2 / variance, 0.0) / (share * (1.0 - share))
    return bool(chdtrc(1, total * squares.max()) * squares.size < SIGNIFICANCE)
