"""Parquet, Feather and CSV files as batches of Arrow, which are read one after the other."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from bneuralt.tables.columns import MISSING_TEXTS
from bneuralt.tables.csv_files import (
    SAMPLE,
    TableError,
    encoding_of,
    guess_delimiter,
    is_header,
)

__all__ = ["ArrowFile", "kind_of_type", "naming", "open_files", "slices"]

#: Bytes of a CSV file that are parsed at a time.
CSV_BYTES = 2**22

#: How compressed files begin, and what opens them.
COMPRESSED: dict[bytes, Callable[[str, str], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}

#: What readers of damaged files raise; the errors of Arrow are subclasses.
DAMAGED = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)


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
    except (TableError, FileNotFoundError, PermissionError):
        raise
    except DAMAGED as error:
        text = " ".join(str(error).split())
        raise TableError(
            f"{place}: cannot be read, it may be damaged or incomplete: {text:.300}"
        ) from None


def slices(batches: Iterable[Any], n_rows: int) -> Iterator[tuple[Any, int]]:
    """Yield the rows of record batches as small tables, with the position of their first row."""
    table, first_row = pyarrow().Table, 0
    for batch in batches:
        for start in range(0, batch.num_rows, n_rows):
            part = table.from_batches([batch.slice(start, n_rows)])
            yield part, first_row
            first_row += part.num_rows


@dataclass(frozen=True, eq=False)
class ArrowFile:
    """A file that Arrow reads.

    Attributes
    ----------
    path : str
    types : dict
        The type of each column, by its name.
    """

    path: str
    types: dict[str, Any]

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield some columns in record batches, of `n_rows` rows where the format allows it."""
        raise NotImplementedError


def open_files(paths: Sequence[str]) -> list[ArrowFile]:
    """Return files that have the same columns, in any order; empty ones are left out.

    Raises
    ------
    TableError
        A file is damaged, or its columns differ from those of the first one.
    """
    files = [file for path in paths if (file := _open_file(path)) is not None]
    if not files:
        raise TableError(f"{paths[0]}: the file is empty.")
    _agree_on_types([file for file in files if isinstance(file, CsvFile)])
    for file in files[1:]:
        _check_columns(file, files[0])
    return files


def _open_file(path: str) -> ArrowFile | None:
    """Return a file after a look at its beginning; None if it is empty."""
    with naming(path):
        with open(path, "rb") as stream:
            beginning = stream.read(8)
        if not beginning:
            return None
        if beginning.startswith(b"PAR1"):
            return ParquetFile.open(path)
        if beginning.startswith(b"ARROW1"):
            return FeatherFile.open(path)
        if beginning.startswith(b"FEA1"):
            raise TableError(
                f"{path}: is a Feather file of version 1, which cannot be read in blocks; write it "
                "again as version 2, or as Parquet."
            )
        return CsvFile.open(path, beginning)


def kind_of_type(kind: Any) -> str:
    """Return what a type of Arrow means for a model."""
    types = pyarrow(".types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return "missing"
    if types.is_temporal(kind):
        return "durations" if types.is_duration(kind) or types.is_time(kind) else "dates"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "numbers"
    return "numbers" if types.is_decimal(kind) else "text"


def _check_columns(file: ArrowFile, first: ArrowFile) -> None:
    """Refuse a file whose columns are not those of the first one."""
    for one, other in ((file, first), (first, file)):
        absent = next((name for name in other.types if name not in one.types), None)
        if absent is not None:
            raise TableError(
                f"{one.path}: there is no column {absent!r}, which {other.path} has; all files "
                "need the same columns."
            )
    for name, kind in file.types.items():
        kinds = {kind_of_type(kind), kind_of_type(first.types[name])} - {"missing"}
        if len(kinds) > 1:
            raise TableError(
                f"{file.path}: column {name!r} has {kind_of_type(kind)} ({kind}), and "
                f"{kind_of_type(first.types[name])} ({first.types[name]}) in {first.path}; convert "
                "one of them."
            )


def _types(schema: Any) -> dict[str, Any]:
    """Return the types of columns, without those in which pandas stores the index of a frame."""
    fields = zip(schema.names, schema.types, strict=True)
    return {name: kind for name, kind in fields if not re.fullmatch(r"__index_level_\d+__", name)}


class ParquetFile(ArrowFile):
    """A Parquet file."""

    @classmethod
    def open(cls, path: str) -> ParquetFile:
        """Read the schema of a file."""
        with cls._reader(path) as reader:
            return cls(path, _types(reader.schema_arrow))

    @staticmethod
    def _reader(path: str) -> Any:
        # Buffered, so that a column of a large group of rows is not read as a whole.
        return pyarrow(".parquet").ParquetFile(path, pre_buffer=False, buffer_size=2**20)

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield some columns in record batches."""
        with self._reader(self.path) as reader:
            for batch in reader.iter_batches(n_rows, columns=list(columns), use_threads=False):
                yield batch.select(list(columns))


class FeatherFile(ArrowFile):
    """A Feather file of version 2, which is a file of Arrow."""

    @classmethod
    def open(cls, path: str) -> FeatherFile:
        """Read the schema of a file."""
        with pyarrow().OSFile(path) as stream:
            return cls(path, _types(pyarrow(".ipc").open_file(stream).schema))

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield some columns in the record batches of the file."""
        with pyarrow().OSFile(self.path) as stream:
            reader = pyarrow(".ipc").open_file(stream)
            for i in range(reader.num_record_batches):
                yield reader.get_batch(i).select(list(columns))


@dataclass(frozen=True, eq=False)
class CsvFile(ArrowFile):
    """A CSV file, which may be compressed."""

    delimiter: str = ","
    encoding: str = "utf-8"
    compression: bytes = b""

    @classmethod
    def open(cls, path: str, beginning: bytes) -> CsvFile:
        """Find out the form of a file, and the types of its columns from all its rows."""
        compression = next((b for b in COMPRESSED if beginning.startswith(b)), b"")
        file = cls(path, {}, compression=compression)
        with file._stream() as stream:
            sample = stream.read(SAMPLE)
        if b"\0" in sample:
            raise TableError(f"{path}: is not a text file; save the table as CSV or Parquet.")
        # The last character may be cut off.
        is_unicode = encoding_of(sample[:-4] if len(sample) > 4 else sample) in ("ascii", "utf-8")
        encoding = "utf-8" if is_unicode else "latin-1"
        text = sample.decode(encoding, errors="replace").removeprefix("\ufeff")
        delimiter = guess_delimiter(text)
        header = text.lstrip("\r\n").split("\n")[0].split(delimiter)
        if not is_header([cell.strip().strip('"') for cell in header], ()):
            raise TableError(
                f"{path}: the first line has numbers instead of the names of the columns; add a "
                "line of names."
            )
        file = replace(file, delimiter=delimiter, encoding=encoding)
        return replace(file, types=file._learn_types())

    def _stream(self) -> Any:
        opened: Callable[[str, str], Any] = COMPRESSED.get(self.compression, open)
        return opened(self.path, "rb")

    def _reader(self, types: dict[str, Any], columns: Sequence[str] | None = None) -> Any:
        csv = pyarrow(".csv")
        return csv.open_csv(
            self._stream(),
            csv.ReadOptions(block_size=CSV_BYTES, encoding=self.encoding, use_threads=False),
            csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=[*MISSING_TEXTS, *map(str.upper, MISSING_TEXTS), "NaN", "None", "Null"],
                strings_can_be_null=True,
            ),
        )

    def _learn_types(self) -> dict[str, Any]:
        """Return the types of columns: those of the first rows, or others if later rows need them.

        Arrow stops at a cell that is not of the type of its column. Then the type becomes a wider
        one, and the file is read again.
        """
        types: dict[str, Any] = {}
        while True:
            try:
                with self._reader(types) as reader:
                    types = {**_types(reader.schema), **types}
                    for _ in reader:
                        pass
                return types
            except pyarrow().ArrowInvalid as error:
                column = re.search(r"In CSV column #(\d+).*CSV conversion error", str(error))
                if column is None:
                    raise
                with self._reader(dict.fromkeys(types, pyarrow().string())) as reader:
                    names = reader.schema.names
                name = names[int(column[1])]
                types[name] = _wider(types.get(name))

    def batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """Yield some columns in record batches."""
        types = {name: self.types[name] for name in columns}
        with self._reader(types, list(columns)) as reader:
            yield from reader


def _wider(kind: Any) -> Any:
    """Return a type that also holds values that this one does not hold."""
    arrow = pyarrow()
    if kind is not None and (arrow.types.is_null(kind) or arrow.types.is_integer(kind)):
        return arrow.float64()
    return arrow.string()


def _agree_on_types(files: Sequence[CsvFile]) -> None:
    """Read a column that is text in one CSV file as text in all of them."""
    for name in {name for file in files for name in file.types}:
        kinds = {file.types[name] for file in files if name in file.types}
        if len({kind_of_type(kind) for kind in kinds} - {"missing"}) > 1:
            for file in files:
                if name in file.types:
                    file.types[name] = pyarrow().string()
