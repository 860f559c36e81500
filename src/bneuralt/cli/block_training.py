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
from bneuralt.fitting.target import numbers_in_texts
from bneuralt.tables.block_learning import joined
from bneuralt.tables.block_sources import Block, FileSource
from bneuralt.tables.block_table import BlockTable, open_table
from bneuralt.tables.columns import Column, DataFrame, Frame
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.file_table import position_in
from bneuralt.tables.targets import learn_target

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
        is_number = task == "regression"
        sample = _rows(train.sample(BASELINE_ROWS, args.seed), table, is_number)
        held_out = None if test is None else _rows(test.head(2 * MOST_HELD_OUT), table, is_number)
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


def _rows(rows: Any, table: BlockTable, is_number: bool) -> tuple[Frame, Array]:
    """Return the features and the target of some rows."""
    frame = rows if isinstance(rows, Frame) else DataFrame(rows)
    values = Block(frame).array(table.target[0])
    y = np.array(values.tolist()) if values.dtype.kind == "O" else values
    return frame.select(table.names).typed(), numbers_in_texts(y) if is_number else y


def _target(table: BlockTable, task: str) -> tuple[str, int, dict[str, int] | None]:
    """Return the task, the number of rows, and the number of rows of each class."""
    counts: Counter[str] = Counter()
    parts: list[Column] = []
    n_rows = 0
    for block in table.select(()).blocks():
        column = block.columns(table.target).columns[0]
        n_rows += len(column)
        if len(counts) <= MOST_LABELS:
            parts.append(column.take(np.unique(column.values, return_index=True)[1]))
            text = column.as_text()
            counts.update(dict(zip(text.texts, text.counts().astype(int).tolist(), strict=True)))
    if n_rows < 2:
        raise TableError(f"the table has {count(n_rows, 'row')}; at least 2 are needed.")
    kind = "text" if any(part.kind == "text" for part in parts) else ""
    distinct = joined([part.as_text() if kind else part for part in parts], kind)
    if task == "auto":
        task = learn_target(distinct, table.target[0])[0].task
    return task, n_rows, dict(sorted(counts.items())) if task == "classification" else None
