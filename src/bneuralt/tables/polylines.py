"""Bent inputs of columns of numbers: straight between some points, and constant outside of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array
from bneuralt.expressions import Expression, maximum, minimum
from bneuralt.lines import ClampedLine

__all__ = ["Curve", "Knots", "WeightedCurve", "sum_of_curves"]

#: Points (x, y) in ascending order of x.
Knots = tuple[tuple[float, float], ...]

#: Values that differ by this share of the sum of all weights are the same.
TOLERANCE = 1e-13
#: Names of curves list up to this many knots.
MOST_LISTED = 5


class Curve(NamedTuple):
    """A function of a number that is straight between knots and constant outside of them.

    Attributes
    ----------
    knots : tuple of (x, y)
        At least two, in ascending order of x. The first y is 0.
    mean : float or None
        Its mean over the training rows; None if it is not known.
    """

    knots: Knots
    mean: float | None = None

    @property
    def is_valid(self) -> bool:
        """Whether there are knots in ascending order, and all slopes are finite."""
        pairs = list(pairwise(self.knots))
        is_steep = any(not _is_slope(*pair) for pair in pairs)
        return bool(pairs) and not is_steep and self.knots[0][1] == 0.0

    @property
    def lines(self) -> tuple[ClampedLine, ...]:
        """The limited lines whose sum it is, one for each part that is not flat.

        Examples
        --------
        >>> curve = Curve(((60.0, 0.0), (65.0, 1.0), (80.0, 0.25)))
        >>> sum(line(np.array([50.0, 61.0, 70.0, 99.0])) for line in curve.lines).tolist()
        [0.0, 0.2, 0.75, 0.25]
        """
        return tuple(
            ClampedLine(x, (next_y - y) / (next_x - x), min(next_y - y, 0.0), max(next_y - y, 0.0))
            for (x, y), (next_x, next_y) in pairwise(self.knots)
            if y != next_y
        )

    def expression(self, value: Expression) -> Expression:
        """Return its value as an expression of the number."""
        parts = [
            minimum(maximum((value - line.offset) * line.factor, line.low), line.high)
            for line in self.lines
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def __call__(self, x: Array) -> Array:
        """Return its values at some numbers."""
        values: Array = np.interp(x, *np.array(self.knots).T)
        return values

    def text(self, digits: int = 3) -> str:
        """Return the knots in words: all of up to five, or the ends, the highest and the lowest.

        Examples
        --------
        >>> Curve(((60.0, 0.0), (65.0, 1.0), (80.0, 0.25))).text()
        '0 up to 60, 1 at 65, 0.25 from 80'
        >>> Curve(((60.0, 0.0), (65.0, 1.0))).text()
        '60 to 65'
        >>> Curve(tuple((float(x), 0.25 * (x % 5)) for x in range(7))).text()
        '0 up to 0, 1 at 4, 0 at 5, 0.25 from 6 (7 bends)'
        """
        places = [f"{x:.{2 * digits}g}" for x, _ in self.knots]
        values = [f"{y:.{digits}g}" for _, y in self.knots]
        if values == ["0", "1"]:
            return " to ".join(places)
        n = len(places)
        words = [" up to ", *[" at "] * (n - 2), " from "]
        listed = ["".join(knot) for knot in zip(values, words, places, strict=True)]
        if n <= MOST_LISTED:
            return ", ".join(listed)
        by_value = sorted(range(1, n - 1), key=lambda i: self.knots[i][1])
        shown = sorted({0, by_value[0], by_value[-1], n - 1})
        return ", ".join(listed[i] for i in shown) + f" ({n} bends)"


class WeightedCurve(NamedTuple):
    """The function `constant + weight * curve`; without a curve, the constant."""

    constant: float
    weight: float
    curve: Curve | None


def sum_of_curves(parts: Iterable[tuple[float, Knots]]) -> WeightedCurve | None:
    """Return a weighted sum of functions that are straight between knots as one of them.

    Its curve begins with 0, and the distance of its lowest and its highest value is 1. Knots at
    which it does not bend are left out.

    Parameters
    ----------
    parts : iterable of (weight, knots)

    Returns
    -------
    WeightedCurve or None
        None if it cannot be computed, for instance since a slope is not finite.

    Examples
    --------
    >>> sum_of_curves([(2.0, ((0.0, 0.0), (1.0, 1.0))), (2.0, ((1.0, 0.0), (2.0, 1.0)))])
    WeightedCurve(constant=0.0, weight=4.0, curve=Curve(knots=((0.0, 0.0), (2.0, 1.0)), mean=None))
    """
    functions = [(weight, *np.array(knots).T) for weight, knots in parts]
    x = np.unique(np.concatenate([places for _, places, _ in functions]))
    with np.errstate(all="ignore"):
        y = np.sum([weight * np.interp(x, *knots) for weight, *knots in functions], axis=0)
        size = sum(abs(weight) * float(np.ptp(values)) for weight, _, values in functions)
    if not (np.isfinite(y).all() and isfinite(size)):
        return None
    knots = _bends(list(zip(x.tolist(), y.tolist(), strict=True)), TOLERANCE * size)
    constant = knots[0][1]
    above = [value - constant for _, value in knots]
    largest = max(above, key=abs)
    if abs(largest) <= TOLERANCE * size:
        return WeightedCurve(constant, 0.0, None)
    span = float(f"{max(above) - min(above):.14g}")  # few digits, if the weights have few
    weight = span if largest > 0 else -span
    if not (0.0 < span < inf and 1.0 / span < inf):
        return None
    places = [place for place, _ in knots]
    curve = Curve(tuple(zip(places, [value / weight + 0.0 for value in above], strict=True)))
    return WeightedCurve(constant, weight, curve) if curve.is_valid else None


def _is_slope(start: tuple[float, float], end: tuple[float, float]) -> bool:
    """Return whether there is a straight line between two knots."""
    width = end[0] - start[0]
    return 1e-300 < width < inf and isfinite((end[1] - start[1]) / width)


def _bends(knots: list[tuple[float, float]], tolerance: float) -> list[tuple[float, float]]:
    """Return the knots at which the slope changes, or the first one if it never does."""
    bends: list[tuple[float, float]] = []
    before = (-inf, knots[0][1])
    for knot, after in pairwise([*knots, (inf, knots[-1][1])]):
        if abs(knot[1] - _between(before, after, knot[0])) > tolerance:
            bends.append(knot)
            before = knot
        elif not bends:
            before = (-inf, knot[1])
    while len(bends) > 1 and abs(bends[-1][1] - bends[-2][1]) <= tolerance:
        bends.pop()
    return bends or knots[:1]


def _between(before: tuple[float, float], after: tuple[float, float], x: float) -> float:
    """Return the value at x of the straight line through two knots; flat to those far away."""
    if before[0] == -inf:
        return after[1] if after[0] != inf else before[1]
    if after[0] == inf:
        return before[1]
    share = (x - before[0]) / (after[0] - before[0])
    return before[1] + share * (after[1] - before[1])
