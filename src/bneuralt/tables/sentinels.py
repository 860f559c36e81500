"""Numbers that stand for missing values, such as -999 or 999999.

A sentinel repeats, and lies far outside of all other numbers of its column. One that is not a usual
code, such as -999, is in a few rows only, of a column with many other values.
"""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array, FloatArray

__all__ = ["find_sentinels", "have_repeated_ends"]

#: A sentinel is in this share of the rows or more, and in this number of them.
SMALLEST_SHARE, FEWEST_ROWS = 0.002, 3
#: Its distance from the nearest other number, in units of the span of the others: of any number,
#: and of those that are written with nines only.
FAR, FAR_FOR_NINES = 5.0, 1.0
#: A number that is no usual code is in at most this share of the rows, and its column has at least
#: this many other numbers that differ.
LARGEST_SHARE, FEWEST_OTHERS_OF_UNUSUAL = 0.05, 10
#: Usual codes beside those of nines: -1, and the ends of ranges of integers.
USUAL_CODES = (-1.0, 32767.0, -32768.0, 65535.0, 2147483647.0, -2147483648.0)
#: Rows are compared with the ends of their columns in blocks of this many.
BLOCK_ROWS = 4096
#: A column has at most this many of them, and at least this many other numbers that differ.
MOST_SENTINELS, FEWEST_OTHERS = 3, 3


def find_sentinels(
    values: Array, weight: FloatArray, may_be_frequent: bool = False
) -> tuple[float, ...]:
    """Return the numbers of a column that stand for missing values, in ascending order.

    Parameters
    ----------
    values : array of finite numbers
    weight : array of the same shape
        How many equal rows each number stands for.
    may_be_frequent : bool
        Whether any number may be a sentinel, as dates far in the future, however frequent it is.

    Examples
    --------
    >>> ages = np.array([20.0, 35.0, 50.0, 65.0, 999.0, 999.0, 999.0])
    >>> find_sentinels(ages, np.ones(7))
    (999.0,)
    >>> find_sentinels(ages[:-1], np.ones(6))
    ()
    """
    least = _fewest_rows(weight)
    if values.size == 0 or not _has_far_end(values, weight, least):
        return ()
    numbers, index = np.unique(values.astype(np.float64), return_inverse=True)
    counts: FloatArray = np.bincount(index, weight).astype(np.float64)
    found: list[float] = []
    low, high = 0, numbers.size - 1
    while len(found) < MOST_SENTINELS and high - low >= FEWEST_OTHERS:
        ends = [
            i
            for i in (low, high)
            if (may_be_frequent or _may_be_sentinel(numbers, counts, i, low, high))
            and _is_sentinel(numbers, counts, i, low, high, least)
        ]
        if not ends:
            break
        found.append(float(numbers[ends[0]]))
        low, high = (low + 1, high) if ends[0] == low else (low, high - 1)
    return tuple(sorted(found))


def have_repeated_ends(
    X: Array, weight: FloatArray, ends: tuple[Array, Array] | None = None
) -> Array:
    """Return for each column whether its lowest or highest number repeats: the only candidates.

    Parameters
    ----------
    X : array of finite numbers of shape (n_rows, n_columns)
    weight : array of shape (n_rows,)
    ends : (array, array), optional
        Lowest and highest number of each column, if they are known.

    Examples
    --------
    >>> X = np.array([[1.0, 9.0], [2.0, 1.0], [3.0, 9.0], [4.0, 9.0]])
    >>> have_repeated_ends(X, np.ones(4))
    array([False,  True])
    """
    n_columns, least = X.shape[1], _fewest_rows(weight)
    repeats = np.zeros(n_columns, dtype=bool)
    if len(X) == 0:
        return repeats
    for end in (X.min(axis=0), X.max(axis=0)) if ends is None else ends:
        total = np.zeros(n_columns)
        for start in range(0, len(X), BLOCK_ROWS):
            places = np.flatnonzero(X[start : start + BLOCK_ROWS] == end)
            row, column = np.divmod(places, n_columns)
            total += np.bincount(column, weight[start + row], minlength=n_columns)
        repeats |= total >= least
    return repeats


def _fewest_rows(counts: FloatArray) -> float:
    return max(FEWEST_ROWS, SMALLEST_SHARE * float(counts.sum()))


def _has_far_end(values: Array, weight: FloatArray, least: float) -> bool:
    """Return whether the lowest or the highest number repeats, far from all others.

    Most columns end here, without being sorted.
    """
    low, high = float(values.min()), float(values.max())
    for end in (low, high):
        is_end = values == end
        if end == 0.0 or weight @ is_end < least or is_end.all():
            continue
        others = values[~is_end]
        first, last = float(others.min()), float(others.max())
        distance = first - low if end == low else high - last
        if distance > FAR_FOR_NINES * (last - first):
            return True
    return False


def _is_nines(number: float) -> bool:
    return set(f"{abs(number):.15g}") - {"."} == {"9"}


def _may_be_sentinel(numbers: FloatArray, counts: FloatArray, i: int, low: int, high: int) -> bool:
    """Return whether a number is a usual code, or in few rows of a column with many values."""
    if _is_nines(numbers[i]) or numbers[i] in USUAL_CODES:
        return True
    share = counts[i] / counts[low : high + 1].sum()
    return bool(share <= LARGEST_SHARE and high - low >= FEWEST_OTHERS_OF_UNUSUAL)


def _is_sentinel(
    numbers: FloatArray, counts: FloatArray, i: int, low: int, high: int, least: float
) -> bool:
    """Return whether number i, the lowest or the highest one, is far from numbers low to high."""
    if counts[i] < least or numbers[i] == 0.0:
        return False
    first, last = (low + 1, high) if i == low else (low, high - 1)
    with np.errstate(over="ignore"):
        span = numbers[last] - numbers[first]
        distance = numbers[first] - numbers[i] if i == low else numbers[i] - numbers[last]
    far = FAR_FOR_NINES if _is_nines(numbers[i]) else FAR
    return bool(np.isfinite(distance) and distance > far * span)
