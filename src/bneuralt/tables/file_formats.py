"""Convert compressed files, JSON, Parquet, Feather and Excel workbooks to CSV."""

from __future__ import annotations

import bz2
import csv
import datetime as dt
import gzip
import importlib
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["FormatError", "as_csv"]

#: How compressed files begin, what expands them, and the program that tests them.
_COMPRESSED: dict[bytes, tuple[Callable[[bytes], bytes], str]] = {
    b"\x1f\x8b": (gzip.decompress, "gunzip"),
    b"BZh": (bz2.decompress, "bunzip2"),
    b"\xfd7zXZ\x00": (lzma.decompress, "unxz"),
}

_EXTRA = 'run pip install "bneuralt[files]", or save the table as CSV.'


class FormatError(ValueError):
    """A file cannot be converted; the message completes "FILE: ..."."""


def as_csv(data: bytes) -> tuple[bytes, bool]:
    r"""Return a file as CSV, and whether it is one of another format with names of columns.

    Parameters
    ----------
    data : bytes
        Content of a file of any of the formats, which are recognised by their first bytes.

    Returns
    -------
    data : bytes
        CSV: UTF-8 and commas if the file had another format, otherwise the file as it is.
    has_names : bool
        Whether the format has names of columns, which are the first line.

    Raises
    ------
    FormatError
        The file is damaged, or of a format that cannot be read.

    Examples
    --------
    >>> as_csv(b'{"a": 1.5, "b": "x"}\n{"b": "y"}\n')
    (b'a,b\n1.5,x\n,y\n', True)
    """
    for beginning, (expand, program) in _COMPRESSED.items():
        if data.startswith(beginning):
            try:
                return as_csv(expand(data))
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                if isinstance(error, FormatError):
                    raise
                raise FormatError(f"cannot be decompressed; test it with {program} -t.") from None
    if data.startswith(b"PAR1"):
        return _from_arrow(data, "Parquet", "pyarrow.parquet"), True
    if data.startswith((b"ARROW1", b"FEA1")):
        return _from_arrow(data, "Feather", "pyarrow.feather"), True
    if data.startswith(b"PK\x03\x04"):
        return _from_workbook(data), False
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise FormatError("is a workbook of an old format; save it as .xlsx or CSV first.")
    records = _json_records(data)
    return (data, False) if records is None else (_from_records(records), True)


def _from_arrow(data: bytes, title: str, module: str) -> bytes:
    try:
        arrow, reader = importlib.import_module("pyarrow"), importlib.import_module(module)
        writer = importlib.import_module("pyarrow.csv")
    except ImportError:
        raise FormatError(f"is a {title} file, which needs pyarrow: {_EXTRA}") from None
    out = io.BytesIO()
    try:
        table = reader.read_table(arrow.BufferReader(data))
        # pandas stores the index of a frame as such a column.
        names = [n for n in table.column_names if not re.fullmatch(r"__index_level_\d+__", n)]
        columns = [_csv_column(arrow, table.column(name)) for name in names]
        writer.write_csv(arrow.table(columns, names=names), out)
    except (arrow.ArrowException, OSError) as error:
        raise FormatError(f"cannot be read as a {title} file: {error}") from None
    return out.getvalue()


def _csv_column(arrow: Any, column: Any) -> Any:
    """Return a column of Arrow as one of a type that CSV has, without loss."""
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_float16(kind) or types.is_float32(kind):
        return column.cast(arrow.float64())  # whose digits are those of the exact value
    if types.is_timestamp(kind) and kind.tz is not None:
        return importlib.import_module("pyarrow.compute").local_timestamp(column)
    if types.is_duration(kind):
        microseconds = column.cast(arrow.duration("us"), safe=False).cast(arrow.int64())
        return importlib.import_module("pyarrow.compute").divide(
            microseconds.cast(arrow.float64()), 1e6
        )
    if types.is_null(kind) or types.is_decimal(kind):
        return column.cast(arrow.string())
    return column


def _from_workbook(data: bytes) -> bytes:
    try:
        is_workbook = "xl/workbook.xml" in zipfile.ZipFile(io.BytesIO(data)).namelist()
    except zipfile.BadZipFile:
        is_workbook = False
    if not is_workbook:
        raise FormatError("is a zip file or a damaged workbook; save the table as CSV first.")
    try:
        openpyxl = importlib.import_module("openpyxl")
    except ImportError:
        raise FormatError(f"is an Excel workbook, which needs openpyxl: {_EXTRA}") from None
    try:
        workbook = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows = [list(row) for row in workbook.worksheets[0].iter_rows(values_only=True)]
    except (KeyError, IndexError, ValueError, TypeError, OSError, SyntaxError) as error:
        raise FormatError(f"cannot be read as a workbook: {error}; save it as CSV.") from None
    # Formatted cells without values widen the rows.
    width = max(
        (j + 1 for row in rows for j, cell in enumerate(row) if cell is not None), default=0
    )
    cut = ([*row[:width], *[None] * (width - len(row))] for row in rows)
    return _csv_text(row for row in cut if any(cell is not None for cell in row))


def _json_records(data: bytes) -> list[Any] | None:
    """Return the objects of JSON lines, or of a JSON list; None if the file is something else."""
    start = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start not in (b"{", b"["):
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    if start == b"[":
        try:
            records = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return _checked_records(list(enumerate(records, 1)), "entry")
    records = []
    for i, line in lines:
        try:
            records.append((i, json.loads(line)))
        except (ValueError, RecursionError):
            if not records:
                _refuse_single_object(text)
                return None
            raise FormatError(
                f"line {i} is not a JSON object, and the lines above are; correct the line."
            ) from None
    return _checked_records(records, "line")


def _refuse_single_object(text: str) -> None:
    """Refuse a file that is one JSON object over several lines."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return
    raise FormatError("is a single JSON object; write one object per line and row.")


def _checked_records(records: list[tuple[int, Any]], unit: str) -> list[dict[str, Any]]:
    for i, record in records:
        if not isinstance(record, dict):
            raise FormatError(f"{unit} {i} is not a JSON object, as is needed for each row.")
        for name, value in record.items():
            if isinstance(value, (dict, list)):
                kind = "an object" if isinstance(value, dict) else "a list"
                raise FormatError(
                    f"{unit} {i}: {name!r} is {kind}; cells must be texts, numbers, true, false or "
                    "null."
                )
    return [record for _, record in records]


def _from_records(records: list[dict[str, Any]]) -> bytes:
    names = list(dict.fromkeys(name for record in records for name in record))
    return _csv_text([names, *([record.get(name) for name in names] for record in records)])


def _csv_text(rows: Iterable[Iterable[Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue().encode("utf-8", errors="replace")


def _cell(value: Any) -> str:
    """Return a value as the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    if isinstance(value, dt.timedelta):
        return repr(value.total_seconds())
    return repr(value) if isinstance(value, float) else str(value)
