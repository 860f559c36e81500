"""Compare small neural trees with scikit-learn's models, on data that comes with scikit-learn.

Every model sees the same random splits: it is fitted on three quarters of the rows and scored on
the quarter it has not seen. One thread each. Then a small tree is drawn.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bneuralt.cli.contenders import Contender, contenders
from bneuralt.cli.outputs import Progress

PREDICTED_ROWS = 1000

NEXT_STEPS = """\
Next steps
  bneuralt train YOUR.csv --target COLUMN --out model.json
  bneuralt predict model.json NEW.csv
  python -c "from bneuralt import BNeuralTClassifier; help(BNeuralTClassifier)"
"""


class Sample(NamedTuple):
    """A data set that needs no download."""

    name: str
    task: str
    X: np.ndarray
    y: np.ndarray
    feature_names: Sequence[str]
    class_names: Sequence[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--splits", type=_positive, default=3, metavar="N", help="random splits (default 3)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the splits")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> None:
    from threadpoolctl import threadpool_limits

    results = []
    with threadpool_limits(1), warnings.catch_warnings(), Progress() as say:
        # That scikit-learn's MLP does not converge with its default settings is not our subject.
        warnings.filterwarnings("ignore", message="Stochastic Optimizer: Maximum iterations")
        for sample in samples():
            result = compare(sample, args.splits, args.seed, say)
            results.append(result)
            if not args.json:
                say("")
                print(result_table(result), flush=True)
    if args.json:
        print(json.dumps(results, indent=2))
    else:
        print(summary_table(results))
        print(small_tree(args.seed))
        print(NEXT_STEPS, end="")


def samples() -> list[Sample]:
    """The data sets of the comparison."""
    from sklearn import datasets

    found = []
    for name in ("iris", "wine", "breast_cancer", "digits", "diabetes"):
        bunch = getattr(datasets, f"load_{name}")()
        classes = [str(c) for c in getattr(bunch, "target_names", [])]
        task = "classification" if classes else "regression"
        names = [str(n) for n in bunch.feature_names]
        found.append(Sample(name, task, bunch.data, bunch.target, names, classes))
    return found


def compare(sample: Sample, n_splits: int, seed: int, say: Progress) -> dict[str, Any]:
    """Fit every contender on every split of one data set."""
    rows = []
    for contender in contenders(sample.task):
        say(f"{sample.name}: {contender.name}")
        runs = [_one_run(contender, sample, seed + i) for i in range(n_splits)]
        found = {key: [run[key] for run in runs] for key in runs[0]}
        rows.append(
            {
                "model": contender.name,
                "score": float(np.mean(found["score"])),
                "score_sd": float(np.std(found["score"], ddof=min(1, n_splits - 1))),
                "weights": float(np.mean(found["weights"])),
                # Medians: a moment's load on the machine should not count.
                "fit_seconds": float(np.median(found["fit_seconds"])),
                "predict_seconds": float(np.median(found["predict_seconds"])),
            }
        )
    return {
        "data": sample.name,
        "task": sample.task,
        "rows": len(sample.y),
        "features": sample.X.shape[1],
        "classes": len(sample.class_names) or None,
        "splits": n_splits,
        "models": rows,
    }


def _one_run(contender: Contender, sample: Sample, seed: int) -> dict[str, float]:
    from sklearn.model_selection import train_test_split

    strata = sample.y if sample.task == "classification" else None
    X_train, X_test, y_train, y_test = train_test_split(
        sample.X, sample.y, test_size=0.25, random_state=seed, stratify=strata
    )
    model = contender.make(seed)
    started = time.perf_counter()
    model.fit(X_train, y_train)
    fit_seconds = time.perf_counter() - started
    many = np.resize(X_test, (PREDICTED_ROWS, X_test.shape[1]))
    return {
        "score": float(model.score(X_test, y_test)),
        "weights": float(contender.count_weights(model)),
        "fit_seconds": fit_seconds,
        "predict_seconds": min(_seconds(model.predict, many) for _ in range(3)),
    }


def _seconds(function: Any, *arguments: Any) -> float:
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def result_table(result: dict[str, Any]) -> str:
    """The results on one data set."""
    kind = f"{result['classes']} classes" if result["classes"] else "regression"
    score = "accuracy" if result["classes"] else "r2"
    title = f"{result['data']}: {result['rows']:,} rows, {result['features']} features, {kind}"
    lines = [title, _row("", score, "weights", "fit", f"predict {PREDICTED_ROWS} rows")]
    for entry in result["models"]:
        lines.append(
            _row(
                entry["model"],
                f"{entry['score']:.3f} ± {entry['score_sd']:.3f}",
                f"{entry['weights']:,.0f}",
                f"{entry['fit_seconds'] * 1e3:,.1f} ms",
                f"{entry['predict_seconds'] * 1e3:,.2f} ms",
            )
        )
    return "\n".join(lines) + "\n"


def summary_table(results: list[dict[str, Any]]) -> str:
    """Means over the classification data sets."""
    kept = [result for result in results if result["task"] == "classification"]
    lines = [
        f"Mean of the {len(kept)} classification data sets",
        _row("", "accuracy", "weights", "fit", f"predict {PREDICTED_ROWS} rows"),
    ]
    for i, entry in enumerate(kept[0]["models"]):
        mean = {key: float(np.mean([result["models"][i][key] for result in kept]))
                for key in ("score", "weights", "fit_seconds", "predict_seconds")}  # fmt: skip
        lines.append(
            _row(
                entry["model"],
                f"{mean['score']:.3f}        ",
                f"{mean['weights']:,.0f}",
                f"{mean['fit_seconds'] * 1e3:,.1f} ms",
                f"{mean['predict_seconds'] * 1e3:,.2f} ms",
            )
        )
    return "\n".join(lines) + "\n"


def _row(name: str, score: str, weights: str, fit: str, predict: str) -> str:
    return f"  {name:<20}{score:>14}{weights:>12}{fit:>13}{predict:>20}"


def small_tree(seed: int) -> str:
    """A tree small enough to be read, fitted to three quarters of iris."""
    from sklearn.model_selection import train_test_split

    from bneuralt import BNeuralTClassifier
    from bneuralt.drawing.terminal import draw_tree

    sample = samples()[0]
    X_train, X_test, y_train, y_test = train_test_split(
        sample.X, sample.y, test_size=0.25, random_state=seed, stratify=sample.y
    )
    model = BNeuralTClassifier(max_depth=2, random_state=seed).fit(X_train, y_train)
    drawing = draw_tree(
        model.tree_,
        feature_names=[name.removesuffix(" (cm)") for name in sample.feature_names],
        output_names=sample.class_names,
    )
    hits = int(np.sum(model.predict(X_test) == y_test))
    return (
        f"A tree of {model.n_parameters_} weights for iris, right on {hits} of {len(y_test)} "
        "unseen flowers. Every line is a neuron;\n"
        "those indented below it add to its sum, and the largest of the three outputs wins.\n\n"
        f"{drawing}\n"
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value
