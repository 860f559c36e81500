"""The work of `bneuralt predict` for a table that is read in blocks: one output for each file."""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bneuralt._typing import Array
from bneuralt.cli.csv_cells import csv_lines, shares_of_classes
from bneuralt.cli.errors import BAD_DATA, CANNOT_WRITE, USAGE, CommandError
from bneuralt.cli.outputs import StatusLine, count
from bneuralt.cli.table_options import csv_options, max_bytes, open_files
from bneuralt.cli.trained_models import load_trained_model, stored_layout, task_of
from bneuralt.files import write_atomically, writing_atomically
from bneuralt.tables.block_files import pyarrow
from bneuralt.tables.block_sources import Block, matching_files
from bneuralt.tables.block_table import open_table
from bneuralt.tables.columns import DataFrame

if TYPE_CHECKING:
    from bneuralt.estimators.base import NeuralTreeEstimator

__all__ = ["predict_in_bulk"]

#: The file of an output folder that says what its files are predictions of.
RECORD = "_predictions.json"

#: Options of `predict` that are for one table of predictions, with their default values.
NOT_FOR_BLOCKS = {"held_out": False, "json": False, "unknown": "other", "missing": "learn"}


class FileTask(NamedTuple):
    """A file to predict, and the file of its predictions."""

    source: str
    out: Path
    state: list[int]  # size and time of the last change


def predict_in_bulk(args: argparse.Namespace) -> None:
    """Predict all files that have no predictions yet; `args` are those of `bneuralt predict`."""
    for option, default in NOT_FOR_BLOCKS.items():
        if getattr(args, option) != default:
            raise CommandError(
                f"--{option.replace('_', '-')}: is not possible if --out is a folder; omit the "
                "option, or let --out end in .csv.",
                USAGE,
            )
    model = load_trained_model(args.model)
    if args.probabilities and task_of(model) == "regression":
        raise CommandError(f"--probabilities: {args.model} is a regression model; omit the option.")
    if names_of(model) is None:
        raise CommandError(
            f"{args.model}: the model has no names of columns, by which they are found in files; "
            "train it on a table with names."
        )
    options = csv_options(args, layout=stored_layout(model, args.model))
    copied = _copied_columns(open_files(args.data, options).names, model, args)
    tasks = _tasks(args)
    done = _prepare(args, tasks, copied)
    n_rows, left = 0, [task for task in tasks if task not in done]
    with StatusLine() as status, warnings.catch_warnings():
        warnings.simplefilter("once")
        for i, task in enumerate(left):
            status(f"file {i + 1} of {len(left)}: {task.source}")
            n_rows += _predict_file(model, task, copied, args)
    before = f"; {count(len(done), 'file')} had predictions already" if done else ""
    print(f"{count(n_rows, 'row')} of {count(len(left), 'file')} predicted, in {args.out}{before}")


def _copied_columns(
    names: Sequence[str], model: NeuralTreeEstimator, args: argparse.Namespace
) -> list[str]:
    """Return the columns that are copied to the predictions, after a check of the others."""
    needed = _needed(model)
    for name in (*needed, *args.ids):
        if name not in names:
            known = ", ".join(map(repr, names[:20]))
            raise CommandError(f"{args.data}: there is no column {name!r}; there are {known}.",
                               BAD_DATA)  # fmt: skip
    return list(args.ids) or [name for name in names if name not in needed]


def names_of(model: NeuralTreeEstimator) -> tuple[str, ...] | None:
    """Return the names of the columns of a model; None if they have none."""
    names: tuple[str, ...] | None = model.encoder_.names
    return names


def _needed(model: NeuralTreeEstimator) -> list[str]:
    """Return the names of the columns that a model uses."""
    features = zip(names_of(model) or (), model.encoder_.features, strict=True)
    return [name for name, feature in features if feature.kind != "unused"]


def _tasks(args: argparse.Namespace) -> list[FileTask]:
    """Return all files with their outputs, which are in the same subfolders."""
    sources = matching_files(args.data)
    base = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in sources])
    tasks = []
    for source in sources:
        place = os.path.relpath(os.path.abspath(source), base)
        status = os.stat(source)
        out = Path(args.out) / _output_name(source, place)
        if status.st_size:
            tasks.append(FileTask(source, out, [status.st_size, status.st_mtime_ns]))
    outs = [task.out for task in tasks]
    for i, out in enumerate(outs):
        if out in outs[:i]:
            raise CommandError(
                f"--out {args.out}: {tasks[outs.index(out)].source} and {tasks[i].source} would "
                "have the same file of predictions; predict them into different folders.",
                CANNOT_WRITE,
            )
        if out.resolve() == Path(tasks[i].source).resolve():
            raise CommandError(
                f"--out {args.out}: would overwrite {tasks[i].source}; choose another folder.",
                CANNOT_WRITE,
            )
    return tasks


def _output_name(source: str, place: str) -> str:
    """Return the name of the predictions: CSV for text, and else Parquet."""
    with open(source, "rb") as file:
        is_binary = file.read(6).startswith((b"PAR1", b"ARROW1"))
    stem = place
    for ending in (".gz", ".bz2", ".xz", Path(place.removesuffix(".gz")).suffix):
        stem = stem.removesuffix(ending) if ending else stem
    return f"{stem}.parquet" if is_binary else f"{stem}.csv"


def _prepare(
    args: argparse.Namespace, tasks: Sequence[FileTask], copied: Sequence[str]
) -> list[FileTask]:
    """Make the output folder, and return the tasks that an earlier run of the program has done.

    The record in the folder says which model, options and states of files the predictions are of.
    """
    digest = hashlib.sha256(Path(args.model).read_bytes()).hexdigest()
    options = {"model": digest, "probabilities": args.probabilities, "columns": list(copied)}
    folder = Path(args.out)
    earlier: dict[str, Any] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / RECORD).exists():
            earlier = json.loads((folder / RECORD).read_text())
        elif any(folder.iterdir()) and not args.force:
            raise CommandError(
                f"--out {args.out}: the folder has other files; choose another one, or use "
                "--force.",
                CANNOT_WRITE,
            )
    except (OSError, ValueError) as error:
        raise CommandError(f"--out {args.out}: {error}.", CANNOT_WRITE) from None
    if earlier and earlier.get("options") != options and not args.force:
        raise CommandError(
            f"--out {args.out}: the folder has predictions of another model, or with other "
            "options; choose another one, or use --force to predict all files again.",
            CANNOT_WRITE,
        )
    files = earlier.get("files", {}) if earlier.get("options") == options else {}
    done = []
    for task in tasks:
        if task.out.exists():
            if files.get(task.source) == task.state:
                done.append(task)
            else:
                task.out.unlink()  # before the record says that it is of the present file
    record = {"options": options, "files": {task.source: task.state for task in tasks}}
    write_atomically(folder / RECORD, json.dumps(record, indent=2) + "\n")
    return done


def _predict_file(
    model: NeuralTreeEstimator, task: FileTask, copied: list[str], args: argparse.Namespace
) -> int:
    """Predict the rows of a file, and return their number; the output is complete or absent."""
    task.out.parent.mkdir(parents=True, exist_ok=True)
    options = csv_options(args, layout=stored_layout(model, args.model))
    table = open_table(open_files(task.source, options), max_memory=max_bytes(args.max_memory))
    n_rows = 0
    is_csv = task.out.suffix == ".csv"
    write = _write_csv if is_csv else _write_parquet
    with writing_atomically(task.out) as file:

        def predicted() -> Iterator[tuple[Block, dict[str, Array]]]:
            nonlocal n_rows
            for block in table.select(_needed(model)).blocks(copied):
                try:
                    columns = _predictions(model, block, args.probabilities)
                except ValueError as error:
                    raise CommandError(f"{task.source}: {error}", BAD_DATA) from None
                first = block.first_row + 1
                rows = np.arange(first, first + len(block.frame))
                n_rows += len(rows)
                yield block, {"row": rows, **columns}

        try:
            write(file, predicted(), copied, args.raw)
        except OSError as error:
            if error.filename is None:  # of a write to a disk that is full
                raise OSError(error.errno, error.strerror or str(error), str(task.out)) from None
            raise
    return n_rows


def _predictions(model: NeuralTreeEstimator, block: Block, has_shares: bool) -> dict[str, Array]:
    frame = block.columns(_needed(model)).completed(names_of(model) or ())
    columns = {"prediction": model.predict(frame)}
    if has_shares:
        columns |= shares_of_classes(model, model.predict_proba(frame))
    return columns


def _write_parquet(file: Any, parts: Any, copied: list[str], raw: bool) -> None:
    arrow, parquet = pyarrow(), pyarrow(".parquet")
    writer = None
    for block, columns in parts:
        own = {name: arrow.array(values) for name, values in columns.items()}
        more = {name: _arrow_column(arrow, block, name) for name in copied}
        part = arrow.table({**more, **own})
        writer = writer or parquet.ParquetWriter(file, part.schema)
        writer.write_table(part.cast(writer.schema))
    if writer is None:  # a file without rows
        writer = parquet.ParquetWriter(file, arrow.schema([("row", arrow.int64())]))
    writer.close()


def _arrow_column(arrow: Any, block: Block, name: str) -> Any:
    frame = block.frame
    return (
        frame.table.column(name) if isinstance(frame, DataFrame) else arrow.array(frame.raw(name))
    )


def _write_csv(file: Any, parts: Any, copied: list[str], raw: bool) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    has_titles = False
    for block, columns in parts:
        own = [column.tolist() for column in columns.values()]
        rows: Any = zip(*own, *(block.frame.raw(name) for name in copied), strict=True)
        if not has_titles:
            text.write(csv_lines([[*columns, *copied]], raw=True))
            has_titles = True
        text.write(csv_lines(rows, raw))
    text.detach()
