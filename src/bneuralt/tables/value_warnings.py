"""Warnings about the columns of a training table, and about unexpected values of later ones."""

from __future__ import annotations

from collections.abc import Callable

from bneuralt.warnings import (
    CodeWarning,
    IdentifierWarning,
    MissingValuesWarning,
    RareValuesWarning,
    SentinelWarning,
    TextValuesWarning,
    UnseenValuesWarning,
    not_said,
    warn_user,
)

__all__ = [
    "COLUMN_WARNINGS",
    "LEARNING_NOTES",
    "CodeWarning",
    "IdentifierWarning",
    "LearningNotes",
    "MissingValuesWarning",
    "RareValuesWarning",
    "SentinelWarning",
    "TextValuesWarning",
    "UnexpectedValues",
    "UnseenValuesWarning",
]

#: Missing and unseen values are said if they are in more than this share of the rows.
NOTABLE_SHARE = 0.005

#: A warning lists at most this many columns.
MOST_COLUMNS = 5


#: For each kind of note on training rows: the warning, and what precedes and follows the columns.
LEARNING_NOTES: dict[str, tuple[type[Warning], str, str]] = {
    "identifiers": (
        IdentifierWarning,
        "columns are left out, because they identify rows",
        "To use them, set identifiers='keep'.",
    ),
    "empty": (MissingValuesWarning, "no values at all", "The columns have no influence."),
    "all rare": (
        RareValuesWarning,
        "all values are rare, which identifies rows rather than categories",
        "They share one weight; drop the column, or make numbers of it.",
    ),
    "mixed": (
        TextValuesWarning,
        "numbers and texts are read as categories",
        "To confirm that, name the column in categorical_features.",
    ),
    "codes": (
        CodeWarning,
        "whole numbers are read as codes, whose order means nothing",
        "To confirm that, name the column in categorical_features; if they are numbers, set "
        "categorical_features={column: 'number'}.",
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
    >>> notes.add("pooled", "column 'a'", "(30 of 40 values, in 9% of the rows)")
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     notes.warn()
    >>> print(str(caught[0].message).split(".")[0])
    many values are rare: column 'a' (30 of 40 values, in 9% of the rows)
    """

    def __init__(self) -> None:
        self._columns: dict[str, dict[str, str]] = {}

    def add(self, kind: str, column: str, detail: str = "") -> None:
        """Add a column to the notes of a kind, which is a key of `LEARNING_NOTES`."""
        self._columns.setdefault(kind, {})[column] = f"{column} {detail}".strip()

    def warn(self) -> None:
        """Issue the warnings, each of a column once in a call of the user."""
        for kind, columns in self._columns.items():
            category, problem, advice = LEARNING_NOTES[kind]
            new = not_said(kind, columns)
            if new:
                listing = _listed([text for column, text in columns.items() if column in new])
                warn_user(f"{problem}: {listing}. {advice}", category)


class UnexpectedValues:
    """Counts of missing and unseen values, by column.

    Parameters
    ----------
    place : callable
        Returns the name of a column in messages, from its position.
    n_rows : int
        Number of rows of the table. A handful of values in thousands of rows are not worth a
        warning at every call.

    Examples
    --------
    >>> unexpected = UnexpectedValues(["column 'a'"].__getitem__, 10)
    >>> unexpected.count(0, "unseen", 2, "blue")
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     unexpected.warn()
    >>> print(str(caught[0].message).split(".")[0])
    not seen in training: 2 values of column 'a', such as 'blue'
    """

    def __init__(self, place: Callable[[int], str], n_rows: int) -> None:
        self._place, self._least = place, NOTABLE_SHARE * n_rows
        self._counts: dict[str, dict[int, tuple[int, str]]] = {
            "unseen": {},
            "missing": {},
            "word": {},
        }

    def count(self, column: int, what: str, number: int, example: str) -> None:
        """Add values of a column: "unseen" ones or "word"s with an example, or "missing" ones."""
        before, first = self._counts[what].get(column, (0, example))
        self._counts[what][column] = before + number, first

    def warn(self) -> None:
        """Issue one warning for each kind of unexpected value."""
        unseen, words = (
            [
                f"{_values(n)} of {self._place(j)}, such as {example!r:.50}"
                for j, (n, example) in self._counts[kind].items()
                if n > self._least or kind == "word"
            ]
            for kind in ("unseen", "word")
        )
        missing = [
            f"{_values(n)} of {self._place(j)}"
            for j, (n, _) in self._counts["missing"].items()
            if n > self._least
        ]
        if unseen:
            warn_user(
                f"not seen in training: {_listed(unseen)}. They are treated as rare values are, or "
                "as the mean of the training rows where no value was rare.",
                UnseenValuesWarning,
            )
        if words:
            warn_user(
                f"texts are read as missing values: {_listed(words)}. The column had numbers or "
                "dates in training.",
                TextValuesWarning,
            )
        if missing:
            warn_user(
                f"missing, though none was in training: {_listed(missing)}. They are treated as "
                "the mean of the training rows.",
                MissingValuesWarning,
            )


def _values(n: int) -> str:
    return f"{n:,} value{'' if n == 1 else 's'}"


def _listed(parts: list[str]) -> str:
    more = len(parts) - MOST_COLUMNS
    ending = f"; and {more} more column{'' if more == 1 else 's'}" if more > 0 else ""
    return "; ".join(parts[:MOST_COLUMNS]) + ending
