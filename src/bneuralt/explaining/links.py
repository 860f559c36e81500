"""Contributions to predictions from contributions to the outputs of trees.

A prediction is a function of the outputs of a tree: a softmax, an exponential, a logarithm. Its
change between baseline and row is divided among the outputs in proportion to its mean slope on the
straight line between the two (Aumann and Shapley), so that the parts add up to the change.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.legendre import leggauss

from bneuralt._typing import FloatArray
from bneuralt.expressions import (
    OUTPUTS,
    Expression,
    evaluate,
    log,
    maximum,
    minimum,
    slope,
    substitute,
    total,
    vector_jacobian,
    without_order,
)
from bneuralt.model import Model
from bneuralt.training.losses import LINKS

__all__ = ["links", "mean_slopes", "secants"]

#: Points of the integration; its error is distributed afterwards, so that sums are exact.
N_POINTS = 24
POSITIONS, WEIGHTS = ((x + shift) / 2 for x, shift in zip(leggauss(N_POINTS), (1, 0), strict=True))
#: Derivatives that are computed at once: as many as fit into the cache.
MAX_NUMBERS = 2**14
#: Quotients of differences below this are dominated by rounding errors.
SMALL = 1e-6

_LEAST, _MOST = float(np.finfo(np.float64).tiny), 1.0 - float(np.finfo(np.float64).epsneg)
_BOUNDED = minimum(maximum(OUTPUTS, _LEAST), _MOST)

#: Scores of probabilities: the inverse of the softmax or, for labels, of the sigmoid.
SCORES: dict[str, Expression] = {
    "classes": log(maximum(OUTPUTS, _LEAST)),
    "labels": log(_BOUNDED / (1.0 - _BOUNDED)),
}


def links(model: Model, output: str | None) -> tuple[Expression, Expression]:
    """Return the link that is applied to each tree, and that of the mean over the trees.

    Parameters
    ----------
    model : Model
    output : {"score", "probability"} or None
        The quantity to explain; None for numbers.
    """
    link = without_order(model.link)
    if output == "score" and (len(model.trees) == 1 or model.averages == "outputs"):
        return OUTPUTS, _scores(link, model.task)
    of_tree, of_mean = (link, OUTPUTS) if model.averages == "predictions" else (OUTPUTS, link)
    if output == "score":
        of_mean = substitute(SCORES[model.task], {"outputs": of_mean})
    return of_tree, of_mean


def _scores(link: Expression, task: str) -> Expression:
    """Return the scores of one tree, equal to those of `decision_function`."""
    if link == LINKS[task]:
        return OUTPUTS
    if link.operation == "divide" and link.arguments[1] == total(link.arguments[0]):
        return log(link.arguments[0])
    return substitute(SCORES[task], {"outputs": link})


def secants(link: Expression, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the factors by which a link of single outputs multiplies differences.

    Parameters
    ----------
    link : Expression
        An elementwise link (`is_elementwise`).
    start, end : array
        Arrays of shapes that can be broadcast.

    Examples
    --------
    >>> from bneuralt.expressions import exp
    >>> secants(exp(OUTPUTS), np.zeros(2), np.array([0.0, 1.0])).round(3)
    array([1.   , 1.718])
    """

    def slope_at(outputs: FloatArray) -> FloatArray:
        return np.asarray(slope(link, {"outputs": outputs}, "outputs"), dtype=np.float64)

    difference = end - start
    is_close = np.abs(difference) < SMALL
    change = evaluate(link, {"outputs": end}) - evaluate(link, {"outputs": start})
    quotient = change / np.where(is_close, 1.0, difference)
    factors: FloatArray = np.where(is_close, (slope_at(start) + slope_at(end)) / 2, quotient)
    return factors


def mean_slopes(link: Expression, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the mean derivatives of a link of all outputs between two points.

    Parameters
    ----------
    link : Expression
    start : array of shape (k,)
    end : array of shape (n_rows, k)

    Returns
    -------
    array of shape (n_rows, k, k)
        Its product with the difference of the two points is the difference of the values.

    Examples
    --------
    >>> from scipy.special import softmax
    >>> from bneuralt.training.losses import SOFTMAX
    >>> start, end = np.zeros(2), np.array([[1.0, 3.0]])
    >>> slopes = mean_slopes(SOFTMAX, start, end)
    >>> np.allclose(slopes[0] @ (end[0] - start), softmax(end[0]) - softmax(start))
    True
    """
    difference = end - start
    n_rows, k = end.shape
    mean = np.zeros((n_rows, k, k))
    at_once = max(1, min(N_POINTS, MAX_NUMBERS // max(1, n_rows * k * k)))
    for first in range(0, N_POINTS, at_once):
        chunk = slice(first, first + at_once)
        points = start + POSITIONS[chunk, np.newaxis, np.newaxis] * difference
        slopes = vector_jacobian(link, points.reshape(-1, k)).reshape(*points.shape[:2], -1, k)
        mean += np.tensordot(WEIGHTS[chunk], slopes, axes=1)
    change = evaluate(link, {"outputs": end}) - evaluate(link, {"outputs": start})
    error = change - np.einsum("nij,nj->ni", mean, difference)
    squares = np.square(difference).sum(axis=1)
    share = difference / np.where(squares > 0, squares, 1.0)[:, np.newaxis]
    result: FloatArray = mean + error[:, :, np.newaxis] * share[:, np.newaxis, :]
    return result
