"""Tables of activations in integer arithmetic, and bounds of activations on intervals.

Two tables, of tanh and of a bell, are shared by all activations that are affine maps around them.
Any other activation has a separate table, over the range of its sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.export.activation_forms import ActivationForm
from bneuralt.export.integer.formats import IntegerFormat
from bneuralt.export.integer.shared_errors import Interval
from bneuralt.expressions import (
    Expression,
    derivative,
    evaluate,
    exp,
    interval,
    square,
    substitute,
    tanh,
    variable,
)
from bneuralt.expressions.operations import CONDITIONS

__all__ = ["CurveTable", "fitted_curve", "shared_tables", "slopes", "value_range"]

#: Number of arguments in a block, for which the range of errors of a table is stored.
_BLOCK = 16

#: Number of parts of an interval, in each of which an expression is bounded.
_PARTS = 64

_UNBOUNDED = (
    "the sums of an activation, or its values, have no finite bounds over the range of the inputs, "
    "which integer arithmetic needs: use dtype='float' or 'double'"
)

_Z = variable("z")


@dataclass(frozen=True, eq=False)
class CurveTable:
    """A table of F for arguments at a distance of `step`, between which is interpolated.

    Arguments are counted in units of ``step / 2 ** (bits - 2)``. Outside of the table, F is
    constant.

    Attributes
    ----------
    function : Expression
        F, of z.
    bits : int
    step : float
    values : int array
        F of 0, step, 2 * step, ...; without symmetry, of all multiples from one end to the other.
    symmetry : {"odd", "even", "none"}
    """

    function: Expression
    bits: int
    step: float
    values: IntArray
    symmetry: str = "none"

    @property
    def unit(self) -> float:
        """The argument that 1 stands for."""
        return self.step / 2 ** (self.bits - 2)

    @property
    def n_steps(self) -> int:
        """Number of steps from 0 to the last entry."""
        n = len(self.values) - 1
        return n // 2 if self.symmetry == "none" else n

    @property
    def limit(self) -> int:
        """The argument, in units, of the last entry."""
        return self.n_steps << (self.bits - 2)

    def fine(self, t: IntArray, negative: Any = False) -> IntArray:
        """Return F times ``2 ** bits`` for arguments as magnitude and sign."""
        low, high, fraction = self._around(t, negative)
        return self._signed((low << self.bits) + (high - low) * fraction, negative)

    def coarse(self, t: IntArray, negative: Any = False) -> IntArray:
        """Return F rounded to whole numbers for arguments as magnitude and sign."""
        low, high, fraction = self._around(t, negative)
        part = (np.abs(high - low) * fraction + 2 ** (self.bits - 1)) >> self.bits
        return self._signed(low + np.sign(high - low) * part, negative)

    def _around(self, t: IntArray, negative: Any) -> tuple[IntArray, IntArray, IntArray]:
        """Return the entries below and above arguments, and the position between them."""
        inside = np.minimum(t, self.limit - 1) << 2
        i, fraction = inside >> self.bits, inside & (2**self.bits - 1)
        low, high = self._entry(i, negative), self._entry(i + 1, negative)
        return np.where(t < self.limit, low, high), high, fraction

    def _entry(self, i: IntArray, negative: Any) -> IntArray:
        if self.symmetry == "none":
            i = self.n_steps + np.where(negative, -i, i)
        return self.values[i]

    def _signed(self, value: IntArray, negative: Any) -> IntArray:
        return np.where(negative, -value, value) if self.symmetry == "odd" else value

    # -- errors --------------------------------------------------------------------------

    def exact(self, t: Array) -> FloatArray:
        """Return F of arguments in units."""
        values: FloatArray = evaluate(self.function, {"z": t * self.unit})
        return values

    def errors(self, low: float, high: float, fine: bool) -> Interval:
        """Return the smallest and largest error of the table for whole arguments in a range.

        Errors are those of `coarse` or `fine`, as fractions of the largest value.
        """
        first, last = math.ceil(low), math.floor(high)
        ends: list[float] = []
        if last >= 0:
            ends += self._side_errors(max(first, 0), last, fine, negative=False)
        if first < 0:
            ends += self._side_errors(max(-last, 0), -first, fine, negative=True)
        return min(ends), max(ends)

    def _side_errors(self, first: int, last: int, fine: bool, negative: bool) -> Interval:
        """Return the range of errors for arguments of one sign, between two magnitudes."""
        if negative and self.symmetry != "none":
            least, most = self._side_errors(first, last, fine, negative=False)
            return (-most, -least) if self.symmetry == "odd" else (least, most)
        lowest, highest = (self._fine_errors if fine else self._coarse_errors)[int(negative)]
        blocks = slice(first // _BLOCK, last // _BLOCK + 1)
        least = float(lowest[blocks].min(initial=math.inf))
        most = float(highest[blocks].max(initial=-math.inf))
        if last < self.limit:
            return least, most
        # Behind its end, the table is constant, and F is monotone if it is symmetric.
        value, outside = float(self.values[0 if negative else -1]), (max(first, self.limit), last)
        if self.symmetry == "none":
            unit = -self.unit if negative else self.unit
            low, high = bounds(self.function, *sorted(t * unit for t in outside))
        else:
            low, high = sorted(self.exact(np.array(outside, dtype=float)).tolist())
        return min(least, value / self._top - high), max(most, value / self._top - low)

    @property
    def _top(self) -> int:
        return int(2 ** (self.bits - 1) - 1)

    @cached_property
    def _coarse_errors(self) -> list[tuple[FloatArray, FloatArray]]:
        """The range of errors in each block of arguments, by sign."""
        return [self._block_errors(self.coarse, self._top, side) for side in (False, True)]

    @cached_property
    def _fine_errors(self) -> list[tuple[FloatArray, FloatArray]]:
        top = self._top << self.bits
        return [self._block_errors(self.fine, top, side) for side in (False, True)]

    def _block_errors(
        self, values: Callable[..., IntArray], top: int, negative: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the range of errors in each block, over all arguments."""
        if negative and self.symmetry != "none":
            return np.zeros(0), np.zeros(0)
        t = np.arange(self.limit)
        errors = values(t, negative) / top - self.exact(-t if negative else t)
        errors = errors.reshape(-1, _BLOCK)
        return errors.min(axis=1), errors.max(axis=1)


_SHARED = {"tanh": (tanh(_Z), "odd"), "bell": (2.0 * exp(-square(_Z)) - 1.0, "even")}


@cache
def shared_tables(format: IntegerFormat) -> dict[str, CurveTable]:
    """Return the tables of tanh and of the bell."""
    tables = {}
    for kind, step, end in format.tables:
        function, symmetry = _SHARED[kind]
        knots = np.arange(round(end / step) + 1) * step
        values = _balanced(function, knots, step, format.top)
        tables[kind] = CurveTable(function, format.bits, step, values, symmetry)
    return tables


def _balanced(function: Expression, knots: FloatArray, step: float, top: int) -> IntArray:
    """Return entries that balance the errors of interpolation above and below.

    A chord is off by curvature / 2 in the middle: half of that is moved to the knots.
    """

    def value(z: FloatArray) -> FloatArray:
        result: FloatArray = np.broadcast_to(evaluate(function, {"z": z}), z.shape)
        return result

    middle = value(knots)
    curvature = value(knots + step / 2) + value(knots - step / 2) - 2 * middle
    moved = np.isfinite(curvature) & (knots != 0)
    balanced = middle - np.where(moved, curvature / 4, 0.0)
    return np.rint(np.clip(balanced, -1.0, 1.0) * top).astype(np.int64)


def fitted_curve(
    form: ActivationForm, ends: Interval, format: IntegerFormat, kind: str
) -> tuple[ActivationForm, CurveTable]:
    """Return the form and the table of an activation that is no affine map around a shared table.

    Parameters
    ----------
    form : ActivationForm
        Of the kind "curve".
    ends : tuple of two float
        The range of its sums.
    format : IntegerFormat
    kind : str
        The kind of the result.

    Raises
    ------
    ValueError
        The activation has no finite values over the range, or may have steps.
    """
    assert form.curve is not None
    if _has_condition(form.curve):
        raise ValueError(
            "an activation with conditions may have steps, for which integer arithmetic has no "
            "error bound: use dtype='float' or 'double'"
        )
    if not (math.isfinite(ends[0]) and math.isfinite(ends[1])):
        raise ValueError(_UNBOUNDED)
    middle, half = sum(ends) / 2, 1.05 * (ends[1] - ends[0]) / 2 or 1.0
    stretched = substitute(form.curve, {"z": middle + half * _Z})
    low, high = bounds(stretched, -1.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(_UNBOUNDED)
    offset, unit = (low + high) / 2, (high - low) / 2 or 1.0
    function = (stretched - offset) / unit
    step = 1.0 / format.curve_entries
    knots = np.arange(-format.curve_entries, format.curve_entries + 1) * step
    with np.errstate(all="ignore"):
        values = _balanced(function, knots, step, format.top)
    table = CurveTable(function, format.bits, step, values)
    return form._replace(
        kind=kind,
        gain=1.0 / half,
        shift=-middle / half,
        offset=form.offset + form.unit * offset,
        unit=form.unit * unit,
        curve=function,
    ), table


def _has_condition(expression: Expression) -> bool:
    inner = any(map(_has_condition, expression.arguments))
    return inner or expression.operation in CONDITIONS


# -- activations on intervals -------------------------------------------------------------


def bounds(expression: Expression, low: float, high: float) -> Interval:
    """Return bounds of an expression of z between two arguments.

    Examples
    --------
    >>> bounds(square(_Z) - _Z, 0.0, 1.0)[0] > -0.3  # its minimum is -0.25
    True
    """
    if not math.isfinite(high - low):
        return -math.inf, math.inf
    edges = np.linspace(low, high, _PARTS + 1)
    lows, highs = interval(expression, {"z": (edges[:-1], edges[1:])})
    return float(np.min(lows)), float(np.max(highs))


_derivative: Callable[[Expression, str], Expression] = cache(derivative)


def slopes(form: ActivationForm, low: float, high: float) -> Interval:
    """Return the smallest and largest slope of F between two arguments.

    Examples
    --------
    >>> slopes(ActivationForm("pieces", slope=0.25), -1.0, 2.0)
    (0.25, 1.0)
    """
    if form.kind == "pieces":
        sides = [form.slope] * (low < 0) + [1.0] * (high > 0) or [1.0]
        return min(sides), max(sides)
    if form.kind == "tanh":
        ends = [1.0 - math.tanh(low) ** 2, 1.0 - math.tanh(high) ** 2]
        return min(ends), 1.0 if low <= 0 <= high else max(ends)
    if form.curve is not None:
        steepness = bounds(_derivative(form.curve, "z"), low, high)
        if not (math.isfinite(steepness[0]) and math.isfinite(steepness[1])):
            raise ValueError(
                "an activation is infinitely steep where its sum may be, so that integer "
                "arithmetic has no error bound: use dtype='float' or 'double'"
            )
        return steepness
    steepest = math.sqrt(0.5)
    inside = [t for t in (-steepest, steepest) if low < t < high]
    extremes = [-4.0 * t * _bell(t) for t in (low, high, *inside)]
    return min(extremes), max(extremes)


def value_range(form: ActivationForm, low: float, high: float) -> Interval:
    """Return the range of an activation for which the argument of F is between two numbers.

    Examples
    --------
    >>> value_range(ActivationForm("pieces", slope=-0.5), -4.0, 1.0)
    (0.0, 2.0)
    """
    if form.kind == "pieces":
        ends = [t if t > 0 else form.slope * t for t in (low, high)] + [0.0] * (low < 0 < high)
    elif form.kind == "tanh":
        ends = [math.tanh(low), math.tanh(high)]
    elif form.curve is not None:
        ends = list(bounds(form.curve, low, high))
    else:
        ends = [2.0 * _bell(t) - 1.0 for t in (low, high)] + [1.0] * (low < 0 < high)
    values = [form.offset + form.unit * end for end in ends]
    return min(values), max(values)


def _bell(t: float) -> float:
    return math.exp(-t * t) if abs(t) < 26 else 0.0
