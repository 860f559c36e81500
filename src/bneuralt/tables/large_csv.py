"""Read large CSV files: cells are decoded only where they are used.

The core finds the cells and parses the numbers. Files that are not plain, for instance with quotes
inside quotes, are read by `csv_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.columns import stands_for_missing

__all__ = ["NumberCells", "PlainColumns", "scan"]


@dataclass(frozen=True, eq=False)
class NumberCells:
    """A column whose cells are all numbers or missing.

    Attributes
    ----------
    values : float64 array
        With NaN for missing cells.
    all_digits : bool
        Whether all cells consist of digits.
    is_code : bool
        Whether they are digits of which some have a leading zero, such as 00501.
    """

    values: FloatArray
    all_digits: bool
    is_code: bool


class PlainColumns(Sequence[list[str]]):
    """The columns of a file: lists of texts, decoded when they are used.

    Parameters
    ----------
    data : bytes
        The file.
    starts, ends : int32 arrays of shape (n_rows, n_columns)
        The places of the cells.
    encoding : str
    """

    def __init__(self, data: bytes, starts: IntArray, ends: IntArray, encoding: str) -> None:
        self._bytes, self._encoding = data, encoding
        self._data = np.frombuffer(data, dtype=np.uint8)
        self._starts, self._ends = starts, ends
        self._texts: dict[int, tuple[IntArray, list[str]]] = {}
        self._numbers: dict[tuple[int, str], NumberCells | None] = {}

    def __len__(self) -> int:
        return int(self._starts.shape[1])

    def __getitem__(self, column: Any) -> Any:
        codes, texts = self.coded(column)
        return [texts[code] for code in codes.tolist()]

    def coded(self, column: int) -> tuple[IntArray, list[str]]:
        """Return the different texts of a column, and the position of each cell among them."""
        if column not in self._texts:
            data = self._bytes
            places = zip(
                self._starts[:, column].tolist(), self._ends[:, column].tolist(), strict=True
            )
            positions: dict[bytes, int] = {}
            codes = np.fromiter(
                (positions.setdefault(data[start:end], len(positions)) for start, end in places),
                dtype=np.int32,
                count=self.n_rows,
            )
            texts: dict[str, int] = {}  # different bytes may be the same text without blanks
            merged = [texts.setdefault(self._decode(cell), len(texts)) for cell in positions]
            self._texts[column] = np.array(merged, dtype=np.int32)[codes], list(texts)
        return self._texts[column]

    def _decode(self, cell: bytes) -> str:
        return cell.decode(self._encoding).strip()

    def row(self, i: int) -> list[str]:
        """Return the cells of a row."""
        places = zip(self._starts[i].tolist(), self._ends[i].tolist(), strict=True)
        return [self._decode(self._bytes[start:end]) for start, end in places]

    def below(self, n_header: int) -> PlainColumns:
        """Return the columns without the header and without empty rows at the end."""
        filled: Array = np.any(self._ends > self._starts, axis=1)
        last = len(filled) - int(np.argmax(filled[::-1])) if filled.any() else 0
        rows = slice(n_header, max(last, n_header))
        return PlainColumns(self._bytes, self._starts[rows], self._ends[rows], self._encoding)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._starts)

    def numbers(self, column: int, decimal: str) -> NumberCells | None:
        """Return the numbers of a column; None if a cell is neither a number nor missing."""
        key = column, decimal
        if key not in self._numbers:
            self._numbers[key] = self._parse(column, decimal)
        return self._numbers[key]

    def _parse(self, column: int, decimal: str) -> NumberCells | None:
        places = self._starts, self._ends
        starts, ends = (np.ascontiguousarray(a[:, column], dtype=np.int32) for a in places)
        sample = slice(0, 1000)  # most columns of text are recognised here
        for part in (sample, slice(None)):
            values, unparsed, all_digits, has_zero = _core.parse_numbers(
                self._data, starts[part], ends[part], ord(decimal)
            )
            cells = {self._bytes[starts[i] : ends[i]] for i in unparsed.tolist()}
            if not all(stands_for_missing(self._decode(cell)) for cell in cells):
                return None
        all_digits = all_digits and not unparsed.size
        return NumberCells(values, all_digits, all_digits and has_zero)


def scan(data: bytes, delimiter: str, encoding: str) -> tuple[PlainColumns, IntArray] | None:
    """Return the columns of a file, and the line of each row; None if the file is not plain.

    Parameters
    ----------
    data : bytes
        The file, in an encoding that contains ASCII.
    delimiter : str
    encoding : str
    """
    if not delimiter.isascii() or delimiter == " ":
        return None
    cells = _core.scan_csv(np.frombuffer(data, dtype=np.uint8), ord(delimiter))
    if cells is None:
        return None
    starts, ends, lines = cells
    return PlainColumns(data, starts, ends, encoding), lines
