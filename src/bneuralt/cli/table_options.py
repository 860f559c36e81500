"""Options of all commands that read a table."""

from __future__ import annotations

import argparse
import glob
import os
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from bneuralt.cli.errors import CommandError

if TYPE_CHECKING:
    from bneuralt.tables.block_sources import FileSource
    from bneuralt.tables.csv_files import CsvOptions
    from bneuralt.tables.file_table import FileTable
    from bneuralt.tables.table_layout import TableLayout

__all__ = [
    "add_memory_argument",
    "add_table_arguments",
    "csv_options",
    "delimiter_of",
    "is_in_blocks",
    "max_bytes",
    "open_files",
    "read_file",
]

_ESCAPES = {r"\t": "\t", "tab": "\t", "space": " "}


def add_table_arguments(
    parser: argparse.ArgumentParser, missing: tuple[str, ...] = ("learn", "error")
) -> None:
    """Add the options that say how to read a table; `missing` are the values of ``--missing``."""
    group = parser.add_argument_group("reading the table (by default as in training, or detected)")
    group.add_argument("--delimiter", metavar="C", help="one character, or 'tab' or 'space'")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line contains the names of the columns",
    )
    group.add_argument("--encoding", metavar="NAME", help="for example utf-8 or latin-1")
    group.add_argument(
        "--missing",
        choices=missing,
        default="learn",
        help="missing values: learn what they mean (default), "
        + ("drop the rows, " if "drop" in missing else "")
        + "or end with an error",
    )
    group.add_argument("--decimal", choices=[".", ","], help="decimal point")


def add_memory_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that limits the memory of tables in blocks."""
    parser.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="memory for a table that is read in blocks, such as 500MB (default 1GB); a folder is "
        "read in blocks if it takes more than a sixteenth of that, and with this option a single "
        "file too",
    )


def is_in_blocks(path: str, max_memory: str | None) -> bool:
    """Return whether a table may be read in blocks: several files, or a limit of the memory."""
    return (
        max_memory is not None
        or os.path.isdir(path)
        or (glob.has_magic(path) and not os.path.exists(path))
    )


def max_bytes(max_memory: str | None) -> int:
    """Return the number of bytes of ``--max-memory``."""
    from bneuralt.tables.block_table import bytes_of
    from bneuralt.tables.csv_files import TableError

    try:
        return bytes_of(max_memory or "1GB")
    except ValueError as error:
        raise TableError(f"{error}.") from None


def open_files(path: str, options: CsvOptions) -> FileSource:
    """Open a file, a folder, a pattern, or the standard input ("-")."""
    from bneuralt.tables.block_files import open_file
    from bneuralt.tables.block_sources import FileSource
    from bneuralt.tables.csv_files import TableError

    try:
        if path != "-":
            return FileSource(path, options)
        file = open_file("standard input", options, sys.stdin.buffer.read())
    except ImportError as error:
        raise CommandError(f"{path}: {error}.") from None
    except FileNotFoundError as error:
        raise TableError(str(error)) from None
    if file is None:
        raise TableError("standard input: the file is empty.")
    return FileSource(path, files=[file])


def delimiter_of(args: argparse.Namespace) -> str | None:
    """Return the delimiter of the options; None if they have none."""
    delimiter: str | None = vars(args).get("delimiter")
    return delimiter if delimiter is None else _ESCAPES.get(delimiter, delimiter)


def csv_options(
    args: argparse.Namespace, expect: Collection[str] = (), layout: TableLayout | None = None
) -> CsvOptions:
    """Return how CSV files are read: as the options say, or else as the training table was read.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `add_table_arguments`.
    expect : collection of str
        Names of columns that the command needs.
    layout : TableLayout, optional
        The layout of the model. Its delimiter, encoding and decimal point are the defaults of the
        options, and its columns are expected.
    """
    from bneuralt.tables.csv_files import CsvOptions

    given, delimiter = vars(args), delimiter_of(args)  # `export` has none of these options
    encoding, decimal = given.get("encoding"), given.get("decimal")
    if layout is not None:
        delimiter = delimiter or layout.delimiter or None
        encoding = encoding or layout.encoding or None
        decimal = decimal or layout.decimal or None
        expect = layout.needed_names
    return CsvOptions(delimiter, given.get("header"), encoding, decimal, expect)


def read_file(
    path: str,
    args: argparse.Namespace,
    expect: Collection[str] = (),
    layout: TableLayout | None = None,
) -> FileTable:
    """Read a file, or all files of a folder or pattern, into memory; see `csv_options`."""
    from bneuralt.tables.file_table import read_files

    name = "standard input" if path == "-" else path
    table = read_files(name, open_files(path, csv_options(args, expect, layout)))
    assert table is not None
    return table
