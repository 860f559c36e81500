"""Whole numbers that are codes of shops, persons or industries: their order means nothing.

The target of a row is predicted twice: by the other rows of its value, and by the rows of the next
smaller and larger values. Neighbours of a number have about the same target; those of a code do
not.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.columns import Frame

__all__ = ["CodeEvidence", "code_evidence", "find_codes"]

#: A column of fewer values is learnt well as a number: its ramps separate nearly all of them.
MIN_VALUES = 12
#: Each value is in this many rows or more, in the mean.
MIN_ROWS_PER_VALUE = 5
#: The rows of a value must explain this share of the variance of the target beyond its neighbours,
#: and neighbours at most this part of what the value explains.
MIN_SHARE, MAX_SMOOTH_PART = 0.03, 0.5
#: The means of values must be this many standard deviations further from those of their neighbours
#: than noise would have them.
MIN_DEVIATIONS = 6.0
#: This part of the values, those with the most evidence, is left out: a single value may stand for
#: something else.
LEFT_OUT = 0.1
#: Numbers of values on each side that are tried as neighbours.
NEIGHBOURS = (1, 2, 4, 8, 16)
#: At most this many classes are used, the most frequent ones.
MAX_CLASSES = 10
#: Whole numbers are looked up in a table up to this range.
MAX_RANGE = 2**20


class CodeEvidence(NamedTuple):
    """What the rows say of a column.

    Attributes
    ----------
    n_values : int
        Number of its values.
    share : float
        Share of the variance of the target that the other rows of a value explain beyond those of
        its neighbours; 0 if the column may well be a number.
    """

    n_values: int
    share: float

    @property
    def described(self) -> str:
        """The evidence, for messages."""
        return (
            f"({self.n_values:,} values; they explain {self.share:.0%} of the variance of the "
            "target that the neighbouring numbers do not)"
        )


NO_EVIDENCE = CodeEvidence(0, 0.0)


def find_codes(
    X: Any, counts: FloatArray, target: Array, others: Collection[int] = ()
) -> dict[int, CodeEvidence]:
    """Return the columns of numbers that are codes.

    Parameters
    ----------
    X : array of numbers, sparse matrix or Frame
    counts : array of shape (n_rows,)
        Number of equal rows that each row stands for.
    target : array of shape (n_rows,) or (n_rows, n_columns)
        Class numbers (if integers) or numbers.
    others : collection of int
        Columns that are known to be numbers or categories.
    """
    X = X.tocsc() if issparse(X) else X
    found = {}
    for j in range(X.shape[1]):
        values = None if j in others else _whole_numbers(X, j)
        if values is not None:
            evidence = code_evidence(values, counts, target)
            if evidence.share > 0:
                found[j] = evidence
    return found


def _whole_numbers(X: Any, j: int) -> FloatArray | None:
    """Return a column of whole numbers; None if it is something else."""
    if isinstance(X, Frame):
        column = X.columns[j]
        if column.kind != "number" or column.is_category or column.decision is not None:
            return None
        values = column.values
    elif issparse(X):
        stored = X.data[X.indptr[j] : X.indptr[j + 1]]
        if np.unique(stored).size < MIN_VALUES - 1 or not _are_whole(stored):
            return None
        values = X[:, [j]].toarray()[:, 0]
    else:
        values = X[:, j]
    if not (_are_whole(values[:100]) and _are_whole(values)):  # most columns end after the first
        return None
    numbers: FloatArray = values.astype(np.float64)
    return numbers


def _are_whole(values: Array) -> bool:
    return bool(np.all((values == np.floor(values)) | np.isnan(values)))


def code_evidence(values: FloatArray, counts: FloatArray, target: Array) -> CodeEvidence:
    """Compare what values of a column, and their neighbours, explain of the target.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Whole numbers, NaN where they are missing.
    counts : array of shape (n_rows,)
        Number of equal rows that each row stands for.
    target : array of shape (n_rows,) or (n_rows, n_columns)
        Class numbers (if integers) or numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shop = rng.integers(1, 21, 1000)
    >>> sales = rng.normal(size=21)[shop]
    >>> n_values, share = code_evidence(shop.astype(float), np.ones(1000), sales)
    >>> n_values, share > 0.5
    (20, True)
    >>> code_evidence(shop.astype(float), np.ones(1000), np.sqrt(shop)).share
    0.0
    """
    used = np.isfinite(values) & (counts > 0)
    if not used.all():
        values, counts, target = values[used], counts[used], target[used]
    n_rows = float(counts.sum())
    if n_rows < MIN_VALUES * MIN_ROWS_PER_VALUE:
        return NO_EVIDENCE
    place, n_values = _positions(values)
    if not MIN_VALUES <= n_values <= n_rows / MIN_ROWS_PER_VALUE:
        return NO_EVIDENCE
    n: FloatArray = np.bincount(place, counts, minlength=n_values).astype(np.float64)
    sums, squares = _target_sums(place, n, counts, target)
    total = float(squares.sum())
    if total <= 0.0:
        return NO_EVIDENCE
    own = _explained_by_value(n, sums, squares)
    noise = float((squares - np.square(sums).sum(axis=1) / n).sum()) / (n_rows - n_values)
    tried = [_explained_by_neighbours(n, sums, reach, noise) for reach in NEIGHBOURS]
    by_neighbours, deviates = max(tried, key=lambda each: float(each[0].sum()))
    if not deviates:
        return CodeEvidence(n_values, 0.0)
    left_out = int(np.ceil(LEFT_OUT * n_values))
    kept = np.argsort(own - by_neighbours, kind="stable")[: n_values - left_out]
    own_share, share = own[kept].sum() / total, max(0.0, by_neighbours[kept].sum() / total)
    if own_share - share < MIN_SHARE or share > MAX_SMOOTH_PART * own_share:
        return CodeEvidence(n_values, 0.0)
    return CodeEvidence(n_values, float(own.sum() - max(0.0, by_neighbours.sum())) / total)


def _positions(values: FloatArray) -> tuple[IntArray, int]:
    """Return the position of each number among the different ones, and how many there are."""
    low, high = values.min(), values.max()
    if high - low >= MAX_RANGE:
        distinct, place = np.unique(values, return_inverse=True)
        return place, distinct.size
    offset = (values - low).astype(np.intp)
    is_there = np.zeros(int(high - low) + 1, dtype=bool)
    is_there[offset] = True
    return (np.cumsum(is_there) - 1)[offset], int(is_there.sum())


def _target_sums(
    place: IntArray, n: FloatArray, counts: FloatArray, target: Array
) -> tuple[FloatArray, FloatArray]:
    """Return sums of the centred target in the rows of each value, and sums of its square.

    Returns
    -------
    sums : array of shape (n_values, n_outputs)
    squares : array of shape (n_values,)
        Of all outputs.
    """
    if target.ndim == 1 and target.dtype.kind in "iu":
        n_classes = int(target.max()) + 1
        cells = np.bincount(place * n_classes + target, counts, minlength=n.size * n_classes)
        table = cells.reshape(n.size, n_classes)
        frequent = np.argsort(-table.sum(axis=0), kind="stable")[:MAX_CLASSES]
        table = table[:, frequent]
        share = table.sum(axis=0) / n.sum()
        squares = table * (1 - 2 * share) + n[:, np.newaxis] * np.square(share)
        return table - n[:, np.newaxis] * share, squares.sum(axis=1)
    numbers = target.reshape(len(target), -1).astype(np.float64)
    centred = numbers - counts @ numbers / counts.sum()
    sums = [np.bincount(place, counts * y, minlength=n.size) for y in centred.T]
    square = np.square(centred).sum(axis=1)
    squares = np.bincount(place, counts * square, minlength=n.size)
    return np.column_stack(sums), squares.astype(np.float64)


def _explained_by_value(n: FloatArray, sums: FloatArray, squares: FloatArray) -> FloatArray:
    """Return by how much the other rows of a value decrease the squares of its rows."""
    square_of_sum = np.square(sums).sum(axis=1)
    others = np.maximum(n - 1, 1.0)
    products = 2 * (square_of_sum - squares) / others
    guesses = ((n - 2) * square_of_sum + squares) / np.square(others)
    return np.where(n >= 2, products - guesses, 0.0)


def _explained_by_neighbours(
    n: FloatArray, sums: FloatArray, n_neighbours: int, noise: float
) -> tuple[FloatArray, bool]:
    """Return by how much as many values on each side decrease the squares of the rows of a value.

    Also returned is whether the means of values are further from those of their neighbours than
    noise would have them.
    """
    place = np.arange(n.size)
    reach = np.minimum(n_neighbours, np.minimum(place, place[::-1]))
    low, high = place - reach, place + reach + 1
    low[-1], high[0] = n.size - 2, 2  # the ends have one neighbour
    cumulated = np.cumsum(np.vstack([np.zeros(1 + sums.shape[1]), np.column_stack([n, sums])]), 0)
    around = cumulated[high] - cumulated[low]
    n_around = around[:, 0] - n
    guess = (around[:, 1:] - sums) / n_around[:, np.newaxis]
    explained = (2 * guess * sums - n[:, np.newaxis] * np.square(guess)).sum(axis=1)
    distance = float(n @ np.square(sums / n[:, np.newaxis] - guess).sum(axis=1))
    parts = noise * (1 + n / n_around)
    chance, deviation = parts.sum(), np.sqrt(2 * np.square(parts).sum())
    return explained, bool(distance > chance + MIN_DEVIATIONS * deviation)
