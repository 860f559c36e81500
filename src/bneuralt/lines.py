"""Inputs of trees that are limited lines of numbers, or sums of them: clipped columns and ramps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple, Self

import numpy as np

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray

__all__ = ["IDENTITY", "ClampedLine", "InputLines", "LineSum"]


class ClampedLine(NamedTuple):
    """The function `min(max((x - offset) * factor, low), high)` of a number, or many of them."""

    offset: Any = 0.0
    factor: Any = 1.0
    low: Any = -inf
    high: Any = inf

    def __call__(self, x: Any) -> Any:
        """Return the value at a number, or at an array of them; NaN stays NaN."""
        with np.errstate(over="ignore"):
            return np.minimum(np.maximum((x - self.offset) * self.factor, self.low), self.high)

    @classmethod
    def ramp(cls, start: float, end: float) -> Self:
        """Return the line that rises from 0 at `start` to 1 at `end`, and is constant elsewhere.

        Examples
        --------
        >>> ClampedLine.ramp(60.0, 65.0)(np.array([50.0, 61.0, 70.0])).tolist()
        [0.0, 0.2, 1.0]
        """
        return cls(start, 1.0 / (end - start), 0.0, 1.0)


#: The number itself.
IDENTITY = ClampedLine()

#: An input: a limited line, or the sum of several.
LineSum = ClampedLine | tuple[ClampedLine, ...]


@dataclass(frozen=True, eq=False)
class InputLines:
    """Which inputs each column of a table of numbers becomes.

    Attributes
    ----------
    first : int32 array of shape (n_columns + 1,)
        Column c has the inputs from `first[c]` up to `first[c + 1]`.
    lines : float64 array of shape (4, n_lines)
        `offset`, `factor`, `low` and `high` of each line.
    first_line : int32 array of shape (n_inputs + 1,), or None
        Input i is the sum of the lines from `first_line[i]` up to `first_line[i + 1]`; None if each
        input is one line.

    Examples
    --------
    >>> lines = InputLines.of([[IDENTITY, ClampedLine.ramp(0.0, 2.0)], [IDENTITY]])
    >>> lines.apply(np.array([[1.0, 5.0], [3.0, 6.0]]))
    array([[1. , 0.5, 5. ],
           [3. , 1. , 6. ]])
    """

    first: IntArray
    lines: FloatArray
    first_line: IntArray | None = None

    @classmethod
    def of(cls, columns: Sequence[Sequence[LineSum]]) -> Self:
        """Return the inputs of columns with these lines."""
        first = np.cumsum([0, *(len(lines) for lines in columns)]).astype(np.int32)
        inputs = [(x,) if isinstance(x, ClampedLine) else x for lines in columns for x in lines]
        first_line = np.cumsum([0, *(len(lines) for lines in inputs)]).astype(np.int32)
        flat = [line for lines in inputs for line in lines]
        numbers = np.array(flat, dtype=np.float64).reshape(-1, 4).T.copy()
        return cls(first, numbers, first_line if len(flat) > len(inputs) else None)

    @cached_property
    def core(self) -> _core.InputLines:
        """The lines as an object of the core, which applies them to the rows that it reads."""
        offset, factor, low, high = self.lines
        first_line = None if self.first_line is None else self.first_line.astype(np.int32)
        first = self.first.astype(np.int32)
        return _core.InputLines(first, offset, factor, low, high, first_line)

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return int(self.first[-1])

    @cached_property
    def column_of_input(self) -> IntArray:
        """Position of the column of each input."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))

    @property
    def unchanged_columns(self) -> IntArray:
        """For each input the column that it is the same as; -1 where it is another function."""
        is_same = (self.lines == np.array(IDENTITY)[:, np.newaxis]).all(axis=0)
        if self.first_line is not None:
            is_same = is_same[self.first_line[:-1]] & (np.diff(self.first_line) == 1)
        return np.where(is_same, self.column_of_input, -1)

    def take(self, inputs: IntArray) -> InputLines:
        """Return some of the inputs, at ascending positions.

        Examples
        --------
        >>> lines = InputLines.of([[IDENTITY, ClampedLine.ramp(0.0, 2.0)], [IDENTITY]])
        >>> lines.take(np.array([1, 2])).apply(np.array([[1.0, 5.0]]))
        array([[0.5, 5. ]])
        """
        first = np.searchsorted(inputs, self.first).astype(np.int32)
        if self.first_line is None:
            return InputLines(first, self.lines[:, inputs])
        starts, n_lines = self.first_line[inputs], np.diff(self.first_line)[inputs]
        first_line = np.append(0, np.cumsum(n_lines)).astype(np.int32)
        places = np.repeat(starts - first_line[:-1], n_lines) + np.arange(first_line[-1])
        return InputLines(first, self.lines[:, places], first_line)

    def apply(self, X: Array) -> Array:
        """Return the inputs for each row of a table of numbers."""
        dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
        column = self.column_of_input
        if self.first_line is not None:
            column = np.repeat(column, np.diff(self.first_line))
        inputs: Array = X.take(column, axis=1).astype(np.float64, copy=False)
        offset, factor, low, high = self.lines
        with np.errstate(over="ignore"):  # in place: memory costs more than arithmetic
            np.subtract(inputs, offset, out=inputs)
            np.multiply(inputs, factor, out=inputs)
            np.maximum(inputs, low, out=inputs)
            np.minimum(inputs, high, out=inputs)
        if self.first_line is not None:
            inputs = _sums(inputs, self.first_line)
        return inputs.astype(dtype, copy=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"first": self.first, "lines": self.lines, "first_line": self.first_line}


def _sums(lines: Array, first_line: IntArray) -> Array:
    """Return the sums of neighbouring columns, added from the first to the last as in the core."""
    first, n_lines = first_line[:-1], np.diff(first_line)
    sums: Array = lines.take(first, axis=1)
    for k in range(1, int(n_lines.max(initial=1))):
        longer = np.flatnonzero(n_lines > k)
        sums[:, longer] += lines.take(first[longer] + k, axis=1)
    return sums
