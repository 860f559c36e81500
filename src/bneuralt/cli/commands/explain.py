"""Explain the predictions of a trained model: how much each column contributes.

Each prediction is compared with the one for the mean of the training rows. The contributions of all
columns add up to the difference.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bneuralt.cli.errors import CommandError
from bneuralt.cli.table_options import add_table_arguments

if TYPE_CHECKING:
    from bneuralt.explaining import Explanation

PICTURES = (".svg", ".png", ".pdf")
#: Number of rows that get a sentence on the terminal.
SENTENCES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    parser.add_argument("data", metavar="DATA.csv", help="the table; - reads the standard input")
    parser.add_argument("--out", metavar="FILE", help="write all contributions as CSV, or a plot")
    parser.add_argument("--row", type=int, metavar="N", help="explain only this row, from 1 on")
    parser.add_argument(
        "--output", choices=["score", "probability"], help="what to explain, for classes"
    )
    parser.add_argument("--label", metavar="CLASS", help="the class to explain")
    parser.add_argument(
        "--method",
        choices=["rescale", "integrated_gradients"],
        default="rescale",
        help="how contributions are computed (default: rescale)",
    )
    parser.add_argument(
        "--plot",
        choices=["bar", "waterfall", "beeswarm"],
        help=f"draw a plot; --out must end in {', '.join(PICTURES)}",
    )
    parser.add_argument("--json", action="store_true", help="print all contributions as JSON")
    add_table_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Explain the rows; print sentences, or write contributions or a plot."""
    from bneuralt.cli.outputs import check_output
    from bneuralt.cli.trained_models import ModelTable, load_trained_model, task_of
    from bneuralt.files import write_atomically

    if args.plot and (not args.out or Path(args.out).suffix.lower() not in PICTURES):
        raise CommandError(f"--plot needs --out FILE, ending in one of {', '.join(PICTURES)}.")
    if args.out:
        check_output(args.out, inputs=(args.data, args.model))
    model = load_trained_model(args.model)
    if (args.output or args.label) and task_of(model) == "regression":
        raise CommandError(f"--output and --label are for classes: {args.model} predicts numbers.")
    data = ModelTable.read(model, args.model, args.data, args)
    X = data.X if args.row is None else data.row(args.row)
    try:
        explanation = model.explain(X, output=args.output, method=args.method)
        if args.label is not None:
            explanation.of_output(args.label)
    except ValueError as error:
        raise data.misfit(error) from None
    first = args.row or 1
    if args.plot:
        write_atomically(args.out, _picture(explanation, args))
        print(f"Plot written to {args.out}.")
    elif args.json:
        print(json.dumps(_as_dict(explanation, first)))
    elif args.out:
        write_atomically(args.out, _as_csv(explanation, first))
        print(f"Contributions to {len(explanation):,} predictions written to {args.out}.")
    else:
        sys.stdout.write(_as_text(explanation, first, args.label))


def _as_text(explanation: Explanation, first: int, label: str | None) -> str:
    """Return the mean contributions and a sentence for each of the first rows."""
    import numpy as np

    from bneuralt.cli.outputs import escape_control

    importances = explanation.importances
    order = np.argsort(-importances, kind="stable")
    total = float(importances.sum()) or 1.0
    lines = []
    if len(explanation) > 1:
        lines.append(f"Mean absolute contributions to the {explanation.explains}:")
        width = max(len(name) for name in explanation.feature_names)
        lines += [
            f"  {explanation.feature_names[j].ljust(width)}  {importances[j]:9.4g}  "
            f"{100 * importances[j] / total:5.1f} %"
            for j in order.tolist()
        ]
        lines.append("")
    shown = min(len(explanation), SENTENCES)
    lines += [
        f"row {first + row}: {explanation.sentence(row, label, n_features=3)}"
        for row in range(shown)
    ]
    if shown < len(explanation):
        lines.append(f"... and {len(explanation) - shown:,} more rows; --out FILE.csv has all.")
    return "\n".join(escape_control(line) for line in lines) + "\n"


def _tables(explanation: Explanation) -> list[tuple[str, float, Any, Any]]:
    """Return the name, baseline, contributions and predictions of each output."""
    import numpy as np

    values = explanation.values.reshape(len(explanation), len(explanation.feature_names), -1)
    predictions = explanation.predictions.reshape(len(explanation), -1)
    start = np.ravel(explanation.baseline)
    names = explanation.output_names or ["prediction"]
    return [
        (name, float(start[k]), values[:, :, k], predictions[:, k]) for k, name in enumerate(names)
    ]


def _as_csv(explanation: Explanation, first: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "output", "baseline", *explanation.feature_names, "prediction"])
    tables = _tables(explanation)
    for row in range(len(explanation)):
        for name, start, values, predictions in tables:
            writer.writerow(
                [first + row, name, start, *values[row].tolist(), float(predictions[row])]
            )
    return out.getvalue()


def _as_dict(explanation: Explanation, first: int) -> dict[str, Any]:
    return {
        "explains": explanation.explains,
        "features": explanation.feature_names,
        "importances": explanation.importances.tolist(),
        "first_row": first,
        "outputs": [
            {
                "name": name,
                "baseline": start,
                "values": values.tolist(),
                "predictions": predictions.tolist(),
            }
            for name, start, values, predictions in _tables(explanation)
        ],
    }


def _picture(explanation: Explanation, args: argparse.Namespace) -> bytes:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise CommandError(
            'plots need matplotlib: run pip install "bneuralt[plot]", or omit --plot.'
        ) from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    row = 0 if args.row is not None else None
    explanation.plot(args.plot, row=row, output=args.label, ax=figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, format=Path(args.out).suffix.lower()[1:])
    return picture.getvalue()
