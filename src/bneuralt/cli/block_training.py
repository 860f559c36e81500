"""The work of `bneuralt train` for a table that is read in blocks."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from bneuralt._typing import Array
from bneuralt.cli.errors import BAD_DATA, USAGE, CommandError
from bneuralt.cli.model_fitting import SplitTable, train_and_report
from bneuralt.cli.outputs import StatusLine, count
from bneuralt.cli.table_options import max_bytes
from bneuralt.cli.trained_models import check_model_output
from bneuralt.fitting.target import numbers_in_texts
from bneuralt.tables.block_learning import joined
from bneuralt.tables.block_sources import Block, FileSource
from bneuralt.tables.block_table import BlockTable, open_table
from bneuralt.tables.cells import concatenated
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.file_table import position_in
from bneuralt.tables.row_hashes import row_hashes
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
        look = _FirstLook(table, args.seed)
        task = look.task() if args.task == "auto" else args.task
        share = min(args.test_fraction, MOST_HELD_OUT / look.n_rows)
        train = table.split(share, args.seed)[0] if share else table
        is_number = task == "regression"
        sample = look.rows(share, False, is_number)
        held_out = look.rows(share, True, is_number) if share else None
        labels = None if is_number else dict(sorted(look.labels.items()))
    parts = SplitTable(task, target, train, None, sample, held_out, look.n_rows, labels)
    named = categorical, numeric
    train_and_report(args, settings, parts, named, data={"file": args.data}, extra={})


def _name(column: str, names: Sequence[str]) -> str:
    """Return the name of a column, which may be its number."""
    position = position_in(names, column)
    return column if position is None else names[position]


class _FirstLook:
    """What one pass over a table shows: its target, and a random sample of its rows.

    Parameters
    ----------
    table : BlockTable
    seed : int
        The rows of the sample are those with the lowest hashes of this seed.

    Attributes
    ----------
    n_rows : int
    labels : Counter
        Number of rows of each text of the target, while there are not too many.
    """

    def __init__(self, table: BlockTable, seed: int) -> None:
        self._table = table
        self.n_rows, self.labels = 0, Counter[str]()
        self._targets: list[Column] = []
        self._parts: list[tuple[Array, Frame]] = []
        limit = np.uint64(2**64 - 1)
        for block in table.blocks():
            self._count(block.columns(table.target).columns[0])
            hashes = row_hashes(seed, block.start, len(block.frame))
            rows = np.flatnonzero(hashes <= limit)
            self._parts.append((hashes[rows], block.frame.take(rows)))
            if sum(len(part[0]) for part in self._parts) > 2 * (MOST_HELD_OUT + BASELINE_ROWS):
                limit = self._compact()
        if self.n_rows < 2:
            raise TableError(f"the table has {count(self.n_rows, 'row')}; at least 2 are needed.")
        self._compact()

    def _count(self, column: Column) -> None:
        self.n_rows += len(column)
        if len(self.labels) <= MOST_LABELS:
            self._targets.append(column.take(np.unique(column.values, return_index=True)[1]))
            text = column.as_text()
            counts = text.counts().astype(int).tolist()
            self.labels.update(dict(zip(text.texts, counts, strict=True)))

    def _compact(self) -> Any:
        """Keep the rows with the lowest hashes, in their order, and return the largest of these."""
        hashes = np.concatenate([part[0] for part in self._parts])
        rows = np.sort(np.argsort(hashes)[: MOST_HELD_OUT + BASELINE_ROWS])
        frame = concatenated([part[1] for part in self._parts]).take(rows)
        self._parts = [(hashes[rows], frame)]
        return hashes[rows].max()

    def task(self) -> str:
        """Return the task that the values of the target suggest."""
        kind = "text" if any(part.kind == "text" for part in self._targets) else ""
        parts = [part.as_text() if kind else part for part in self._targets]
        return learn_target(joined(parts, kind), self._table.target[0])[0].task

    def rows(self, fraction: float, is_held_out: bool, is_number: bool) -> tuple[Frame, Array]:
        """Return features and targets of rows that are held out, or of some that are not."""
        hashes, frame = self._parts[0]
        is_below = hashes < np.uint64(int(fraction * 2**64))
        chosen = np.flatnonzero(is_below == is_held_out)
        if not is_held_out:
            chosen = np.sort(chosen[np.argsort(hashes[chosen])[:BASELINE_ROWS]])
        frame = frame.take(chosen)
        values = Block(frame).array(self._table.target[0])
        y = np.array(values.tolist()) if values.dtype.kind == "O" else values
        features = frame.select(self._table.names).typed()
        return features, numbers_in_texts(y) if is_number else y
