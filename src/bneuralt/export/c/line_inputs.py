"""Inputs that are lines between two limits, which tables can describe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from bneuralt.expressions import Expression, affine

__all__ = ["LimitedLine", "line_of"]


class LimitedLine(NamedTuple):
    """The function from a number x to ``offset + factor * x``, limited to [low, high]."""

    offset: float
    factor: float
    low: float = -math.inf
    high: float = math.inf

    def then(self, offset: float, factor: float) -> LimitedLine:
        """Return ``offset + factor`` times this function."""
        ends = self.low, self.high
        if factor == 0:
            return LimitedLine(offset, 0.0)
        low, high = sorted(offset + factor * end for end in ends)
        return LimitedLine(offset + factor * self.offset, factor * self.factor, low, high)


def line_of(expression: Expression) -> LimitedLine | None:
    """Return an input of a number as a line; None if it is none.

    What replaces a missing number is left out.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, if_missing, maximum, minimum
    >>> line_of(minimum(maximum((if_missing(NUMBER, 3.0) - 1.0) * 2.0, 0.0), 1.0))
    LimitedLine(offset=-2.0, factor=2.0, low=0.0, high=1.0)
    """
    offset, factor, core = affine(expression)
    if core is None:
        return None
    line = LimitedLine(0.0, 1.0) if core.operation == "number" else None
    if core.operation == "if_missing" and core.arguments[1].is_constant:
        line = line_of(core.arguments[0])
    if core.operation in ("minimum", "maximum"):
        line = _limited(core.operation, core.arguments)
    return None if line is None else line.then(offset, factor)


def _limited(operation: str, arguments: Sequence[Expression]) -> LimitedLine | None:
    part, limit = sorted(arguments, key=lambda argument: argument.is_constant)
    line = line_of(part) if limit.is_constant else None
    if line is None:
        return None
    if operation == "minimum":
        return line._replace(low=min(line.low, limit.value), high=min(line.high, limit.value))
    return line._replace(low=max(line.low, limit.value), high=max(line.high, limit.value))
