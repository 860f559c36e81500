"""Limits and ramps of columns of numbers, learnt from their quantiles.

One number far outside of the others must not decide how a column is scaled, so numbers are limited
to a range around the quartiles. Between neighbouring quantiles there are ramps, by which an effect
can begin, end or change within the column.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray

__all__ = ["STRAIGHT", "Bending", "Bends", "Ramp", "rounded_ends"]

#: Ends of ramps are rounded by at most this share of the width of the ramp.
ROUNDING = 0.01

#: Numbers are limited to the median plus and minus this many times the distance of the quartiles.
LIMIT = 3.0
QUARTILES = np.array([0.25, 0.5, 0.75])


class Ramp(NamedTuple):
    """A rise from 0 to 1 between two numbers, and its mean over the training rows."""

    start: float
    end: float
    mean: float

    @property
    def is_valid(self) -> bool:
        """Whether it rises, and its slope is a finite number."""
        width = self.end - self.start
        return 1e-300 < width < inf and inf > 1.0 / width > 0.0


class Bends(NamedTuple):
    """Limits and ramps of a column.

    Attributes
    ----------
    limits : tuple of two float, or None
        None: no limits, as for a column of at most two different numbers.
    ramps : tuple of Ramp
        In ascending order.
    """

    limits: tuple[float, float] | None = None
    ramps: tuple[Ramp, ...] = ()


class Bending(NamedTuple):
    """Rule by which columns of numbers get limits and ramps.

    Attributes
    ----------
    n_ramps : int
        Number of ramps, between quantiles of equal distance. Fewer if quantiles coincide.
    is_limited : bool
        Whether numbers far from the quartiles are limited.
    is_rounded : bool
        Whether limits and ends of ramps have few digits.
    """

    n_ramps: int = 0
    is_limited: bool = False
    is_rounded: bool = False

    def learn(self, columns: FloatArray, weight: FloatArray) -> list[Bends]:
        """Learn limits and ramps of columns of numbers.

        Parameters
        ----------
        columns : float64 array of finite numbers of shape (n_columns, n_rows)
        weight : array of shape (n_rows,)
            A row of weight 2 is equivalent to two equal rows.

        Examples
        --------
        >>> ages, flags = [20.0, 30.0, 40.0, 50.0, 999.0], [0.0, 1.0, 1.0, 0.0, 1.0]
        >>> rule = Bending(2, is_limited=True)
        >>> of_ages, of_flags = rule.learn(np.array([ages, flags]), np.ones(5))
        >>> of_ages.limits, of_flags.limits
        ((-20.0, 100.0), None)
        >>> [(ramp.start, ramp.end) for ramp in of_ages.ramps]
        [(20.0, 40.0), (40.0, 999.0)]
        """
        n_columns, n_rows = columns.shape
        bends = [Bends()] * n_columns
        if n_rows == 0 or not (self.n_ramps or self.is_limited):
            return bends
        table = _Sorted(columns, weight)
        inner = np.arange(1, self.n_ramps) / max(1, self.n_ramps)
        at = table.quantiles(np.concatenate([QUARTILES, inner]))
        quartiles = np.take_along_axis(table.values, at[:, :3], axis=1).tolist()
        if self.n_ramps:
            every_ramp = table.ramps(at[:, 3:])
        for i in np.flatnonzero(table.n_different > 2).tolist():
            limits = table.limits(i, *quartiles[i]) if self.is_limited else None
            bends[i] = Bends(limits, every_ramp[i] if self.n_ramps else ())
            if self.is_rounded:
                bends[i] = _rounded(bends[i], table.values[i], table.fraction[i])
        return bends


def rounded_ends(ramps: tuple[Ramp, ...]) -> dict[float, float]:
    """Return the ends of ramps with as few digits as keep all ramps apart.

    Examples
    --------
    >>> rounded_ends((Ramp(686.52, 809.74, 0.5), Ramp(809.74, 0.81e5, 0.2)))
    {686.52: 687.0, 809.74: 810.0, 81000.0: 81000.0}
    """
    width: dict[float, float] = {}
    for ramp in ramps:
        for x in ramp[:2]:
            width[x] = min(width.get(x, inf), ramp.end - ramp.start)
    return {x: _short(x, ROUNDING * least) for x, least in width.items()}


def _short(x: float, tolerance: float) -> float:
    """Return a number with few digits that differs by at most the tolerance."""
    candidates = (float(f"{x:.{digits}g}") for digits in range(1, 16))
    return next((rounded for rounded in candidates if abs(rounded - x) <= tolerance), x)


#: Columns stay as they are.
STRAIGHT = Bending()


class _Sorted:
    """Columns in ascending order, with the fraction of the weight of each number.

    Attributes
    ----------
    values, fraction, up_to : arrays of shape (n_columns, n_rows)
        `up_to` is the sum of the fractions up to each number.
    is_last : bool array of the same shape
        Whether the next number is larger.
    n_different : int array of shape (n_columns,)
    """

    def __init__(self, columns: FloatArray, weight: FloatArray) -> None:
        n = weight.size
        self.is_even = bool(np.ptp(weight) == 0.0)
        if self.is_even:
            self.values = np.sort(columns, axis=1)
            self.up_to = np.broadcast_to(np.arange(1, n + 1) / n, columns.shape)
            self.fraction = np.broadcast_to(1.0 / n, columns.shape)
        else:
            order = np.argsort(columns, axis=1, kind="stable")
            self.values = np.take_along_axis(columns, order, axis=1)
            total = np.cumsum(weight[order], axis=1)
            self.up_to = total / total[:, -1:]
            self.fraction = weight[order] / total[:, -1:]
        self.is_last = np.ones(columns.shape, dtype=bool)
        np.not_equal(self.values[:, 1:], self.values[:, :-1], out=self.is_last[:, :-1])
        self.n_different = np.count_nonzero(self.is_last, axis=1)

    def quantiles(self, fractions: Array) -> IntArray:
        """Return the place of the lowest number that is not below each fraction of the weight."""
        fractions = fractions - 1e-9  # sums of weights are rounded: their order must not matter
        different = self.up_to[:1] if self.is_even else self.up_to
        places = np.array([np.searchsorted(line, fractions) for line in different])
        return np.broadcast_to(places, (len(self.values), fractions.size))

    def limits(self, i: int, low: float, middle: float, high: float) -> tuple[float, float] | None:
        """Return the limits of a column by its quartiles; None if they overflow."""
        spread = high - low
        if spread == 0.0:  # more than half of the numbers are the same: those of the others
            others = self.values[i, self.is_last[i]]
            with np.errstate(over="ignore"):
                spread = float(np.median(np.abs(others[others != middle] - middle)))
        low, high = middle - LIMIT * spread, middle + LIMIT * spread
        return (low, high) if isfinite(low) and isfinite(high) and low < high else None

    def ramps(self, inner: IntArray) -> list[tuple[Ramp, ...]]:
        """Return the valid ramps of each column.

        Parameters
        ----------
        inner : int array of shape (n_columns, n_ramps - 1)
            Places of the ends, without the first and the last number. A column with few different
            numbers has ends at all of them. The ramp between equal ends is void.
        """
        between = np.take_along_axis(self.values, inner, axis=1)
        knots = np.hstack([self.values[:, :1], between, self.values[:, -1:]])
        for i in np.flatnonzero(self.n_different <= knots.shape[1]).tolist():
            knots[i] = self.values[i, -1]
            knots[i, : self.n_different[i]] = self.values[i, self.is_last[i]]
        lines = zip(self.values, knots[:, 1:], strict=True)
        ends = np.array([np.searchsorted(line, ends, "right") for line, ends in lines])
        n_within = np.diff(ends, axis=1, prepend=0).ravel()  # numbers from one end to the next
        is_used = n_within > 0
        first = (np.cumsum(n_within) - n_within)[is_used]
        rise = np.repeat(knots[:, :-1].ravel(), n_within).reshape(self.values.shape)
        with np.errstate(all="ignore"):
            np.subtract(self.values, rise, out=rise)  # from the start of the ramp
            np.multiply(rise, self.fraction, out=rise)
            sums = np.zeros(ends.shape)
            sums.ravel()[is_used] = np.add.reduceat(rise.ravel(), first)
            width = np.diff(knots, axis=1)
            means = 1.0 - np.take_along_axis(self.up_to, ends - 1, axis=1) + sums / width
            is_valid = (width > 1e-300) & np.isfinite(width) & (1.0 / width > 0.0)
        is_valid &= np.isfinite(means)
        ramps = np.stack([knots[:, :-1], knots[:, 1:], means], axis=2)
        each = (tuple(map(Ramp._make, ramps[i, is_valid[i]].tolist())) for i in range(len(ramps)))
        return [valid if len(valid) > 1 else () for valid in each]  # one is the number itself


def _rounded(bends: Bends, values: FloatArray, fraction: FloatArray) -> Bends:
    """Return limits and ramps of few digits."""
    limits, ends = bends.limits, rounded_ends(bends.ramps)
    if limits is not None:
        tolerance = ROUNDING * (limits[1] - limits[0])
        limits = _short(limits[0], tolerance), _short(limits[1], tolerance)
        if not np.isfinite(limits).all():
            limits = bends.limits
    ramps = []
    for ramp in bends.ramps:
        start, end = ends[ramp.start], ends[ramp.end]
        with np.errstate(all="ignore"):
            mean = float(fraction @ ((values - start) / (end - start)).clip(0.0, 1.0))
        ramps.append(Ramp(start, end, mean))
    is_valid = all(ramp.is_valid and isfinite(ramp.mean) for ramp in ramps)
    return Bends(limits, tuple(ramps) if is_valid else bends.ramps)
