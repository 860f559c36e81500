"""Columns of cells as numbers and texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.columns import Column, label_of, stands_for_missing
from bneuralt.tables.csv_files import CsvTable
from bneuralt.tables.number_texts import Notation, gap_words
from bneuralt.tables.numbers import to_number
from bneuralt.tables.value_warnings import TextValuesWarning

__all__ = [
    "WORDS",
    "check_no_missing_cells",
    "missing_cells",
    "notation_column",
    "number_column",
    "text_column",
]

#: Words that are numbers.
WORDS = {"true": 1.0, "false": 0.0}


def missing_cells(table: CsvTable, j: int) -> Array:
    """Return whether each cell of a column is missing."""
    numbers = table.numbers(j)
    if numbers is not None:
        return np.isnan(numbers.values)
    codes, distinct = table.coded(j)
    absent: Array = np.array([stands_for_missing(cell) for cell in distinct], dtype=bool)[codes]
    return absent


def check_no_missing_cells(table: CsvTable, used: Iterable[int]) -> None:
    """Raise an error that says where cells are missing, if some are."""
    places: list[str] = []
    count = 0
    for j in used:
        rows: IntArray = np.flatnonzero(missing_cells(table, j))
        count += len(rows)
        places += [f"{table.place(i, j)} ({table.columns[j][i] or 'empty'})" for i in rows[:3]]
    if places:
        shown = "; ".join(places[:5]) + ("; ..." if count > len(places[:5]) else "")
        noun = "value is" if count == 1 else "values are"
        raise table.error(f"{count} {noun} missing: {shown}. Fill them in, or use --missing learn.")


def number_column(table: CsvTable, j: int, decimal: str, most_gaps: float = 0.0) -> Column:
    """Return a column of numbers, or raise an error that says where there is none.

    Words without digits are missing values, with a warning, up to this share of the rows.
    """
    parsed = table.numbers(j, decimal)
    if parsed is not None:
        return Column("number", parsed.values)
    codes, distinct = table.coded(j)
    values: list[float | None] = []
    thousands = ""
    if decimal == "." and any("," in cell for cell in distinct):
        thousands = ","
    for cell in distinct:
        word = WORDS.get(cell.casefold())
        value = to_number(cell, decimal, thousands) if word is None else word
        values.append(np.nan if value is None and stands_for_missing(cell) else value)
    if None in values and most_gaps > 0:
        values = _without_words(table, j, values, most_gaps)
    if None in values:
        row = int(np.argmax(np.isin(codes, [i for i, v in enumerate(values) if v is None])))
        raise table.error(
            f"{table.place(row, j)} contains {distinct[codes[row]]!r}, but a finite number is "
            "needed."
        )
    numbers: FloatArray = np.array(values, dtype=np.float64)[codes]
    return Column("number", numbers)


def notation_column(table: CsvTable, j: int, notation: Notation) -> Column:
    """Return a column of texts that are numbers, or raise an error that says where one is not."""
    codes, distinct = table.coded(j)
    values, is_read = notation.read(distinct)
    for i in np.flatnonzero(~is_read).tolist():
        if not stands_for_missing(distinct[i]):
            row = int(np.argmax(codes == i))
            raise table.error(
                f"{table.place(row, j)} contains {distinct[i]!r}, but a number is needed, as in "
                "the training table."
            )
    return Column("number", values[codes])


def _without_words(
    table: CsvTable, j: int, values: list[float | None], most_gaps: float
) -> list[float | None]:
    """Return the values of the different cells, with NaN for a few words."""
    codes, distinct = table.coded(j)
    words = gap_words(distinct, np.bincount(codes, minlength=len(distinct)), most_gaps) or ()
    present = [cell for cell, value in zip(distinct, values, strict=True) if value is None]
    if not set(present) <= set(words):
        return values
    warnings.warn(
        f"{table.source}: texts are read as missing values: {present[0]!r:.50} in column "
        f"{table.names[j]!r}, which had numbers in training.",
        TextValuesWarning,
        stacklevel=4,
    )
    return [np.nan if value is None else value for value in values]


def text_column(table: CsvTable, j: int, is_category: bool = False) -> Column:
    """Return a column of texts."""
    position: dict[str, int] = {}
    codes, distinct = table.coded(j)
    code = [
        -1 if stands_for_missing(cell) else position.setdefault(label_of(cell), len(position))
        for cell in distinct
    ]
    values = np.array(code, dtype=np.int32)[codes]
    return Column("text", values, tuple(position), is_category)
