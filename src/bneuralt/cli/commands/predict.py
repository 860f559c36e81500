"""Predict the rows of a CSV file with a model written by `bneuralt train`.

Predictions are written as CSV, one line per row, to the standard output or to a file. If the table
has the target column, the score is shown as well. For the training table, the score on the held-out
rows is compared with the one that `train` reported.

A table is a file (CSV, which may be compressed, Parquet, Feather, JSON or xlsx), a folder, or a
pattern such as 'in/*.parquet'. If --out is a folder, it gets a file of predictions for each file,
of the same name: then tables may be larger than the memory, and the predictions are beside the
columns that the model does not use, such as keys, or those that --id names. If the program is
stopped, the same command predicts the files that are missing.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bneuralt.cli.csv_cells import csv_lines, shares_of_classes
from bneuralt.cli.errors import BAD_DATA, CANNOT_WRITE, CommandError
from bneuralt.cli.table_options import (
    add_memory_argument,
    add_table_arguments,
    is_in_blocks,
)

if TYPE_CHECKING:
    from bneuralt._typing import Array, IntArray
    from bneuralt.cli.trained_models import ModelTable
    from bneuralt.estimators.base import NeuralTreeEstimator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    parser.add_argument(
        "data",
        metavar="DATA.csv",
        help="the table: a file, a folder, a pattern such as 'in/*.parquet', or - for the standard "
        "input",
    )
    parser.add_argument(
        "--out",
        metavar="FILE.csv",
        help="write the predictions to this file (- is the standard output), or for several files "
        "to this folder",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="let --out overwrite a file that was not written by predict",
    )
    parser.add_argument(
        "--probabilities", action="store_true", help="add the probability of each class"
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="predict only the rows that were held out in training",
    )
    parser.add_argument(
        "--raw",
        action="store_true",
        help="write labels unchanged, also those that spreadsheets take for formulas",
    )
    parser.add_argument("--json", action="store_true", help="print predictions and scores as JSON")
    parser.add_argument(
        "--id",
        action="append",
        default=[],
        metavar="COLUMN",
        dest="ids",
        help="copy a column of the table to the output; repeatable",
    )
    parser.add_argument(
        "--unknown",
        choices=["other", "error"],
        default="other",
        help="categories that training did not see: treat them as rare ones (default), or end "
        "with an error",
    )
    add_memory_argument(parser)
    add_table_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Predict, write the predictions, and print the scores."""
    if args.out == "-":
        args.out = None
    if args.out and is_in_blocks(args.data, args.max_memory) and not Path(args.out).suffix:
        from bneuralt.cli.bulk_prediction import predict_in_bulk

        predict_in_bulk(args)
        return
    import numpy as np

    from bneuralt.cli.outputs import check_output, escape_control, write_data
    from bneuralt.cli.trained_models import ModelTable, load_trained_model, task_of
    from bneuralt.files import write_atomically

    if args.out:
        check_output(args.out, inputs=(args.data, args.model))
    model = load_trained_model(args.model)
    if args.probabilities and task_of(model) == "regression":
        raise CommandError(f"--probabilities: {args.model} is a regression model; omit the option.")
    data = ModelTable.read(model, args.model, args.data, args)
    table, layout = data.table, data.layout
    if args.unknown == "error":
        layout.check_known(table, model.encoder_)
    keys = [table.position(column) for column in args.ids]
    if not args.ids:  # columns that identify rows
        keys = [j for j, name in enumerate(table.names) if name in layout.optional]
    ids = {table.names[j]: table.raw(j) for j in keys if not table.column(j).is_missing.all()}
    if args.out and not args.force:
        _check_replaces_predictions(args.out, table.names)
    rows: IntArray = np.arange(table.n_rows)
    if args.held_out:
        if data.held_out is None:
            raise CommandError(_why_no_held_out_rows(model, args), BAD_DATA)
        rows = data.held_out
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once")  # not again for the probabilities
            predicted = model.predict(data.X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                probabilities = model.predict_proba(data.X) if hasattr(model, "classes_") else None
    except ValueError as error:
        raise data.misfit(error) from None
    summary = {"files": len(table.files)} if len(table.files) > 1 else {}
    summary |= _summary(data, predicted, probabilities, rows)
    shown = probabilities if args.probabilities else None
    if args.json:
        text = _as_json(model, summary, rows, predicted, shown, ids)
    else:
        text = _as_csv(model, rows, predicted, shown, args.raw, ids)
    if args.out:
        write_atomically(args.out, text)
    else:
        write_data(text)
    summary_text = escape_control(_summary_text(summary, args), keep="\n")
    print(summary_text, file=sys.stdout if args.out else sys.stderr)


#: How a file begins that `predict` wrote as JSON.
_JSON = re.compile(r'\{("files": \d+, )?"rows": \d+, "scores": ')


def _check_replaces_predictions(path: str, names: list[str]) -> None:
    """Check that a file does not exist, is empty, or has predictions, which may be replaced.

    Behind the predictions are probabilities, and columns of a table with these names.
    """
    if not Path(path).is_file():
        return
    try:
        with open(path, encoding="utf-8") as file:
            beginning = file.readline(100_000)
    except (OSError, ValueError):
        beginning = "?"
    title = next(csv.reader([beginning]), [])
    is_ours = title[:2] == ["row", "prediction"] and all(
        name in names or name.startswith("p(") for name in title[2:]
    )
    if beginning and not is_ours and not _JSON.match(beginning):
        raise CommandError(
            f"--out {path}: the file exists and was not written by predict, so it is not "
            "overwritten; choose another name, or use --force.",
            CANNOT_WRITE,
        )


def _why_no_held_out_rows(model: NeuralTreeEstimator, args: argparse.Namespace) -> str:
    split = model.extra_.get("split")
    if not (split and split.get("fraction")):
        return f"--held-out: {args.model} has no record of held-out rows; omit the option."
    return (
        f"--held-out: {args.data} is not the file that {args.model} was trained on; use that file "
        "or omit the option."
    )


def _summary(
    data: ModelTable, predicted: Array, probabilities: Array | None, rows: IntArray
) -> dict[str, Any]:
    import numpy as np

    from bneuralt.cli.evaluation import scores
    from bneuralt.cli.trained_models import is_known

    model, task, y, held_out = data.model, data.layout.task, data.y, data.held_out
    summary: dict[str, Any] = {"rows": len(rows), "scores": None, "held_out": None}
    if y is None:
        return summary

    def scores_of(rows: IntArray) -> dict[str, float | None] | None:
        rows = rows[is_known(y[rows])]
        shares = None if probabilities is None else probabilities[rows]
        if not rows.size:
            return None
        targets = np.array(y[rows].tolist())
        return scores(task, targets, predicted[rows], shares, getattr(model, "classes_", None))

    summary["scores"] = scores_of(rows)
    if held_out is not None:
        reported = model.extra_.get("held_out_scores")
        summary["held_out"] = {
            "rows": len(held_out),
            "scores": scores_of(held_out),
            "reported": reported,
        }
    return summary


def _summary_text(summary: dict[str, Any], args: argparse.Namespace) -> str:
    from bneuralt.cli.outputs import count
    from bneuralt.cli.summary import score_text

    destination = f", written to {args.out}" if args.out else ""
    files = f" of {count(summary['files'], 'file')}" if "files" in summary else ""
    text = f"{count(summary['rows'], 'row')}{files} predicted{destination}"
    held_out = summary["held_out"]
    if summary["scores"] and not args.held_out:
        seen = " (including the training rows)" if held_out else ""
        text += f"\nall rows{seen}: {score_text(summary['scores'])}"
    if held_out:
        same = held_out["scores"] == held_out["reported"]
        verdict = "as train reported" if same else f"but train reported {held_out['reported']}"
        rows = count(held_out["rows"], "held-out row")
        text += f"\n{rows}: {score_text(held_out['scores'])}, {verdict}"
    return text


def _as_csv(
    model: NeuralTreeEstimator,
    rows: IntArray,
    predicted: Array,
    probabilities: Array | None,
    raw: bool,
    ids: dict[str, list[Any]],
) -> str:
    shares = {} if probabilities is None else shares_of_classes(model, probabilities[rows])
    columns = {"row": rows + 1, "prediction": predicted[rows], **shares}
    cells = [*(column.tolist() for column in columns.values())]
    cells += [[values[row] for row in rows] for values in ids.values()]
    titles = csv_lines([[*columns, *ids]], raw=True)
    return titles + csv_lines(zip(*cells, strict=True), raw)


def _as_json(
    model: NeuralTreeEstimator,
    summary: dict[str, Any],
    rows: IntArray,
    predicted: Array,
    probabilities: Array | None,
    ids: dict[str, list[Any]],
) -> str:
    result: dict[str, Any] = {
        **summary,
        "row": (rows + 1).tolist(),
        "prediction": predicted[rows].tolist(),
    }
    if ids:
        result["ids"] = {name: [cells[row] for row in rows] for name, cells in ids.items()}
    if probabilities is not None:
        result["classes"] = model.classes_.tolist()
        result["probabilities"] = probabilities[rows].tolist()
    return json.dumps(result) + "\n"
