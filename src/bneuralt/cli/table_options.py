"""Options of all commands that read a table."""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from bneuralt.cli.errors import CommandError

if TYPE_CHECKING:
    from bneuralt.tables.block_table import BlockTable
    from bneuralt.tables.csv_files import CsvTable
    from bneuralt.tables.table_layout import TableLayout

__all__ = [
    "add_memory_argument",
    "add_table_arguments",
    "delimiter_of",
    "is_in_blocks",
    "open_blocks",
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
        help="memory for a table that is read in blocks, such as 500MB (default 1GB); with this "
        "option, a single file is read in blocks too",
    )


def is_in_blocks(path: str, max_memory: str | None) -> bool:
    """Return whether a table is read in blocks: several files, or any if the memory is limited."""
    return (
        max_memory is not None
        or os.path.isdir(path)
        or (glob.has_magic(path) and not os.path.exists(path))
    )


def open_blocks(path: str, target: str | None, max_memory: str | None) -> BlockTable:
    """Open a table that is read in blocks.

    Parameters
    ----------
    path : str
        A file, a folder or a pattern.
    target : str or None
        Name of the target, or its number counted from 1; -1 is the last column.
    max_memory : str or None
        The value of ``--max-memory``.
    """
    from bneuralt.tables.block_table import open_table
    from bneuralt.tables.csv_files import TableError

    try:
        table = open_table(path, max_memory=max_memory or "1GB")
        if target is None:
            return table
        if target not in table.names and re.fullmatch(r"-?\d+", target):
            number = int(target)
            if 1 <= abs(number) <= len(table.names):
                target = table.names[number - 1 if number > 0 else number]
        return open_table(path, target, max_memory=max_memory or "1GB")
    except ImportError as error:
        raise CommandError(f"{path}: {error}.") from None
    except TableError:
        raise
    except (ValueError, FileNotFoundError) as error:
        raise TableError(f"{error}" if path in str(error) else f"{path}: {error}.") from None


def delimiter_of(args: argparse.Namespace) -> str | None:
    """Return the delimiter of the options; None if they have none."""
    delimiter: str | None = _ESCAPES.get(args.delimiter, args.delimiter)
    return delimiter


def read_file(
    path: str,
    args: argparse.Namespace,
    expect: Collection[str] = (),
    layout: TableLayout | None = None,
) -> CsvTable:
    """Read a table as the options say, or else as the training table of a model was read.

    Parameters
    ----------
    path : str
        The file; ``"-"`` is the standard input.
    args : argparse.Namespace
        The options of `add_table_arguments`.
    expect : collection of str
        Names of columns that the command needs.
    layout : TableLayout, optional
        The layout of the model. Its delimiter and encoding are the defaults of the options, and its
        columns are expected.

    Returns
    -------
    CsvTable
        The cells as text.
    """
    from bneuralt.tables.csv_files import read_csv

    delimiter, encoding = delimiter_of(args), args.encoding
    if layout is not None:
        delimiter = delimiter or layout.delimiter or None
        encoding = encoding or layout.encoding or None
        expect = layout.column_names
    return read_csv(path, delimiter=delimiter, header=args.header, encoding=encoding, expect=expect)
