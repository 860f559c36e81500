"""Warning about columns of whole numbers that may be codes: shops, persons, industries."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.fitting.rows import Rows
from bneuralt.model import Model
from bneuralt.model.predict import predictions_of_rows
from bneuralt.warnings import CodeWarning, not_said, warn_user

__all__ = ["CodeWarning", "warn_of_codes"]

#: A column of fewer values is learnt well as a number: its ramps separate nearly all of them.
MIN_VALUES = 12
#: Each value is in this many rows or more, in the mean.
ROWS_PER_VALUE = 5
#: Values must explain this share of the variance of the target beyond the model, and an F
#: statistic must be this many deviations above what noise would give.
SMALLEST_SHARE, DEVIATIONS = 0.03, 6.0
#: Number of rows that are used.
MAX_ROWS = 10_000
#: A warning lists at most this many columns.
MAX_COLUMNS = 5


class _Code(NamedTuple):
    column: int
    n_values: int
    share: float


def warn_of_codes(model: Model, rows: Rows) -> None:
    """Warn of columns whose numbers may be codes, after a fit.

    The errors of the model are compared between the values of each column of whole numbers. A
    number that serves as a number leaves errors whose means are the same for all values.

    Parameters
    ----------
    model : Model
    rows : Rows
        Training rows.
    """
    if rows.table.dtype == np.uint8:  # images
        return
    rows = rows.sample(rows.table.shape[1]).subsample(MAX_ROWS)
    X = rows.X
    candidates = _columns_of_whole_numbers(model.encoder, X)
    if not candidates:
        return
    if model.target is None or model.quantiles is not None:
        return
    predictions = predictions_of_rows(model.in_raw_units(), X, 1)
    errors = model.target.row_errors(predictions, rows.y)
    if errors is None or not np.isfinite(errors[0]).all():
        return
    codes = []
    for column, place in candidates:
        n_values, share = _explained(X[:, place], rows.weight, *errors)
        if share >= SMALLEST_SHARE:
            codes.append(_Code(column, n_values, share))
    new = not_said("codes", [model.encoder.name(code.column) for code in codes])
    codes = [code for code in codes if model.encoder.name(code.column) in new]
    if codes:
        _warn(model, sorted(codes, key=lambda code: -code.share))


def _warn(model: Model, codes: list[_Code]) -> None:
    listing = "; ".join(
        f"column {model.encoder.name(code.column)!r} ({code.n_values:,} values; they explain "
        f"{code.share:.0%} of the variance of the target beyond the model)"
        for code in codes[:MAX_COLUMNS]
    )
    more = len(codes) - MAX_COLUMNS
    listing += f"; and {more} more" if more > 0 else ""
    warn_user(
        f"whole numbers may be codes, for which their order means nothing: {listing}. If they are, "
        "name the column in categorical_features.",
        CodeWarning,
    )


def _columns_of_whole_numbers(encoder: Any, X: Array) -> list[tuple[int, int]]:
    """Return columns of whole numbers, each with its place among the numbers of the table."""
    places = encoder.first_numbers[:-1].tolist()
    numbers = [(j, place) for j, place in enumerate(places) if encoder.features[j].kind == "number"]
    if not numbers:
        return []
    X = X[:100, [place for _, place in numbers]]
    # the mean in place of a gap need not be a whole number
    is_whole = (np.floor(X) == X).mean(axis=0) > 0.5
    return [pair for pair, whole in zip(numbers, is_whole.tolist(), strict=True) if whole]


def _explained(
    values: Array, weight: FloatArray, error: FloatArray, target: FloatArray
) -> tuple[int, float]:
    """Return the number of values of a column, and the share of the variance that they explain.

    Parameters
    ----------
    values : array of shape (n_rows,)
    weight : array of shape (n_rows,)
    error, target : array of shape (n_rows, n_outputs)

    Returns
    -------
    n_values : int
    share : float
        Of the variance of the target that the other rows of the same value explain beyond the
        model, since a value that is seen once explains its own error; 0 if it may be chance.

    Examples
    --------
    >>> values = np.arange(1000.0) % 20
    >>> y = np.random.default_rng(0).normal(size=20)[values.astype(int)][:, np.newaxis]
    >>> n_values, share = _explained(values, np.ones(1000), y, y)
    >>> n_values, round(share, 6)
    (20, 1.0)
    """
    whole = values == np.floor(values)
    codes, index = np.unique(values[whole], return_inverse=True)
    n_values, n = codes.size, int(whole.sum())
    if not MIN_VALUES <= n_values <= n / ROWS_PER_VALUE:
        return n_values, 0.0
    weight = weight[whole] / weight[whole].mean()
    counts = np.bincount(index, weight)
    between = within = total = others = 0.0
    left = counts[index] - weight  # of the other rows of the same value
    for e, y in zip(error[whole].T, target[whole].T, strict=True):
        centred = e - weight @ e / n
        means = np.bincount(index, weight * centred) / counts
        between += float(counts @ np.square(means))
        within += float(weight @ np.square(centred - means[index]))
        # The mean of the other rows of the same value, 0 if there is none.
        sums = np.bincount(index, weight * centred)[index] - weight * centred
        known = left > 1e-9 * counts[index]
        predicted = np.divide(sums, left, out=np.zeros_like(sums), where=known)
        others += float(weight @ (np.square(centred) - np.square(centred - predicted)))
        total += float(weight @ np.square(y - weight @ y / n))
    n_outputs = error.shape[1]
    noise = within / (n - n_values)
    chance = (n_values - 1) * noise
    degrees = n_outputs * (n_values - 1), n_outputs * (n - n_values)
    deviation = chance * np.sqrt(2 / degrees[0] + 2 / degrees[1])
    if not between > chance + DEVIATIONS * deviation:
        return n_values, 0.0
    return n_values, max(0.0, others / total)
