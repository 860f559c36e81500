"""The options of every command that reads a CSV file."""

from __future__ import annotations

import argparse
from collections.abc import Collection

from bneuralt.tables.reading import Table, read_csv

_ESCAPES = {r"\t": "\t", "tab": "\t", "space": " "}


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reading the table (by default found out from the file)")
    group.add_argument("--delimiter", metavar="C", help="one character, or 'tab' or 'space'")
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line holds the names of the columns",
    )
    group.add_argument("--encoding", metavar="NAME", help="such as utf-8 or latin-1")
    group.add_argument("--decimal", choices=[".", ","], default=".", help="decimal point")


def read_table(path: str, args: argparse.Namespace, expect: Collection[str] = ()) -> Table:
    delimiter = _ESCAPES.get(args.delimiter, args.delimiter)
    return read_csv(
        path, delimiter=delimiter, header=args.header, encoding=args.encoding, expect=expect
    )
