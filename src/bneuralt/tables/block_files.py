"""Files of any format as tables that are read some rows at a time.

Parquet and Feather are read by pyarrow, workbooks by openpyxl, and CSV by the core. A format is a
class with its first bytes: `open_file` finds the one that a file begins with.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import importlib
import io
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bneuralt._typing import Array
from bneuralt.tables.cells import ObjectFrame
from bneuralt.tables.columns import DataFrame, Frame
from bneuralt.tables.csv_files import (
    CsvOptions,
    CsvParts,
    TableError,
    near_file,
    refuse_equal_names,
)

__all__ = ["FORMATS", "TableFile", "naming", "open_file", "open_files", "pyarrow", "slices"]

#: How compressed files begin, what opens them, and the program that tests them.
COMPRESSED: dict[bytes, tuple[Callable[..., Any], str]] = {
    b"\x1f\x8b": (gzip.open, "gunzip"),
    b"BZh": (bz2.open, "bunzip2"),
    b"\xfd7zXZ\x00": (lzma.open, "unxz"),
}

#: A compressed file may become this many times as large; larger ones are taken for bombs.
MAX_EXPANSION = 400

#: What readers of damaged files raise; the errors of Arrow are subclasses.
DAMAGED = (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, SyntaxError,
           zlib.error, lzma.LZMAError, zipfile.BadZipFile)  # fmt: skip

_EXTRA = 'run pip install "bneuralt[files]", or save the table as CSV.'


def pyarrow(module: str = "") -> Any:
    """Return a module of pyarrow.

    Raises
    ------
    ImportError
        It is not installed.
    """
    try:
        return importlib.import_module(f"pyarrow{module}")
    except ImportError:
        raise ImportError(
            'reading tables in blocks needs pyarrow: run pip install "bneuralt[parquet]"'
        ) from None


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Name the file in errors of its reader."""
    try:
        yield
    except (TableError, FileNotFoundError, PermissionError, ImportError):
        raise
    except DAMAGED as error:
        text = " ".join(str(error).split())
        raise TableError(
            f"{place}: cannot be read, it may be damaged or incomplete: {text:.300}"
        ) from None


def slices(batches: Iterable[Any], n_rows: int) -> Iterator[tuple[Frame, int]]:
    """Yield the rows of record batches as small tables, with the position of their first row."""
    table, first_row = pyarrow().Table, 0
    for batch in batches:
        for start in range(0, batch.num_rows, n_rows):
            part = table.from_batches([batch.slice(start, n_rows)])
            yield DataFrame(part), first_row
            first_row += part.num_rows


@dataclass(frozen=True, eq=False)
class TableFile:
    """A file with a table; each format is a subclass.

    Attributes
    ----------
    path : str
        For messages.
    names : list of str
        Names of the columns.
    types : dict
        The types of the columns of formats that have some.
    has_header : bool
        Whether the names come from the file.
    data : bytes or None
        The content, if it is not read from the path: of the standard input, and of files of
        formats that are read as a whole.
    options : CsvOptions
    """

    path: str
    names: list[str] = field(default_factory=list)
    types: dict[str, Any] = field(default_factory=dict)
    has_header: bool = True
    data: bytes | None = None
    options: CsvOptions = field(default_factory=CsvOptions)

    beginnings: ClassVar[tuple[bytes, ...]] = ()
    title: ClassVar[str] = ""

    @classmethod
    def open(cls, path: str, data: bytes | None, options: CsvOptions) -> TableFile | None:
        """Find out the columns of a file; None if it has none."""
        raise NotImplementedError

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Frame, int]]:
        """Yield some columns of at most `n_rows` rows, with the position of the first row."""
        raise NotImplementedError

    def stream(self) -> Any:
        """Open the file as bytes."""
        return open(self.path, "rb") if self.data is None else io.BytesIO(self.data)


def open_file(
    path: str, options: CsvOptions | None = None, data: bytes | None = None
) -> TableFile | None:
    """Return a file after a look at its beginning; None if it is empty.

    Parameters
    ----------
    path : str
    options : CsvOptions, optional
    data : bytes, optional
        The content, instead of that of the file.

    Raises
    ------
    TableError
        It is damaged, or of a format that cannot be read.
    """
    options = options or CsvOptions()
    beginning = _beginning(path) if data is None else data[:1000]
    if not beginning:
        return None
    for form in FORMATS:
        if beginning.startswith(form.beginnings):
            with naming(path):
                return form.open(path, data, options)
    with naming(path):
        if beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
            content = _content(path) if data is None else data
            records = _json_records(content, path)
            if records is not None:
                return JsonFile.of(path, records, data)
        return CsvFile.open(path, data, options)


def _beginning(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(1000)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file.{near_file(Path(path))}") from None
    except IsADirectoryError:
        raise TableError(f"{path}: is a folder, not a file.") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _content(path: str) -> bytes:
    return Path(path).read_bytes()


def open_files(paths: Sequence[str], options: CsvOptions | None = None) -> list[TableFile]:
    """Return files that have the same columns, in any order; empty ones are left out.

    Raises
    ------
    TableError
        A file is damaged, or its columns differ from those of the first one.
    """
    files = [file for path in paths if (file := open_file(path, options)) is not None]
    if not files:
        raise TableError(f"{paths[0]}: the file is empty.")
    for file in files[1:]:
        _check_columns(file, files[0])
    return files


def kind_of_type(kind: Any) -> str:
    """Return what a type of Arrow means for a model."""
    types = pyarrow(".types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return "missing"
    if types.is_time(kind):
        return "times"
    if types.is_temporal(kind):
        return "durations" if types.is_duration(kind) else "dates"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "numbers"
    return "numbers" if types.is_decimal(kind) else "text"


def _check_columns(file: TableFile, first: TableFile) -> None:
    """Refuse a file whose columns are not those of the first one."""
    for one, other in ((file, first), (first, file)):
        absent = next((name for name in other.names if name not in one.names), None)
        if absent is not None:
            raise TableError(
                f"{one.path}: there is no column {absent!r}, which {other.path} has; all files "
                "need the same columns."
            )
    for name in file.types.keys() & first.types.keys():
        kind, other_kind = file.types[name], first.types[name]
        kinds = {kind_of_type(kind), kind_of_type(other_kind)} - {"missing"}
        if len(kinds) > 1:
            raise TableError(
                f"{file.path}: column {name!r} has {kind_of_type(kind)} ({kind}), and "
                f"{kind_of_type(other_kind)} ({other_kind}) in {first.path}; convert one of them."
            )


# -- formats of Arrow ---------------------------------------------------------------------


class ArrowFile(TableFile):
    """A file that Arrow reads."""

    @classmethod
    def open(cls, path: str, data: bytes | None, options: CsvOptions) -> TableFile | None:
        """Read the schema of a file."""
        try:
            arrow = pyarrow()
        except ImportError:
            raise TableError(
                f"{path}: is a {cls.title} file, which needs pyarrow: {_EXTRA}"
            ) from None
        file = cls(path, data=data)
        try:
            with file.reader() as reader:
                types = _types(cls.schema(reader), path)
        except (arrow.ArrowException, OSError) as error:
            text = " ".join(str(error).split())
            raise TableError(f"{path}: cannot be read as a {cls.title} file: {text:.300}") from None
        return cls(path, list(types), dict(types), data=data)

    @contextmanager
    def reader(self) -> Iterator[Any]:
        """Open the file."""
        raise NotImplementedError

    @staticmethod
    def schema(reader: Any) -> Any:
        """Return the names and types of the columns."""
        return reader.schema

    def batches(self, reader: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Yield record batches."""
        raise NotImplementedError

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Frame, int]]:
        """Yield some columns of at most `n_rows` rows, with the position of the first row."""
        with self.reader() as reader:
            yield from slices(self.batches(reader, list(columns), n_rows), n_rows)


def _types(schema: Any, path: str) -> dict[str, Any]:
    """Return the types of columns, without those in which pandas stores the index of a frame."""
    names = [name for name in schema.names if not re.fullmatch(r"__index_level_\d+__", name)]
    refuse_equal_names(names, path)
    return {name: schema.field(name).type for name in names}


class ParquetFile(ArrowFile):
    """A Parquet file."""

    beginnings = (b"PAR1",)
    title = "Parquet"

    @contextmanager
    def reader(self) -> Iterator[Any]:
        """Open the file."""
        source = self.path if self.data is None else pyarrow().BufferReader(self.data)
        # Buffered, so that a column of a large group of rows is not read as a whole.
        with pyarrow(".parquet").ParquetFile(source, pre_buffer=False, buffer_size=2**20) as file:
            yield file

    @staticmethod
    def schema(reader: Any) -> Any:
        """Return the names and types of the columns."""
        return reader.schema_arrow

    def batches(self, reader: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Yield record batches."""
        for batch in reader.iter_batches(n_rows, columns=columns, use_threads=False):
            yield batch.select(columns)


class FeatherFile(ArrowFile):
    """A Feather file of version 2, which is a file of Arrow."""

    beginnings = (b"ARROW1",)
    title = "Feather"

    @contextmanager
    def reader(self) -> Iterator[Any]:
        """Open the file."""
        is_file = self.data is None
        source = pyarrow().OSFile(self.path) if is_file else pyarrow().BufferReader(self.data)
        with source:
            yield pyarrow(".ipc").open_file(source)

    def batches(self, reader: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Yield the record batches of the file."""
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i).select(columns)


class OldFeatherFile(TableFile):
    """A Feather file of version 1, or a workbook of an old format: both are refused."""

    beginnings = (b"FEA1", b"\xd0\xcf\x11\xe0")

    @classmethod
    def open(cls, path: str, data: bytes | None, options: CsvOptions) -> TableFile | None:
        """Refuse the file."""
        with open(path, "rb") if data is None else io.BytesIO(data) as stream:
            is_feather = stream.read(4) == b"FEA1"
        if is_feather:
            raise TableError(
                f"{path}: is a Feather file of version 1, which cannot be read in blocks; write it "
                "again as version 2, or as Parquet."
            )
        raise TableError(f"{path}: is a workbook of an old format; save it as .xlsx or CSV first.")


# -- CSV ----------------------------------------------------------------------------------


class _Limited:
    """A stream that ends with an error where a compressed file expands too far."""

    def __init__(self, stream: Any, file: Any, path: str, size: int) -> None:
        self._stream, self._file, self._path = stream, file, path
        self._left = max(2**20, MAX_EXPANSION * size)

    def read(self, n: int = -1) -> bytes:
        """Read bytes."""
        data: bytes = self._stream.read(min(n, self._left + 1) if n >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise TableError(
                f"{self._path}: expands to more than {MAX_EXPANSION} times its size "
                "(bneuralt.tables.block_files.MAX_EXPANSION); decompress it first if that is right."
            )
        return data

    def __enter__(self) -> _Limited:
        return self

    def __exit__(self, *_: Any) -> None:
        self._stream.close()
        self._file.close()


class CsvFile(TableFile):
    """A CSV file."""

    title = "CSV"

    @classmethod
    def open(cls, path: str, data: bytes | None, options: CsvOptions) -> TableFile | None:
        """Find out the form of a file from its first rows."""
        file = cls(path, data=data, options=options)
        with file.stream() as stream:
            parts = CsvParts(stream, path, options)
            return cls(path, parts.names, {}, parts.has_header, data, options)

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Frame, int]]:
        """Yield some columns of at most `n_rows` rows, with the position of the first row."""
        first_row = 0
        with naming(self.path), self.stream() as stream:
            for part in CsvParts(stream, self.path, self.options):
                chosen = part.select(columns)
                for start in range(0, len(chosen), n_rows):
                    piece = chosen.take(slice(start, start + n_rows))
                    yield piece, first_row
                    first_row += len(piece)


class CompressedFile(CsvFile):
    """A compressed file of text."""

    title = "compressed"
    beginnings = tuple(COMPRESSED)

    @classmethod
    def open(cls, path: str, data: bytes | None, options: CsvOptions) -> TableFile | None:
        """Find out the form of the text."""
        file = cls(path, data=data, options=options)
        try:
            with file.stream() as stream:
                beginning = stream.read(1000)
            if beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
                with file.stream() as stream:
                    records = _json_records(stream.read(), path)
                if records is not None:
                    return JsonFile.of(path, records, data)
            if any(beginning.startswith(form.beginnings) for form in FORMATS if form.beginnings):
                with file.stream() as stream:
                    return open_file(path, options, stream.read())
            return super().open(path, data, options) if beginning else None
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            raise TableError(
                f"{path}: cannot be decompressed; test it with {file._program} -t."
            ) from None

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Frame, int]]:
        """Yield some columns of at most `n_rows` rows, with the position of the first row."""
        try:
            yield from super().pieces(columns, n_rows)
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            raise TableError(
                f"{self.path}: cannot be decompressed; test it with {self._program} -t."
            ) from None

    @property
    def _opener(self) -> tuple[Callable[..., Any], str]:
        with super().stream() as stream:
            beginning = stream.read(8)
        return next(entry for start, entry in COMPRESSED.items() if beginning.startswith(start))

    @property
    def _program(self) -> str:
        return self._opener[1]

    def stream(self) -> Any:
        """Open the text."""
        size = os.path.getsize(self.path) if self.data is None else len(self.data)
        file = super().stream()
        return _Limited(self._opener[0](file), file, self.path, size)


# -- tables of objects --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ObjectFile(TableFile):
    """A file that is read as a whole."""

    frame: Any = None

    def pieces(self, columns: Sequence[str], n_rows: int) -> Iterator[tuple[Frame, int]]:
        """Yield some columns of at most `n_rows` rows, with the position of the first row."""
        chosen = self.frame.select(columns)
        for start in range(0, len(chosen), n_rows):
            yield chosen.take(slice(start, start + n_rows)), start


class JsonFile(ObjectFile):
    """JSON: a list of objects, or one object on each line."""

    title = "JSON"

    @classmethod
    def of(
        cls, path: str, records: list[tuple[int, dict[str, Any]]], data: bytes | None
    ) -> JsonFile:
        """Return the table of some records, each with the number of its line."""
        names = list(dict.fromkeys(name for _, record in records for name in record))
        columns = [_objects([record.get(name) for _, record in records]) for name in names]
        lines = np.array([line for line, _ in records], dtype=np.int64)
        return cls(path, names, data=data, frame=ObjectFrame(names, columns, lines))


def _objects(values: list[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _json_records(data: bytes, path: str) -> list[tuple[int, dict[str, Any]]] | None:
    """Return the objects of JSON lines, or of a JSON list; None if the file is something else."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if text.lstrip()[:1] == "[":
        try:
            entries = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return _checked_records(list(enumerate(entries, 1)), "entry", path)
    records: list[tuple[int, Any]] = []
    for i, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            records.append((i, json.loads(line)))
        except (ValueError, RecursionError):
            if not records:
                _refuse_single_object(text, path)
                return None
            raise TableError(
                f"{path}: line {i} is not a JSON object, and the lines above are; correct the line."
            ) from None
    return _checked_records(records, "line", path)


def _refuse_single_object(text: str, path: str) -> None:
    """Refuse a file that is one JSON object over several lines."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    raise TableError(f"{path}: is a single JSON object; write one object per line and row.")


def _checked_records(
    records: list[tuple[int, Any]], unit: str, path: str
) -> list[tuple[int, dict[str, Any]]]:
    for i, record in records:
        if not isinstance(record, dict):
            raise TableError(f"{path}: {unit} {i} is not a JSON object, as is needed for each row.")
        for name, value in record.items():
            if isinstance(value, (dict, list)):
                kind = "an object" if isinstance(value, dict) else "a list"
                raise TableError(
                    f"{path}: {unit} {i}: {name!r} is {kind}; cells must be texts, numbers, true, "
                    "false or null."
                )
    return records


class Workbook(ObjectFile):
    """The first sheet of an Excel workbook."""

    title = "workbook"
    beginnings = (b"PK\x03\x04",)

    @classmethod
    def open(cls, path: str, data: bytes | None, options: CsvOptions) -> TableFile | None:
        """Read the sheet."""
        content = _content(path) if data is None else data
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                is_workbook = "xl/workbook.xml" in archive.namelist()
                size = sum(entry.file_size for entry in archive.infolist())
        except zipfile.BadZipFile:
            is_workbook = False
        if not is_workbook:
            raise TableError(
                f"{path}: is a zip file or a damaged workbook; save the table as CSV first."
            )
        if size > max(2**26, MAX_EXPANSION * len(content)):
            raise TableError(
                f"{path}: expands to more than {MAX_EXPANSION} times its size "
                "(bneuralt.tables.block_files.MAX_EXPANSION); save it as CSV."
            )
        try:
            openpyxl = importlib.import_module("openpyxl")
        except ImportError:
            raise TableError(
                f"{path}: is an Excel workbook, which needs openpyxl: {_EXTRA}"
            ) from None
        try:
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            rows = list(enumerate(map(list, book.worksheets[0].iter_rows(values_only=True)), 1))
        except DAMAGED as error:
            raise TableError(
                f"{path}: cannot be read as a workbook: {error}; save it as CSV."
            ) from None
        return cls.of(path, [(i, row) for i, row in rows if _is_filled(row)], options, data)

    @classmethod
    def of(
        cls, path: str, rows: list[tuple[int, list[Any]]], options: CsvOptions, data: bytes | None
    ) -> Workbook:
        """Return the table of some rows, each with its number in the sheet."""
        from bneuralt.tables.csv_files import column_names, is_header

        if not rows:
            raise TableError(f"{path}: the file is empty.")
        # Formatted cells without values widen the rows.
        width = max(j + 1 for _, row in rows for j, cell in enumerate(row) if cell is not None)
        cells = [[*map(_exact, row[:width]), *[None] * (width - len(row))] for _, row in rows]
        first = ["" if cell is None else str(cell).strip() for cell in cells[0]]
        header = is_header(first, options.expect) if options.header is None else options.header
        names = column_names(first if header else [""] * width, path)
        lines = np.array([i for i, _ in rows[int(header) :]], dtype=np.int64)
        if not lines.size:
            raise TableError(f"{path}: there are no rows below the header.")
        columns = [_objects(list(column)) for column in zip(*cells[int(header) :], strict=True)]
        frame = ObjectFrame(names, columns, lines)
        return cls(path, names, has_header=header, data=data, frame=frame)


def _exact(cell: Any) -> Any:
    """Return a moment of a workbook to the millisecond: its days are fractions, which round."""
    if isinstance(cell, dt.datetime) and cell.microsecond:
        cell += dt.timedelta(microseconds=500)
        return cell.replace(microsecond=cell.microsecond // 1000 * 1000)
    return cell


def _is_filled(row: list[Any]) -> bool:
    return any(cell is not None for cell in row)


#: Formats with characteristic first bytes; all other files are JSON or CSV.
FORMATS: tuple[type[TableFile], ...] = (
    ParquetFile,
    FeatherFile,
    OldFeatherFile,
    Workbook,
    CompressedFile,
)
