"""From contributions to outputs of trees to contributions to predictions.

A prediction is a function of the outputs of a tree: a softmax, an exponential, a difference. Its
change between baseline and row is split among the outputs in proportion to its mean slope on the
straight line between the two (Aumann and Shapley), so that the parts add up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bneuralt._typing import FloatArray

__all__ = ["mean_slopes", "secants", "share_slopes", "softmax_slopes"]

#: Points of the integration; what it misses is made up for, so that sums are exact.
N_POINTS = 24
#: Differences below this have no quotient that rounding leaves meaningful.
SMALL = 1e-6

Function = Callable[[FloatArray], FloatArray]


def secants(function: Function, slope: Function, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the factors by which a function of one number multiplies differences.

    Parameters
    ----------
    function, slope : callable
        A function of each entry of an array, and its derivative.
    start, end : array
        Of shapes that can be broadcast.

    Examples
    --------
    >>> secants(np.exp, np.exp, np.zeros(2), np.array([0.0, 1.0])).round(3)
    array([1.   , 1.718])
    """
    difference = end - start
    is_close = np.abs(difference) < SMALL
    quotient = (function(end) - function(start)) / np.where(is_close, 1.0, difference)
    factors: FloatArray = np.where(is_close, (slope(start) + slope(end)) / 2, quotient)
    return factors


def mean_slopes(
    function: Function, slopes: Function, start: FloatArray, end: FloatArray
) -> FloatArray:
    """Return the mean derivatives of a function of several numbers between two points.

    Parameters
    ----------
    function : callable
        From arrays of shape (n_rows, k) to arrays of shape (n_rows, k).
    slopes : callable
        Its derivatives: to arrays of shape (n_rows, k, k), values by arguments.
    start : array of shape (k,)
    end : array of shape (n_rows, k)

    Returns
    -------
    array of shape (n_rows, k, k)
        Times the difference of the two points, it is the difference of the values.

    Examples
    --------
    >>> from scipy.special import softmax
    >>> start, end = np.zeros(2), np.array([[1.0, 3.0]])
    >>> slopes = mean_slopes(lambda s: softmax(s, axis=1), softmax_slopes, start, end)
    >>> np.allclose(slopes[0] @ (end[0] - start), softmax(end[0]) - softmax(start))
    True
    """
    difference = end - start
    total = np.zeros((*end.shape, end.shape[1]))
    positions, weights = np.polynomial.legendre.leggauss(N_POINTS)
    for position, weight in zip((positions + 1) / 2, weights / 2, strict=True):
        total += weight * slopes(start + position * difference)
    change = function(end) - function(start[np.newaxis])
    missed = change - np.einsum("nij,nj->ni", total, difference)
    squares = np.square(difference).sum(axis=1)
    share = difference / np.where(squares > 0, squares, 1.0)[:, np.newaxis]
    result: FloatArray = total + missed[:, :, np.newaxis] * share[:, np.newaxis, :]
    return result


def softmax_slopes(scores: FloatArray) -> FloatArray:
    """Return the derivatives of the softmax of each row.

    Examples
    --------
    >>> softmax_slopes(np.zeros((1, 2)))
    array([[[ 0.25, -0.25],
            [-0.25,  0.25]]])
    """
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = powers / powers.sum(axis=1, keepdims=True)
    slopes: FloatArray = -p[:, :, np.newaxis] * p[:, np.newaxis, :]
    diagonal = np.arange(p.shape[1])
    slopes[:, diagonal, diagonal] += p
    return slopes


def share_slopes(values: FloatArray) -> FloatArray:
    """Return the derivatives of the share of each number in the sum of its row.

    Examples
    --------
    >>> share_slopes(np.array([[1.0, 1.0]]))
    array([[[ 0.25, -0.25],
            [-0.25,  0.25]]])
    """
    total = values.sum(axis=1)[:, np.newaxis, np.newaxis]
    shares = values[:, :, np.newaxis] / total
    result: FloatArray = (np.eye(values.shape[1]) - shares) / total
    return result
