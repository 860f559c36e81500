"""Inputs that integer code computes from whole numbers: limited lines, and sums of them.

A column whose limited number and ramps are used has one whole number of 16 bits in a row. Each of
its inputs is a base plus or minus ``min(max(x * factor + constant, 0) >> shift, most)``, one such
term for each line: a multiplication, a shift and two limits. No product or sum exceeds 32 bits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.export.integer.formats import IntegerFormat
from bneuralt.lines import ClampedLine, InputLines
from bneuralt.model import Model

__all__ = ["LineTerm", "NumberUnit", "WholeLine", "lines_of_number", "number_units"]

#: Numbers are from -TOP to TOP.
TOP = 2**15 - 1
#: The largest factor, and the size that products and constants stay below.
MOST_FACTOR, MOST_PRODUCT = 2**15 - 1, 2**30
#: The largest limit of a term, and the largest base.
MOST_STEPS, MOST_BASE = 2**16 - 1, 2**29


class LineTerm(NamedTuple):
    """A term of an input: ``sign * min(max(x * factor + constant, 0) >> shift, most)``."""

    factor: int
    constant: int
    shift: int
    most: int
    sign: int


class WholeLine(NamedTuple):
    """An input as a function of a whole number: the base plus terms, limited to the format.

    Attributes
    ----------
    base : int
    terms : tuple of LineTerm
    error : float
        The largest difference to the real input, over the range of the number.
    """

    base: int
    terms: tuple[LineTerm, ...]
    error: float

    def __call__(self, x: IntArray, top: int) -> IntArray:
        """Return the input for whole numbers."""
        total = np.full(x.shape, self.base, dtype=np.int64)
        for factor, constant, shift, most, sign in self.terms:
            total += sign * np.minimum(np.maximum(x * factor + constant, 0) >> shift, most)
        return total.clip(-top, top)


class NumberUnit(NamedTuple):
    """How a number becomes a whole number, and its inputs: ``round((x - middle) / unit)``, clipped.

    Attributes
    ----------
    column : int
        Position of the column.
    number : int
        Position among the numbers that `TableEncoder.numbers` returns.
    middle, unit : float
    lines : dict of int to WholeLine
        By the position of the input.
    """

    column: int
    number: int
    middle: float
    unit: float
    lines: dict[int, WholeLine]

    def encode(self, x: FloatArray) -> IntArray:
        """Return numbers as whole numbers."""
        with np.errstate(over="ignore"):
            scaled = np.floor((x - self.middle) * (1.0 / self.unit) + 0.5)
        return np.clip(scaled, -TOP, TOP).astype(np.int64)


def lines_of_number(model: Model) -> dict[int, list[int]]:
    """Return the numbers of which integer code computes inputs, and these inputs.

    They are the inputs that a leaf has, if there are several of them, or one that bends.
    """
    lines = model.encoder.lines
    if lines is None:
        return {}
    by_number: dict[int, list[int]] = {}
    for i in model.used_inputs.tolist():
        by_number.setdefault(int(lines.column_of_input[i]), []).append(i)
    return {
        number: inputs
        for number, inputs in by_number.items()
        if len(inputs) > 1 or len(_lines_of(lines, inputs[0])) > 1
    }


def number_units(
    model: Model,
    format: IntegerFormat,
    ranges: FloatArray,
    middle: FloatArray,
    unit: FloatArray,
) -> dict[int, NumberUnit]:
    """Return the units of the numbers of which integer code computes inputs.

    Parameters
    ----------
    model : Model
    format : IntegerFormat
        Of the inputs.
    ranges : array of shape (n_inputs, 2)
        Smallest and largest value of each input. Values outside are clipped.
    middle, unit : array of shape (n_inputs,)
        Real inputs are ``middle + unit * input``.
    """
    units = {}
    for number, inputs in lines_of_number(model).items():
        assert model.encoder.lines is not None
        column = model.encoder.column_of_number(number)
        span: Any = model.columns[column].range
        parts = {i: _within(_lines_of(model.encoder.lines, i), ranges[i], span) for i in inputs}
        ends = [x for lines in parts.values() for line in lines for x in _ends(line)]
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        half = high / 2 - low / 2
        at = low / 2 + high / 2, half / TOP if half > 1e-290 else 1.0  # 1.0: nothing varies
        lines = {
            i: _whole_line(parts[i], at, (float(middle[i]), float(unit[i])), format.top)
            for i in inputs
        }
        units[number] = NumberUnit(column, number, *at, lines)
    return units


def _lines_of(lines: InputLines, i: int) -> list[ClampedLine]:
    """Return the lines whose sum an input is."""
    first, end = (i, i + 1) if lines.first_line is None else lines.first_line[i : i + 2].tolist()
    return [ClampedLine(*line) for line in lines.lines.T[first:end].tolist()]


def _within(
    lines: list[ClampedLine], values: FloatArray, span: tuple[float, float] | None
) -> list[ClampedLine]:
    """Return the lines within the values of an input, or for a span of the number."""
    if len(lines) == 1:
        low, high = values.tolist()
        lines = [line._replace(low=max(line.low, low), high=min(line.high, high)) for line in lines]
    elif span is not None:
        ends = [sorted(float(line(x)) for x in span) for line in lines]
        pairs = zip(lines, ends, strict=True)
        lines = [line._replace(low=low, high=high) for line, (low, high) in pairs]
    return lines


def _varies(line: ClampedLine) -> bool:
    return bool(line.low < line.high and line.factor != 0.0)


def _ends(line: ClampedLine) -> list[float]:
    """Return the two numbers between which a line rises or falls; none if it is flat."""
    if not _varies(line):
        return []
    return sorted(line.offset + end / line.factor for end in (line.low, line.high))


def _whole_line(
    lines: list[ClampedLine],
    number: tuple[float, float],
    value: tuple[float, float],
    top: int,
) -> WholeLine:
    """Return an input as a function of a whole number, given middle and unit of both."""
    (middle, unit), (value_middle, value_unit) = number, value
    if not (lines and value_unit):
        return WholeLine(0, (), 0.0)
    start = sum(line.low if line.factor > 0 else line.high for line in lines)
    base = round(min(max((start - value_middle) / value_unit, -MOST_BASE), MOST_BASE))
    terms = []
    for line in filter(_varies, lines):
        slope = abs(line.factor) * unit / value_unit
        begin = (_ends(line)[0] - middle) / unit
        most = round(min((line.high - line.low) / value_unit, MOST_STEPS))
        terms.append(LineTerm(*_scaled(slope, begin), most, 1 if line.factor > 0 else -1))
    whole = WholeLine(base, tuple(terms), 0.0)
    return whole._replace(error=_largest_error(whole, lines, number, value, top))


def _largest_error(
    whole: WholeLine,
    lines: list[ClampedLine],
    number: tuple[float, float],
    value: tuple[float, float],
    top: int,
) -> float:
    """Return the largest difference of an input to the real one, for all whole numbers.

    A whole number stands for the numbers that are rounded to it. Between bends the input is
    straight, so that the ends of these intervals and the bends have the largest differences.
    """
    (middle, unit), (value_middle, value_unit) = number, value
    x = np.arange(-TOP, TOP + 1)
    bends = np.array([end for line in lines for end in _ends(line)])
    nearest = np.floor((bends - middle) / unit + 0.5).clip(-TOP, TOP).astype(np.int64)
    largest = 0.0
    for at, places in (
        (x, middle + unit * (x - 0.5)),
        (x, middle + unit * (x + 0.5)),
        (nearest, bends),
    ):
        real = np.sum([line(places) for line in lines], axis=0)
        real = real.clip(value_middle - top * value_unit, value_middle + top * value_unit)
        off = np.abs(value_middle + value_unit * whole(at, top) - real)
        largest = max(largest, float(off.max()))
    return largest + 1e-9 * value_unit  # for the arithmetic of floats


def _scaled(slope: float, begin: float) -> tuple[int, int, int]:
    """Return factor, constant and shift of ``slope * (x - begin)``, rounded."""
    shift = min(28, math.floor(math.log2(MOST_FACTOR / slope))) if slope > 0 else 0
    shift = max(0, shift)
    while True:
        factor = min(MOST_FACTOR, round(slope * 2.0**shift))
        constant = round((0.5 - slope * begin) * 2.0**shift)
        if abs(constant) < MOST_PRODUCT or shift == 0:
            break
        shift -= 1
    return factor, max(1 - MOST_PRODUCT, min(constant, MOST_PRODUCT - 1)), shift
