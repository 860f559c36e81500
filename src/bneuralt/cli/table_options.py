"""Options of all commands that read a table."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bneuralt.tables.csv_files import CsvTable
    from bneuralt.tables.table_layout import TableLayout

__all__ = ["add_table_arguments", "delimiter_of", "read_file"]

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
