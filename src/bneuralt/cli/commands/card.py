"""Write a card of a trained model: a page for people who decide on its use.

The page has scores with intervals, calibration, errors by group, effects, interactions and proofs.
If DATA.csv is the training table, the card is about the rows that `train` held out.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bneuralt.cli.table_options import add_table_arguments

if TYPE_CHECKING:
    from bneuralt._typing import IntArray
    from bneuralt.tables.file_table import FileTable


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
    from bneuralt.cli.trained_models import ModelTable, is_known, load_trained_model

    check_output(args.out, inputs=(args.data, args.model))
    model = load_trained_model(args.model)
    data = ModelTable.read(model, args.model, args.data, args)
    y, rows, table = data.target("a card needs the target of each row"), data.held_out, data.table
    if rows is None:
        rows = np.flatnonzero(is_known(y))
    group = None if args.group is None else _Group(table, table.position(args.group), rows)
    try:
        model.card(*data.rows(rows), args.out, group=group, title=args.title)
    except ValueError as error:
        raise data.misfit(error) from None
    print(f"Card of {count(len(rows), 'row')} written to {args.out}.")


class _Group(list[Any]):
    """The values of a column of the table, with its name: numbers, texts, None where missing."""

    def __init__(self, table: FileTable, position: int, rows: IntArray) -> None:
        column = table.column(position).take(rows)
        if column.kind == "number":
            values = [None if value != value else value for value in column.values.tolist()]
        else:
            text = column.as_text()
            labels = [*text.texts, None]
            values = [labels[code] for code in text.values.tolist()]
        super().__init__(values)
        self.name = table.names[position]
