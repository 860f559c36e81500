"""Write a card of a trained model: a page for people who decide on its use.

The page has scores with intervals, calibration, errors by group, effects, interactions and proofs.
If DATA.csv is the training table, the card is about the rows that `train` held out.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bneuralt.cli.errors import BAD_DATA, CommandError
from bneuralt.cli.table_options import add_table_arguments, read_file

if TYPE_CHECKING:
    from bneuralt._typing import IntArray
    from bneuralt.tables.csv_files import CsvTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    parser.add_argument("data", metavar="DATA.csv", help="rows with the target; - reads the input")
    parser.add_argument("--out", required=True, metavar="CARD.html", help="the page to write")
    parser.add_argument(
        "--group", metavar="COLUMN", help="any column of DATA.csv, by which errors are divided"
    )
    parser.add_argument("--title", metavar="TEXT", help="the heading of the page")
    add_table_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Write the card."""
    import numpy as np

    from bneuralt.cli.outputs import check_output, count
    from bneuralt.cli.trained_models import (
        held_out_rows,
        is_known,
        load_trained_model,
        stored_layout,
    )

    check_output(args.out, inputs=(args.data, args.model))
    model = load_trained_model(args.model)
    layout = stored_layout(model, args.model)
    table = read_file(args.data, args, layout=layout)
    if args.missing == "error":
        layout.check_no_missing(table)
    y = layout.labels(table, decimal=args.decimal)
    if y is None:
        raise CommandError(
            f"{args.data}: the column {layout.target!r}, which the model predicts, is missing: a "
            "card needs the target of each row.",
            BAD_DATA,
        )
    rows = held_out_rows(model, args.model, table, layout, y)
    if rows is None:
        rows = np.flatnonzero(is_known(y))
    X = layout.frame(table, decimal=args.decimal).take(rows)
    group = None if args.group is None else _Group(table, args.group, rows)
    try:
        model.card(
            X,
            np.array(y[rows].tolist()),
            args.out,
            group=group,
            title=args.title,
        )
    except ValueError as error:
        raise CommandError(f"{args.data}: {error}", BAD_DATA) from None
    print(f"Card of {count(len(rows), 'row')} written to {args.out}.")


class _Group(list[Any]):
    """The values of a column of the table, with its name: numbers, texts, None where missing."""

    def __init__(self, table: CsvTable, column: str, rows: IntArray) -> None:
        j = table.position(column)
        codes, texts = table.coded(j)
        cells: list[Any] = [text or None for text in texts]
        with suppress(ValueError):  # if it is not a column of numbers
            cells = [None if text is None else float(text) for text in cells]
        super().__init__(cells[code] for code in codes[rows].tolist())
        self.name = table.names[j]
