"""Read CSV files with any common encoding, delimiter, header and quoting, in parts.

The core finds the cells (`cpp/csv.cpp`). This module finds out the form of a file, and says where a
file cannot be read. What the cells mean is decided elsewhere (`bneuralt.tables.learning`).
"""

from __future__ import annotations

import codecs
import csv
import difflib
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bneuralt import _core
from bneuralt.tables.cells import CellFrame
from bneuralt.tables.numbers import to_number

__all__ = [
    "DELIMITERS",
    "SAMPLE",
    "CsvOptions",
    "CsvParts",
    "TableError",
    "column_names",
    "encoding_of",
    "guess_delimiter",
    "is_header",
    "near",
    "near_file",
    "quoted",
    "refuse_equal_names",
]

#: Delimiters to try, in order of preference. A comma often is the decimal point in files whose
#: delimiter is one of the first three, rarely the other way round. Blanks occur in any text.
DELIMITERS = ("\t", ";", "|", ",", " ")

#: Bytes from which the delimiter is guessed.
SAMPLE = 200_000

#: Bytes that are scanned at a time, and the longest row.
CHUNK_BYTES, LONGEST_ROW = 2**22, 2**28

#: Encodings whose bytes are scanned as they are; text in others is converted to UTF-8.
_SCANNED = ("ascii", "utf-8", "cp1252", "latin-1")

_WIDTH, _OPEN_QUOTE, _TEXT_BEHIND_QUOTE = 1, 2, 3  # problems that the core finds


class TableError(ValueError):
    """The table cannot be used; the message says where the problem is and what to do."""


@dataclass(frozen=True)
class CsvOptions:
    """How CSV files are read; what is None or empty is found out from each file.

    Attributes
    ----------
    delimiter : str or None
        One character. By default the one of tab, ``;``, ``|``, ``,`` and blank that splits the
        first rows into the same number of cells.
    header : bool or None
        Whether the first row contains the names of the columns. By default it does if it contains
        all names in `expect`, or if none of its cells is a number.
    encoding : str or None
        By default UTF-8 (with or without a byte order mark), UTF-16 with a byte order mark, or
        Windows-1252 or Latin-1 if the file is not valid UTF-8.
    decimal : str or None
        The decimal point, "." or ",".
    expect : collection of str
        Names of columns that the caller needs.
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    expect: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise TableError(
                f"delimiter={self.delimiter!r}: must be one character other than a quote or a line "
                "end."
            )


class CsvParts:
    """The rows of a CSV file, some at a time.

    Parameters
    ----------
    stream : binary file
    source : str
        Name of the file, for messages.
    options : CsvOptions
    n_bytes : int
        How much is read at a time.

    Attributes
    ----------
    names : list of str
        Names of the columns; ``column1``, ``column2``, ... if the file has none.
    has_header : bool
        Whether the names come from the file.
    """

    def __init__(
        self, stream: Any, source: str, options: CsvOptions, n_bytes: int = CHUNK_BYTES
    ) -> None:
        self._stream, self._source, self._options = stream, source, options
        self._n_bytes = max(n_bytes, SAMPLE)
        self._n_lines = 0  # of rows that were read
        self._encoding = options.encoding and _known(options.encoding)
        self._text = self._first_text()
        self._is_over = False
        sample = self._text[:SAMPLE]
        self._encoding = self._encoding or _encoding_of_part(sample)
        self._delimiter = options.delimiter
        if self._delimiter is None:
            self._delimiter = guess_delimiter(sample.decode(self._encoding, errors="replace"))
        if not self._delimiter.isascii():
            raise TableError(f"delimiter={self._delimiter!r}: must be an ASCII character.")
        self.names: list[str] = []
        self.has_header = False
        self._first = self._next_rows()
        if self._first is None:
            raise TableError(f"{source}: the file is empty.")
        cells = self._first.row(0)
        self.has_header = options.header if options.header is not None else self._has_names(cells)
        self.names = column_names(cells if self.has_header else [""] * len(cells), source)
        self._first = self._first.take(slice(int(self.has_header), None))

    def _has_names(self, cells: Sequence[str]) -> bool:
        return is_header(cells, self._options.expect)

    def __iter__(self) -> Iterator[CellFrame]:
        """Yield the rows; empty ones at the end, as spreadsheets often write, are left out."""
        part, held_back = self._first, list[Any]()
        while part is not None:
            filled = np.flatnonzero((part.ends > part.starts).any(axis=1))
            n_rows = int(filled[-1]) + 1 if filled.size else 0
            if n_rows:
                yield from held_back
                held_back.clear()
                yield self._named(part.take(slice(0, n_rows)))
            if n_rows < len(part):
                held_back.append(self._named(part.take(slice(n_rows, None))))
            part = self._next_rows()

    def _named(self, part: Any) -> CellFrame:
        return CellFrame(
            part.data, part.starts, part.ends, self.names, part.lines, part.encoding,
            self._options.decimal,
        )  # fmt: skip

    def _first_text(self) -> bytes:
        text: bytes = self._stream.read(self._n_bytes)
        if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and self._encoding is None:
            self._encoding = "utf-16"
        if self._encoding not in (None, *_SCANNED):
            text = self._converted(text + self._stream.read(), str(self._encoding))
            self._encoding = "utf-8"
        return text.removeprefix(codecs.BOM_UTF8)

    def _converted(self, data: bytes, encoding: str) -> bytes:
        try:
            return data.decode(encoding).removeprefix("\ufeff").encode("utf-8", "replace")
        except UnicodeDecodeError as error:
            raise self._not_valid(data, error, encoding) from None

    def _not_valid(self, data: bytes, error: UnicodeDecodeError, encoding: str) -> TableError:
        line = self._n_lines + data.count(b"\n", 0, error.start) + 1
        return TableError(
            f"{self._source}: line {line} is not valid {encoding} ({error.reason}); specify "
            "another encoding, for example latin-1."
        )

    def _next_rows(self) -> CellFrame | None:
        """Return the next rows; None at the end of the file."""
        while not self._is_over:
            more = self._stream.read(self._n_bytes)
            self._is_over = not more
            text = self._text
            if b"\0" in text:
                raise TableError(
                    f"{self._source}: is not a text file; save the table as CSV first."
                )
            data = np.frombuffer(text or b"\n", dtype=np.uint8)
            starts, ends, lines, unquoted, used, n_lines, problem = _core.scan_csv(
                data, ord(str(self._delimiter)), len(self.names), self._is_over
            )
            if problem[0] and len(lines) and not self.names:
                first = CellFrame(data, starts, ends, [""] * starts.shape[1], lines).row(0)
                header = self._options.header
                self.has_header = self._has_names(first) if header is None else header
            self._refuse(problem, starts.shape[1])
            encoding = self._checked_encoding(text[:used])
            self._text = text[used:] + more
            lines = lines + self._n_lines
            self._n_lines += n_lines
            if not used and len(self._text) > LONGEST_ROW:
                raise TableError(
                    f"{self._source}: line {self._n_lines + 1} begins a row of more than "
                    f"{LONGEST_ROW:,} bytes. Look for a quotation mark that is not closed."
                )
            if len(lines):
                if unquoted:
                    data = np.frombuffer(text + unquoted, dtype=np.uint8)
                names = self.names or [""] * starts.shape[1]
                return CellFrame(data, starts, ends, names, lines, encoding)
        return None

    def _checked_encoding(self, text: bytes) -> str:
        """Return the encoding of some rows, which is that of the rows before unless these fit any.

        Raises
        ------
        TableError
            The rows are not of the encoding of the file.
        """
        assert self._encoding is not None
        if text.isascii() or self._encoding == "latin-1":
            return self._encoding
        if self._options.encoding is None and self._encoding == "ascii":
            self._encoding = encoding_of(text)
        elif self._options.encoding is None and self._n_lines == 0:
            self._encoding = encoding_of(text)  # of all rows, and not of a sample
        try:
            text.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise self._not_valid(text, error, self._encoding) from None
        return self._encoding

    def _refuse(self, problem: tuple[int, int, int], width: int) -> None:
        kind, line, n_cells = problem
        place = f"{self._source}: line {self._n_lines + line}"
        if kind == _WIDTH:
            first = "header" if self.has_header else "first line"
            raise TableError(
                f"{place} has {n_cells} cells, but the {first} has {width}; correct the line or "
                "specify the delimiter."
            )
        if kind == _OPEN_QUOTE:
            raise TableError(
                f"{place} cannot be read: unexpected end of data. Look for a quotation mark that "
                "is not closed."
            )
        if kind == _TEXT_BEHIND_QUOTE:
            raise TableError(
                f"{place} cannot be read: {self._delimiter!r} expected after '\"'. Look for a "
                "quotation mark that is not closed."
            )


def _known(encoding: str) -> str:
    """Return the name of an encoding as `_SCANNED` has it."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise TableError(
            f"encoding={encoding!r}: no such encoding; use a name such as utf-8 or latin-1."
        ) from None
    usual = {codecs.lookup(known).name: known for known in _SCANNED}
    return "utf-8" if name == "utf-8-sig" else usual.get(name, name)


def _encoding_of_part(data: bytes) -> str:
    """Return the encoding of bytes whose last character may be cut off."""
    return encoding_of(data[: data.rfind(b"\n") + 1] or data[:-4] or data)


def encoding_of(data: bytes) -> str:
    """Return the encoding of a file without a byte order mark."""
    if data.isascii():
        return "ascii"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252" if _is_windows(data) else "latin-1"
    return "utf-8"


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


def is_header(cells: Sequence[str], expect: Collection[str]) -> bool:
    """Return whether the first row has all expected names, or no number."""
    if expect and set(expect) <= set(cells):
        return True
    return any(cells) and not any(to_number(cell) is not None for cell in cells)


def column_names(cells: Sequence[str], source: str) -> list[str]:
    """Return the names of columns; those without one are named by their position."""
    names = [cell or f"column{i + 1}" for i, cell in enumerate(cells)]
    refuse_equal_names(names, source)
    return names


def refuse_equal_names(names: Sequence[str], source: str) -> None:
    """Raise an error if two columns of a file have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{source}: {quoted(twice)} is the name of several columns; make the names unique."
        )


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
