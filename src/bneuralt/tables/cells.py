"""Columns and tables of text cells: typed where they are used, the original text stays at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bneuralt import _core
from bneuralt._typing import Array, IntArray
from bneuralt.tables.columns import (
    Column,
    DataFrame,
    Frame,
    LazyFrame,
    NumberBlockFrame,
    label_of,
    read_objects,
    stands_for_missing,
    text_column,
)
from bneuralt.tables.number_texts import WORDS, are_codes

__all__ = ["CellFrame", "Cells", "ObjectFrame", "concatenated"]

#: Most columns of text are recognised by this many cells.
FIRST_CELLS = 1000


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column of a CSV file.

    Attributes
    ----------
    data : uint8 array
        Text in an encoding that contains ASCII.
    starts, ends : int32 arrays of shape (n_rows,)
        The places of the cells.
    encoding : str
    decimal : str
        The decimal point of numbers.
    """

    data: Array
    starts: Array
    ends: Array
    encoding: str = "utf-8"
    decimal: str = "."

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: IntArray | slice) -> Cells:
        """Return some of the cells."""
        return replace(self, starts=self.starts[rows], ends=self.ends[rows])

    @cached_property
    def coded(self) -> tuple[Array, list[str]]:
        """The position of each cell among the different ones, and these, as they are written."""
        codes, first = _core.code_cells(self.data, self.starts, self.ends)
        cell, places = self.data, zip(self.starts[first], self.ends[first], strict=True)
        return codes, [bytes(cell[a:b]).decode(self.encoding).strip() for a, b in places]

    @property
    def texts(self) -> list[str]:
        """All cells as they are written."""
        codes, texts = self.coded
        return [texts[code] for code in codes.tolist()]

    def as_text(self, is_category: bool = False) -> Column:
        """Return the cells as a column of text."""
        codes, texts = self.coded
        return text_column(codes, [label_of(text) for text in texts], is_category)

    def column(self) -> Column:
        """Return a column of numbers, or of text if some cells are neither numbers nor missing.

        Digits of which some have a leading zero, such as 00501, are text.
        """
        if len(self) > FIRST_CELLS and self.take(slice(0, FIRST_CELLS))._numbers() is None:
            return self.as_text()
        numbers = self._numbers()
        return self.as_text() if numbers is None else Column("number", numbers, cells=self)

    def _numbers(self) -> Array | None:
        values, unread, _, has_leading_zero = _core.parse_numbers(
            self.data, self.starts, self.ends, ord(self.decimal)
        )
        texts = [text for text in self.take(unread).coded[1] if not stands_for_missing(text)]
        if not texts:
            return None if has_leading_zero and are_codes(self._present) else values
        codes, distinct = self.coded
        if not all(text.casefold() in WORDS for text in self._present):
            return None
        numbers = np.array([WORDS.get(text.casefold(), np.nan) for text in distinct])
        return numbers[codes]

    @property
    def _present(self) -> list[str]:
        """The different texts that do not stand for a missing value."""
        return [text for text in self.coded[1] if not stands_for_missing(text)]


class CellFrame(LazyFrame):
    """Rows of a CSV file; see `bneuralt.tables.csv_files`.

    Parameters
    ----------
    data : uint8 array
    starts, ends : int32 arrays of shape (n_rows, n_columns)
    names : sequence of str
    lines : int array of shape (n_rows,)
        The line of the file on which each row ends.
    encoding, decimal : str
    """

    def __init__(
        self,
        data: Array,
        starts: Array,
        ends: Array,
        names: Sequence[str],
        lines: Array,
        encoding: str = "utf-8",
        decimal: str | None = None,
    ) -> None:
        fields = {"data": data, "starts": starts, "ends": ends, "lines": lines}
        super().__init__(starts.shape[1], list(names), decimal, encoding=encoding, **fields)

    data: Array
    starts: Array
    ends: Array
    lines: Array
    encoding: str

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        """Memory of the rows once they are read: numbers, or positions among texts."""
        return int((self.ends - self.starts).sum(dtype=np.int64)) + 16 * self.starts.size

    def cells(self, j: int) -> Cells:
        """Return the cells of a column."""
        starts, ends = (np.ascontiguousarray(places[:, j]) for places in (self.starts, self.ends))
        return Cells(self.data, starts, ends, self.encoding, self.decimal or ".")

    def column(self, j: int) -> Column:
        """Return a column as numbers or text."""
        return self.cells(j).column()

    def raw(self, name: str) -> list[str]:
        """Return the cells of a column as they are written."""
        return self.cells((self.names or []).index(name)).texts

    def row(self, i: int) -> list[str]:
        """Return the cells of a row."""
        return [self.take(slice(i, i + 1)).cells(j).texts[0] for j in range(len(self.columns))]

    def _with(self, starts: Array, ends: Array, names: Sequence[str], lines: Array) -> CellFrame:
        return CellFrame(self.data, starts, ends, names, lines, self.encoding, self.decimal)

    def take(self, rows: IntArray | slice) -> CellFrame:
        """Return some rows of the table."""
        return self._with(self.starts[rows], self.ends[rows], self.names or [], self.lines[rows])

    def select(self, names: Sequence[str]) -> CellFrame:
        """Return the columns with these names, in this order."""
        if self.names == list(names):
            return self
        positions = [(self.names or []).index(name) for name in names]
        return self._with(self.starts[:, positions], self.ends[:, positions], names, self.lines)

    def renamed(self, names: Sequence[str]) -> CellFrame:
        """Return the table with other names of its columns."""
        return self._with(self.starts, self.ends, names, self.lines)

    def typed(self) -> Frame:
        """Return the table with all columns read: those of numbers are one array."""
        columns = list(self.columns)
        is_number = [column.kind == "number" for column in columns]
        return NumberBlockFrame.of(columns, is_number, self.names, self.decimal)

    @staticmethod
    def joined(parts: Sequence[CellFrame]) -> CellFrame:
        """Return the rows of several tables of the same columns, as if they were of one file."""
        first = parts[0]
        ends = np.cumsum([len(part.data) for part in parts])
        if ends[-1] >= 2**31:
            raise MemoryError("more than 2 GiB of CSV cannot be one table in memory: use blocks")
        shifts = [0, *ends[:-1].tolist()]
        encodings = {part.encoding for part in parts} - {"ascii"}
        if len(encodings) > 1:
            parts = [part.in_utf8() for part in parts]
            return CellFrame.joined(parts)
        pairs = list(zip(parts, shifts, strict=True))
        return CellFrame(
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.starts + np.int32(shift) for part, shift in pairs]),
            np.concatenate([part.ends + np.int32(shift) for part, shift in pairs]),
            first.names or [],
            np.concatenate([part.lines for part in parts]),
            next(iter(encodings), "ascii"),
            first.decimal,
        )

    def in_utf8(self) -> CellFrame:
        """Return the table with its text in UTF-8."""
        rows = zip(*(self.cells(j).texts for j in range(len(self.columns))), strict=True)
        cells = [text.encode() for row in rows for text in row]
        ends = np.cumsum([len(cell) for cell in cells], dtype=np.int32)
        starts = np.concatenate([np.zeros(1, dtype=np.int32), ends[:-1]])
        return CellFrame(
            np.frombuffer(b"".join(cells) or b" ", dtype=np.uint8),
            starts.reshape(self.starts.shape),
            ends.reshape(self.starts.shape),
            self.names or [],
            self.lines,
            "utf-8",
            self.decimal,
        )


class ObjectFrame(LazyFrame):
    """A table of Python objects, such as the records of a JSON file or the rows of a workbook.

    Parameters
    ----------
    names : sequence of str
    values : sequence of object arrays
        The values of each column.
    lines : int array of shape (n_rows,), optional
        Where each row is in the file.
    """

    def __init__(
        self, names: Sequence[str], values: Sequence[Array], lines: IntArray | None = None
    ) -> None:
        super().__init__(len(values), list(names), values=list(values), lines=lines)

    values: list[Array]
    lines: IntArray | None

    def __len__(self) -> int:
        return len(self.values[0]) if self.values else 0

    @property
    def nbytes(self) -> int:
        """Memory of the rows, about."""
        return 50 * len(self) * len(self.values)

    def column(self, j: int) -> Column:
        """Return a column as numbers, text or dates."""
        return read_objects(self.values[j].tolist(), f"column {(self.names or [])[j]!r}")

    def raw(self, name: str) -> list[Any]:
        """Return the values of a column."""
        values: list[Any] = self.values[(self.names or []).index(name)].tolist()
        return values

    def take(self, rows: IntArray | slice) -> Frame:
        """Return some rows of the table."""
        lines = None if self.lines is None else self.lines[rows]
        return ObjectFrame(self.names or [], [values[rows] for values in self.values], lines)

    def select(self, names: Sequence[str]) -> Frame:
        """Return the columns with these names, in this order."""
        positions = [(self.names or []).index(name) for name in names]
        return ObjectFrame(names, [self.values[j] for j in positions], self.lines)

    def renamed(self, names: Sequence[str]) -> Frame:
        """Return the table with other names of its columns."""
        return ObjectFrame(names, self.values, self.lines)

    def typed(self) -> Frame:
        """Return the table with all columns read."""
        return Frame(list(self.columns), self.names)

    @staticmethod
    def joined(parts: Sequence[ObjectFrame]) -> ObjectFrame:
        """Return the rows of several tables of the same columns."""
        values = [np.concatenate(each) for each in zip(*(p.values for p in parts), strict=True)]
        lines = [np.arange(len(p)) if p.lines is None else p.lines for p in parts]
        return ObjectFrame(parts[0].names or [], values, np.concatenate(lines))


def concatenated(parts: Sequence[Frame]) -> Frame:
    """Return the rows of several tables of the same columns as one.

    Tables of different kinds, as of files of different formats, become a table of objects.
    """
    first: Any = parts[0]
    if len(parts) == 1:
        return parts[0]
    kinds = {type(part.table) if isinstance(part, DataFrame) else type(part) for part in parts}
    if len(kinds) == 1:
        joined: Frame = first.joined(parts)
        return joined
    values = []
    for name in first.names:
        objects = [value for part in parts for value in part.raw(name)]
        values.append(np.empty(len(objects), dtype=object))
        values[-1][:] = objects
    return ObjectFrame(first.names, values)
