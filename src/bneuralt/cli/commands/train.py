"""Train a model on a CSV file, report how good it is, and write it to a file.

A part of the rows is held out; the model is trained on the others, scored on the held-out ones,
and it is this very model that is written. `bneuralt predict MODEL DATA` shows the same score.
Columns of text become one indicator per category. Missing values are refused.
"""

from __future__ import annotations

import argparse
import difflib
import json
import time
from typing import Any

import numpy as np

from bneuralt import __version__
from bneuralt.cli.errors import BAD_DATA, USAGE, CommandError
from bneuralt.cli.table_options import add_table_arguments, read_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA.csv", help="the table; - reads the standard input")
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
        help="auto: classification for text and for few whole numbers",
    )
    parser.add_argument(
        "--forest",
        action="store_true",
        help="the mean of several trees: larger, often a little better",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="settings",
        help="a setting of the estimator, such as max_depth=4; repeatable",
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="leave a column out; repeatable",
    )
    parser.add_argument(
        "--categorical",
        action="append",
        default=[],
        metavar="COLUMN",
        help="read a column of numbers as categories; repeatable",
    )
    parser.add_argument(
        "--max-categories",
        type=int,
        default=50,
        metavar="N",
        help="refuse text columns with more different values (default 50)",
    )
    parser.add_argument(
        "--test-fraction",
        type=_fraction,
        default=0.2,
        metavar="F",
        help="share of the rows to hold out (default 0.2; 0 for none)",
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
        help="the same seed gives the same model (default 0)",
    )
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="threads to use")
    parser.add_argument("--verbose", action="store_true", help="show the course of the training")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    add_table_arguments(parser)


def run(args: argparse.Namespace) -> None:
    from bneuralt.cli.model_files import check_model_output, save_model
    from bneuralt.cli.outputs import Progress
    from bneuralt.cli.summary import train_report
    from bneuralt.tables.encoding import learn_encoding

    check_model_output(args.out, inputs=(args.data,))
    names = [] if args.target.lstrip("-").isdigit() else [args.target]
    table = read_table(args.data, args, expect=names)
    encoding = learn_encoding(
        table,
        args.target,
        task=args.task,
        categorical=args.categorical,
        drop=args.drop,
        max_categories=args.max_categories,
        decimal=args.decimal,
    )
    X, y = encoding.features(table, decimal=args.decimal), encoding.labels(table)
    assert y is not None
    model = _estimator(encoding.task, args)
    with Progress(args.verbose) as say:
        model, report, held_out = _fit_and_score(model, encoding, X, y, args, say)
    report["data"] = {"file": table.source, "sha256": table.sha256, **report["data"]}
    save_model(
        model,
        args.out,
        {
            "table": encoding.to_dict(),
            "data_sha256": table.sha256,
            "held_out_rows": held_out.tolist(),
            "held_out_scores": report["held_out"]["scores"] if report["held_out"] else None,
        },
    )
    report["model"]["file"] = args.out
    print(json.dumps(report, indent=2) if args.json else train_report(report))


def _fit_and_score(
    model: Any, encoding: Any, X: np.ndarray, y: np.ndarray, args: argparse.Namespace, say: Any
) -> tuple[Any, dict[str, Any], np.ndarray]:
    from bneuralt.cli import evaluation

    task = encoding.task
    train, test = evaluation.split_rows(task, y, args.test_fraction, args.seed)
    _check_training_rows(task, y[train], args)
    say(f"training on {len(train)} rows")
    seconds, model = _timed_fit(model, X[train], y[train], args)
    held_out = None
    if len(test):
        predicted = model.predict(X[test])
        held_out = {
            "rows": len(test),
            "scores": evaluation.scores(task, y[test], predicted),
            "always_the_same": evaluation.baseline(task, y[train], y[test]),
        }
        if task == "classification":
            held_out["confusion"] = evaluation.confusion(y[test], predicted)
    cv = None
    if args.cv:
        cv = evaluation.cross_validate(model, task, X[train], y[train], args.cv, args.seed, say)
    say("looking for the features that matter")
    judged = test if len(test) else train
    trees = evaluation.trees_of(model)
    report = {
        "bneuralt": __version__,
        "task": task,
        "data": {
            "rows": len(y),
            "features": X.shape[1],
            "target": encoding.target,
            "classes": _class_counts(y) if task == "classification" else None,
        },
        "model": {
            "kind": "forest" if args.forest else "tree",
            "trees": len(trees),
            "weights": sum(tree.n_parameters for tree in trees),
            "nodes": sum(tree.size for tree in trees),
            "depth": max(tree.depth for tree in trees),
        },
        "training": {"rows": len(train), "seconds": seconds, "seed": args.seed},
        "held_out": held_out,
        "cross_validation": cv,
        "features": evaluation.feature_usage(
            model, X[judged], y[judged], encoding.feature_names, args.seed
        ),
    }
    return model, report, test


def _timed_fit(
    model: Any, X: np.ndarray, y: np.ndarray, args: argparse.Namespace
) -> tuple[float, Any]:
    started = time.perf_counter()
    try:
        model.fit(X, y)
    except ValueError as error:
        # The table is checked by now, so it is a setting, or numbers too large to work with.
        code = USAGE if args.settings else BAD_DATA
        raise CommandError(f"the training is not possible: {error}", code) from error
    return time.perf_counter() - started, model


def _estimator(task: str, args: argparse.Namespace) -> Any:
    import bneuralt

    kind = "BNeuralForest" if args.forest else "BNeuralT"
    role = "Classifier" if task == "classification" else "Regressor"
    estimator = getattr(bneuralt, kind + role)
    known = estimator().get_params()
    settings: dict[str, Any] = {"random_state": args.seed}
    if args.jobs is not None:
        settings["n_jobs"] = args.jobs
    if args.verbose:
        settings["verbose"] = 1
    for text in args.settings:
        name, sign, value = text.partition("=")
        if not sign:
            raise CommandError(f"--set {text}: must have the form NAME=VALUE.")
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise CommandError(
                f"--set {text}: {estimator.__name__} has no setting {name!r}.{hint} "
                f"It has: {', '.join(sorted(known))}."
            )
        settings[name] = _value(value)
    return estimator(**settings)


def _value(text: str) -> Any:
    """A setting's value: a number, true, false, none, or text."""
    words = {"none": None, "null": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _check_training_rows(task: str, y: np.ndarray, args: argparse.Namespace) -> None:
    if len(y) < 2:
        raise CommandError(
            f"{args.data}: only {len(y)} rows are left to train on when a share of "
            f"{args.test_fraction} is held out; at least 2 are needed (--test-fraction 0 "
            "holds out none).",
            BAD_DATA,
        )
    if task == "classification" and len(np.unique(y)) < 2:
        raise CommandError(
            f"{args.data}: all {len(y)} training rows are of class {y[0]!r}; at least two classes "
            "are needed. Bring more rows, or hold out fewer (--test-fraction).",
            BAD_DATA,
        )


def _class_counts(y: np.ndarray) -> dict[str, int]:
    labels, counts = np.unique(y, return_counts=True)
    return {str(label): int(count) for label, count in zip(labels, counts, strict=True)}


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
