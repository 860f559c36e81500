"""Remove weights from a trained model: to a given size, or as many as the scores allow.

The rows that `train` held out are not used, and both models are scored on them.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from bneuralt.cli.errors import BAD_DATA, CommandError
from bneuralt.cli.table_options import add_table_arguments

if TYPE_CHECKING:
    from bneuralt.shrinking import Compaction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL.json", help="a file written by bneuralt train")
    parser.add_argument("data", metavar="DATA.csv", help="the table it was trained on")
    parser.add_argument("--out", metavar="SMALL.json", required=True, help="the smaller model")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--max-weights", type=int, metavar="N", help="keep at most N weights")
    size.add_argument(
        "--max-bytes", type=int, metavar="N", help="at most N bytes as 16-bit tables in C"
    )
    parser.add_argument(
        "--cv",
        type=int,
        default=5,
        metavar="FOLDS",
        help="folds for the scores of each size (default 5; 0 for none, if a size is given)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    add_table_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Make the model smaller, write it, and print the sizes and scores."""
    import numpy as np

    from bneuralt.cli.trained_models import (
        ModelTable,
        check_model_output,
        is_known,
        load_trained_model,
        save_trained_model,
    )

    check_model_output(args.out, inputs=(args.data, args.model))
    model = load_trained_model(args.model)
    data = ModelTable.read(model, args.model, args.data, args)
    used = is_known(data.target("compact needs the training table"))
    if data.held_out is not None:
        used[data.held_out] = False
    try:
        smaller = model.compact(
            *data.rows(np.flatnonzero(used)),
            max_weights=args.max_weights,
            max_bytes=args.max_bytes,
            cv=args.cv or None,
        )
    except (ValueError, TypeError) as error:
        raise CommandError(f"{args.data}: {error}", BAD_DATA) from None
    scores = None
    if data.held_out is not None:
        test = data.rows(data.held_out)
        scores = model.score(*test), smaller.score(*test)
    extra = {**model.extra_, "held_out_scores": None}
    save_trained_model(smaller, args.out, extra)
    report = _report(smaller.compaction_, scores, args.out)
    print(json.dumps(report) if args.json else _as_text(report))


def _report(
    compaction: Compaction, scores: tuple[float, float] | None, path: str
) -> dict[str, Any]:
    return {
        "weights_before": compaction.n_weights_before,
        "weights": compaction.n_weights,
        "bytes": compaction.n_bytes,
        "held_out_before": None if scores is None else scores[0],
        "held_out": None if scores is None else scores[1],
        "curve": None
        if compaction.size.size == 0
        else {
            "unit": compaction.unit,
            "size": compaction.size.tolist(),
            "score": compaction.score.tolist(),
            "standard_error": compaction.standard_error.tolist(),
        },
        "file": path,
    }


def _as_text(report: dict[str, Any]) -> str:
    from bneuralt.cli.outputs import escape_control

    lines = []
    curve = report["curve"]
    if curve is not None:
        lines.append(f"{curve['unit']:>8}  score on held-out folds")
        points = zip(curve["size"], curve["score"], curve["standard_error"], strict=True)
        lines += [f"{size:>8,}  {score:.3f} +- {error:.3f}" for size, score, error in points]
        lines.append("")
    share = report["weights"] / report["weights_before"]
    lines.append(
        f"{report['weights']:,} of {report['weights_before']:,} weights kept ({share:.0%}), "
        f"{report['bytes']:,} bytes as 16-bit tables."
    )
    if report["held_out"] is not None:
        lines.append(
            f"Score on the held-out rows: {report['held_out']:.3f}, "
            f"{report['held_out_before']:.3f} before."
        )
    lines.append(f"Model written to {report['file']}.")
    return "\n".join(escape_control(line) for line in lines)
