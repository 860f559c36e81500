"""Columns of any table as numbers, texts or dates.

`frames` reads the data frames of several packages. `encoder` decides what the values mean for a
model.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
)
from bneuralt.tables.number_texts import Notation

__all__ = [
    "Column",
    "Frame",
    "NumberBlockFrame",
    "as_frame",
    "label_of",
    "parse_dates",
    "stands_for_missing",
]

#: Texts that stand for a missing value, in lower case.
MISSING_TEXTS = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null"})


def stands_for_missing(text: str) -> bool:
    """Return whether a text stands for a missing value; "None" does, as Python writes it."""
    return text.casefold() in MISSING_TEXTS or text == "None"


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
    notation : Notation or None
        How texts are numbers or which of them stand for missing values, if that is known before
        the training rows are looked at.
    """

    kind: str
    values: Array
    texts: tuple[str, ...] = ()
    is_category: bool = False
    notation: Notation | None = None

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
        return Column(self.kind, self.values[rows], self.texts, self.is_category, self.notation)

    def counts(self, weight: FloatArray | None = None) -> FloatArray:
        """Return the number or the weight of the rows of each text."""
        counts = np.bincount(self.values + 1, weight, minlength=len(self.texts) + 1)
        return counts[1:].astype(np.float64)

    def as_text(self) -> Column:
        """Return the column with numbers and dates as texts."""
        if self.kind == "text":
            return self
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
    """

    columns: Sequence[Column]
    names: list[str] | None = None

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
        return Frame([column.take(rows) for column in self.columns], self.names)

    def select(self, names: Sequence[str]) -> Frame:
        """Return the columns with these names, in this order; the last one of equal names."""
        if self.names == list(names):
            return self
        by_name = dict(zip(self.names or (), self.columns, strict=True))
        return Frame([by_name[name] for name in names], list(names))


def label_of(value: Any) -> str:
    """Return the name of a category; 3, 3.0, "3" and " 3.0 " are the same one.

    Examples
    --------
    >>> [label_of(value) for value in (3, 3.0, "3.0", 2.5, True, " a ")]
    ['3', '3', '3', '2.5', 'True', 'a']
    """
    if isinstance(value, str):
        text = value.strip()
        return text.split(".")[0] if re.fullmatch(r"[+-]?\d+\.0*", text) else text
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
        return X
    if is_data_frame(X):
        names, columns = frame_names(X), columns_of(X)
        all_plain = bool(columns) and all(is_plain(column) for column in columns)
        if is_arrow(X) and (not all_plain or is_large(8 * X.num_rows * len(columns))):
            return ArrowFrame.of(X)
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


class _BlockColumns(Sequence[Column]):
    """Columns of which those of numbers are the columns of one array."""

    def __init__(self, numbers: FloatArray, others: Sequence[Column | None]) -> None:
        self.numbers, self.others = numbers, others
        self.positions = np.flatnonzero([column is None for column in others])
        self._place = np.cumsum([column is None for column in others]) - 1

    def __len__(self) -> int:
        return len(self.others)

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[i] for i in range(*j.indices(len(self)))]
        return self.others[j] or Column("number", self.numbers[:, self._place[j]])


class NumberBlockFrame(Frame):
    """A table whose columns of numbers are stored as one array: a wide table is read at once."""

    @classmethod
    def of(
        cls, numbers: FloatArray, others: Sequence[Column | None], names: list[str]
    ) -> NumberBlockFrame:
        """Create a table from its numbers and its other columns.

        Parameters
        ----------
        numbers : array of shape (n_rows, n_number_columns)
        others : sequence of Column or None
            One for each column of the table; None where the next column of `numbers` is.
        names : list of str
            Names of all columns.

        Examples
        --------
        >>> text = Column("text", np.array([0, 1]), ("a", "b"))
        >>> frame = NumberBlockFrame.of(np.eye(2), [None, text, None], ["u", "v", "w"])
        >>> [column.kind for column in frame.columns]
        ['number', 'text', 'number']
        """
        return cls(_BlockColumns(numbers, others), names)

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

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        others = [column and column.take(rows) for column in self._block.others]
        return NumberBlockFrame(_BlockColumns(self._block.numbers[rows], others), self.names)


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

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return ArrowFrame.of(self._table.slice(start, stop - start))
        return ArrowFrame.of(self._table.take(rows))


def _read(column: Any, name: Any) -> Column:
    """Read a column of a data frame."""
    dtype: Any = getattr(column, "dtype", None)
    place = f"column {str(name)!r}"
    values = as_array(column)
    if values is not None:
        return _read_array(values, place)
    if hasattr(column, "cat") and hasattr(dtype, "categories") and hasattr(column.cat, "codes"):
        texts = tuple(label_of(value) for value in dtype.categories)
        return _of_texts(column.cat.codes.to_numpy(), texts, is_category=True)
    if getattr(dtype, "kind", "") in "fiub" and hasattr(dtype, "na_value"):  # pandas, nullable
        return Column("number", column.to_numpy(dtype=np.float64, na_value=np.nan))
    if str(getattr(column, "type", "")) in ("string", "large_string"):
        # Different texts are few: they become Python objects, and not the texts of all rows.
        chunks = column.dictionary_encode().chunks  # which all have the same dictionary
        codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
        texts = chunks[-1].dictionary.to_pylist() if chunks else []
        empty = np.empty(0, dtype=np.int32)
        return _of_texts(np.concatenate([*codes, empty]), [label_of(text) for text in texts])
    return _read_objects(as_list(column), place, has_categories(column))


def _read_array(values: Array, place: str) -> Column:
    kind = values.dtype.kind
    if kind in "fiub":
        return Column("number", values.astype(np.float64))
    if kind == "M":
        return Column("date", values.astype("datetime64[s]"))
    if kind == "m":
        return Column("number", _seconds(values))
    return _read_objects((values.astype(str) if kind == "S" else values).tolist(), place)


def _seconds(values: Array) -> FloatArray:
    nanoseconds = values.astype("timedelta64[ns]")
    seconds = nanoseconds.astype(np.float64) / 1e9
    return np.where(np.isnat(nanoseconds), np.nan, seconds)


# -- values of any type -------------------------------------------------------------------


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def _read_objects(values: list[Any], place: str, is_category: bool = False) -> Column:
    """Read values of any type: all numbers, all dates, or else texts."""
    values = [None if _is_missing(value) else _plain_value(value) for value in values]
    types = {type(value) for value in values if value is not None}
    for kind in types:
        if issubclass(kind, complex):
            raise ValueError(f"Complex data not supported: {place} of X has complex numbers")
        if not issubclass(kind, (str, bytes, Real, Decimal, np.bool_, *_DATES, *_DURATIONS)):
            i = next(i for i, value in enumerate(values) if type(value) is kind)
            raise TypeError(
                f"{place} of X has a {kind.__name__} in row {i}: argument must be a string, a "
                "number, a date or a duration"
            )
    if types and all(issubclass(kind, _DATES) for kind in types):
        dates = [None if value is None else _plain_date(value) for value in values]
        return Column("date", np.array(dates, dtype="datetime64[s]"))
    if types and all(issubclass(kind, _DURATIONS) for kind in types):
        spans = [None if value is None else np.timedelta64(value) for value in values]
        return Column("number", _seconds(np.array(spans, dtype="timedelta64[ns]")))
    if types and all(issubclass(kind, (Real, Decimal, np.bool_)) for kind in types):
        numbers = [np.nan if value is None else float(value) for value in values]
        return Column("number", np.array(numbers, dtype=np.float64), is_category=is_category)
    codes: dict[Any, int] = {}
    index = [-1 if value is None else codes.setdefault(value, len(codes)) for value in values]
    texts = tuple(label_of(_decoded(value)) for value in codes)
    return _of_texts(np.array(index, dtype=np.int32), texts, is_category)


_DATES = (dt.date, np.datetime64)
_DURATIONS = (dt.timedelta, np.timedelta64)


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


def _of_texts(codes: Array, texts: Sequence[str], is_category: bool = False) -> Column:
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
