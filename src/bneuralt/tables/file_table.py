"""The rows of one or several files in memory, as the program reads them."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bneuralt.tables.block_files import MAX_EXPANSION, TableFile, open_file
from bneuralt.tables.block_sources import FileSource
from bneuralt.tables.cells import concatenated
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.csv_files import CsvOptions, TableError, near, quoted

__all__ = ["FileTable", "parse_csv", "position_in", "read_csv", "read_files"]

#: Rows that are asked for at a time.
MANY_ROWS = 2**20

#: Tables that take less memory than this are read, however small their files are.
MANY_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class FileTable:
    """The rows of one or several files.

    Attributes
    ----------
    source : str
        Name of the file, folder or pattern, for messages.
    cells : Frame
        The columns, typed where they are used.
    has_header : bool
        Whether the names of the columns come from the file.
    sha256 : str
        Checksum of the files, by which a model recognises its training table.
    files : tuple of (str, int)
        Name and number of rows of each file.
    """

    source: str
    cells: Frame
    has_header: bool
    sha256: str
    files: tuple[tuple[str, int], ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns; ``column1``, ``column2``, ... if the file has none."""
        return self.cells.names or []

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.cells)

    @cached_property
    def _typed(self) -> dict[int, Column]:
        return {}

    def column(self, j: int) -> Column:
        """Return a column as numbers, text or dates."""
        if j not in self._typed:
            self._typed[j] = self.cells.columns[j]
        return self._typed[j]

    def raw(self, j: int) -> list[Any]:
        """Return the values of a column as the file has them."""
        return self.cells.raw(self.names[j])

    def frame(self, positions: Sequence[int]) -> Frame:
        """Return some columns, as estimators read them."""
        return self.cells.select([self.names[j] for j in positions])

    def position(self, column: str) -> int:
        r"""Return the index of a column.

        Parameters
        ----------
        column : str
            Its name, or its number counted from 1; -1 is the last column.

        Returns
        -------
        int
            The index, counted from 0.

        Raises
        ------
        TableError
            The table has no such column.

        Examples
        --------
        >>> table = parse_csv(b"height,weight,sex\n1.7,70,f\n1.8,90,m\n")
        >>> table.position("weight"), table.position("-1")
        (1, 2)
        """
        found = position_in(self.names, column)
        if found is not None:
            return found
        hint = near(column, self.names)
        if not self.has_header:
            hint = " The first line was read as data; if it contains the names, use --header."
        raise self.error(
            f"there is no column {column!r}.{hint} The columns are: {quoted(self.names)}."
        )

    def place(self, row: int, column: int) -> str:
        """Return the place of a cell, for messages."""
        lines: Any = getattr(self.cells, "lines", None)
        line = "" if lines is None else f" (line {int(lines[row])})"
        where, first = "", 0
        for name, n_rows in self.files:
            if len(self.files) > 1 and first <= row < first + n_rows:
                where, row = f"{name}: ", row - first
                break
            first += n_rows
        return f"{where}row {row + 1}{line}, column {self.names[column]!r}"

    def error(self, problem: str) -> TableError:
        """Return the exception that reports a problem with this table."""
        return TableError(f"{self.source}: {problem}")


def position_in(names: Sequence[str], column: str) -> int | None:
    """Return the index of a column by its name, or by its number counted from 1 or from the end."""
    if column in names:
        return list(names).index(column)
    if re.fullmatch(r"-?\d+", column) and 1 <= abs(int(column)) <= len(names):
        return int(column) - 1 if int(column) > 0 else len(names) + int(column)
    return None


def read_files(source: str, files: FileSource, max_bytes: float = math.inf) -> FileTable | None:
    """Read files into memory; None if they take more than `max_bytes` bytes.

    Parameters
    ----------
    source : str
        What the user calls them.
    files : FileSource
    max_bytes : float
    """
    parts: list[Frame] = []
    counts: dict[str, int] = {file.path: 0 for file in files.files}
    size = 0.0
    n_bytes = sum(file.content.size for file in files.files)
    for piece in files.pieces(files.names, MANY_ROWS):
        parts.append(piece.frame)
        counts[piece.place] += len(piece.frame)
        size += max(8 * len(files.names) * len(piece.frame), piece.frame.nbytes)
        if size > max_bytes:
            return None
        if size > max(MANY_BYTES, MAX_EXPANSION * n_bytes):
            raise TableError(
                f"{source}: takes more than {MAX_EXPANSION} times the size of its files in memory "
                "(bneuralt.tables.block_files.MAX_EXPANSION); if that is right, use --max-memory, "
                "which reads it in blocks."
            )
    if not parts:
        raise TableError(f"{source}: there are no rows below the header.")
    return FileTable(
        source,
        concatenated(parts),
        all(file.has_header for file in files.files),
        _checksum(files.files),
        tuple(counts.items()),
    )


def _checksum(files: Sequence[TableFile]) -> str:
    """Return the SHA-256 of a file, or of those of several files."""
    digests = [file.content.sha256() for file in files]
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )


def read_csv(path: Any, **options: Any) -> FileTable:
    """Read a file of any format, or all files of a folder or pattern, into memory.

    Parameters
    ----------
    path : str or Path
    **options
        See `bneuralt.tables.csv_files.CsvOptions`.

    Raises
    ------
    TableError
        A file cannot be read as a table.
    """
    try:
        files = FileSource(str(path), CsvOptions(**options))
    except FileNotFoundError as error:
        raise TableError(str(error)) from None
    table = read_files(str(path), files)
    assert table is not None
    return table


def parse_csv(data: bytes, source: str = "table", **options: Any) -> FileTable:
    r"""Parse the bytes of a file of any format.

    Parameters
    ----------
    data : bytes
        Content of the file.
    source : str
        Name of the file, for messages.
    **options
        See `bneuralt.tables.csv_files.CsvOptions`.

    Examples
    --------
    >>> table = parse_csv(b"height;sex\r\n1.7;f\r\n1.8;m\r\n")
    >>> table.names, table.raw(1), table.column(0).values.tolist()
    (['height', 'sex'], ['f', 'm'], [1.7, 1.8])
    """
    file = open_file(source, CsvOptions(**options), data)
    if file is None:
        raise TableError(f"{source}: the file is empty.")
    table = read_files(source, FileSource(source, files=[file]))
    assert table is not None
    return table
