"""Limits and ramps of columns of numbers, learnt from their quantiles.

One number far outside of the others must not decide how a column is scaled, so numbers are limited
to a range around the quartiles. Between neighbouring quantiles there are ramps, by which an effect
can begin, end or change within the column.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray

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

    def learn(self, values: Array, weight: FloatArray) -> Bends:
        """Learn limits and ramps from the numbers of a column.

        Parameters
        ----------
        values : array of finite numbers
        weight : array of the same shape
            A number of weight 2 is equivalent to two equal numbers.

        Examples
        --------
        >>> ages = np.array([20.0, 30.0, 40.0, 50.0, 999.0])
        >>> bends = Bending(2, is_limited=True).learn(ages, np.ones(5))
        >>> bends.limits
        (-20.0, 100.0)
        >>> [(ramp.start, ramp.end) for ramp in bends.ramps]
        [(20.0, 40.0), (40.0, 999.0)]
        """
        if not (self.n_ramps or self.is_limited) or values.size == 0:
            return Bends()
        column = _Distribution(values, weight)
        if column.n_different <= 2:
            return Bends()
        bends = Bends(
            _limits(column) if self.is_limited else None,
            _ramps(column, self.n_ramps) if self.n_ramps else (),
        )
        return _rounded(bends, column) if self.is_rounded else bends

    def learn_columns(self, columns: FloatArray) -> list[Bends]:
        """Learn limits and ramps of several columns whose numbers all count the same.

        The result is that of `learn`, which takes longer for many columns.

        Parameters
        ----------
        columns : float64 array of finite numbers of shape (n_columns, n_rows)

        Examples
        --------
        >>> ages, flags = [20.0, 30.0, 40.0, 50.0, 999.0], [0.0, 1.0, 1.0, 0.0, 1.0]
        >>> rule = Bending(2, is_limited=True)
        >>> [bends.limits for bends in rule.learn_columns(np.array([ages, flags]))]
        [(-20.0, 100.0), None]
        """
        n_columns, n_rows = columns.shape
        bends = [Bends()] * n_columns
        if n_rows == 0 or self == STRAIGHT:
            return bends
        columns = np.sort(columns, axis=1)
        n_different = 1 + np.count_nonzero(columns[:, 1:] != columns[:, :-1], axis=1)
        shares = np.arange(1, self.n_ramps) / max(1, self.n_ramps)
        at = np.array([0, *_places(shares, n_rows), n_rows - 1])
        knots, quartiles = columns[:, at], columns[:, _places(QUARTILES, n_rows)]
        is_usual = (n_different > max(2, self.n_ramps + 1)) & (quartiles[:, 0] < quartiles[:, 2])
        is_usual &= (knots[:, 1:] > knots[:, :-1]).all(axis=1) & (not self.is_rounded)
        for i in np.flatnonzero((n_different > 2) & ~is_usual).tolist():
            bends[i] = self.learn(columns[i], np.ones(n_rows))
        usual = np.flatnonzero(is_usual)
        with np.errstate(all="ignore"):
            means = _mean_rises(columns, knots, at) if self.n_ramps else np.zeros((n_columns, 1))
        for i in usual.tolist():
            low, middle, high = quartiles[i].tolist()
            bends[i] = Bends(
                _limits_around(middle, high - low) if self.is_limited else None,
                _valid_ramps(knots[i], means[i]) if self.n_ramps else (),
            )
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


class _Distribution:
    """Sorted numbers with the weight up to each of them."""

    def __init__(self, values: Array, weight: FloatArray) -> None:
        values = values.astype(np.float64)
        if weight.size and np.ptp(weight) == 0.0:
            self.values = np.sort(values)
            self.share = np.arange(1, values.size + 1) / max(1, values.size)
        else:
            order = np.argsort(values, kind="stable")
            self.values = values[order]
            total = np.cumsum(weight[order])
            self.share = total / total[-1]
        is_last = np.append(self.values[1:] != self.values[:-1], True)[: values.size]
        self.n_different = int(np.count_nonzero(is_last))
        self.different = self.values[is_last]
        self.share_up_to = self.share[is_last]

    def mean_rises(self, knots: FloatArray) -> FloatArray:
        """Return the mean of the ramp between each two neighbours of some of the numbers."""
        share, width = np.diff(self.share_up_to, prepend=0.0), np.diff(knots)
        ramp = (np.searchsorted(knots, self.different) - 1).clip(0, width.size - 1)
        rise = ((self.different - knots[ramp]) / width[ramp]).clip(0.0, 1.0)
        above = 1.0 - self.share_up_to[np.searchsorted(self.different, knots[1:])]
        means: FloatArray = np.bincount(ramp, share * rise, minlength=width.size) + above
        return means

    def mean_rise(self, start: float, end: float) -> float:
        """Return the mean of a ramp between any two numbers."""
        share = np.diff(self.share_up_to, prepend=0.0)
        with np.errstate(all="ignore"):
            return float(share @ ((self.different - start) / (end - start)).clip(0.0, 1.0))

    def quantiles(self, shares: Array) -> FloatArray:
        """Return the lowest number that is not below each share of the weight."""
        # Sums of weights are rounded: the quantile must not depend on their order.
        at = np.searchsorted(self.share_up_to, np.asarray(shares) - 1e-9)
        numbers: FloatArray = self.different[at.clip(max=self.n_different - 1)]
        return numbers


def _places(shares: Array, n: int) -> Array:
    """Return the position of quantiles among n sorted numbers; see `_Distribution.quantiles`."""
    return np.searchsorted(np.arange(1, n + 1) / n, np.asarray(shares) - 1e-9)


def _mean_rises(columns: FloatArray, knots: FloatArray, at: Array) -> FloatArray:
    """Return the mean of each ramp of sorted columns, whose knots are at these positions."""
    n = columns.shape[1]
    means = np.empty((len(columns), at.size - 1))
    for k, (start, end) in enumerate(zip(at[:-1].tolist(), at[1:].tolist(), strict=True)):
        low, high = knots[:, k, np.newaxis], knots[:, k + 1, np.newaxis]
        rises = (columns[:, start + 1 : end + 1] - low) / (high - low)
        means[:, k] = (rises.sum(axis=1) + (n - 1 - end)) / n
    return means


def _limits(column: _Distribution) -> tuple[float, float] | None:
    low, middle, high = column.quantiles(QUARTILES).tolist()
    spread = high - low
    if spread == 0.0:  # more than half of the numbers are the same: those of the others
        with np.errstate(over="ignore"):
            away = np.abs(column.different[column.different != middle] - middle)
            spread = float(np.median(away))
    return _limits_around(middle, spread)


def _limits_around(middle: float, spread: float) -> tuple[float, float] | None:
    """Return the limits by the median and the distance of the quartiles; None if they overflow."""
    low, high = middle - LIMIT * spread, middle + LIMIT * spread
    return (low, high) if isfinite(low) and isfinite(high) and low < high else None


def _ramps(column: _Distribution, n_ramps: int) -> tuple[Ramp, ...]:
    knots = column.different
    if knots.size > n_ramps + 1:
        inner = column.quantiles(np.arange(1, n_ramps) / n_ramps)
        knots = np.unique(np.concatenate([knots[:1], inner, knots[-1:]]))
    with np.errstate(all="ignore"):
        means = column.mean_rises(knots)
    return _valid_ramps(knots, means)


def _valid_ramps(knots: FloatArray, means: FloatArray) -> tuple[Ramp, ...]:
    ends = zip(knots[:-1].tolist(), knots[1:].tolist(), means.tolist(), strict=True)
    ramps = [Ramp(*ramp) for ramp in ends]
    ramps = [ramp for ramp in ramps if ramp.is_valid and isfinite(ramp.mean)]
    return tuple(ramps) if len(ramps) > 1 else ()  # a single one is the number itself


def _rounded(bends: Bends, column: _Distribution) -> Bends:
    """Return limits and ramps of few digits."""
    limits, ends = bends.limits, rounded_ends(bends.ramps)
    if limits is not None:
        tolerance = ROUNDING * (limits[1] - limits[0])
        limits = _short(limits[0], tolerance), _short(limits[1], tolerance)
        if not np.isfinite(limits).all():
            limits = bends.limits
    ramps = [
        Ramp(ends[ramp.start], ends[ramp.end], column.mean_rise(ends[ramp.start], ends[ramp.end]))
        for ramp in bends.ramps
    ]
    is_valid = all(ramp.is_valid and isfinite(ramp.mean) for ramp in ramps)
    return Bends(limits, tuple(ramps) if is_valid else bends.ramps)
