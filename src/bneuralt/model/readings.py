"""How the cells of a table are read: what programs and pages need to know of a column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from bneuralt.model.model import ModelColumn
from bneuralt.tables.number_texts import PLAIN, Notation

__all__ = ["Reading", "reading_of"]


class Reading(NamedTuple):
    """How the cell of a column is read.

    Attributes
    ----------
    name : str
        Of the variable that has the result.
    kind : {"number", "amount", "clock", "text", "date"}
        A number; a text with a unit or separators; a time of the day as hours; the name of a
        category; a date.
    column : int
        Position of the column.
    title : str
        Its name.
    settings : tuple
        Of amounts: decimal point, separator of thousands, units before and behind the number. Of
        dates: whether the day is before the month.
    gaps : tuple of str
        Texts that stand for missing values in this column.
    """

    name: str
    kind: str
    column: int
    title: str
    settings: tuple[Any, ...] = ()
    gaps: tuple[str, ...] = ()


def reading_of(operation: str, position: int, column: ModelColumn) -> Reading:
    """Return how an operation reads the cells of a column."""
    feature, title = column.feature, column.name
    if operation == "lookup":
        return Reading(f"text{position}", "text", position, title)
    if operation == "date_part":
        gaps = tuple(getattr(feature, "gap_words", ()))
        return Reading(f"date{position}", "date", position, title, (column.day_first,), gaps)
    notation: Notation = getattr(feature, "notation", None) or PLAIN
    name, gaps = f"number{position}", notation.gap_words
    if notation.is_clock:
        return Reading(name, "clock", position, title, (), gaps)
    if replace(notation, gap_words=()) == PLAIN:
        return Reading(name, "number", position, title, (), gaps)
    unit = notation.unit
    may_precede = Notation(unit=unit).read([f"{unit}1"])[1][0]  # as currencies do
    settings = (notation.decimal, notation.thousands, unit if may_precede else "", unit)
    return Reading(name, "amount", position, title, settings, gaps)
