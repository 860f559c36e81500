"""Errors of integer arithmetic as sums over inputs.

An input is rounded once, even if several leaves have it. The errors of its rounded weights are
proportional to its position in its range. So leaves whose weights have different signs do not have
their largest error in the same row. An interval cannot express this, a sum over inputs can: the
contributions of the leaves of an input are added before the worst case is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["Interval", "SharedError", "interval_product"]

Interval = tuple[float, float]


class SharedError(NamedTuple):
    """An error that consists of a number in an interval, and of a sum over unknowns.

    Attributes
    ----------
    rest : tuple of two floats
    factors : mapping
        For each unknown, a number between -1 and 1, the smallest and the largest factor.
    """

    rest: Interval = (0.0, 0.0)
    factors: Mapping[tuple[str, int], Interval] = {}

    @property
    def range(self) -> Interval:
        """The smallest and the largest error.

        Examples
        --------
        >>> SharedError((0.0, 1.0), {("rounding", 3): (-2.0, 1.0)}).range
        (-2.0, 3.0)
        """
        most = sum(max(-low, high) for low, high in self.factors.values())
        return self.rest[0] - most, self.rest[1] + most

    def times(self, factor: Interval) -> SharedError:
        """Return the error times a number in an interval.

        Examples
        --------
        >>> SharedError((0.0, 1.0)).times((-3.0, 2.0)).rest
        (-3.0, 2.0)
        """
        factors = {key: interval_product(factor, ends) for key, ends in self.factors.items()}
        return SharedError(interval_product(factor, self.rest), factors)

    def plus(self, low: float, high: float) -> SharedError:
        """Return the error plus a number in an interval."""
        return SharedError((self.rest[0] + low, self.rest[1] + high), self.factors)


def sum_of_errors(errors: Iterable[SharedError]) -> SharedError:
    """Return the sum of errors.

    Examples
    --------
    >>> up, down = (SharedError((0.0, 0.1), {("rounding", 0): (by, by)}) for by in (1.0, -0.75))
    >>> sum_of_errors([up, down]).range
    (-0.25, 0.45)
    """
    low = high = 0.0
    factors: dict[tuple[str, int], Interval] = {}
    for error in errors:
        low, high = low + error.rest[0], high + error.rest[1]
        for key, (least, most) in error.factors.items():
            before = factors.get(key, (0.0, 0.0))
            factors[key] = before[0] + least, before[1] + most
    return SharedError((low, high), factors)


def interval_product(a: Interval, b: Interval) -> Interval:
    """Return the range of the product of two numbers in intervals.

    Examples
    --------
    >>> interval_product((0.0, 2.0), (-1.0, 3.0))
    (-2.0, 6.0)
    """
    products = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(products), max(products)
