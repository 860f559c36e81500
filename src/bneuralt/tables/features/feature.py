"""Base class of all kinds of columns: encoding by expressions, ranges and plain data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import Expression, Operand, differs, evaluate, is_missing, select
from bneuralt.lines import IDENTITY, LineSum
from bneuralt.tables.bends import Bending
from bneuralt.tables.columns import Column, stands_for_missing
from bneuralt.tables.gaps import gaps_are_informative
from bneuralt.tables.number_texts import Notation

__all__ = [
    "MISSING",
    "ColumnError",
    "Feature",
    "Input",
    "Range",
    "Report",
    "checked_bool",
    "checked_number",
    "checked_texts",
    "gap_input",
    "gap_notes",
    "is_finite",
    "learn_gaps",
    "unread_words",
    "used_texts",
]

#: The entry of the input that says whether a value is missing.
MISSING = "(missing)"

#: Entries of descriptions that are stored only if they are not empty.
OPTIONAL = frozenset(
    {"ignores_gaps", "notation", "gap_words", "limits", "ramps", "curves", "sentinels", "bounds"}
)

#: Smallest and largest value: numbers, or dates as text such as 2024-05-31T14:30:00.
Range = tuple[float, float] | tuple[str, str]

#: Called with the kind of unexpected values ("missing", "unseen", "word"), a count and an example.
Report = Callable[[str, int, str], None]


class Input(NamedTuple):
    """One of the inputs of trees that a column becomes.

    Attributes
    ----------
    entry : str
        Its meaning: "" for the number itself, a category, a part of a date, `MISSING` or
        `RARE`.
    name : str
    expression : Expression
        Its value, computed from a cell of the column.
    mean : float or None
        Its mean over the training rows, in which no value is missing; None if it is not known.
    range : tuple of two float, or None
        Its smallest and largest value in training, None if they are not known.
    is_drawn : bool
        Whether leaves of random trees get it. Leaves can move to the others.
    """

    entry: str
    name: str
    expression: Expression
    mean: float | None
    range: tuple[float, float] | None
    is_drawn: bool = True


class ColumnError(ValueError):
    """A column does not fit the one in training; the message completes "column 'name' ...".

    Attributes
    ----------
    row : int or None
        The first row that does not fit.
    text : str
        What this row has.
    """

    def __init__(self, message: str, row: int | None = None, text: str = "") -> None:
        super().__init__(message)
        self.row, self.text = row, text


class Feature:
    """Description of a column of training rows, as plain data.

    A kind of column is a subclass of this, a frozen dataclass that is listed in
    `bneuralt.tables.features.KINDS`. It says which columns are of this kind (`learn`), how later
    columns are read (`read`) and what the inputs of trees are (`inputs`). All else follows from
    these, and may be overridden for speed.

    A column becomes inputs in two steps: `write` turns a cell into numbers, and each input is a
    limited line of one of the numbers, or a sum of several (`lines`). The core takes the second
    step, row by row, so that a column with many inputs needs no more memory than its numbers. By
    default the numbers are the inputs.

    Attributes
    ----------
    kind : str
        Name of the kind, in messages and files.
    is_one_hot : bool
        Whether the inputs are alternatives: 1 for the entry of a value, 0 for all others.
    has_gaps : bool
        Whether values were missing in training, and an input says where.
    ignores_gaps : bool
        Whether values were missing in training, without a relation to the target.
    """

    kind: ClassVar[str]
    is_one_hot: ClassVar[bool] = False
    has_gaps: bool
    ignores_gaps: bool = False

    # -- what a kind defines -------------------------------------------------------------

    @classmethod
    def learn(cls, column: Column, weight: FloatArray, target: Array | None = None) -> Self | None:
        """Describe a column of training rows; None if it is not of this kind.

        Parameters
        ----------
        column : Column
            If its `is_category` is true, it must be described as categories.
        weight : array of shape (n_rows,)
            How much each row counts; rows of weight 0 are ignored.
        target : array of shape (n_rows,) or (n_rows, n_columns), optional
            Class numbers (if integers) or values to learn.
        """
        raise NotImplementedError

    @classmethod
    def learn_counted(
        cls, column: Column, weight: FloatArray, target: Array | None, counts: FloatArray
    ) -> Self | None:
        """Describe a column of training rows; `counts` are the rows that each row stands for.

        For kinds whose rules count rows; others follow the weights.
        """
        return cls.learn(column, weight, target)

    def bent(self, column: Column, weight: FloatArray, bending: Bending) -> Self:
        """Return the description with limits and ramps; itself if there is nothing to bend."""
        return self

    def with_sentinels(self, sentinels: tuple[float, ...]) -> Self:
        """Return the description with numbers that stand for missing values; of numbers only."""
        return self

    def without_sentinels(
        self,
        column: Column,
        weight: FloatArray,
        target: Array | None,
        counts: FloatArray,
        known: tuple[float, ...] | None = None,
    ) -> tuple[Self, str]:
        """Treat values that repeat far outside of all others as missing; return which they are.

        Numbers are treated before they are learnt.

        Parameters
        ----------
        column : Column
        weight, target, counts : array
            Of the rows; see `learn_encoder`.
        known : tuple of float, optional
            The values, instead of searching for them.
        """
        return self, ""

    def read(self, column: Column) -> Column:
        """Return a later column in the form that the expressions of the inputs read.

        Raises
        ------
        ColumnError
            It cannot be read as a column of this kind.
        """
        raise NotImplementedError

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return the inputs of a column with this name and range."""
        raise NotImplementedError

    def learn_range(self, column: Column, weight: FloatArray) -> Range | None:
        """Return the smallest and largest value of the training rows; None if there is no order."""
        return None

    @classmethod
    def is_range(cls, low: Any, high: Any) -> bool:
        """Return whether two values of a file can be the range of such a column."""
        return False

    @property
    def passes_numbers(self) -> bool:
        """Whether a column of numbers without gaps stays as it is before `lines`."""
        return False

    @property
    def values(self) -> tuple[str, ...] | None:
        """All texts that occurred in training; None if others are no surprise."""
        return None

    def unseen(self, cell: Column) -> tuple[int, str]:
        """Return how many values of what `read` returned are new, and one of them."""
        return 0, ""

    def parse(self, column: Column) -> tuple[Column, int, str]:
        """Return what `read` returns, the number of new words that are read as gaps, and one."""
        return self.read(column), 0, ""

    def notes(self, column: Column, weight: FloatArray) -> list[tuple[str, str]]:
        """Return what a user should know of the training rows.

        Each note is a key of `LEARNING_NOTES` of `bneuralt.tables.value_warnings`, and a text that
        follows the name of the column.
        """
        return []

    # -- what follows from it ------------------------------------------------------------

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """The value of each input, computed from a cell."""
        return tuple(entry.expression for entry in self.inputs(""))

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.expressions)

    @property
    def n_alternatives(self) -> int:
        """How many of the last inputs are alternatives: 1 for one of them, or for none."""
        return self.n_inputs if self.is_one_hot else 0

    @property
    def drawn(self) -> list[bool]:
        """Whether leaves of random trees get each input; see `Input`."""
        return [entry.is_drawn for entry in self.inputs("")]

    @property
    def n_numbers(self) -> int:
        """How many numbers `write` writes for a cell; the inputs are lines of them."""
        return len(self.lines)

    @property
    def lines(self) -> tuple[tuple[LineSum, ...], ...]:
        """The lines of each number, which are the inputs in their order."""
        return ((IDENTITY,),) * self.n_inputs

    @property
    def input_means(self) -> list[float | None]:
        """The mean of each input over the training rows; see `Input`."""
        return [entry.mean for entry in self.inputs("")]

    @property
    def entries(self) -> list[str]:
        """The possible values of categories; for other kinds, the entries of the inputs."""
        return [entry.entry for entry in self.inputs("")]

    def encode(self, column: Column, out: Array, report: Report) -> None:
        """Write the numbers of each row to `out`, and report what training did not prepare for."""
        cell, n_words, example = self.parse(column)
        if n_words:
            report("word", n_words, example)
        if not (self.has_gaps or self.ignores_gaps):
            n_missing = int(np.count_nonzero(cell.is_missing)) - n_words
            if n_missing:
                report("missing", n_missing, "")
        n_unseen, example = self.unseen(cell)
        if n_unseen:
            report("unseen", n_unseen, example)
        self.write(cell, out)

    def write(self, cell: Column, out: Array) -> None:
        """Write the numbers of what `read` returned to `out`; see `lines`."""
        for i, expression in enumerate(self.expressions):
            out[:, i] = evaluate(expression, {}, cell)

    # -- plain data ----------------------------------------------------------------------

    def to_plain(self) -> Any:
        """Return the description as JSON has it."""
        entries = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        stored = {key: v for key, v in entries.items() if v or key not in OPTIONAL}
        return {"kind": self.kind, **{key: _plain(value) for key, value in stored.items()}}

    @classmethod
    def from_plain(cls, data: Any) -> Self:
        """Read what `to_plain` returned.

        Raises
        ------
        ValueError
            The description is damaged.
        """
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        if data.keys() - (OPTIONAL & set(names)) != {"kind", *names} - OPTIONAL:
            raise ValueError(f"its keys must be {', '.join(['kind', *names])}")
        return cls(**cls.checked({name: data[name] for name in names if name in data}))

    @classmethod
    def checked(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the class for the entries of a file, or raise a `ValueError`."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Notation):
        return value.to_plain()
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


# -- parts of several kinds ---------------------------------------------------------------


def used_texts(column: Column, weight: FloatArray | None = None) -> list[str]:
    """Return the texts that occur in rows of a positive weight."""
    return [column.texts[i] for i in np.flatnonzero(column.counts(weight) > 0).tolist()]


def unread_words(column: Column, is_read: Array, kind: str) -> tuple[int, str]:
    """Return how many values of a text column are words instead of numbers or dates, and one.

    Raises
    ------
    ColumnError
        Nothing else is in the column, or a text that cannot be read has digits.
    """
    counts = column.counts()
    is_used = counts > 0
    texts = [column.texts[i] for i in np.flatnonzero(is_used & ~is_read).tolist()]
    if not texts:
        return 0, ""
    with_digits = (text for text in texts if any(map(str.isdigit, text)))
    text = next(with_digits, None if (is_used & is_read).any() else texts[0])
    if text is not None:
        row = int(np.argmax(column.values == column.texts.index(text)))
        raise ColumnError(f"had {kind} in training and has the text {text!r:.50} now", row, text)
    return int(counts[~is_read].sum()), texts[0]


def gap_notes(words: tuple[str, ...], column: Column, weight: FloatArray) -> list[tuple[str, str]]:
    """Return the note on texts of training rows that stand for missing values."""
    present = [word for word in used_texts(column, weight) if word in words] if words else []
    return [("gaps", f"({', '.join(f'{word!r:.40}' for word in present)})")] if present else []


def gap_input(name: str, value: Expression, sentinels: tuple[float, ...] = ()) -> Input:
    """Return the input that says whether a value is missing, or a number that stands for that."""
    present: Operand = 0.0
    for sentinel in sentinels:
        present = select(differs(value, sentinel), present, 1.0)
    indicator = select(is_missing(value), 1.0, present)
    return Input(MISSING, f"{name} is missing", indicator, 0.0, (0.0, 1.0))


def learn_gaps(gaps: Array, weight: FloatArray, target: Array | None) -> tuple[bool, bool]:
    """Return whether there are gaps that get an input, and whether there are some that do not."""
    used = weight > 0
    if not np.any(gaps & used):
        return False, False
    informative = target is None or gaps_are_informative(gaps[used], target[used], weight[used])
    return informative, not informative


# -- checks of stored descriptions --------------------------------------------------------


def checked_bool(value: Any, key: str) -> bool:
    """Return a truth value of a file."""
    if type(value) is not bool:
        raise ValueError(f'"{key}" is {value!r:.50}, which is not true or false')
    return value


def checked_number(value: Any, key: str) -> float:
    """Return a finite number of a file."""
    if not is_finite(value):
        raise ValueError(f'"{key}" has {value!r:.50}, which is not a finite number')
    return float(value)


def is_finite(value: Any) -> bool:
    """Return whether a value of a file is a finite number."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # of an integer with hundreds of digits
        return False


def checked_texts(value: Any, key: str) -> tuple[str, ...]:
    """Return the texts of a file, none of which stands for a missing value."""
    if not isinstance(value, list) or any(type(text) is not str for text in value):
        raise ValueError(f'"{key}" must be a list of texts')
    if any(stands_for_missing(text) for text in value):
        raise ValueError(f'"{key}" has a text that stands for a missing value')
    return tuple(value)
