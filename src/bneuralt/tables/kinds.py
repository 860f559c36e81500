"""What a column is: a number, a date, a category, an identifier or empty.

Everything is decided here, from the values of the training rows, whatever way a table comes in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.tables.columns import Column, Frame, NumberBlockFrame, parse_dates
from bneuralt.tables.number_texts import Notation, gap_words
from bneuralt.tables.numbers import has_thousands, to_number

__all__ = [
    "Decision",
    "are_dates",
    "checked_identifiers",
    "decide",
    "decided",
    "decimal_point",
    "identifies_rows",
    "may_identify",
    "notation_of",
    "used_texts",
]

#: Smallest numbers of rows in which numbers, and texts, are recognised as identifiers.
FEWEST_ROWS_WITH_IDS = 5
FEWEST_ROWS_WITH_NAMES = 20

#: Texts identify rows if this share of them is different.
NEARLY_ALL = 0.9

#: Larger whole numbers are not exact.
LARGEST_ID = 1e15

#: Such as `id`, `order-no.` or `customerID`, but not `paid`.
_ID_NAME = re.compile(
    r"(?i:(.*[ _.-])?(id|uuid|guid|index|key|rownum|rowid|row|no|nr|number)\.?)"
    r"|.*[a-z](Id|ID|No|Nr)"
)

#: What readers call a first column without a name, and that of a table without any names.
_NAMELESS = re.compile(r"column1|Unnamed: \d+|")
_NO_HEADER = "column1"


class Decision(NamedTuple):
    """What a column is.

    Attributes
    ----------
    kind : {"number", "date", "category", "text", "identifier", "empty"}
        "text": a date or a category, which is decided when the column is learnt.
    notation : Notation or None
        How the texts of a column of numbers are numbers.
    """

    kind: str
    notation: Notation | None = None


def decide(
    column: Column,
    weight: FloatArray,
    decimal: str = ".",
    name: str | None = None,
    position: int = 0,
    is_identifier: bool | None = None,
) -> Decision:
    """Decide what a column is.

    Parameters
    ----------
    column : Column
    weight : array of shape (n_rows,)
        Rows of weight 0 are ignored.
    decimal : str
        The decimal point of numbers in texts.
    name : str or None
    position : int
        Of the column in the table.
    is_identifier : bool, optional
        Whether it identifies rows; by default that is found out.

    Examples
    --------
    >>> from bneuralt.tables.columns import text_column
    >>> decide(text_column(np.arange(2), ["3 kg", "1,200 kg"]), np.ones(2)).notation.unit
    'kg'
    """
    if column.is_missing[weight > 0].all():
        return Decision("empty")
    if is_identifier:
        return Decision("identifier")
    if column.is_category:
        return Decision("category")
    notation = notation_of(column, weight, decimal)
    is_number = notation is not None or column.kind == "number"
    if is_identifier is None and identifies_rows(column, weight, name, position, is_number):
        return Decision("identifier")
    if is_number:
        return Decision("number", notation)
    return Decision("date" if column.kind == "date" else "text")


def decided(frame: Frame, identifiers: Any = "drop") -> Frame:
    """Return a table whose columns are what all its rows say, also if some rows are taken.

    Rows that are held out then can be read as those that a model is trained on.
    """
    frame = frame.typed()
    weight = np.ones(len(frame))
    decimal = frame.decimal or decimal_point(frame.columns, weight)
    listed = checked_identifiers(identifiers, len(frame.columns), frame.names)
    columns, are_plain = [], []
    for j, column in enumerate(frame.columns):
        name = None if frame.names is None else frame.names[j]
        is_listed = None if listed is None else bool(listed[j])
        decision = decide(column, weight, decimal, name, j, is_listed)
        are_plain.append(decision == Decision("number") and column.kind == "number")
        if decision.kind == "text":
            texts, counts = used_texts(column, weight)
            decision = Decision("date" if are_dates(texts, counts) else "category")
        columns.append(column if are_plain[-1] else replace(column, decision=decision))
    return NumberBlockFrame.of(columns, are_plain, frame.names, decimal)


def used_texts(column: Column, weight: FloatArray) -> tuple[list[str], FloatArray]:
    """Return the texts of rows of a positive weight, and how often each occurs."""
    counts = column.counts(weight)
    used = np.flatnonzero(counts > 0)
    return [column.texts[i] for i in used.tolist()], counts[used]


# -- numbers in texts ---------------------------------------------------------------------


def decimal_point(columns: Iterable[Column], weight: FloatArray) -> str:
    """Return the decimal point of a table: a comma if a column has numbers that only it explains.

    Examples
    --------
    >>> from bneuralt.tables.columns import text_column
    >>> column = text_column(np.arange(2), ["2,5", "1,25"])
    >>> decimal_point([column], np.ones(2))
    ','
    """
    for column in columns:
        if column.kind != "text" or not any("," in text for text in column.texts):
            continue
        texts, _ = used_texts(column, weight)
        is_comma = bool(texts) and all(to_number(text, ",") is not None for text in texts)
        if is_comma and any("," in text for text in texts) and not has_thousands(texts):
            return ","
    return "."


def notation_of(column: Column, weight: FloatArray, decimal: str = ".") -> Notation | None:
    """Return how the values of a column are numbers in texts; None if they are not.

    A point in the number of a CSV file is one of thousands if the table has decimal commas.
    """
    if column.kind == "number" and column.cells is not None and decimal == ",":
        column = column.as_text()
        if not any("." in text for text in column.texts):
            return None
        notation = Notation.learn(*used_texts(column, weight), decimal)
        return notation if notation is not None and notation.thousands == "." else None
    if column.kind != "text":
        return None
    return Notation.learn(*used_texts(column, weight), decimal)


# -- identifiers --------------------------------------------------------------------------


def checked_identifiers(
    identifiers: Any, n_columns: int, names: Sequence[str] | None
) -> Array | None:
    """Return which columns are identifiers, None if that is to be found out.

    Parameters
    ----------
    identifiers : {"drop", "keep"}, or a list of names or indices
    n_columns : int
    names : sequence of str or None
        Names of the columns.

    Examples
    --------
    >>> checked_identifiers(["b"], 2, ["a", "b"]).tolist(), checked_identifiers("drop", 2, None)
    ([False, True], None)
    """
    if isinstance(identifiers, str):
        if identifiers not in ("drop", "keep"):
            raise ValueError(f"identifiers={identifiers!r} must be 'drop', 'keep' or a list")
        return np.zeros(n_columns, dtype=bool) if identifiers == "keep" else None
    mask = np.zeros(n_columns, dtype=bool)
    for entry in identifiers:
        is_name = isinstance(entry, str)
        known: Collection[Any] = (names or ()) if is_name else range(n_columns)
        if entry not in known:
            shown = "X has no such column" if names or not is_name else "X has no column names"
            raise ValueError(f"identifiers has {entry!r:.50}, but {shown}")
        mask[list(names or ()).index(entry) if is_name else entry] = True
    return mask


def may_identify(name: str | None, position: int) -> bool:
    """Return whether the name of a column is one of numbers that identify rows."""
    if name is None:
        return False
    is_nameless = position == 0 and _NAMELESS.fullmatch(name) is not None
    return is_nameless or _ID_NAME.fullmatch(name) is not None


def identifies_rows(
    column: Column, weight: FloatArray, name: str | None, position: int, is_number: bool
) -> bool:
    """Return whether a column identifies rows rather than describing them.

    That are whole numbers that are all different, with the name of an identifier or without a
    name in the first column, and texts that are nearly all different and no dates or numbers.

    Parameters
    ----------
    column : Column
    weight : array of shape (n_rows,)
        Rows of weight 0 are ignored.
    name : str or None
    position : int
        Of the column in the table.
    is_number : bool
        Whether its texts are numbers.

    Examples
    --------
    >>> column = Column("number", np.arange(10.0) * 7)
    >>> [identifies_rows(column, np.ones(10), name, 1, True) for name in ("customer_id", "size")]
    [True, False]
    """
    n_rows = int(np.count_nonzero(weight > 0))
    if column.is_category or n_rows < FEWEST_ROWS_WITH_IDS:
        return False
    if column.kind == "number":
        if not may_identify(name, position):
            return False
        values = column.values[weight > 0]
        is_whole = bool(np.all((values >= 0) & (values <= LARGEST_ID) & (values == values // 1)))
        if not is_whole or (name == _NO_HEADER and not np.all(np.diff(values) > 0)):
            return False
        return np.unique(values).size == n_rows
    if column.kind != "text" or is_number or n_rows < FEWEST_ROWS_WITH_NAMES:
        return False
    texts, counts = used_texts(column, weight)
    if len(texts) < NEARLY_ALL * n_rows:
        return False
    return not are_dates(texts, counts)


def are_dates(texts: Sequence[str], counts: FloatArray) -> bool:
    """Return whether texts are dates, apart from a few words that stand for missing values."""
    words = gap_words(texts, counts) or ()
    return parse_dates(text for text in texts if text not in words) is not None
