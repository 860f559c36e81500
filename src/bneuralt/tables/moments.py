"""Extremes, means and variances of the columns of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.lines import InputLines

__all__ = ["ColumnMoments", "JoinedMoments", "rounded_mean"]

#: A table is read in blocks of this many numbers, so that there never is a float64 copy of it.
BLOCK_NUMBERS = 100_000


class _Extent(NamedTuple):
    low: FloatArray
    high: FloatArray
    span: FloatArray
    varies: Array
    unit: FloatArray


class ColumnMoments:
    """Statistics of the columns of a table, each computed once, on first use.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Of finite numbers.
    weight : array of shape (n_rows,)
        How much each row counts; rows of weight 0 are ignored.
    rows : array of positions, optional
        The statistics are those of these rows of X only, to which `weight` belongs.
    lines : InputLines, optional
        The statistics are those of the inputs that the columns become.

    Examples
    --------
    >>> moments = ColumnMoments(np.array([[0.1], [0.2], [0.3]]), np.ones(3))
    >>> moments.low, moments.high, moments.rounded_means
    (array([0.1]), array([0.3]), array([0.2]))
    """

    def __init__(
        self,
        X: Array,
        weight: FloatArray,
        rows: IntArray | None = None,
        lines: InputLines | None = None,
    ) -> None:
        if not weight.all():
            used = np.flatnonzero(weight)
            rows, weight = (used if rows is None else rows[used]), weight[used]
        self._X, self._weight, self._rows, self._lines = X, weight, rows, lines

    def _blocks(self, lines: InputLines | None = None) -> Iterator[tuple[Array, FloatArray]]:
        """Yield blocks of rows, with their weights."""
        X, rows = self._X, self._rows
        n_rows = max(1, BLOCK_NUMBERS // (X.shape[1] if lines is None else lines.n_inputs))
        for start in range(0, self._weight.size, n_rows):
            block = slice(start, start + n_rows)
            part = X[block] if rows is None else X.take(rows[block], axis=0)
            yield part if lines is None else lines.apply(part), self._weight[block]

    @cached_property
    def _extent(self) -> _Extent:
        parts = [(part.min(axis=0), part.max(axis=0)) for part, _ in self._blocks()]
        ends = np.array(parts)
        ends = np.stack([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])
        if self._lines is not None:  # lines rise or fall: their ends are those of the column
            ends = self._lines.apply(ends)
        ends = ends.astype(np.float64)
        low, high = ends.min(axis=0), ends.max(axis=0)
        with np.errstate(over="ignore"):
            span = high - low
        dtype = self._X.dtype if self._X.dtype.kind == "f" else np.float64
        rounding = 4 * np.finfo(dtype).eps * np.maximum(np.abs(low), np.abs(high))
        varies = span > np.maximum(rounding, 1e-300)
        unit = np.where(varies & np.isfinite(span), span, 1.0)
        return _Extent(low, high, span, varies, unit)

    @property
    def low(self) -> FloatArray:
        """The lowest value of each column."""
        return self._extent.low

    @property
    def high(self) -> FloatArray:
        """The highest value of each column."""
        return self._extent.high

    @property
    def span(self) -> FloatArray:
        """Highest less lowest value; infinite if the difference overflows."""
        return self._extent.span

    @property
    def varies(self) -> Array:
        """Whether the values of each column differ by more than rounding."""
        return self._extent.varies

    @property
    def unit(self) -> FloatArray:
        """The unit of `mean` and `variance`: the span, or 1 for columns without one."""
        return self._extent.unit

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """Sums of `(X - low) / unit` and of its squares, which cannot overflow or cancel badly."""
        low, unit = self.low, self.unit
        total, total_square = np.zeros(low.size), np.zeros(low.size)
        with np.errstate(over="ignore", invalid="ignore"):
            for part, weight in self._blocks(self._lines):
                is_copy = self._lines is not None and part.dtype == np.float64
                scaled = np.subtract(part, low, out=part if is_copy else None, dtype=np.float64)
                np.divide(scaled, unit, out=scaled)
                total += weight @ scaled
                total_square += weight @ np.square(scaled, out=scaled)
        return total, total_square

    @property
    def mean(self) -> FloatArray:
        """Mean of `(X - low) / unit`."""
        mean: FloatArray = self._sums[0] / self._weight.sum()
        return mean

    @property
    def variance(self) -> FloatArray:
        """Variance of `(X - low) / unit`, which is never taken to be 0."""
        mean_square = self._sums[1] / self._weight.sum()
        variance: FloatArray = np.maximum(mean_square - np.square(self.mean), 1e-12)
        return variance

    @property
    def rounded_means(self) -> FloatArray:
        """The mean of each column, rounded to a millionth of its span.

        So it does not depend on the order of the rows, by which sums differ in their last digits.
        """
        low, _, span, _, unit = self._extent
        with np.errstate(over="ignore", invalid="ignore"):
            means = low + unit * self._sums[0] / self._weight.sum()
        columns = zip(means.tolist(), low.tolist(), span.tolist(), strict=True)
        return np.array([_rounded(*column) for column in columns])


class JoinedMoments(ColumnMoments):
    """Statistics of columns of which some are those of one table, and the others of another.

    Parameters
    ----------
    one, other : ColumnMoments
    positions : int array of shape (n_columns,)
        For each column its position in `one`, or -1 for the same column of `other`.
    """

    def __init__(self, one: ColumnMoments, other: ColumnMoments, positions: IntArray) -> None:
        self._one, self._other, self._positions = one, other, positions

    @cached_property
    def _extent(self) -> _Extent:
        pairs = zip(self._one._extent, self._other._extent, strict=True)
        return _Extent(*(self._joined(*pair) for pair in pairs))

    @property
    def mean(self) -> FloatArray:
        """Mean of `(X - low) / unit`."""
        return self._joined(self._one.mean, self._other.mean)

    @property
    def variance(self) -> FloatArray:
        """Variance of `(X - low) / unit`, which is never taken to be 0."""
        return self._joined(self._one.variance, self._other.variance)

    def _joined(self, one: Array, other: Array) -> Array:
        return np.where(self._positions >= 0, one[self._positions], other)


def _rounded(mean: float, low: float, span: float) -> float:
    """Return a mean rounded to a millionth of a span; the lowest value without a finite span."""
    if not 0 < span < math.inf:
        return low
    step = 10.0 ** max(math.floor(math.log10(span)) - 6, -300)
    try:
        # Dividing by a power of ten rounds better than multiplying by a negative power.
        rounded = round(mean / step) * step if step >= 1 else round(mean / step) / round(1 / step)
    except (OverflowError, ValueError):
        return mean
    return rounded if math.isfinite(rounded) else mean


def rounded_mean(values: FloatArray, weight: FloatArray) -> float:
    """Return the mean of one column; see `ColumnMoments.rounded_means`.

    A table of many columns of texts has one call for each, so it computes with plain numbers.
    """
    if not weight.all():
        values, weight = values[weight != 0], weight[weight != 0]
    if values.size == 0:
        return 0.0
    low, high = float(values.min()), float(values.max())
    span = high - low
    if math.isinf(low) or math.isinf(high):
        return 0.0
    unit = span if 0 < span < math.inf else 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        mean = low + unit * float(weight @ ((values - low) / unit)) / float(weight.sum())
    return _rounded(mean, low, span)
