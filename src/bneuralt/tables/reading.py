"""Tables from CSV files: encoding, delimiter, header and quotes, in any common form.

Reading and understanding are kept apart: here only the cells are found, as text; what they mean is
decided in `bneuralt.tables.encoding`.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import hashlib
import io
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

# In order of preference. A comma may stand inside the numbers of a file whose delimiter is one of
# the first three, hardly ever the other way round; blanks come last since any text has them.
DELIMITERS = ("\t", ";", "|", ",", " ")


class TableError(ValueError):
    """A table that cannot be used; the message says where the problem is and what to do."""


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a CSV file, as text without surrounding blanks.

    Attributes
    ----------
    source : str
        The name of the file, for messages.
    names : tuple of str
        One name per column; ``column1``, ``column2``, ... where the file gives none.
    columns : tuple of list of str
        The cells, column by column.
    lines : list of int
        The line of the file on which each row ends.
    has_header : bool
        Whether the names come from the file.
    sha256 : str
        Digest of the file, so that a model can tell whether it meets its own table again.
    """

    source: str
    names: tuple[str, ...]
    columns: tuple[list[str], ...]
    lines: list[int]
    has_header: bool
    sha256: str

    @property
    def n_rows(self) -> int:
        return len(self.lines)

    def position(self, column: str) -> int:
        """Index of a column given by name, or by its number counted from 1 (-1 is the last).

        Examples
        --------
        >>> from bneuralt.tables.reading import parse_csv
        >>> table = parse_csv(b"height,weight,sex\\n1.7,70,f\\n1.8,90,m\\n")
        >>> table.position("weight"), table.position("-1")
        (1, 2)
        """
        if column in self.names:
            return self.names.index(column)
        if re.fullmatch(r"-?\d+", column):
            number = int(column)
            if 1 <= abs(number) <= len(self.names):
                return number - 1 if number > 0 else len(self.names) + number
        close = difflib.get_close_matches(column, self.names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        if not self.has_header:
            hint = " The first line was taken for data; if it holds the names, say --header."
        self.refuse(f"there is no column {column!r}.{hint} The columns are: {quoted(self.names)}.")

    def place(self, row: int, column: int) -> str:
        return f"row {row + 1} (line {self.lines[row]}), column {self.names[column]!r}"

    def refuse(self, problem: str) -> NoReturn:
        raise TableError(f"{self.source}: {problem}")


def read_csv(
    path: str | Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    expect: Collection[str] = (),
) -> Table:
    """Read a CSV file.

    Parameters
    ----------
    path : str or Path
        The file; ``"-"`` reads the standard input.
    delimiter : str, optional
        One character. By default the one of tab, ``;``, ``|``, ``,`` and blank that cuts the first
        rows into equally many cells.
    header : bool, optional
        Whether the first row holds names. By default it does when all names in `expect` stand in
        it, or when none of its cells is a number.
    encoding : str, optional
        By default UTF-8 (with or without a byte order mark) or UTF-16 with one, and Latin-1 for
        files that are not valid UTF-8.
    expect : collection of str
        Names of columns that the caller knows.

    Returns
    -------
    Table
    """
    source = "standard input" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise TableError(f"{source}: no such file.") from None
    except IsADirectoryError:
        raise TableError(f"{source}: is a folder; a CSV file is needed.") from None
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
) -> Table:
    """Like `read_csv`, from the bytes of a file.

    Examples
    --------
    >>> table = parse_csv(b"height;sex\\r\\n1.7;f\\r\\n1.8;m\\r\\n")
    >>> table.names, table.columns
    (('height', 'sex'), (['1.7', '1.8'], ['f', 'm']))
    """
    text = _decode(data, source, encoding)
    if delimiter is None:
        delimiter = _guess_delimiter(text)
    elif len(delimiter) != 1 or delimiter in '"\r\n':
        raise TableError(
            f"delimiter={delimiter!r}: must be one character, not a quote or line end."
        )
    records = _records(text, source, delimiter)
    first = next(records, None)
    if first is None:
        raise TableError(f"{source}: the file is empty.")
    if header is None:
        known = bool(expect) and set(expect) <= set(first[1])
        header = known or _looks_like_header(first[1])
    names = _column_names(first[1] if header else [""] * len(first[1]), source)
    rest = records if header else chain([first], records)
    columns, lines = _by_column(rest, len(names), source, header)
    if not lines:
        raise TableError(f"{source}: there are no rows below the header.")
    digest = hashlib.sha256(data).hexdigest()
    return Table(source, names, columns, lines, header, digest)


def _decode(data: bytes, source: str, encoding: str | None) -> str:
    if data[:4] == b"PK\x03\x04":
        raise TableError(f"{source}: is a zip file or a workbook; save the sheet as CSV first.")
    if data[:2] == b"\x1f\x8b":
        raise TableError(f"{source}: is compressed; unpack it with gunzip first.")
    if encoding is None:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        else:
            encoding = "utf-8-sig"
            try:
                data.decode(encoding)
            except UnicodeDecodeError:
                encoding = "latin-1"
    try:
        # A stray mark may also precede text whose encoding the caller named.
        text = data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise TableError(f"encoding={encoding!r}: no such encoding.") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{source}: line {line} is not valid {encoding} ({error.reason}); name the right "
            "encoding, for example latin-1."
        ) from None
    if "\0" in text:
        raise TableError(f"{source}: is not a text file; a CSV file is needed.")
    return text


def _guess_delimiter(text: str, n_lines: int = 50) -> str:
    """The delimiter that cuts most of the first rows into the same number (> 1) of cells."""
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
    """Yield (line number, stripped cells) of every line that is not blank."""
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
            "Look for a quotation mark that is opened and not closed."
        ) from None


def _looks_like_header(cells: Sequence[str]) -> bool:
    return any(cells) and not any(number_in(cell) is not None for cell in cells)


def _column_names(cells: Sequence[str], source: str) -> tuple[str, ...]:
    names = tuple(cell or f"column{i + 1}" for i, cell in enumerate(cells))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{source}: {quoted(twice)} names more than one column; give every column its own name."
        )
    return names


def _by_column(
    records: Iterable[tuple[int, list[str]]], width: int, source: str, header: bool
) -> tuple[tuple[list[str], ...], list[int]]:
    columns: tuple[list[str], ...] = tuple([] for _ in range(width))
    # Equal cells share one string, as long as that saves memory.
    known: tuple[dict[str, str], ...] = tuple({} for _ in range(width))
    lines: list[int] = []
    last_filled = 0
    for line, cells in records:
        if len(cells) != width:
            if any(cells[width:]) or len(cells) < width:
                raise TableError(
                    f"{source}: line {line} has {len(cells)} cells where the "
                    f"{'header' if header else 'first line'} has {width}."
                )
            del cells[width:]
        for column, seen, cell in zip(columns, known, cells, strict=True):
            column.append(seen.setdefault(cell, cell) if len(seen) < 4096 else cell)
        lines.append(line)
        if any(cells):
            last_filled = len(lines)
    for column in columns:  # spreadsheets leave rows of nothing but delimiters at the end
        del column[last_filled:]
    return columns, lines[:last_filled]


def number_in(cell: str, decimal: str = ".") -> float | None:
    """The number written in a cell, or None. Infinity and NaN are not numbers here."""
    if decimal != "." and decimal in cell:
        cell = cell.replace(decimal, ".") if "." not in cell else ""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def quoted(values: Iterable[Any], limit: int = 10) -> str:
    shown = [repr(str(value)) for value in values]
    more = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {more} more" if more > 0 else "")
