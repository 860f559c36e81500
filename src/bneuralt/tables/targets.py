"""The target of tables from files: classes or numbers, and how its cells are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.tables.columns import Column, label_of, read_objects
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.kinds import decimal_point, notation_of
from bneuralt.tables.number_texts import PLAIN, Notation

__all__ = [
    "MAX_INTEGER_CLASSES",
    "TargetKind",
    "UnreadTarget",
    "learn_target",
    "missing_targets",
    "natural_target",
    "numbers_of_texts",
]

#: Integer targets with at most this many distinct values are classes by default.
MAX_INTEGER_CLASSES = 20

_WHOLE = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class TargetKind:
    """What a target is.

    Attributes
    ----------
    task : {"classification", "regression"}
    whole_numbers : bool
        Whether class labels are integers; otherwise they are text.
    notation : Notation or None
        How the texts of the target are numbers; None if they are classes, or plain numbers.
    """

    task: str
    whole_numbers: bool = False
    notation: Notation | None = None

    def read(self, column: Column) -> Array:
        """Return numbers, with NaN where they are missing, or labels, with None.

        Raises
        ------
        UnreadTarget
            A cell is not a number, and numbers are predicted.
        """
        if self.task == "regression":
            return _numbers(column, self.notation or PLAIN)
        # Labels of a later table need not be in the training table; predictions then differ.
        text = column.as_text()
        is_whole = self.whole_numbers and all(map(_WHOLE.fullmatch, text.texts))
        labels: list[Any] = [int(label) if is_whole else label for label in text.texts]
        has_gaps = bool((text.values < 0).any())
        values = [labels[code] if code >= 0 else None for code in text.values.tolist()]
        return np.array(values, dtype=object if has_gaps else None)


class UnreadTarget(ValueError):
    """A cell of a target is not a number; the arguments are its text and its row."""


def _numbers(column: Column, notation: Notation) -> Array:
    if column.kind == "number" and (column.cells is None or notation == PLAIN):
        return column.values
    text = column.as_text()
    numbers, is_read = notation.read(text.texts)
    for code in np.flatnonzero(~is_read).tolist():
        if (text.values == code).any():
            raise UnreadTarget(text.texts[code], int(np.argmax(text.values == code)))
    return np.append(numbers, np.nan)[text.values]


def numbers_of_texts(
    values: Array, notation: Notation | None = None
) -> tuple[FloatArray, Notation] | None:
    """Return numbers in texts such as "3,221.11 EUR", and how they are written.

    Parameters
    ----------
    values : array of shape (n_rows,)
    notation : Notation, optional
        How earlier values were written; by default that is found out.

    Returns
    -------
    (array, Notation) or None
        None if the values are no texts of numbers in one notation.

    Raises
    ------
    UnreadTarget
        A text is no number in the notation of the earlier values.

    Examples
    --------
    >>> numbers_of_texts(np.array(["3,221.11 EUR", "12 EUR"]))[0].tolist()
    [3221.11, 12.0]
    """
    column = read_objects(values.tolist(), "the target")
    weight = np.ones(len(column))
    if column.kind != "text":
        return None
    notation = notation or notation_of(column, weight, decimal_point([column], weight))
    return None if notation is None else (_numbers(column, notation), notation)


def learn_target(column: Column, name: str, task: str = "auto") -> tuple[TargetKind, str]:
    """Decide what a target is, and return a note on how it is read, which may be empty.

    Parameters
    ----------
    column : Column
    name : str
        Its name, for messages.
    task : {"auto", "classification", "regression"}
        "auto" means classification if the target is text or has at most 20 distinct whole numbers.

    Raises
    ------
    ValueError
        It can be no target.

    Examples
    --------
    >>> from bneuralt.tables.columns import text_column
    >>> learn_target(text_column(np.arange(2), ["a", "b"]), "kind")[0].task
    'classification'
    """
    if task not in ("auto", "classification", "regression"):
        raise TableError(f"task={task!r}: must be 'auto', 'classification' or 'regression'.")
    weight = np.ones(len(column))
    if column.is_missing.all():
        raise ValueError(f"the target {name!r} has no values.")
    notation = None
    if task != "classification":
        notation = notation_of(column, weight, decimal_point([column], weight))
    numbers = None
    if notation is not None or column.kind == "number":
        numbers = column.values if notation is None else _numbers(column, notation)
        numbers = np.unique(numbers[~np.isnan(numbers)])
    if task == "regression":
        if numbers is None:
            _numbers(column, PLAIN)  # raises an error
        return TargetKind("regression", False, notation), _note(column, name, notation)
    if task == "auto" and numbers is not None:
        is_few = numbers.size <= MAX_INTEGER_CLASSES and bool(np.all(numbers == np.round(numbers)))
        if not is_few:
            return TargetKind("regression", False, notation), _note(column, name, notation)
    text = column.as_text()
    labels = [text.texts[code] for code in np.unique(text.values).tolist() if code >= 0]
    is_whole = all(map(_WHOLE.fullmatch, labels))
    n_rows = int(np.count_nonzero(~column.is_missing))
    if len(labels) > MAX_INTEGER_CLASSES and len(labels) > n_rows / 2:
        raise ValueError(
            f"the target {name!r} has {len(labels)} distinct values in {n_rows} rows, too many for "
            "classes. Check the column; to predict numbers, use --task regression."
        )
    if len(labels) < 2:
        raise ValueError(
            f"the target {name!r} is {labels[0]!r} in every row; at least two classes are needed."
        )
    return TargetKind("classification", is_whole), ""


def _are_words(column: Column) -> bool:
    """Return whether a column of numbers has the words true and false."""
    return column.cells is not None and not any(
        any(map(str.isdigit, text)) for text in column.as_text().texts
    )


def _note(column: Column, name: str, notation: Notation | None) -> str:
    if notation in (None, PLAIN):
        return ""
    assert notation is not None
    text = next(text for text in column.as_text().texts if text not in notation.gap_words)
    words = ", ".join(map(repr, notation.gap_words))
    gaps = f", and {words} as missing" if words else ""
    return (
        f"the target {name!r} is read as numbers ({text!r:.40} is "
        f"{float(notation.read([text])[0][0]):g}){gaps}; use --task classification for classes."
    )


def missing_targets(values: Array) -> Array:
    """Return which values are missing: None, NaN or NaT."""
    if values.dtype.kind == "O":
        is_gap = [v is None or v != v for v in values.ravel().tolist()]
        return np.array(is_gap, dtype=bool).reshape(values.shape)
    return np.asarray(values != values)


def natural_target(column: Column) -> Array:
    """Return the cells of a target as they are: whole numbers, other numbers, or texts.

    Examples
    --------
    >>> natural_target(Column("number", np.array([1.0, 2.0])))
    array([1, 2])
    """
    if column.kind == "date" or (column.kind == "number" and _are_words(column)):
        column = column.as_text()
    if column.kind == "text":
        texts = np.array([*map(label_of, column.texts), None], dtype=object)
        labels: Array = texts[column.values]
        return labels
    values = column.values
    is_whole = bool(np.all(values == np.round(values))) and bool(np.all(np.abs(values) < 2**53))
    return values.astype(np.int64) if is_whole else values
