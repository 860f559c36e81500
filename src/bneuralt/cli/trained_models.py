"""Model files of the program: an estimator, and the data that `train` stores with it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.cli.errors import BAD_DATA, BAD_MODEL, CANNOT_WRITE, CommandError
from bneuralt.cli.outputs import check_output
from bneuralt.cli.table_options import read_file
from bneuralt.estimators import load_model
from bneuralt.tables.columns import Frame
from bneuralt.tables.csv_files import near_file
from bneuralt.tables.encoder import UnfitColumn
from bneuralt.tables.file_table import FileTable
from bneuralt.tables.table_layout import FeatureColumn, TableLayout
from bneuralt.tree import NeuralTree

if TYPE_CHECKING:
    from bneuralt.estimators.base import NeuralTreeEstimator

__all__ = [
    "ModelTable",
    "check_model_output",
    "is_known",
    "load_trained_model",
    "save_trained_model",
    "stored_layout",
    "task_of",
    "trees_of",
    "usable_rows",
]


def check_model_output(path: str, inputs: tuple[str, ...]) -> None:
    """Check that a model can be written to a file and replaces a model at most.

    Parameters
    ----------
    path : str
        The value of ``--out``.
    inputs : tuple of str
        Files that the command reads.

    Raises
    ------
    CommandError
        The file cannot be written, or is not a model.
    """
    check_output(path, inputs=inputs)
    if Path(path).exists() and Path(path).stat().st_size:
        try:
            load_model(path)
        except (ValueError, OSError):
            raise CommandError(
                f"--out {path}: the file exists and is not a model, so it is not overwritten; "
                "choose another name or remove it.",
                CANNOT_WRITE,
            ) from None


def save_trained_model(model: NeuralTreeEstimator, path: str, extra: dict[str, Any]) -> None:
    """Save a model with the data of `train`; an OSError becomes a message.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest.
    path : str
        The value of ``--out``.
    extra : dict
        Further data to store with the model.
    """
    try:
        model.save(path, extra=extra)
    except OSError as error:
        raise CommandError(
            f"--out {path}: cannot be written: {error.strerror or error}.", CANNOT_WRITE
        ) from None


def load_trained_model(path: str) -> Any:
    """Load a model and check the data of `train`; an OSError becomes a message."""
    try:
        model = load_model(path)
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file.{near_file(Path(path))}", BAD_MODEL) from None
    except OSError as error:
        raise CommandError(
            f"{path}: cannot be read: {error.strerror or error}.", BAD_MODEL
        ) from None
    if model.extra_.get("table") is not None:
        stored_layout(model, path)  # raises an error if it is damaged
    return model


def stored_layout(model: NeuralTreeEstimator, path: str) -> TableLayout:
    """Return how to encode tables for a model.

    Parameters
    ----------
    model : estimator
        A model from `load_trained_model`.
    path : str
        Its file, for messages.

    Returns
    -------
    TableLayout
        The layout that `train` stored. A model saved in Python has none; then each feature is a
        column of numbers.
    """
    stored = model.extra_.get("table")
    if stored is None:
        return _numeric_layout(model)
    try:
        layout = TableLayout.from_dict(stored)
    except ValueError as error:
        raise CommandError(f"{path}: {error}; train the model again.", BAD_MODEL) from None
    if len(layout.columns) != model.n_features_in_:
        raise CommandError(
            f"{path}: the table layout has {len(layout.columns)} columns, but the model has "
            f"{model.n_features_in_}; train the model again.",
            BAD_MODEL,
        )
    if layout.task != task_of(model):
        raise CommandError(
            f"{path}: the table layout is for {layout.task}, but the model is for "
            f"{task_of(model)}; train the model again.",
            BAD_MODEL,
        )
    return replace(layout, optional=frozenset(model.encoder_.unused_names))


def _numeric_layout(model: NeuralTreeEstimator) -> TableLayout:
    names = getattr(model, "feature_names_in_", None)
    n, encoder, task = model.n_features_in_, model.encoder_, task_of(model)
    target_names = model.target_names_
    return TableLayout(
        columns=tuple(FeatureColumn(encoder.name(i), i) for i in range(n)),
        target=target_names[0] if len(target_names) == 1 else "target",
        target_position=n,
        task=task,
        whole_numbers=task == "classification" and model.classes_.dtype.kind in "iu",
        n_columns=n + 1,
        has_header=names is not None,
        optional=frozenset(encoder.unused_names),
    )


@dataclass(frozen=True, eq=False)
class ModelTable:
    """The rows of a table, as a model reads them.

    Attributes
    ----------
    model, path : estimator, str
        A model from `load_trained_model` and its file, which messages name.
    table : FileTable
    layout : TableLayout
        Of the model.
    """

    model: NeuralTreeEstimator
    path: str
    table: FileTable
    layout: TableLayout

    @classmethod
    def read(cls, model: Any, path: str, data: str, args: argparse.Namespace) -> ModelTable:
        """Read a file, or all files of a folder or pattern, by the options of `args`."""
        layout = stored_layout(model, path)
        table = read_file(data, args, layout=layout)
        if getattr(args, "missing", "learn") == "error":
            layout.check_no_missing(table)
        return cls(model, path, table, layout)

    @cached_property
    def X(self) -> Frame:
        """The features."""
        return self.layout.frame(self.table)

    @cached_property
    def y(self) -> Array | None:
        """The target, with NaN or None where it is missing; None if the table has none."""
        return self.layout.labels(self.table)

    def target(self, purpose: str) -> Array:
        """Return the target; raise an error with the purpose if the table has none."""
        if self.y is None:
            raise CommandError(
                f"{self.table.source}: the column {self.layout.target!r}, which the model "
                f"predicts, is missing: {purpose}.",
                BAD_DATA,
            )
        return self.y

    def rows(self, rows: IntArray) -> tuple[Frame, Array]:
        """Return features and targets of some rows."""
        assert self.y is not None
        return self.X.take(rows), np.array(self.y[rows].tolist())

    def row(self, number: int) -> Frame:
        """Return the features of one row, counted from 1."""
        if not 1 <= number <= self.table.n_rows:
            raise CommandError(
                f"--row {number}: must be a number from 1 to {self.table.n_rows}.", BAD_DATA
            )
        return self.X.take(np.array([number - 1]))

    @cached_property
    def held_out(self) -> IntArray | None:
        """The rows that `train` held out; None if there are none or this is another table."""
        from bneuralt.cli.evaluation import split_rows

        extra = self.model.extra_
        split = extra.get("split")
        if not split or extra.get("data_sha256") != self.table.sha256 or self.y is None:
            return None
        error = CommandError(
            f"{self.path}: the description of the held-out rows is damaged; train the model again.",
            BAD_MODEL,
        )
        try:
            seed, fraction, missing = split["seed"], split["fraction"], split["missing"]
            is_valid = type(seed) is int and 0 <= seed < 2**32 and 0 <= float(fraction) < 1
        except (KeyError, TypeError, ValueError):
            raise error from None
        if not is_valid or missing not in ("learn", "drop", "error"):
            raise error
        used = usable_rows(self.layout, self.table, self.y, missing)
        targets = np.array(self.y[used].tolist())
        test = used[split_rows(self.layout.task, targets, fraction, seed)[1]]
        return test if test.size else None

    def misfit(self, error: ValueError) -> CommandError:
        """Return the message for a table that does not fit the model, with the place of a cell."""
        table = self.table
        if isinstance(error, UnfitColumn) and error.row is not None:
            name = self.layout.column_names[error.column]
            column = table.position(name) if table.has_header else error.column
            problem = str(error).partition(" of X ")[2]
            return CommandError(
                f"{table.source}: {table.place(error.row, column)} contains {error.text!r}; the "
                f"column {problem}.",
                BAD_DATA,
            )
        return CommandError(f"{table.source}: {error}", BAD_DATA)


def usable_rows(layout: TableLayout, table: FileTable, y: Array, missing: str) -> IntArray:
    """Return the rows that can be trained on: with a target and, if `missing` is "drop", no gap."""
    usable = is_known(y)
    if missing == "drop":
        usable = usable & ~layout.rows_with_gaps(table)
    return np.flatnonzero(usable)


def is_known(y: Array) -> Array:
    """Return whether each target is known."""
    if y.dtype.kind == "f":
        return ~np.isnan(y)
    return np.array([label is not None for label in y.tolist()], dtype=bool)


def task_of(model: NeuralTreeEstimator) -> str:
    """Return "classification" or "regression"."""
    return "classification" if hasattr(model, "classes_") else "regression"


def trees_of(model: NeuralTreeEstimator) -> list[NeuralTree]:
    """Return the trees of a model; a single tree is a list of one."""
    members = [model] if hasattr(model, "tree_") else model.estimators_
    return [member.tree_ for member in members]
