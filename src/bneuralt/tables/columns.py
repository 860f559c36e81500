"""Columns of any table as numbers, texts or dates.

`frames` reads the data frames of several packages. `encoder` decides what the values mean for a
model.
"""

from __future__ import annotations

import datetime as dt
import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import is_large
from bneuralt.tables.frames import (
    as_array,
    as_list,
    columns_of,
    frame_names,
    has_categories,
    is_arrow,
    is_data_frame,
    is_plain,
    plain_table,
)
from bneuralt.tables.number_texts import PLAIN, WORDS, are_codes

__all__ = [
    "Column",
    "Frame",
    "NumberBlockFrame",
    "Written",
    "as_frame",
    "columns_frame",
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

    def to_arrow(self) -> Any:
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
        names, columns = frame_names(X), columns_of(X)
        all_plain = bool(columns) and all(is_plain(column) for column in columns)
        if is_arrow(X) and (not all_plain or is_large(8 * X.num_rows * len(columns))):
            return ArrowFrame.of(X).typed()
        if all_plain:
            return None
        whole = [_read(column, name) for column, name in zip(columns, names, strict=True)]
        return Frame(whole, [str(name) for name in names])
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], (list, tuple)):
        if not any(isinstance(value, str) or value is None for row in X[:1000] for value in row):
            return None
        X = np.array(X, dtype=object)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUSMm":
        return None
    return Frame([_read_array(X[:, j], f"column {j}") for j in range(X.shape[1])])


def columns_frame(X: Any) -> Frame:
    """Return a data frame as a list of columns, also if all of them are plain numbers."""
    frame = as_frame(X)
    if frame is not None:
        return frame
    table = np.asarray(plain_table(X), dtype=np.float64)
    names = [str(name) for name in frame_names(X)]
    return Frame([Column("number", column) for column in table.T], names)


class _BlockColumns(Sequence[Column]):
    """Columns whose numeric ones share a 2-D array."""

    def __init__(
        self, numbers: FloatArray, others: Sequence[Column | None], cells: Sequence[Any]
    ) -> None:
        self.numbers, self.others, self.cells = numbers, others, cells
        self.positions = np.flatnonzero([column is None for column in others])
        self._place = np.cumsum([column is None for column in others]) - 1

    def __len__(self) -> int:
        return len(self.others)

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[i] for i in range(*j.indices(len(self)))]
        other = self.others[j]
        if other is not None:
            return other
        return Column("number", self.numbers[:, self._place[j]], cells=self.cells[j])


class NumberBlockFrame(Frame):
    """A table whose columns of numbers are stored as one array: a wide table is read at once."""

    @classmethod
    def of(
        cls,
        numbers: FloatArray,
        others: Sequence[Column | None],
        names: list[str],
        cells: Sequence[Any] | None = None,
        decimal: str | None = None,
    ) -> NumberBlockFrame:
        """Create a table from its numbers and its other columns.

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
        >>> frame = NumberBlockFrame.of(np.eye(2), [None, text, None], ["u", "v", "w"])
        >>> [column.kind for column in frame.columns]
        ['number', 'text', 'number']
        """
        cells = [None] * len(others) if cells is None else cells
        return cls(_BlockColumns(numbers, others, cells), names, decimal)

    @property
    def _block(self) -> _BlockColumns:
        assert isinstance(self.columns, _BlockColumns)
        return self.columns

    def __len__(self) -> int:
        return len(self._block.numbers)

    @property
    def number_block(self) -> tuple[IntArray, FloatArray]:
        """Positions and values of the columns of numbers."""
        return self._block.positions, self._block.numbers

    @property
    def is_plain(self) -> bool:
        """Whether all columns are plain numbers."""
        return len(self._block.positions) == len(self._block)

    def numbers(self) -> FloatArray:
        """Return a table of plain numbers as an array."""
        return np.ascontiguousarray(self._block.numbers)

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        others = [None if column is None else column.take(rows) for column in self._block.others]
        cells = [None if each is None else each.take(rows) for each in self._block.cells]
        numbers = self._block.numbers[rows]
        return NumberBlockFrame(_BlockColumns(numbers, others, cells), self.names, self.decimal)


class _ArrowColumns(Sequence[Column]):
    """The columns of an Arrow table, each read when it is used."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table.column_names)

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[i] for i in range(*j.indices(len(self)))]
        return _read(self.table.column(j), self.table.column_names[j])


class ArrowFrame(Frame):
    """An Arrow table, which may be a file larger than memory: nothing is read before it is used."""

    @classmethod
    def of(cls, table: Any) -> ArrowFrame:
        """Return an Arrow table as a `Frame`."""
        return cls(_ArrowColumns(table), [str(name) for name in table.column_names])

    @property
    def _table(self) -> Any:
        assert isinstance(self.columns, _ArrowColumns)
        return self.columns.table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Type of the numbers that trees read."""
        kinds = {str(kind) for kind in self._table.schema.types}
        return np.float32 if kinds <= {"float", "halffloat"} else np.float64

    @property
    def is_plain(self) -> bool:
        """Whether all columns are plain numbers, which fit in memory."""
        columns = columns_of(self._table)
        return not is_large(8 * len(self) * len(columns)) and all(map(is_plain, columns))

    def numbers(self) -> Array:
        """Return a table of plain numbers as an array."""
        table: Array = plain_table(self._table)
        return table

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return ArrowFrame.of(self._table.slice(start, stop - start))
        return ArrowFrame.of(self._table.take(rows))

    def select(self, names: Sequence[str]) -> Frame:
        """Return the columns with these names, in this order."""
        return self if self.names == list(names) else ArrowFrame.of(self._table.select(list(names)))

    def typed(self) -> Frame:
        """Return the table with all columns read, if it fits in memory."""
        if self.is_plain or is_large(8 * len(self) * len(self.columns)):
            return self
        return Frame(list(self.columns), self.names)

    def renamed(self, names: Sequence[str]) -> Frame:
        """Return the table with other names of its columns."""
        return ArrowFrame.of(self._table.rename_columns(list(names)))

    def raw(self, name: str) -> list[Any]:
        """Return the values of a column."""
        return as_list(self._table.column(name))


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
