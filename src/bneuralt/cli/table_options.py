"""Options of all commands that read a CSV file."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bneuralt.tables.csv_files import CsvTable

__all__ = ["add_table_arguments", "read_table"]

_ESCAPES = {r"\t": "\t", "tab": "\t", "space": " "}


def add_table_arguments(
    parser: argparse.ArgumentParser, missing: tuple[str, ...] = ("learn", "error")
) -> None:
    """Add the options that say how to read a table; `missing` are the values of ``--missing``."""
    group = parser.add_argument_group("reading the table (detected from the file by default)")
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
    group.add_argument("--decimal", choices=[".", ","], default=".", help="decimal point")


def read_table(path: str, args: argparse.Namespace, expect: Collection[str] = ()) -> CsvTable:
    """Read a CSV file as the options say.

    Parameters
    ----------
    path : str
        The file; ``"-"`` is the standard input.
    args : argparse.Namespace
        The options of `add_table_arguments`.
    expect : collection of str
        Names of columns that the command needs.

    Returns
    -------
    CsvTable
        The cells as text.
    """
    from bneuralt.tables.csv_files import read_csv

    delimiter = _ESCAPES.get(args.delimiter, args.delimiter)
    return read_csv(
        path, delimiter=delimiter, header=args.header, encoding=args.encoding, expect=expect
    )
