"""Train a model on a CSV file, report how good it is, and write it to a file.

Some rows are held out. The model is trained on the others and scored on the held-out rows; this
model is written. `bneuralt predict MODEL DATA` shows the same score. Text becomes categories, dates
become parts of the calendar and the time elapsed, and what missing values mean is learnt. Columns
that identify rows are left out.

A table is a file (CSV, which may be compressed, Parquet, Feather, JSON or xlsx), a folder, or a
pattern such as 'sales/*.parquet'. Several files that take more than a sixteenth of --max-memory are
read in blocks and may be larger than the memory: then there is no cross-validation, and at most
200,000 rows are held out.
"""

from __future__ import annotations

import argparse

from bneuralt.cli.errors import USAGE, CommandError
from bneuralt.cli.table_options import (
    add_memory_argument,
    add_table_arguments,
    csv_options,
    delimiter_of,
    is_in_blocks,
    max_bytes,
    open_files,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "data",
        metavar="DATA.csv",
        help="the table: a file, a folder, a pattern such as 'sales/*.parquet', or - for the "
        "standard input",
    )
    parser.add_argument(
        "--target",
        required=True,
        metavar="COLUMN",
        help="column to predict: its name, or its number (-1 is the last)",
    )
    parser.add_argument("--out", required=True, metavar="MODEL.json", help="the model file")
    parser.add_argument(
        "--task",
        choices=["auto", "classification", "regression"],
        default="auto",
        help="auto: classification if the target is text or has few distinct whole numbers",
    )
    parser.add_argument(
        "--forest",
        action="store_true",
        help="train a forest, the mean of several trees: larger, often slightly better",
    )
    parser.add_argument(
        "--readable",
        action="store_true",
        help="train a small tree to be read, of rounded weights: --set n_weights=readable",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a setting of the estimator, its growth or training, such as max_depth=4; repeatable",
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="ignore a column; repeatable",
    )
    parser.add_argument(
        "--categorical",
        action="append",
        default=[],
        metavar="COLUMN",
        help="treat a column of numbers as categories; repeatable",
    )
    parser.add_argument(
        "--numeric",
        action="append",
        default=[],
        metavar="COLUMN",
        help="treat a column of whole numbers as numbers, also if they look like codes; repeatable",
    )
    parser.add_argument(
        "--max-categories",
        type=int,
        default=None,
        metavar="N",
        help="reject text columns with more distinct values (default: no limit; rare values share "
        "one category)",
    )
    parser.add_argument(
        "--keep-ids",
        action="store_true",
        help="use columns that identify rows, such as running numbers",
    )
    parser.add_argument(
        "--test-fraction",
        type=_fraction,
        default=0.2,
        metavar="F",
        help="fraction of the rows to hold out (default 0.2; 0 for none)",
    )
    parser.add_argument(
        "--cv",
        type=_folds,
        default=5,
        metavar="FOLDS",
        help="folds of the cross-validation (default 5; 0 for none)",
    )
    parser.add_argument(
        "--seed",
        type=_seed,
        default=0,
        metavar="N",
        help="seed; the same seed gives the same model (default 0)",
    )
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="number of threads")
    parser.add_argument("--verbose", action="store_true", help="show the progress of training")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    add_memory_argument(parser)
    add_table_arguments(parser, missing=("learn", "drop", "error"))


def run(args: argparse.Namespace) -> None:
    """Train a model, write it, and print the report."""
    settings = [*args.settings, *(["n_weights=readable"] if args.readable else [])]
    if args.readable and args.forest:
        raise CommandError("--readable is for a single tree: omit it, or --forest.", USAGE)
    if args.readable and any(text.startswith("n_weights=") for text in args.settings):
        raise CommandError("--readable sets n_weights: omit it, or --set n_weights=….", USAGE)
    from dataclasses import replace

    import numpy as np

    from bneuralt.cli.outputs import check_output, count
    from bneuralt.tables.block_table import BLOCK_SHARE
    from bneuralt.tables.file_table import read_files
    from bneuralt.tables.kinds import decided
    from bneuralt.tables.table_layout import learn_layout

    check_output(args.out, inputs=(args.data,))
    names = [] if args.target.lstrip("-").isdigit() else [args.target]
    files = open_files(args.data, csv_options(args, names))
    limit = float("inf")
    if is_in_blocks(args.data, args.max_memory):
        limit = BLOCK_SHARE * max_bytes(args.max_memory)
    table = read_files("standard input" if args.data == "-" else args.data, files, limit)
    if table is None:
        from bneuralt.cli.block_training import train_from_blocks

        train_from_blocks(args, settings, files)
        return
    layout = learn_layout(
        table, args.target, task=args.task, categorical=args.categorical, drop=args.drop
    )
    layout = replace(
        layout,
        delimiter=delimiter_of(args) or "",
        encoding=args.encoding or "",
        decimal=args.decimal or "",
    )
    if args.missing == "error":
        layout.check_no_missing(table)
    y = layout.labels(table)
    assert y is not None

    # Imported after the checks of the files, because these imports take a second.
    from bneuralt.cli.model_fitting import split_table, train_and_report
    from bneuralt.cli.trained_models import check_model_output, usable_rows

    check_model_output(args.out, inputs=(args.data,))
    rows = usable_rows(layout, table, y, args.missing)
    if not rows.size:
        raise table.error("every row has missing values; use --missing learn.")
    X = decided(layout.frame(table), "keep" if args.keep_ids else "drop").take(rows)
    y = np.array(y[rows].tolist())
    parts = split_table(X, y, layout.task, layout.target, args.data, args.test_fraction, args.seed)
    categorical, numeric = (
        [table.names[table.position(column)] for column in listed]
        for listed in (args.categorical, args.numeric)
    )
    n_left = table.n_rows - len(rows)
    left_out = f"{count(n_left, 'row')} with missing values left out."
    train_and_report(
        args,
        settings,
        parts,
        (categorical, numeric),
        folds=args.cv,
        data={"file": table.source, "sha256": table.sha256},
        extra={
            "table": layout.to_dict(),
            "data_sha256": table.sha256,
            "split": {"seed": args.seed, "fraction": args.test_fraction, "missing": args.missing},
        },
        notes=[*layout.notes, *([left_out] if n_left else [])],
    )


def _fraction(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1)")
    return value


def _folds(text: str) -> int:
    value = int(text)
    if value < 0 or value == 1:
        raise argparse.ArgumentTypeError(f"{text} is neither 0 nor at least 2")
    return value


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"{text} is not in 0 to {2**32 - 1}")
    return value
