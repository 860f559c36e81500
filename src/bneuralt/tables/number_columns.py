"""The columns of numbers of an array or a frame, encoded all at once instead of one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Self

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.features import Feature, NumberFeature

__all__ = ["NumberColumns"]

#: About this many numbers are encoded at a time: copies of that size stay in the cache.
BLOCK_NUMBERS = 2**16


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """How columns of numbers become numbers without gaps: `NumberFeature.write` as arrays.

    Each number has an entry: the value of a column or, with gaps, the indicator behind it.

    Attributes
    ----------
    column : int array of shape (n,)
        The column of each number.
    place : int array of shape (n,), or slice
        Its position among the numbers of all columns, those of other kinds included.
    is_indicator : bool array of shape (n,)
        Whether it says where values are missing.
    fill : float64 array of shape (n,)
        What replaces missing values of the column; NaN if these need a warning or an error.
    sentinels : float64 array of shape (n_sentinels, n)
        Values that stand for missing ones; NaN where a column has fewer of them than another.
    """

    column: IntArray
    place: IntArray | slice
    is_indicator: Array
    fill: FloatArray
    sentinels: FloatArray

    @classmethod
    def of(cls, features: Sequence[Feature], first_numbers: IntArray) -> Self:
        """Return those columns of a table that are numbers.

        Parameters
        ----------
        features : sequence of Feature
            The descriptions of all columns.
        first_numbers : int array of shape (n_columns + 1,)
            Positions of their first numbers, and the number of all of them.
        """
        numbers = [
            (i, int(first_numbers[i]) + k, k, feature)
            for i, feature in enumerate(features)
            if type(feature) is NumberFeature
            for k in range(feature.n_numbers)
        ]
        fills = [f.mean if f.has_gaps or f.ignores_gaps else None for *_, f in numbers]
        sentinels = list(zip_longest(*(f.sentinels for *_, f in numbers), fillvalue=np.nan))
        place = np.array([place for _, place, *_ in numbers], dtype=np.intp)
        return cls(
            np.array([i for i, *_ in numbers], dtype=np.intp),
            slice(None) if place.size == first_numbers[-1] else place,
            np.array([k for *_, k, _ in numbers], dtype=bool),
            np.array(fills, dtype=np.float64),  # None becomes NaN
            np.array(sentinels, dtype=np.float64).reshape(len(sentinels), len(numbers)),
        )

    def within(self, positions: IntArray) -> NumberColumns:
        """Return the columns that are in an array of the columns at these positions."""
        kept = np.flatnonzero(np.isin(self.column, positions))
        order = np.argsort(positions)
        places = np.arange(self.column.size) if isinstance(self.place, slice) else self.place
        return NumberColumns(
            order[np.searchsorted(positions, self.column[kept], sorter=order)],
            places[kept],
            self.is_indicator[kept],
            self.fill[kept],
            self.sentinels[:, kept],
        )

    def write(self, X: Array, encoded: Array) -> IntArray:
        """Write the numbers of the columns, and return the columns for which this is not enough.

        These have infinite values, or missing ones though training had none.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        encoded : float array of shape (n_rows, n_numbers)

        Examples
        --------
        >>> features = [NumberFeature(2.0, has_gaps=True, sentinels=(-999.0,)), NumberFeature(1.0)]
        >>> columns = NumberColumns.of(features, np.array([0, 2, 3]))
        >>> encoded = np.empty((2, 3))
        >>> columns.write(np.array([[-999.0, 5.0], [3.0, 6.0]]), encoded).tolist()
        []
        >>> encoded.tolist()
        [[2.0, 1.0, 5.0], [3.0, 0.0, 6.0]]
        """
        is_finite = np.ones(self.column.size, dtype=bool)
        n_rows = max(1, BLOCK_NUMBERS // max(1, self.column.size))
        for start in range(0, len(X), n_rows):
            rows = slice(start, start + n_rows)
            numbers = X[rows].take(self.column, axis=1).astype(encoded.dtype, copy=False)
            is_gap = np.isnan(numbers)
            for sentinels in self.sentinels:
                is_gap |= numbers == sentinels  # as float64, also if the numbers are float32
            np.copyto(numbers, self.fill, where=is_gap)
            if not (finite := np.isfinite(numbers)).all():
                is_finite &= finite.all(axis=0)
            numbers[:, self.is_indicator] = is_gap[:, self.is_indicator]
            encoded[rows, self.place] = numbers
        return self.column[~is_finite]
