"""Inputs that are limited lines of the columns of a table, or sums of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._typing import FloatArray
from bneuralt.lines import InputLines

__all__ = ["inputs_of_rows", "limited_line"]


def limited_line(x: float, offset: float, factor: float, low: float, high: float) -> float:
    """Return the value of a line at x, limited to the range from low to high.

    Examples
    --------
    >>> [limited_line(x, 60.0, 0.2, 0.0, 1.0) for x in (50.0, 61.0, 70.0)]
    [0.0, 0.2, 1.0]
    """
    if math.isnan(x):
        return x
    return min(max((x - offset) * factor, low), high)


def inputs_of_rows(lines: InputLines, X: ArrayLike) -> FloatArray:
    """Return the inputs of trees for each row of a table of numbers.

    Examples
    --------
    >>> from bneuralt.lines import IDENTITY, ClampedLine
    >>> lines = InputLines.of([[IDENTITY, ClampedLine.ramp(0.0, 2.0)], [IDENTITY]])
    >>> inputs_of_rows(lines, [[1.0, 5.0]]).tolist()
    [[1.0, 0.5, 5.0]]
    """
    inputs = []
    for row in np.asarray(X, dtype=np.float64).tolist():
        values = []
        for column, x in enumerate(row):
            for i in range(int(lines.first[column]), int(lines.first[column + 1])):
                first, end = (i, i + 1) if lines.first_line is None else lines.first_line[i : i + 2]
                terms = (limited_line(x, *lines.lines[:, j].tolist()) for j in range(first, end))
                values.append(sum(terms))
        inputs.append(values)
    return np.array(inputs).reshape(len(inputs), lines.n_inputs)
