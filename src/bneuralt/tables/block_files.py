"""Files of any format as tables that are read some rows at a time.

Parquet and Feather are read by pyarrow, workbooks by openpyxl, and CSV by the core. A format is a
class with its first bytes: `open_file` finds the one that a file begins with.
"""

from __future__ import annotations

import bz2
import codecs
import datetime as dt
import gzip
import hashlib
import importlib
import io
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
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
    column_names,
    is_header,
    near_file,
    refuse_equal_names,
)

__all__ = [
    "FORMATS",
    "MAX_EXPANSION",
    "Content",
    "TableFile",
    "frame_of_batch",
    "naming",
    "open_file",
    "open_files",
    "pyarrow",
]

#: How compressed files begin, what opens them, and the program that tests them.
COMPRESSED: dict[bytes, tuple[Callable[..., Any], str]] = {
    b"\x1f\x8b": (gzip.open, "gunzip"),
    b"BZh": (bz2.open, "bunzip2"),
    b"\xfd7zXZ\x00": (lzma.open, "unxz"),
}

#: Bytes by which formats are recognised.
BEGINNING = 1000

#: A compressed file may become this many times as large; larger ones are taken for bombs.
MAX_EXPANSION = 400

#: What readers of damaged files raise; the errors of Arrow are subclasses.
DAMAGED = (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, SyntaxError,
           NotImplementedError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)  # fmt: skip

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
def naming(place: str, program: str = "") -> Iterator[None]:
    """Name the file in errors of its reader, and the program that tests a compressed one."""
    try:
        yield
    except (TableError, FileNotFoundError, PermissionError, ImportError):
        raise
    except DAMAGED as error:
        if program and isinstance(error, (OSError, EOFError, lzma.LZMAError, zlib.error)):
            problem = f"cannot be decompressed; test it with {program} -t."
        else:
            text = " ".join(str(error).split())
            problem = f"cannot be read, it may be damaged or incomplete: {text:.300}"
        raise TableError(f"{place}: {problem}") from None


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


class Content:
    """The bytes of a file, decompressed.

    Parameters
    ----------
    path : str
    data : bytes, optional
        The bytes, instead of those of the file.

    Attributes
    ----------
    beginning : bytes
        The first bytes.
    size : int
        Number of bytes of the file.
    is_file : bool
        Whether the bytes are those of the file as it is, which libraries can open.
    program : str
        What tests the file, if it is compressed.
    """

    def __init__(self, path: str, data: bytes | None = None) -> None:
        self.path, self.data = path, data
        self._opener: Callable[..., Any] | None = None
        self.program = ""
        try:
            if data is None and not os.path.isfile(path):  # a pipe can be read once
                self.data = Path(path).read_bytes()
            self.size = os.path.getsize(path) if self.data is None else len(self.data)
            self.beginning = self.read(BEGINNING)
        except FileNotFoundError:
            raise FileNotFoundError(f"{path}: no such file.{near_file(Path(path))}") from None
        except IsADirectoryError:
            raise TableError(f"{path}: is a folder, not a file.") from None
        except OSError as error:
            raise TableError(f"{path}: cannot be read: {error.strerror or error}.") from None
        for start, (opener, program) in COMPRESSED.items():
            if self.beginning.startswith(start):
                self._opener, self.program = opener, program
                with naming(path, program):
                    self.beginning = self.read(BEGINNING)
        self.is_file = self.data is None and not self.program

    def _stored(self) -> Any:
        return open(self.path, "rb") if self.data is None else io.BytesIO(self.data)

    def open(self) -> Any:
        """Open the bytes as a stream."""
        file = self._stored()
        if self._opener is None:
            return file
        return _Limited(self._opener(file), file, self.path, self.size)

    def read(self, n_bytes: int = -1) -> bytes:
        """Return the first bytes, by default all."""
        with self.open() as stream:
            data: bytes = stream.read(n_bytes)
        return data

    def sha256(self) -> str:
        """Return the checksum of the file as it is stored."""
        with self._stored() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, eq=False)
class TableFile:
    """A file with a table; each format is a subclass.

    Attributes
    ----------
    content : Content
    names : list of str
        Names of the columns.
    types : dict
        The types of the columns of formats that have some.
    has_header : bool
        Whether the names come from the file.
    options : CsvOptions
    """

    content: Content
    names: list[str] = field(default_factory=list)
    types: dict[str, Any] = field(default_factory=dict)
    has_header: bool = True
    options: CsvOptions = field(default_factory=CsvOptions)

    beginnings: ClassVar[tuple[bytes, ...]] = ()
    title: ClassVar[str] = ""

    @property
    def path(self) -> str:
        """Name of the file, for messages."""
        return self.content.path

    @classmethod
    def accepts(cls, beginning: bytes) -> bool:
        """Return whether a file may be of this format."""
        return beginning.startswith(cls.beginnings)

    @classmethod
    def open(cls, content: Content, options: CsvOptions) -> TableFile | None:
        """Find out the columns of a file; None if it is of another format."""
        raise NotImplementedError

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[Frame]:
        """Yield some columns of all rows, of about `n_rows` rows at a time if that is possible."""
        raise NotImplementedError


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
    content = Content(path, data)
    if not content.beginning.strip() and len(content.beginning) < BEGINNING:
        return None
    with naming(path, content.program):
        opened = (
            form.open(content, options or CsvOptions())
            for form in FORMATS
            if form.accepts(content.beginning)
        )
        return next(file for file in opened if file is not None)


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
    def open(cls, content: Content, options: CsvOptions) -> TableFile | None:
        """Read the schema of a file."""
        path = content.path
        try:
            arrow = pyarrow()
        except ImportError:
            raise TableError(
                f"{path}: is a {cls.title} file, which needs pyarrow: {_EXTRA}"
            ) from None
        try:
            with cls(content).reader() as reader:
                types = _types(cls.schema(reader), path)
        except (arrow.ArrowException, OSError) as error:
            text = " ".join(str(error).split())
            raise TableError(f"{path}: cannot be read as a {cls.title} file: {text:.300}") from None
        return cls(content, list(types), types)

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

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[Frame]:
        """Yield some columns of all rows."""
        with self.reader() as reader:
            yield from map(frame_of_batch, self.batches(reader, list(columns), n_rows))


def frame_of_batch(batch: Any) -> Frame:
    """Return a record batch of Arrow as a table."""
    return DataFrame(pyarrow().Table.from_batches([batch]))


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
        content = self.content
        source = content.path if content.is_file else pyarrow().BufferReader(content.read())
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
        arrow, content = pyarrow(), self.content
        is_file = content.is_file
        with (
            arrow.OSFile(content.path) if is_file else arrow.BufferReader(content.read()) as source
        ):
            yield pyarrow(".ipc").open_file(source)

    def batches(self, reader: Any, columns: list[str], n_rows: int) -> Iterator[Any]:
        """Yield the record batches of the file."""
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i).select(columns)


class OldFeatherFile(TableFile):
    """A Feather file of version 1, or a workbook of an old format: both are refused."""

    beginnings = (b"FEA1", b"\xd0\xcf\x11\xe0")

    @classmethod
    def open(cls, content: Content, options: CsvOptions) -> TableFile | None:
        """Refuse the file."""
        path = content.path
        if content.beginning.startswith(b"FEA1"):
            raise TableError(
                f"{path}: is a Feather file of version 1, which cannot be read in blocks; write it "
                "again as version 2, or as Parquet."
            )
        raise TableError(f"{path}: is a workbook of an old format; save it as .xlsx or CSV first.")


# -- CSV ----------------------------------------------------------------------------------


class CsvFile(TableFile):
    """A CSV file."""

    title = "CSV"

    @classmethod
    def accepts(cls, beginning: bytes) -> bool:
        """Return that any text may be CSV."""
        return True

    @classmethod
    def open(cls, content: Content, options: CsvOptions) -> TableFile | None:
        """Find out the form of a file from its first rows."""
        with content.open() as stream:
            parts = CsvParts(stream, content.path, options)
            return cls(content, parts.names, {}, parts.has_header, options)

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[Frame]:
        """Yield some columns of all rows."""
        with self.content.open() as stream:
            for part in CsvParts(stream, self.path, self.options):
                yield part.select(columns)


# -- tables of objects --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ObjectFile(TableFile):
    """A file that is read as a whole."""

    frame: Any = None

    def frames(self, columns: Sequence[str], n_rows: int) -> Iterator[Frame]:
        """Yield some columns of all rows."""
        yield self.frame.select(columns)


class JsonFile(ObjectFile):
    """JSON: a list of objects, or one object on each line."""

    title = "JSON"

    @classmethod
    def accepts(cls, beginning: bytes) -> bool:
        """Return whether a text begins as JSON does."""
        return beginning.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")

    @classmethod
    def open(cls, content: Content, options: CsvOptions) -> TableFile | None:
        """Read the file."""
        records = _json_records(content.read(), content.path)
        if records is None:
            return None
        names = list(dict.fromkeys(name for _, record in records for name in record))
        columns = [_objects([record.get(name) for _, record in records]) for name in names]
        lines = np.array([line for line, _ in records], dtype=np.int64)
        return cls(content, names, frame=ObjectFrame(names, columns, lines))


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
    def open(cls, content: Content, options: CsvOptions) -> TableFile | None:
        """Read the sheet."""
        path, data = content.path, content.read()
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                is_workbook = "xl/workbook.xml" in archive.namelist()
                size = sum(entry.file_size for entry in archive.infolist())
        except zipfile.BadZipFile:
            is_workbook = False
        if not is_workbook:
            raise TableError(
                f"{path}: is a zip file or a damaged workbook; save the table as CSV first."
            )
        if size > max(2**26, MAX_EXPANSION * content.size):
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
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            rows = list(enumerate(map(list, book.worksheets[0].iter_rows(values_only=True)), 1))
        except DAMAGED as error:
            raise TableError(
                f"{path}: cannot be read as a workbook: {error}; save it as CSV."
            ) from None
        return cls.of(content, [(i, row) for i, row in rows if _is_filled(row)], options)

    @classmethod
    def of(
        cls, content: Content, rows: list[tuple[int, list[Any]]], options: CsvOptions
    ) -> Workbook:
        """Return the table of some rows, each with its number in the sheet."""
        path = content.path
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
        return cls(content, names, has_header=header, frame=frame)


def _exact(cell: Any) -> Any:
    """Return a moment of a workbook to the millisecond: its days are fractions, which round."""
    if isinstance(cell, dt.datetime) and cell.microsecond:
        cell += dt.timedelta(microseconds=500)
        return cell.replace(microsecond=cell.microsecond // 1000 * 1000)
    return cell


def _is_filled(row: list[Any]) -> bool:
    return any(cell is not None for cell in row)


#: All formats; a file is read by the first that accepts its beginning and can open it.
FORMATS: tuple[type[TableFile], ...] = (
    ParquetFile,
    FeatherFile,
    OldFeatherFile,
    Workbook,
    JsonFile,
    CsvFile,
)
