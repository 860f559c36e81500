"""Read CSV files with any common encoding, delimiter, header and quoting, and other formats.

This module returns cells as text. `bneuralt.tables.table_layout` decides what they mean.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import hashlib
import io
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from bneuralt._typing import IntArray
from bneuralt.tables.file_formats import FormatError, as_csv
from bneuralt.tables.large_csv import NumberCells, PlainColumns, scan
from bneuralt.tables.numbers import to_number

__all__ = [
    "DELIMITERS",
    "SAMPLE",
    "CsvTable",
    "TableError",
    "encoding_of",
    "guess_delimiter",
    "is_header",
    "near",
    "near_file",
    "parse_csv",
    "quoted",
    "read_csv",
]

#: Delimiters to try, in order of preference. A comma often is the decimal point in files whose
#: delimiter is one of the first three, rarely the other way round. Blanks occur in any text.
DELIMITERS = ("\t", ";", "|", ",", " ")


#: Files of at least this many bytes are decoded only where it is necessary.
LARGE = 1_000_000

#: Characters from which the delimiter is guessed.
SAMPLE = 200_000


class TableError(ValueError):
    """The table cannot be used; the message says where the problem is and what to do."""


@dataclass(frozen=True, eq=False)
class CsvTable:
    """The cells of a CSV file, as text without surrounding blanks.

    Attributes
    ----------
    source : str
        Name of the file, for messages.
    names : tuple of str
        Names of the columns; ``column1``, ``column2``, ... if the file has none.
    columns : sequence of list of str
        The cells, column by column.
    lines : sequence of int
        Line of the file on which each row ends.
    has_header : bool
        Whether the names come from the file.
    sha256 : str
        Checksum of the file, by which a model recognises its training table.
    """

    source: str
    names: tuple[str, ...]
    columns: Sequence[list[str]]
    lines: Any
    has_header: bool
    sha256: str

    @property
    def n_rows(self) -> int:
        """Number of rows, not counting the header."""
        return len(self.lines)

    @cached_property
    def _coded(self) -> dict[int, tuple[IntArray, list[str]]]:
        return {}

    def coded(self, column: int) -> tuple[IntArray, list[str]]:
        """Return the position of each cell among the different ones, and these."""
        if isinstance(self.columns, PlainColumns):
            return self.columns.coded(column)
        if column not in self._coded:
            positions: dict[str, int] = {}
            codes = [positions.setdefault(cell, len(positions)) for cell in self.columns[column]]
            self._coded[column] = np.array(codes, dtype=np.int32), list(positions)
        return self._coded[column]

    def distinct(self, column: int) -> list[str]:
        """Return the different cells of a column, in the order in which they occur."""
        return self.coded(column)[1]

    def numbers(self, column: int, decimal: str = ".") -> NumberCells | None:
        """Return the numbers of a column of a large table, if it has nothing else.

        Small tables return None; so do columns with a cell that is neither a number nor missing.
        """
        if isinstance(self.columns, PlainColumns):
            return self.columns.numbers(column, decimal)
        return None

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
        >>> from bneuralt.tables.csv_files import parse_csv
        >>> table = parse_csv(b"height,weight,sex\n1.7,70,f\n1.8,90,m\n")
        >>> table.position("weight"), table.position("-1")
        (1, 2)
        """
        if column in self.names:
            return self.names.index(column)
        if re.fullmatch(r"-?\d+", column):
            number = int(column)
            if 1 <= abs(number) <= len(self.names):
                return number - 1 if number > 0 else len(self.names) + number
        hint = near(column, self.names)
        if not self.has_header:
            hint = " The first line was read as data; if it contains the names, use --header."
        raise self.error(
            f"there is no column {column!r}.{hint} The columns are: {quoted(self.names)}."
        )

    def place(self, row: int, column: int) -> str:
        """Return the place of a cell, for messages."""
        return f"row {row + 1} (line {self.lines[row]}), column {self.names[column]!r}"

    def error(self, problem: str) -> TableError:
        """Return the exception that reports a problem with this table."""
        return TableError(f"{self.source}: {problem}")


def read_csv(
    path: str | Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    expect: Collection[str] = (),
) -> CsvTable:
    """Read a CSV file.

    Files of other formats are converted: compressed CSV (gzip, bzip2, xz), JSON (a list of objects,
    or one on each line), Parquet, Feather and Excel workbooks.

    Parameters
    ----------
    path : str or Path
        The file; ``"-"`` reads the standard input.
    delimiter : str, optional
        One character. By default the one of tab, ``;``, ``|``, ``,`` and blank that splits the
        first rows into the same number of cells.
    header : bool, optional
        Whether the first row contains the names of the columns. By default it does if it contains
        all names in `expect`, or if none of its cells is a number.
    encoding : str, optional
        By default UTF-8 (with or without a byte order mark), UTF-16 with a byte order mark, or
        Windows-1252 or Latin-1 if the file is not valid UTF-8.
    expect : collection of str
        Names of columns that the caller needs.

    Returns
    -------
    CsvTable
        The cells as text.

    Raises
    ------
    TableError
        The file cannot be read as a table.
    """
    source = "standard input" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise TableError(f"{source}: no such file.{near_file(Path(path))}") from None
    except IsADirectoryError:
        raise TableError(f"{source}: is a folder, not a file.") from None
    except OSError as error:
        raise TableError(f"{source}: cannot be read: {error.strerror or error}.") from None
    return parse_csv(
        data, source, delimiter=delimiter, header=header, encoding=encoding, expect=expect
    )


def parse_csv(
    data: bytes,
    source: str = "table",
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    expect: Collection[str] = (),
    large: int = LARGE,
) -> CsvTable:
    r"""Parse the bytes of a CSV file.

    Parameters
    ----------
    data : bytes
        Content of the file.
    source : str
        Name of the file, for messages.
    delimiter, header, encoding, expect
        See `read_csv`.
    large : int
        From this number of bytes on, cells are decoded only when they are needed.

    Returns
    -------
    CsvTable
        The cells as text.

    Examples
    --------
    >>> table = parse_csv(b"height;sex\r\n1.7;f\r\n1.8;m\r\n")
    >>> table.names, table.columns
    (('height', 'sex'), (['1.7', '1.8'], ['f', 'm']))
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise TableError(
            f"delimiter={delimiter!r}: must be one character other than a quote or a line end."
        )
    digest = hashlib.sha256(data).hexdigest()
    try:
        content, has_names = as_csv(data)
    except FormatError as error:
        raise TableError(f"{source}: {error}") from None
    if has_names:
        delimiter, header, encoding = ",", True, "utf-8"
    if len(content) >= large:
        table = _parse_large(content, source, delimiter, header, encoding, expect, digest)
        if table is not None:
            return table
    text = _decode(content, source, encoding)
    if delimiter is None:
        delimiter = guess_delimiter(text[:SAMPLE])
    records = _records(text, source, delimiter)
    first = next(records, None)
    if first is None:
        raise TableError(f"{source}: the file is empty.")
    if header is None:
        header = is_header(first[1], expect)
    names = _column_names(first[1] if header else [""] * len(first[1]), source)
    rest = records if header else chain([first], records)
    columns, lines = _by_column(rest, len(names), source, header)
    if not lines:
        raise TableError(f"{source}: there are no rows below the header.")
    return CsvTable(source, names, columns, lines, header, digest)


def _parse_large(
    data: bytes,
    source: str,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    expect: Collection[str],
    digest: str,
) -> CsvTable | None:
    """Parse a large file; None if it is not plain."""
    content = data.removeprefix(codecs.BOM_UTF8)
    encoding = encoding_of(content) if encoding is None else encoding.lower()
    if encoding not in ("ascii", "utf-8", "cp1252", "latin-1"):
        return None
    if delimiter is None:
        delimiter = guess_delimiter(content[:SAMPLE].decode(encoding, errors="replace"))
    try:
        if encoding != "latin-1" and not content.isascii():
            content.decode(encoding)
        scanned = scan(content, delimiter, encoding)
    except UnicodeDecodeError:
        return None
    if scanned is None:
        return None
    columns, lines = scanned
    first = columns.row(0)
    if header is None:
        header = is_header(first, expect)
    names = _column_names(first if header else [""] * len(first), source)
    columns = columns.below(int(header))
    if not columns.n_rows:
        return None
    lines = lines[int(header) : int(header) + columns.n_rows]
    return CsvTable(source, names, columns, lines, header, digest)


def encoding_of(data: bytes) -> str:
    """Return the encoding of a file without a byte order mark."""
    if data.isascii():
        return "ascii"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252" if _is_windows(data) else "latin-1"
    return "utf-8"


def _decode(data: bytes, source: str, encoding: str | None) -> str:
    if encoding is None:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        else:
            encoding = encoding_of(data)
    try:
        # A byte order mark may also precede text whose encoding the caller named.
        text = data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise TableError(
            f"encoding={encoding!r}: no such encoding; use a name such as utf-8 or latin-1."
        ) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{source}: line {line} is not valid {encoding} ({error.reason}); specify another "
            "encoding, for example latin-1."
        ) from None
    if "\0" in text:
        raise TableError(f"{source}: is not a text file; save the table as CSV first.")
    return text


def _is_windows(data: bytes) -> bool:
    """Return whether bytes are Windows-1252: Latin-1 has control characters at 0x80 to 0x9f."""
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return re.search(rb"[\x80-\x9f]", data) is not None


def guess_delimiter(text: str, n_lines: int = 50) -> str:
    """Return the delimiter that splits most of the first rows into the same number of cells."""
    sample = "".join(islice(io.StringIO(text, newline=""), n_lines))
    best, best_share = ",", 0.0
    for delimiter in DELIMITERS:
        lines = io.StringIO(sample, newline="")
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        try:
            widths = Counter(len(row) for row in reader if row)
        except csv.Error:
            continue
        width, count = max(widths.items(), key=lambda item: item[1], default=(0, 0))
        share = count / max(1, widths.total())
        if width > 1 and share > best_share:
            best, best_share = delimiter, share
    return best


def _records(text: str, source: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the stripped cells of each line that is not blank."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    try:
        for cells in reader:
            if len(cells) > 1 or any(map(str.strip, cells)):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise TableError(
            f"{source}: line {reader.line_num} cannot be read: {error}. "
            "Look for a quotation mark that is not closed."
        ) from None


def is_header(cells: Sequence[str], expect: Collection[str]) -> bool:
    """Return whether the first row has all expected names, or no number."""
    if expect and set(expect) <= set(cells):
        return True
    return any(cells) and not any(to_number(cell) is not None for cell in cells)


def _column_names(cells: Sequence[str], source: str) -> tuple[str, ...]:
    names = tuple(cell or f"column{i + 1}" for i, cell in enumerate(cells))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{source}: {quoted(twice)} is the name of several columns; make the names unique."
        )
    return names


def _by_column(
    records: Iterable[tuple[int, list[str]]], width: int, source: str, header: bool
) -> tuple[tuple[list[str], ...], list[int]]:
    columns: tuple[list[str], ...] = tuple([] for _ in range(width))
    # Equal cells share one string, which saves memory unless most cells differ.
    shared: tuple[dict[str, str], ...] = tuple({} for _ in range(width))
    lines: list[int] = []
    last_filled = 0
    for line, cells in records:
        if len(cells) != width:
            if any(cells[width:]) or len(cells) < width:
                raise TableError(
                    f"{source}: line {line} has {len(cells)} cells, but the "
                    f"{'header' if header else 'first line'} has {width}; correct the line or "
                    "specify the delimiter."
                )
            del cells[width:]
        for column, seen, cell in zip(columns, shared, cells, strict=True):
            column.append(seen.setdefault(cell, cell) if len(seen) < 4096 else cell)
        lines.append(line)
        if any(cells):
            last_filled = len(lines)
    for column in columns:  # spreadsheets often write empty rows at the end
        del column[last_filled:]
    return columns, lines[:last_filled]


def near(name: str, names: Iterable[str]) -> str:
    """Return the hint "Did you mean ...?" if a name is close to one of others, else nothing.

    Examples
    --------
    >>> near("tagret", ["target", "size"])
    " Did you mean 'target'?"
    """
    names = list(names)
    close = difflib.get_close_matches(name, names, n=1)
    same = [other for other in names if other.casefold() == name.casefold()]
    similar = same or close
    return f" Did you mean {similar[0]!r}?" if similar else ""


def near_file(path: Path) -> str:
    """Return a hint at a file with a similar name, or at the first folder that is not there."""
    for folder in reversed(path.parents):
        if not folder.exists():
            return f" The folder {str(folder)!r} does not exist."
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.is_file()]
    except OSError:
        return ""
    return near(path.name, names)


def quoted(values: Iterable[Any], limit: int = 10) -> str:
    """Return a list of quoted values for messages, cut off after `limit` of them.

    Examples
    --------
    >>> print(quoted(["a", "b", "c"], limit=2))
    'a', 'b' and 1 more
    """
    shown = [repr(str(value)) for value in values]
    more = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {more} more" if more > 0 else "")
