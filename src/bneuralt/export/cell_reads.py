"""Analysis of inputs: which parts of a cell they read, and their values for texts and gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import Expression, evaluate
from bneuralt.tables.columns import Column
from bneuralt.tables.features import Input

__all__ = ["CellReads", "cell_reads", "gap_values", "text_values"]


class CellReads(NamedTuple):
    """The parts of a cell that an expression reads.

    Attributes
    ----------
    values : tuple of str
        "number", "text", or parts of a date.
    gaps : tuple of str
        Parts that are only tested for being missing.
    """

    values: tuple[str, ...]
    gaps: tuple[str, ...]

    @property
    def has_text(self) -> bool:
        """Whether the text of the cell is read."""
        return "text" in self.values


def cell_reads(expression: Expression) -> CellReads:
    """Return the parts of a cell that an expression reads.

    Examples
    --------
    >>> from bneuralt.expressions import NUMBER, date_part, is_missing, select
    >>> cell_reads(NUMBER + 1), cell_reads(select(is_missing(date_part("year")), 1, 0))
    (CellReads(values=('number',), gaps=()), CellReads(values=(), gaps=('year',)))
    """
    reads = list(_reads(expression))
    values = dict.fromkeys(what for what, is_gap in reads if not is_gap)
    gaps = dict.fromkeys(what for what, is_gap in reads if is_gap and what not in values)
    return CellReads(tuple(values), tuple(gaps))


def _reads(expression: Expression, is_gap: bool = False) -> Iterator[tuple[str, bool]]:
    if expression.operation == "number":
        yield "number", is_gap
    elif expression.operation == "lookup":
        yield "text", False
    elif expression.operation == "date_part":
        yield expression.value, is_gap
    for part in expression.arguments:
        yield from _reads(part, expression.operation == "is_missing")


def text_values(inputs: Sequence[Input], texts: Sequence[str]) -> FloatArray:
    """Return the inputs for each of some texts, then for an unknown text and a missing one.

    Examples
    --------
    >>> from bneuralt.tables.features import CategoryFeature
    >>> inputs = CategoryFeature(("a", "b", "c"), (0.5, 0.25, 0.25)).inputs("x")
    >>> text_values(inputs, "abc")[2:]
    array([[0.  , 0.  , 1.  ],
           [0.5 , 0.25, 0.25],
           [0.5 , 0.25, 0.25]])
    """
    unknown = max(texts, key=len, default="") + "?"
    codes = np.array([*range(len(texts) + 1), -1])
    return _evaluated(inputs, Column("text", codes, (*texts, unknown)))


def gap_values(entry: Input) -> tuple[float, float]:
    """Return the values of an input for a cell with any value, and for a missing one.

    Examples
    --------
    >>> from bneuralt.tables.features import NumberFeature
    >>> number, gap = NumberFeature(2.5, has_gaps=True).inputs("x")
    >>> gap_values(gap), gap_values(number)[1]
    ((0.0, 1.0), 2.5)
    """
    reads = cell_reads(entry.expression)
    cell = Column("date", np.array(["2000-01-01", "NaT"], dtype="datetime64[s]"))
    if "number" in reads.values + reads.gaps:
        cell = Column("number", np.array([0.0, np.nan]))
    present, missing = _evaluated([entry], cell)[:, 0].tolist()
    return present, missing


def _evaluated(inputs: Sequence[Input], cell: Column) -> FloatArray:
    with np.errstate(all="ignore"):
        values: list[Array] = [evaluate(entry.expression, {}, cell) for entry in inputs]
    return np.stack([np.broadcast_to(value, len(cell)) for value in values], axis=1).astype(float)
