"""Columns of any table as numbers, texts or dates.

`frames` reads the data frames of several packages. `encoder` decides what the values mean for a
model.
"""

from __future__ import annotations

import datetime as dt
import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import is_large
from bneuralt.tables import frames
from bneuralt.tables.frames import as_array, as_list, has_categories, is_data_frame
from bneuralt.tables.number_texts import PLAIN, WORDS, are_codes

__all__ = [
    "Column",
    "Columns",
    "DataFrame",
    "Frame",
    "LazyFrame",
    "NumberBlockFrame",
    "Written",
    "as_frame",
    "label_of",
    "parse_dates",
    "read_objects",
    "stands_for_missing",
    "text_column",
]

#: Columns of other texts than numbers are recognised by this many of them.
FIRST_TEXTS = 5

#: Texts that stand for a missing value, in lower case.
MISSING_TEXTS = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null"})
LONGEST_MISSING = max(map(len, MISSING_TEXTS))


def stands_for_missing(text: str) -> bool:
    """Return whether a text stands for a missing value; "None" does, as Python writes it."""
    return len(text) <= LONGEST_MISSING and (text.casefold() in MISSING_TEXTS or text == "None")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table, in one of three forms.

    Attributes
    ----------
    kind : {"number", "text", "date"}
    values : array of shape (n_rows,)
        float64 numbers with NaN for missing values, datetime64[s] with NaT, or for text the
        positions in `texts`, with -1 for missing values.
    texts : tuple of str
        The different texts of a column of text.
    is_category : bool
        Whether the type of the column says that its values are categories.
    cells : Cells or None
        The text of each number of a CSV file.
    decision : bneuralt.tables.kinds.Decision or None
        What the column is, if that was decided from more rows than these.
    """

    kind: str
    values: Array
    texts: tuple[str, ...] = ()
    is_category: bool = False
    cells: Any = None
    decision: Any = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def is_missing(self) -> Array:
        """Whether each value is missing."""
        if self.kind == "text":
            return self.values < 0
        return np.isnat(self.values) if self.kind == "date" else np.isnan(self.values)

    def take(self, rows: IntArray | slice) -> Column:
        """Return some rows of the column."""
        cells = None if self.cells is None else self.cells.take(rows)
        values = self.values[rows]
        return Column(self.kind, values, self.texts, self.is_category, cells, self.decision)

    def counts(self, weight: FloatArray | None = None) -> FloatArray:
        """Return the number or the weight of the rows of each text."""
        counts = np.bincount(self.values + 1, weight, minlength=len(self.texts) + 1)
        return counts[1:].astype(np.float64)

    def as_text(self) -> Column:
        """Return the column with numbers and dates as texts."""
        if self.kind == "text":
            return self
        if self.cells is not None:
            text: Column = self.cells.as_text(self.is_category)
            return text
        distinct, codes = np.unique(self.values, return_inverse=True)
        is_missing = np.isnat(distinct) if self.kind == "date" else np.isnan(distinct)
        n = int(np.count_nonzero(~is_missing))  # missing values are sorted to the end
        return Column(
            "text",
            np.where(codes < n, codes, -1).astype(np.int32),
            tuple(label_of(value) for value in distinct[:n].tolist()),
            self.is_category,
        )


@dataclass(frozen=True, eq=False)
class Frame:
    """A table as a list of columns.

    Attributes
    ----------
    columns : sequence of Column
    names : list of str or None
        Their names.
    decimal : str or None
        The decimal point of numbers in texts; None if it is not known.
    """

    columns: Sequence[Column]
    names: list[str] | None = None
    decimal: str | None = None

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self), len(self.columns)

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Type of the numbers that trees read."""
        return np.float64

    @property
    def number_block(self) -> tuple[IntArray, FloatArray] | None:
        """Positions and values of columns of numbers that are stored as one array, if some are."""
        return None

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        return Frame([column.take(rows) for column in self.columns], self.names, self.decimal)

    def select(self, names: Sequence[str]) -> Frame:
        """Return the columns with these names, in this order; the last one of equal names."""
        if self.names == list(names):
            return self
        by_name = dict(zip(self.names or (), self.columns, strict=True))
        return Frame([by_name[name] for name in names], list(names), self.decimal)

    def typed(self) -> Frame:
        """Return the table with all columns read."""
        return self

    def renamed(self, names: Sequence[str]) -> Frame:
        """Return the table with other names of its columns."""
        return Frame(self.columns, list(names), self.decimal)

    def completed(self, names: Sequence[str]) -> Frame:
        """Return the columns with these names, empty ones for those that the table has not."""
        by_name = dict(zip(self.names or (), self.columns, strict=True))
        absent = Column("number", np.full(len(self), np.nan))
        return Frame([by_name.get(name, absent) for name in names], list(names), self.decimal)

    @property
    def nbytes(self) -> int:
        """Memory of the rows, about."""
        return sum(column.values.nbytes for column in self.columns)

    def raw(self, name: str) -> list[Any]:
        """Return the values of a column as its source has them."""
        raise NotImplementedError

    def as_data_frame(self) -> Any:
        """Return the table as one of Arrow, or as it is if pyarrow is not installed."""
        try:
            arrow: Any = importlib.import_module("pyarrow")
        except ImportError:
            return self
        names = self.names or [f"x{j}" for j in range(len(self.columns))]
        return arrow.table([_arrow_array(arrow, c) for c in self.columns], names=names)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are plain numbers, so that the table can be an array."""
        return all(column.kind == "number" and not column.is_category for column in self.columns)

    def numbers(self) -> FloatArray:
        """Return a table of plain numbers as an array."""
        return np.column_stack([column.values for column in self.columns])


def _arrow_array(arrow: Any, column: Column) -> Any:
    """Return a column as an array of Arrow; numbers of which all are whole are integers."""
    if column.kind == "text":
        texts = [*column.texts, None]
        return arrow.array([texts[code] for code in column.values.tolist()], arrow.string())
    values: Array = column.values
    if column.kind == "number" and np.all(values == np.floor(values)):
        values = values.astype(np.int64)
    return arrow.array(values, mask=column.is_missing)


def label_of(value: Any) -> str:
    """Return the name of a category; 3, 3.0, "3" and " 3.0 " are the same one.

    Examples
    --------
    >>> [label_of(value) for value in (3, 3.0, "3.0", 2.5, True, " a ")]
    ['3', '3', '3', '2.5', 'True', 'a']
    """
    if isinstance(value, str):
        text = value.strip()
        is_whole = text[-1:] in ("0", ".") and re.fullmatch(r"[+-]?\d+\.0*", text)
        return text.split(".")[0] if is_whole else text
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


# -- tables -------------------------------------------------------------------------------


def as_frame(X: Any) -> Frame | None:
    """Return X as a list of columns; None if it is no table, or one of plain numbers only.

    Parameters
    ----------
    X : data frame or array-like

    Examples
    --------
    >>> import numpy as np
    >>> frame = as_frame(np.array([[1, "a"], [2.5, None]], dtype=object))
    >>> [column.kind for column in frame.columns]
    ['number', 'text']
    >>> as_frame(np.eye(2)) is None
    True
    """
    if isinstance(X, Frame):
        return X.typed()
    if is_data_frame(X):
        frame = DataFrame(X)
        return None if frame.is_plain else frame.typed()
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple)):
        if not any(isinstance(value, str) or value is None for row in X[:1000] for value in row):
            return None
        X = np.array(X, dtype=object)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUSMm":
        return None
    return Frame([_read_array(X[:, j], f"column {j}") for j in range(X.shape[1])])


class Columns(Sequence[Column]):
    """The columns of a table, each read when it is used."""

    def __init__(self, read: Callable[[int], Column], n_columns: int) -> None:
        self._read, self._n_columns = read, n_columns

    def __len__(self) -> int:
        return self._n_columns

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[i] for i in range(*j.indices(len(self)))]
        return self._read(range(len(self))[j])


class LazyFrame(Frame):
    """A table whose columns are read when they are used.

    Parameters
    ----------
    n_columns : int
    names : list of str or None
    decimal : str or None
    **fields
        Attributes of the table.
    """

    _n_columns: int

    def __init__(
        self, n_columns: int, names: list[str] | None, decimal: str | None = None, **fields: Any
    ) -> None:
        vars(self).update(_n_columns=n_columns, names=names, decimal=decimal, **fields)

    @property
    def columns(self) -> Columns:
        """The columns; as an attribute, they would keep the table from being freed at once."""
        return Columns(self.column, self._n_columns)

    def column(self, j: int) -> Column:
        """Read a column."""
        raise NotImplementedError


class NumberBlockFrame(LazyFrame):
    """A table whose columns of numbers are stored as one array: a wide table is read at once.

    Parameters
    ----------
    numbers : array of shape (n_rows, n_number_columns)
    others : sequence of Column or None
        One for each column of the table; None where the next column of `numbers` is.
    names : list of str
        Names of all columns.
    cells : sequence of Cells or None, optional
        The text of each column of numbers.
    decimal : str, optional
        The decimal point of numbers in texts.

    Examples
    --------
    >>> text = Column("text", np.array([0, 1]), ("a", "b"))
    >>> frame = NumberBlockFrame(np.eye(2), [None, text, None], ["u", "v", "w"])
    >>> [column.kind for column in frame.columns]
    ['number', 'text', 'number']
    """

    _numbers: FloatArray
    _others: Sequence[Column | None]
    _cells: Sequence[Any]
    _positions: IntArray

    def __init__(
        self,
        numbers: FloatArray,
        others: Sequence[Column | None],
        names: list[str] | None,
        cells: Sequence[Any] | None = None,
        decimal: str | None = None,
    ) -> None:
        positions = np.flatnonzero([column is None for column in others])
        cells = [None] * len(others) if cells is None else cells
        fields = {"_numbers": numbers, "_others": others, "_cells": cells, "_positions": positions}
        super().__init__(len(others), names, decimal, **fields)

    @classmethod
    def of(
        cls, columns: Sequence[Column], is_number: Sequence[bool], names: Any, decimal: str | None
    ) -> NumberBlockFrame:
        """Copy the values of some columns of numbers to one array."""
        n_rows = len(columns[0]) if columns else 0
        numbers = np.empty((n_rows, sum(is_number)), order="F")
        kept = [column.values for column, among in zip(columns, is_number, strict=True) if among]
        for place, values in enumerate(kept):
            numbers[:, place] = values
        pairs = zip(columns, is_number, strict=True)
        others = [None if among else column for column, among in pairs]
        cells = [column.cells for column in columns]
        return cls(numbers, others, list(names or ()), cells, decimal)

    def column(self, j: int) -> Column:
        """Return a column."""
        other = self._others[j]
        if other is not None:
            return other
        place = int(np.searchsorted(self._positions, j))
        return Column("number", self._numbers[:, place], cells=self._cells[j])

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def number_block(self) -> tuple[IntArray, FloatArray]:
        """Positions and values of the columns of numbers."""
        return self._positions, self._numbers

    @property
    def is_plain(self) -> bool:
        """Whether all columns are plain numbers."""
        return len(self._positions) == len(self._others)

    def numbers(self) -> FloatArray:
        """Return a table of plain numbers as an array."""
        return np.ascontiguousarray(self._numbers)

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        others = [None if column is None else column.take(rows) for column in self._others]
        cells = [None if each is None else each.take(rows) for each in self._cells]
        return NumberBlockFrame(self._numbers[rows], others, self.names, cells, self.decimal)


class DataFrame(LazyFrame):
    """A data frame of pandas, polars or Arrow, whose columns are read when they are used.

    Parameters
    ----------
    table : data frame
        One of Arrow may be a file larger than memory.
    names : list of str, optional
        Other names of its columns.
    """

    table: Any

    def __init__(self, table: Any, names: Sequence[str] | None = None) -> None:
        names = frames.frame_names(table) if names is None else names
        super().__init__(len(names), [str(name) for name in names], table=table)

    def _source(self, j: int) -> Any:
        return frames.column_at(self.table, j)

    def column(self, j: int) -> Column:
        """Read a column."""
        return _read(self._source(j), (self.names or ())[j])

    def __len__(self) -> int:
        return len(self.table)

    @property
    def nbytes(self) -> int:
        """Memory of the rows."""
        return frames.n_bytes(self.table)

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Type of the numbers that trees read."""
        types = self.table.schema.types if frames.is_arrow(self.table) else ()
        kinds = {str(kind) for kind in types}
        return np.float32 if kinds and kinds <= {"float", "halffloat"} else np.float64

    @property
    def _stays_on_disk(self) -> bool:
        return frames.is_arrow(self.table) and is_large(8 * len(self) * len(self.columns))

    @cached_property
    def _sources(self) -> list[Any]:
        return frames.columns_of(self.table)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all columns are plain numbers, which fit in memory."""
        return (
            not self._stays_on_disk
            and bool(self._sources)
            and all(map(frames.is_plain, self._sources))
        )

    @property
    def number_block(self) -> tuple[IntArray, FloatArray] | None:
        """Positions and values of the columns, if all of them are plain numbers."""
        if not self.is_plain:
            return None
        return np.arange(len(self.columns)), np.asarray(self.numbers(), dtype=np.float64)

    def numbers(self) -> Any:
        """Return a table of plain numbers as an array, or as a data frame of NumPy's types."""
        return frames.plain_table(self.table)

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        return DataFrame(frames.take_rows(self.table, rows), self.names)

    def select(self, names: Sequence[str]) -> Frame:
        """Return the columns with these names, in this order."""
        if self.names == list(names):
            return self
        positions = [(self.names or []).index(name) for name in names]
        return DataFrame(frames.select_columns(self.table, positions), names)

    def typed(self) -> Frame:
        """Return the table with all columns read, if it fits in memory."""
        if self._stays_on_disk or self.is_plain:
            return self
        names = self.names or []
        return Frame([_read(*pair) for pair in zip(self._sources, names, strict=True)], names)

    def renamed(self, names: Sequence[str]) -> Frame:
        """Return the table with other names of its columns."""
        return DataFrame(self.table, names)

    def raw(self, name: str) -> list[Any]:
        """Return the values of a column."""
        return frames.as_list(self._source((self.names or []).index(name)))

    def natural(self, name: str) -> Array:
        """Return the values of a column as an array of the type that they have."""
        column = self._source((self.names or []).index(name))
        if frames.has_categories(column) and frames.is_arrow(self.table):
            column = column.cast(column.type.value_type)
        return np.asarray(column)

    def as_data_frame(self) -> Any:
        """Return the data frame."""
        return self.table

    @staticmethod
    def joined(parts: Sequence[Any]) -> Frame:
        """Return the rows of several data frames of the same package."""
        return DataFrame(frames.concatenated([part.table for part in parts]), parts[0].names)


def _read(column: Any, name: Any) -> Column:
    """Read a column of a data frame."""
    dtype: Any = getattr(column, "dtype", None)
    place = f"column {str(name)!r}"
    values = as_array(column)
    if values is not None:
        return _read_array(values, place)
    if hasattr(column, "cat") and hasattr(dtype, "categories") and hasattr(column.cat, "codes"):
        texts = tuple(label_of(value) for value in dtype.categories)
        return text_column(column.cat.codes.to_numpy(), texts, is_category=True)
    if getattr(dtype, "kind", "") in "fiub" and hasattr(dtype, "na_value"):  # pandas, nullable
        return Column("number", column.to_numpy(dtype=np.float64, na_value=np.nan))
    if str(getattr(column, "type", "")) in ("string", "large_string"):
        # Different texts are few: they become Python objects, and not the texts of all rows.
        chunks = column.dictionary_encode().chunks  # which all have the same dictionary
        codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
        texts = chunks[-1].dictionary.to_pylist() if chunks else []
        empty = np.empty(0, dtype=np.int32)
        return _typed(
            text_column(np.concatenate([*codes, empty]), [label_of(text) for text in texts])
        )
    return read_objects(as_list(column), place, has_categories(column))


def _read_array(values: Array, place: str) -> Column:
    kind = values.dtype.kind
    if kind == "b":
        return Column("number", values.astype(np.float64), cells=_truth(values.astype(np.int32)))
    if kind in "fiu":
        return Column("number", values.astype(np.float64))
    if kind == "M":
        return Column("date", values.astype("datetime64[s]"))
    if kind == "m":
        return Column("number", _seconds(values))
    return read_objects((values.astype(str) if kind == "S" else values).tolist(), place)


def _seconds(values: Array) -> FloatArray:
    nanoseconds = values.astype("timedelta64[ns]")
    seconds = nanoseconds.astype(np.float64) / 1e9
    return np.where(np.isnat(nanoseconds), np.nan, seconds)


# -- values of any type -------------------------------------------------------------------


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):  # comparing a signalling NaN raises an error
        return value.is_nan()
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def read_objects(values: list[Any], place: str, is_category: bool = False) -> Column:
    """Read values of any type: all numbers, all dates, or else texts."""
    values = [
        value if type(value) is str else None if _is_missing(value) else _plain_value(value)
        for value in values
    ]
    types = {type(value) for value in values if value is not None}
    for kind in types:
        if issubclass(kind, complex):
            raise ValueError(f"Complex data not supported: {place} of X has complex numbers")
        if not issubclass(kind, _ACCEPTED):
            i = next(i for i, value in enumerate(values) if type(value) is kind)
            raise TypeError(
                f"{place} of X has a {kind.__name__} in row {i}: argument must be a string, a "
                "number, a date, a time or a duration"
            )
    if not types:
        return Column("number", np.full(len(values), np.nan), (), is_category)
    if all(issubclass(kind, _DATES) for kind in types):
        dates = [None if value is None else _plain_date(value) for value in values]
        return Column("date", np.array(dates, dtype="datetime64[s]"))
    if all(issubclass(kind, _DURATIONS) for kind in types):
        spans = [None if value is None else np.timedelta64(value) for value in values]
        return Column("number", _seconds(np.array(spans, dtype="timedelta64[ns]")))
    if all(issubclass(kind, (Real, Decimal, np.bool_)) for kind in types):
        numbers = [np.nan if value is None else float(value) for value in values]
        cells = None
        if all(issubclass(kind, (bool, np.bool_)) for kind in types):
            truths = [-1 if value is None else int(value) for value in values]
            cells = _truth(np.array(truths, dtype=np.int32))
        return Column("number", np.array(numbers, dtype=np.float64), (), is_category, cells)
    codes: dict[Any, int] = {}
    index = [-1 if value is None else codes.setdefault(value, len(codes)) for value in values]
    texts = tuple(map(label_of, map(_decoded, codes) if bytes in types else codes))
    return _typed(text_column(np.array(index, dtype=np.int32), texts, is_category))


_DATES = (dt.date, np.datetime64)
_DURATIONS = (dt.timedelta, np.timedelta64)
_ACCEPTED = (str, bytes, Real, Decimal, np.bool_, dt.time, *_DATES, *_DURATIONS)


def _plain_value(value: Any) -> Any:
    """Return the begin of a period of pandas, and other values as they are."""
    return value.to_timestamp() if type(value).__name__ == "Period" else value


def _plain_date(value: Any) -> Any:
    """Return a date without its time zone: the hour on the wall is what matters."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return value


def _decoded(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


@dataclass(frozen=True, eq=False)
class Written:
    """The texts of numbers of a data frame; a note says that they may be categories."""

    column: Column
    is_noted: bool = True

    def take(self, rows: IntArray | slice) -> Written:
        """Return some of the texts."""
        return Written(self.column.take(rows), self.is_noted)

    def as_text(self, is_category: bool = False) -> Column:
        """Return the texts as a column."""
        return replace(self.column, is_category=is_category)


def _truth(codes: Array) -> Written:
    """Return the texts of truth values, as Python writes them."""
    return Written(text_column(codes, ["False", "True"]), is_noted=False)


def _typed(column: Column) -> Column:
    """Return a column of texts as numbers if all of them are plain numbers, or true and false."""
    if column.is_category or not column.texts or are_codes(column.texts):
        return column
    for texts in (column.texts[:FIRST_TEXTS], column.texts):
        numbers, is_read = PLAIN.read(texts)
        if not is_read.all():
            return column
    n_words = sum(text.casefold() in WORDS for text in column.texts)
    if n_words not in (0, len(column.texts)):
        return column
    values = np.append(numbers, np.nan)[column.values]
    return Column("number", values, cells=Written(column))


def text_column(codes: Array, texts: Sequence[str], is_category: bool = False) -> Column:
    """Return a column of text; different values of the same text become one."""
    position: dict[str, int] = {}
    merged = np.array(
        [
            -1 if stands_for_missing(text) else position.setdefault(text, len(position))
            for text in texts
        ]
        + [-1],  # the last one is for the code -1
        dtype=np.int32,
    )
    return Column("text", merged[codes], tuple(position), is_category)


# -- dates --------------------------------------------------------------------------------

_ISO = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T]\d{1,2}:\d{2}.*)?")
_LOCAL = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?")


def parse_dates(texts: Iterable[str], day_first: bool | None = None) -> tuple[Array, bool] | None:
    """Return texts as dates, and whether the day is before the month; None if one is no date.

    Parameters
    ----------
    texts : iterable of str
        Such as ``2024-05-31``, ``2024-05-31 14:30``, ``31.05.2024`` or ``5/31/2024``.
    day_first : bool, optional
        How to read 1/2/2024. By default the month is first with slashes, unless that gives a
        month above 12.

    Examples
    --------
    >>> parse_dates(["1/2/2024", "31/1/2024"])[0].astype(str).tolist()
    ['2024-02-01T00:00:00', '2024-01-31T00:00:00']
    """
    texts = list(texts)
    if not texts:
        return None
    if all(_ISO.fullmatch(text) for text in texts):
        try:
            return np.array([_iso_date(text) for text in texts], dtype="datetime64[s]"), False
        except ValueError:
            return None
    matches = [_LOCAL.fullmatch(text) for text in texts]
    if not all(matches):
        return None
    if day_first is None:
        day_first = not all("/" in text for text in texts) or any(
            int(match[1]) > 12 for match in matches if match
        )
    try:
        dates = [_local_date(match, day_first) for match in matches if match]
    except ValueError:
        return None
    return np.array(dates, dtype="datetime64[s]"), day_first


def _iso_date(text: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        parts = [int(part) for part in re.split(r"[-/ T:]", text)[:5]]
        return dt.datetime(*parts)  # type: ignore[arg-type]


def _local_date(match: re.Match[str], day_first: bool) -> dt.datetime:
    first, second, year, *time = match.groups()
    day, month = (first, second) if day_first else (second, first)
    hour, minute, second = (int(part or 0) for part in time)
    return dt.datetime(int(year), int(month), int(day), hour, minute, second)
