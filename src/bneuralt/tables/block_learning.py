"""What is learnt of the columns of a table in blocks: a sample of rows that shows all its values.

The summaries of two parts of a table can be merged. The sample consists of the rows with the lowest
hashes of their positions, so it depends neither on the division into blocks nor on the order in
which these are read. Quantiles of a column are those of the sample of n rows: the share of all rows
below such a quantile differs from the intended one by more than `sqrt(log(2 / p) / (2 n))` with a
probability of at most p (Dvoretzky, Kiefer and Wolfowitz): by .0062 for 100,000 rows and p = .001.
Smallest and largest values, texts and gaps that no row of the sample has are added to it, with the
weight that they have in the table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.row_hashes import row_hashes

__all__ = ["SAMPLE_ROWS", "TableSummary", "TextAmongNumbers", "joined"]

#: Number of rows of a sample.
SAMPLE_ROWS = 100_000

#: Whole weights with a larger mean than this are relative; see `bneuralt.fitting.weights`.
MAX_COPIES_PER_ROW = 10

#: Columns with more different texts than this are described by the sample alone.
MOST_TEXTS = 2_000

_KINDS = {"number": "numbers", "text": "text", "date": "dates"}


class TextAmongNumbers(Exception):
    """A column of a CSV file that began with numbers has texts; the argument is its name.

    A summary must begin anew, with this column as one of text.
    """


@dataclass
class ColumnSummary:
    """What a column of a table has.

    Attributes
    ----------
    name : str
    kind : str
        Kind of `Column`; empty while all values are missing.
    place : str
        Where it was seen first, for messages.
    gap_weight : float
        Weight of the rows without a value.
    low, high : value or None
        Smallest and largest number or date.
    texts : dict or None
        Weight of the rows of each text; None if there are too many.
    is_text : bool
        Whether numbers are texts: those of a CSV file that has other texts in other rows.
    """

    name: str
    kind: str = ""
    place: str = ""
    gap_weight: float = 0.0
    low: Any = None
    high: Any = None
    texts: dict[str, float] | None = field(default_factory=dict)
    is_text: bool = False
    has_cells: bool = False

    def add(self, column: Column, weight: FloatArray, place: str, positions: IntArray) -> Column:
        """Take note of some rows, and return them as a column of the kind of the earlier ones."""
        if column.kind == "number" and (self.is_text or self.kind == "text") and column.cells:
            column = column.as_text()
        is_missing = column.is_missing
        self.gap_weight += float(weight[is_missing].sum())
        if is_missing.all():
            return column
        if not self.kind:
            self.kind, self.place = column.kind, place
        if column.kind != self.kind:
            if column.kind == "text" and self.has_cells:
                raise TextAmongNumbers(self.name)
            raise TableError(
                f"{place}: column {self.name!r} has {_KINDS[column.kind]}, and "
                f"{_KINDS[self.kind]} in {self.place}; convert one of them."
            )
        self.has_cells = self.has_cells or column.cells is not None
        if column.kind == "text":
            self._add_texts(zip(column.texts, column.counts(weight).tolist(), strict=True))
            return column
        values = column.values[~is_missing]
        self._add_ends(values.min(), values.max())
        if column.kind == "number" and np.isinf([self.low, self.high]).any():
            row = positions[np.argmax(np.isinf(column.values))]
            raise TableError(
                f"{place}: column {self.name!r} has infinity in row {row + 1}; numbers must be "
                "finite: correct it, or make it a missing value."
            )
        return column

    def _add_ends(self, low: Any, high: Any) -> None:
        self.low = low if self.low is None else min(self.low, low)
        self.high = high if self.high is None else max(self.high, high)

    def _add_texts(self, weights: Any) -> None:
        if self.texts is None:
            return
        for text, weight in weights:
            self.texts[text] = self.texts.get(text, 0.0) + weight
        if len(self.texts) > MOST_TEXTS:
            self.texts = None

    def merge(self, other: ColumnSummary) -> None:
        """Take note of the rows of another summary."""
        if self.kind and other.kind and self.kind != other.kind:
            raise TableError(
                f"{other.place}: column {self.name!r} has {_KINDS[other.kind]}, and "
                f"{_KINDS[self.kind]} in {self.place}; convert one of them."
            )
        if not self.kind:
            self.kind, self.place = other.kind, other.place
        self.gap_weight += other.gap_weight
        if other.low is not None:
            self._add_ends(other.low, other.high)
        if other.texts is None:
            self.texts = None
        else:
            self._add_texts(other.texts.items())

    def absent(self, column: Column) -> list[tuple[Any, float]]:
        """Return values of the table that a sample has not, with their weights."""
        cells: list[tuple[Any, float]] = []
        if self.gap_weight and not column.is_missing.any():
            cells.append((None, self.gap_weight))
        if self.kind == "text":
            shown = {column.texts[code] for code in np.unique(column.values).tolist() if code >= 0}
            rest = (pair for pair in (self.texts or {}).items() if pair[0] not in shown)
            return cells + [(text, weight) for text, weight in sorted(rest) if weight > 0]
        if self.kind:
            values = column.values[~column.is_missing]
            is_beyond = (self.low < values.min(), self.high > values.max()) if values.size else ()
            ends = zip((self.low, self.high), is_beyond or (True, True), strict=True)
            cells += [(end, 1.0) for end, is_absent in ends if is_absent]
        return cells


class TableSummary:
    """Sample of the rows of a table, and what else its columns have.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    is_category : sequence of bool
        Which columns of numbers are categories.
    n_rows : int
        Number of rows of the sample.
    texts : collection of str
        Names of columns of CSV files whose numbers are texts.

    Attributes
    ----------
    total : int
        Number of rows of a positive weight.
    """

    def __init__(
        self,
        names: Sequence[str],
        is_category: Sequence[bool],
        n_rows: int = SAMPLE_ROWS,
        texts: Collection[str] = (),
    ) -> None:
        self.columns = [ColumnSummary(name, is_text=name in texts) for name in names]
        self.total = 0
        self._weight_sum, self._is_whole = 0.0, True
        self._is_category, self._n_rows = list(is_category), n_rows
        self._limit = np.uint64(2**64 - 1)
        self._parts: list[tuple[Array, list[Column], Array, FloatArray, IntArray]] = []

    def add(
        self,
        frame: Frame,
        target: Array,
        weight: FloatArray,
        start: int,
        place: str = "the table",
        first_row: int = 0,
    ) -> None:
        """Take note of some rows.

        Parameters
        ----------
        frame : Frame
        target : array of shape (n_rows,) or (n_rows, n_columns)
        weight : array of shape (n_rows,)
        start : int
            Position of the first row in the table.
        place : str
            Where the rows are from, for messages.
        first_row : int
            Position of the first row in this place.

        Raises
        ------
        TableError
            A column is of another kind than before, or has infinite numbers.
        """
        hashes = row_hashes(0, start, len(frame))
        positions = np.arange(len(frame))
        if not weight.all():
            used = np.flatnonzero(weight)
            frame, hashes, positions = frame.take(used), hashes[used], positions[used]
            target, weight = target[used], weight[used]
        rows = np.flatnonzero(hashes <= self._limit)
        self.total += len(weight)
        self._weight_sum += float(weight.sum())
        self._is_whole = self._is_whole and bool(np.all(weight == np.floor(weight)))
        columns = []
        for j, summary in enumerate(self.columns):
            column = frame.columns[j]
            if self._is_category[j] and column.kind == "number":
                column = replace(column.as_text(), is_category=True)
            column = summary.add(column, weight, place, first_row + positions)
            columns.append(_trimmed(column.take(rows)))
        if rows.size:
            places = start + positions[rows]
            self._parts.append((hashes[rows], columns, target[rows], weight[rows], places))
        if sum(len(part[0]) for part in self._parts) > 2 * self._n_rows:
            self._compact()

    def merge(self, other: TableSummary) -> Self:
        """Take note of the rows of another summary, and return this one."""
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.merge(theirs)
        self.total += other.total
        self._weight_sum += other._weight_sum
        self._is_whole = self._is_whole and other._is_whole
        self._parts += other._parts
        self._compact()
        return self

    def _compact(self) -> None:
        """Keep the rows with the lowest hashes, in their order in the table."""
        hashes, targets, weights, places = (
            np.concatenate([part[i] for part in self._parts]) for i in (0, 2, 3, 4)
        )
        lowest: IntArray = np.argsort(hashes, kind="stable")[: self._n_rows]
        lowest = lowest[np.argsort(places[lowest])]
        columns = [
            _trimmed(joined(list(parts), summary.kind).take(lowest))
            for summary, *parts in zip(
                self.columns, *(part[1] for part in self._parts), strict=True
            )
        ]
        if lowest.size == self._n_rows:
            self._limit = hashes[lowest].max()
        kept = columns, targets[lowest], weights[lowest], places[lowest]
        self._parts = [(hashes[lowest], *kept)]

    def learning_rows(self) -> tuple[Frame, Array, FloatArray, FloatArray]:
        """Return rows that show all values of the table, with targets, weights and counts.

        Values that no row of the sample has are put into copies of rows of the sample.
        """
        self._compact()
        ((_, columns, target, weight, _),) = self._parts
        is_count = self._is_whole and self._weight_sum <= MAX_COPIES_PER_ROW * self.total
        unit = 1.0 if is_count else self._weight_sum / self.total  # the mean weight
        weight = weight / unit * (self.total / weight.size)
        absent = [
            (j, value, value_weight if value_weight == 1.0 else value_weight / unit)
            for j, (summary, column) in enumerate(zip(self.columns, columns, strict=True))
            for value, value_weight in summary.absent(column)
        ]
        if absent:
            copied = np.arange(len(absent)) % weight.size
            rows = np.concatenate([np.arange(weight.size), copied])
            columns = [
                _replaced(
                    column.take(rows),
                    {weight.size + i: value for i, (k, value, _) in enumerate(absent) if k == j},
                )
                for j, column in enumerate(columns)
            ]
            target = target[rows]
            weight = np.concatenate([weight, [value_weight for *_, value_weight in absent]])
        counts = weight if is_count else np.full(weight.size, self.total / weight.size)
        return Frame(columns, [summary.name for summary in self.columns]), target, weight, counts


def _trimmed(column: Column) -> Column:
    """Return a column of text without texts that it does not have."""
    if column.kind != "text":
        return replace(column, cells=None)
    used, codes = np.unique(np.append(column.values, -1), return_inverse=True)
    texts = tuple(column.texts[code] for code in used[1:].tolist())
    return replace(column, values=(codes[:-1] - 1).astype(np.int32), texts=texts)


def joined(parts: Sequence[Column], kind: str = "") -> Column:
    """Return columns below each other; those without values become columns of the given kind.

    Examples
    --------
    >>> a = Column("text", np.array([0, 1]), ("x", "y"))
    >>> b = Column("text", np.array([0, -1]), ("y",))
    >>> column = joined([a, b, Column("number", np.array([np.nan]))], "text")
    >>> column.texts, column.values.tolist()
    (('x', 'y'), [0, 1, 1, -1, -1])
    """
    kind = kind or parts[0].kind
    parts = [part if part.kind == kind else _empty(kind, len(part)) for part in parts]
    is_category = any(part.is_category for part in parts)
    if kind != "text":
        return Column(kind, np.concatenate([part.values for part in parts]), (), is_category)
    position: dict[str, int] = {}
    codes = []
    for part in parts:
        merged = [position.setdefault(text, len(position)) for text in part.texts]
        codes.append(np.array([*merged, -1], dtype=np.int32)[part.values])
    return Column("text", np.concatenate(codes), tuple(position), is_category)


def _empty(kind: str, n_rows: int) -> Column:
    """Return a column whose values are all missing."""
    if kind == "text":
        return Column("text", np.full(n_rows, -1, dtype=np.int32))
    if kind == "date":
        return Column("date", np.full(n_rows, "NaT", dtype="datetime64[s]"))
    return Column("number", np.full(n_rows, np.nan))


def _replaced(column: Column, cells: dict[int, Any]) -> Column:
    """Return a column with other values at some positions; None is a missing value."""
    if not cells:
        return column
    values, texts = column.values.copy(), list(column.texts)
    for row, value in cells.items():
        if column.kind == "text" and value is not None:
            values[row] = len(texts)
            texts.append(value)
        elif value is None:
            values[row] = _empty(column.kind, 1).values[0]
        else:
            values[row] = value
    return replace(column, values=values, texts=tuple(texts))
