"""Rows that stand for the training rows where these are not at hand: means of similar rows."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.model import Model

__all__ = ["reference_rows"]

#: Largest number of reference rows, and of numbers in them together.
MAX_REFERENCES, MAX_NUMBERS = 16, 4096
#: Smallest number of training rows of which a reference row is the mean.
MIN_ROWS = 5
#: Numbers are rounded to this share of the deviation of their input.
ROUNDING = 1e-3


def reference_rows(
    model: Model, inputs: Array, weight: FloatArray, importances: FloatArray
) -> FloatArray:
    """Return means of groups of similar training rows, as inputs of the trees.

    Rows are divided at the median of the input that varies most, in standard deviations times the
    importance of its column; then each half in the same way, and so on. Ramps do not count: they
    follow from their column. None of the results is a training row: each is the mean of at least
    `MIN_ROWS` rows, or of all rows.

    Parameters
    ----------
    model : Model
    inputs : array of shape (n_rows, n_inputs)
        Different training rows.
    weight : array of shape (n_rows,)
    importances : array of shape (n_columns,)

    Returns
    -------
    array of shape (n_references, n_inputs)
        At most `MAX_REFERENCES` rows of together `MAX_NUMBERS` numbers, or a single row.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.0, 1.0])
    >>> X = np.arange(12.0)[:, np.newaxis]
    >>> reference_rows(Model.of_tree(tree), X, np.ones(12), np.ones(1))[:, 0]
    array([2.5, 8.5])
    """
    rows = np.asarray(inputs, dtype=np.float64)
    drawn = model.encoder.drawn_groups
    with np.errstate(over="ignore"):
        deviation = rows.std(axis=0)
    factor = np.zeros(rows.shape[1])
    np.divide(importances[model.column_of_input], deviation, out=factor, where=deviation > 0)
    place = rows * factor if drawn is None else rows[:, drawn >= 0] * factor[drawn >= 0]
    groups = [np.arange(len(rows))]
    most = min(MAX_REFERENCES, MAX_NUMBERS // rows.shape[1])
    while 2 * len(groups) <= most and min(map(len, groups)) >= 2 * MIN_ROWS:
        groups = [half for group in groups for half in _halves(group, place)]
    means = np.array(
        [weight[group] @ rows.take(group, axis=0) / weight[group].sum() for group in groups]
    )
    unit = np.where(deviation > 0, ROUNDING * deviation, 1.0)
    digits = np.ceil(-np.log10(unit)).clip(-290, 290)
    power = 10.0 ** np.abs(digits)  # a negative power would be rounded
    with np.errstate(over="ignore"):  # in the case that is not used
        rounded: FloatArray = np.where(
            digits < 0, np.round(means / power) * power, np.round(means * power) / power
        )
    return rounded


def _halves(group: Array, place: FloatArray) -> tuple[Array, Array]:
    """Divide rows at the median of the column that varies most."""
    values = place.take(group, axis=0)
    values -= values.sum(axis=0) / len(group)
    widest = np.einsum("ij,ij->j", values, values).argmax()
    order = group[np.argsort(values[:, widest], kind="stable")]
    return order[: len(group) // 2], order[len(group) // 2 :]
