"""Warnings about the columns of a training table, and about unexpected values of later ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable

__all__ = [
    "COLUMN_WARNINGS",
    "LEARNING_NOTES",
    "LearningNotes",
    "MissingValuesWarning",
    "RareValuesWarning",
    "SentinelWarning",
    "TextValuesWarning",
    "UnexpectedValues",
    "UnseenValuesWarning",
]

#: A warning lists at most this many columns.
MOST_COLUMNS = 5


class UnseenValuesWarning(UserWarning):
    """A column of categories has values that did not occur in training."""


class RareValuesWarning(UserWarning):
    """All or many values of a column of categories are rare."""


class TextValuesWarning(UserWarning):
    """Texts of a column are read as numbers, or as missing values."""


class MissingValuesWarning(UserWarning):
    """Values are missing in a column that had none missing in training, or only such."""


class SentinelWarning(UserWarning):
    """A number that repeats far outside of the others of its column is treated as missing."""


#: For each kind of note on training rows: the warning, and what precedes and follows the columns.
LEARNING_NOTES: dict[str, tuple[type[Warning], str, str]] = {
    "identifiers": (
        RareValuesWarning,
        "all values are rare, which identifies rows rather than categories",
        "They share one weight; drop the column, or make numbers of it.",
    ),
    "pooled": (
        RareValuesWarning,
        "many values are rare",
        "All rare values of a column share one weight.",
    ),
    "numbers": (
        TextValuesWarning,
        "texts are read as numbers",
        "To use them as categories, name the column in categorical_features.",
    ),
    "sentinels": (
        SentinelWarning,
        "values far outside of all others are treated as missing",
        "If they are values, set sentinels=None.",
    ),
    "gaps": (
        TextValuesWarning,
        "texts are read as missing values",
        "If they are values, correct them.",
    ),
}


#: The warnings on the columns of a training table.
COLUMN_WARNINGS: tuple[type[Warning], ...] = tuple(
    dict.fromkeys(note[0] for note in LEARNING_NOTES.values())
)


class LearningNotes:
    """Notes on the columns of a training table, issued as one warning for each kind.

    Examples
    --------
    >>> notes = LearningNotes()
    >>> notes.add("pooled", "column 'a' (30 of 40 values, in 9% of the rows)")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     notes.warn(stacklevel=1)
    >>> print(str(caught[0].message).split(".")[0])
    many values are rare: column 'a' (30 of 40 values, in 9% of the rows)
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[str]] = {}

    def add(self, kind: str, column: str) -> None:
        """Add a column to the notes of a kind, which is a key of `LEARNING_NOTES`."""
        self._columns.setdefault(kind, []).append(column)

    def warn(self, stacklevel: int) -> None:
        """Issue the warnings."""
        for kind, columns in self._columns.items():
            category, problem, advice = LEARNING_NOTES[kind]
            warnings.warn(
                f"{problem}: {_listed(columns)}. {advice}", category, stacklevel=stacklevel + 1
            )


class UnexpectedValues:
    """Counts of missing and unseen values, by column.

    Parameters
    ----------
    place : callable
        Returns the name of a column in messages, from its position.

    Examples
    --------
    >>> unexpected = UnexpectedValues(["column 'a'"].__getitem__)
    >>> unexpected.count(0, "unseen", 2, "blue")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     unexpected.warn(stacklevel=1)
    >>> print(str(caught[0].message).split(".")[0])
    not seen in training: 2 values of column 'a', such as 'blue'
    """

    def __init__(self, place: Callable[[int], str]) -> None:
        self._place = place
        self._counts: dict[str, dict[int, tuple[int, str]]] = {
            "unseen": {},
            "missing": {},
            "word": {},
        }

    def count(self, column: int, what: str, number: int, example: str) -> None:
        """Add values of a column: "unseen" ones or "word"s with an example, or "missing" ones."""
        before, first = self._counts[what].get(column, (0, example))
        self._counts[what][column] = before + number, first

    def warn(self, stacklevel: int) -> None:
        """Issue one warning for each kind of unexpected value."""
        unseen, words = (
            [
                f"{_values(n)} of {self._place(j)}, such as {example!r:.50}"
                for j, (n, example) in self._counts[kind].items()
            ]
            for kind in ("unseen", "word")
        )
        missing = [
            f"{_values(n)} of {self._place(j)}" for j, (n, _) in self._counts["missing"].items()
        ]
        if unseen:
            warnings.warn(
                f"not seen in training: {_listed(unseen)}. They are treated as rare values are, or "
                "as the mean of the training rows where no value was rare.",
                UnseenValuesWarning,
                stacklevel=stacklevel + 1,
            )
        if words:
            warnings.warn(
                f"texts are read as missing values: {_listed(words)}. The column had numbers or "
                "dates in training.",
                TextValuesWarning,
                stacklevel=stacklevel + 1,
            )
        if missing:
            warnings.warn(
                f"missing, though none was in training: {_listed(missing)}. They are treated as "
                "the mean of the training rows.",
                MissingValuesWarning,
                stacklevel=stacklevel + 1,
            )


def _values(n: int) -> str:
    return f"{n:,} value{'' if n == 1 else 's'}"


def _listed(parts: list[str]) -> str:
    more = len(parts) - MOST_COLUMNS
    ending = f"; and {more} more column{'' if more == 1 else 's'}" if more > 0 else ""
    return "; ".join(parts[:MOST_COLUMNS]) + ending
