"""The comparison of `bneuralt demo`: fit every contender on every data set, show the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from bneuralt import Growth
from bneuralt._typing import Array
from bneuralt.cli.contenders import Contender, contenders
from bneuralt.drawing.terminal import draw_tree
from bneuralt.estimators import BNeuralTClassifier

__all__ = [
    "Sample",
    "compare",
    "conclusion",
    "result_table",
    "samples",
    "small_tree",
    "summary_table",
]

PREDICTED_ROWS = 1000


class Sample(NamedTuple):
    """A data set that needs no download."""

    name: str
    task: str
    X: Array
    y: Array
    feature_names: Sequence[str]
    class_names: Sequence[str]


def samples() -> list[Sample]:
    """Load the data sets of the comparison."""
    return [_load_sample(name) for name in ("iris", "wine", "breast_cancer", "digits", "diabetes")]


def _load_sample(name: str) -> Sample:
    bunch = getattr(datasets, f"load_{name}")()
    classes = [str(c) for c in getattr(bunch, "target_names", [])]
    task = "classification" if classes else "regression"
    names = [str(n) for n in bunch.feature_names]
    return Sample(name, task, bunch.data, bunch.target, names, classes)


def compare(
    sample: Sample, n_splits: int, seed: int, status: Callable[[str], None]
) -> dict[str, Any]:
    """Fit every contender on every split of one data set.

    Parameters
    ----------
    sample : Sample
        The data set.
    n_splits : int
        Number of random splits.
    seed : int
        Seed of the first split; the next ones follow.
    status : callable
        Called with the name of each model before it is fitted.

    Returns
    -------
    dict
        Facts about the data set, and means over the splits for each model.
    """
    rows = []
    for contender in contenders(sample.task):
        status(f"{sample.name}: {contender.name}")
        runs = [_fit_on_split(contender, sample, seed + i) for i in range(n_splits)]
        values = {key: [run[key] for run in runs] for key in runs[0]}
        rows.append(
            {
                "model": contender.name,
                "score": float(np.mean(values["score"])),
                "score_sd": float(np.std(values["score"], ddof=min(1, n_splits - 1))),
                "weights": float(np.mean(values["weights"])),
                # Medians, so that a short load on the machine does not count.
                "fit_seconds": float(np.median(values["fit_seconds"])),
                "predict_seconds": float(np.median(values["predict_seconds"])),
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


def _split(sample: Sample, seed: int) -> list[Any]:
    """Return X_train, X_test, y_train and y_test."""
    strata = sample.y if sample.task == "classification" else None
    parts = train_test_split(sample.X, sample.y, test_size=0.25, random_state=seed, stratify=strata)
    return list(parts)


def _fit_on_split(contender: Contender, sample: Sample, seed: int) -> dict[str, float]:
    X_train, X_test, y_train, y_test = _split(sample, seed)
    model = contender.make(seed)
    fit_seconds = _time_call(model.fit, X_train, y_train)
    many = np.resize(X_test, (PREDICTED_ROWS, X_test.shape[1]))
    return {
        "score": float(model.score(X_test, y_test)),
        "weights": float(contender.count_weights(model)),
        "fit_seconds": fit_seconds,
        "predict_seconds": min(_time_call(model.predict, many) for _ in range(3)),
    }


def _time_call(function: Callable[..., Any], *arguments: Any) -> float:
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def result_table(result: dict[str, Any]) -> str:
    """Return the results on one data set as a table."""
    kind = f"{result['classes']} classes" if result["classes"] else "regression"
    score = "accuracy" if result["classes"] else "r2"
    title = f"{result['data']}: {result['rows']:,} rows, {result['features']} features, {kind}"
    lines = [title, _header(score)]
    lines += [
        _model_row(entry, f"{entry['score']:.3f} ± {entry['score_sd']:.3f}")
        for entry in result["models"]
    ]
    return "\n".join(lines) + "\n"


def summary_table(results: list[dict[str, Any]]) -> str:
    """Return the means over the classification data sets as a table."""
    classified = [result for result in results if result["task"] == "classification"]
    lines = [f"Mean of the {len(classified)} classification data sets", _header("accuracy")]
    for i, entry in enumerate(classified[0]["models"]):
        mean = {
            key: float(np.mean([result["models"][i][key] for result in classified]))
            for key in ("score", "weights", "fit_seconds", "predict_seconds")
        }
        lines.append(_model_row({**mean, "model": entry["model"]}, f"{mean['score']:.3f}        "))
    return "\n".join(lines) + "\n"


def conclusion(results: list[dict[str, Any]]) -> str:
    """Return in words what the tables show, also where the neural tree loses."""
    behind = []
    for result in results:
        tree, *others = result["models"]
        best = max(others, key=lambda entry: entry["score"])
        behind.append((best["score"] - tree["score"], result["data"], best["model"]))
    n_best = sum(gap <= 0 for gap, _, _ in behind)
    sizes = [
        np.median([entry["weights"] / result["models"][0]["weights"] for entry in others])
        for result in results
        for others in [result["models"][1:]]
    ]
    gap, data, model = max(behind)
    text = (
        f"The neural tree is best on {n_best} of {len(results)} data sets; the median of the other "
        f"models has {np.median(sizes):.1f} times its numbers."
    )
    if gap > 0:
        text += f"\nIt loses most on {data}, where {model} is ahead by {gap:.3f}."
    return text + "\nAll models were fitted and used with one thread (BLAS included).\n"


def _header(score: str) -> str:
    return _row("", score, "weights", "fit", f"predict {PREDICTED_ROWS} rows")


def _model_row(entry: dict[str, Any], score: str) -> str:
    return _row(
        entry["model"],
        score,
        f"{entry['weights']:,.0f}",
        f"{entry['fit_seconds'] * 1e3:,.1f} ms",
        f"{entry['predict_seconds'] * 1e3:,.2f} ms",
    )


def _row(name: str, score: str, weights: str, fit: str, predict: str) -> str:
    return f"  {name:<20}{score:>14}{weights:>12}{fit:>13}{predict:>20}"


def small_tree(seed: int) -> str:
    """Return the drawing of a small tree fitted to three quarters of iris."""
    sample = _load_sample("iris")
    X_train, X_test, y_train, y_test = _split(sample, seed)
    model = BNeuralTClassifier(random_state=seed, growth=Growth(max_depth=2)).fit(X_train, y_train)
    drawing = draw_tree(
        model,
        feature_names=[name.removesuffix(" (cm)") for name in sample.feature_names],
        output_names=sample.class_names,
    )
    n_correct = int(np.sum(model.predict(X_test) == y_test))
    return (
        f"A tree of {model.n_parameters_} weights for iris, which classifies {n_correct} of "
        f"{len(y_test)} held-out flowers correctly.\n"
        "Each line is a neuron; the lines indented below it are terms of its sum. The class with\n"
        f"the largest output is predicted.\n\n{drawing}\n"
    )
