"""The work of `bneuralt train` for a table that is read in blocks."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from bneuralt._typing import Array
from bneuralt.cli.errors import BAD_DATA, USAGE, CommandError
from bneuralt.cli.model_fitting import (
    SplitTable,
    check_single_prediction,
    fit_and_score,
    make_model,
    set_columns,
)
from bneuralt.cli.outputs import StatusLine, count
from bneuralt.cli.summary import train_report
from bneuralt.cli.table_options import max_bytes
from bneuralt.cli.trained_models import check_model_output, save_trained_model
from bneuralt.tables.block_sources import Block, FileSource
from bneuralt.tables.block_table import BlockTable, open_table
from bneuralt.tables.columns import DataFrame, Frame
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.file_table import position_in
from bneuralt.tables.targets import MAX_INTEGER_CLASSES

__all__ = ["train_from_blocks"]

#: The largest number of rows that are held out.
MOST_HELD_OUT = 200_000

#: Number of training rows from which the best constant prediction is computed.
BASELINE_ROWS = 100_000

#: More labels than this are not counted: the target is not one of classes.
MOST_LABELS = 1_000

#: Options that are for tables in memory, with their default values.
NOT_FOR_BLOCKS = {"missing": "learn", "max_categories": None}


def train_from_blocks(args: argparse.Namespace, settings: Sequence[str], files: FileSource) -> None:
    """Train a model, write it, and print the report.

    Parameters
    ----------
    args : argparse.Namespace
        The arguments of `bneuralt train`.
    settings : sequence of str
        Settings of the estimator, each of the form ``NAME=VALUE``.
    files : FileSource
    """
    for option, default in NOT_FOR_BLOCKS.items():
        if getattr(args, option) != default:
            raise CommandError(
                f"--{option.replace('_', '-')}: is not possible for a table that is read in "
                "blocks; omit the option, or convert the files first.",
                USAGE,
            )
    check_model_output(args.out, inputs=())
    try:
        target = _name(args.target, files.names)
        table = open_table(files, target, max_memory=max_bytes(args.max_memory))
        table = table.without([_name(column, files.names) for column in args.drop])
        categorical = [_name(column, files.names) for column in args.categorical]
        numeric = [_name(column, files.names) for column in args.numeric]
        table.select(categorical + numeric)
    except ValueError as error:
        raise CommandError(f"{args.data}: {error}.", BAD_DATA) from None
    if not table.names:
        raise CommandError(f"{args.data}: no column is left to predict from.", BAD_DATA)
    with StatusLine(args.verbose) as status:
        status("reading the target")
        task, n_rows, labels = _target(table, args.task)
        model = make_model(
            task,
            settings,
            forest=args.forest,
            seed=args.seed,
            n_jobs=args.jobs,
            verbose=args.verbose,
        )
        check_single_prediction(model)
        set_columns(model, categorical, numeric, args.keep_ids)
        share = min(args.test_fraction, MOST_HELD_OUT / n_rows)
        train, test = table.split(share, args.seed) if share else (table, None)
        sample = _rows(train.sample(BASELINE_ROWS, args.seed), table)
        held_out = None if test is None else _rows(test.head(2 * MOST_HELD_OUT), table)
        parts = SplitTable(task, target, train, None, sample, held_out, n_rows, labels)
        report = fit_and_score(
            model, parts, folds=0, seed=args.seed, has_settings=bool(settings), status=status
        )
    report["data"] = {"file": args.data, **report["data"]}
    report["model"]["file"] = args.out
    scores = report["held_out"]["scores"] if report["held_out"] else None
    save_trained_model(model, args.out, {"held_out_scores": scores})
    print(json.dumps(report, indent=2) if args.json else train_report(report))


def _name(column: str, names: Sequence[str]) -> str:
    """Return the name of a column, which may be its number."""
    position = position_in(names, column)
    return column if position is None else names[position]


def _rows(rows: Any, table: BlockTable) -> tuple[Frame, Array]:
    """Return the features and the target of some rows."""
    frame = rows if isinstance(rows, Frame) else DataFrame(rows)
    values = Block(frame).array(table.target[0])
    y = np.array(values.tolist()) if values.dtype.kind == "O" else values
    return frame.select(table.names).typed(), y


def _target(table: BlockTable, task: str) -> tuple[str, int, dict[str, int] | None]:
    """Return the task, the number of rows, and the number of rows of each class."""
    counts: Counter[Any] = Counter()
    n_rows, is_whole, is_number = 0, True, True
    for block in table.select(()).blocks():
        values = block.array(table.target[0])
        n_rows += len(values)
        is_number = is_number and values.dtype.kind in "iuf"
        if values.dtype.kind == "f":
            is_whole = is_whole and bool(np.all(values == np.round(values)))
        if len(counts) <= MOST_LABELS:
            distinct = zip(*np.unique(values.astype(str), return_counts=True), strict=True)
            counts.update({str(label): int(n) for label, n in distinct})
    if n_rows < 2:
        raise TableError(f"the table has {count(n_rows, 'row')}; at least 2 are needed.")
    is_few = is_whole and len(counts) <= MAX_INTEGER_CLASSES
    if task == "auto":
        task = "regression" if is_number and not is_few else "classification"
    return task, n_rows, dict(sorted(counts.items())) if task == "classification" else None
