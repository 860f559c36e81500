"""The comparison of `bneuralt demo`: fit every contender on every data set, show the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from bneuralt._typing import Array
from bneuralt.cli.contenders import Contender, contenders
from bneuralt.drawing.terminal import draw_tree
from bneuralt.estimators import BNeuralTClassifier
from bneuralt.tables.columns import Column, Frame

__all__ = [
    "Sample",
    "SmallTree",
    "compare",
    "conclusion",
    "samples",
    "small_tree",
    "table_of_scores",
    "tree_text",
]

PREDICTED_ROWS = 1000
READABLE_WEIGHTS = 20


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


def table_of_scores(results: list[dict[str, Any]]) -> str:
    """Return the scores of all models on all data sets as a table; the best of a row has a star."""
    names = [entry["model"].partition(" ") for entry in results[0]["models"]]
    rows = [["", *(name[0] for name in names)], ["", *(name[2] for name in names)]]
    for result in results:
        scores = [f"{entry['score']:.3f}" for entry in result["models"]]
        marked = [score + ("*" if score == max(scores) else " ") for score in scores]
        rows.append([result["data"] + ("" if result["classes"] else " (r2)"), *marked])
    rows.append(["numbers stored", *_medians(results, "weights", 1)])
    rows.append(["ms to fit", *_medians(results, "fit_seconds", 1e3)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows]
    return "\n".join("  ".join(cells).rstrip() for cells in lines) + "\n"


def _medians(results: list[dict[str, Any]], key: str, factor: float) -> list[str]:
    """Return the median over the data sets for each model, as cells of the table."""
    values = [[entry[key] for entry in result["models"]] for result in results]
    return [f"{factor * median:,.0f} " for median in np.median(values, axis=0)]


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
        f"The neural tree is best on {n_best} of {len(results)} data sets.\n"
        f"The median of the other models stores {np.median(sizes):.1f} times as many numbers.\n"
    )
    if gap > 0:
        text += f"It loses most on {data}, where {model} is ahead by {gap:.3f}.\n"
    return text + "All models were fitted and used with one thread (BLAS included).\n"


class SmallTree(NamedTuple):
    """A tree that can be read: its model, the rows that it has not seen, and its size before."""

    model: BNeuralTClassifier
    X_test: Any
    y_test: Array
    n_weights_before: int


def small_tree(seed: int) -> SmallTree:
    """Fit a tree to three quarters of iris, and compact it until it can be read."""
    bunch = datasets.load_iris()
    names = [name.removesuffix(" (cm)") for name in bunch.feature_names]
    table = Frame([Column("number", column) for column in bunch.data.T], names)
    labels = bunch.target_names[bunch.target]
    train, test = train_test_split(
        np.arange(len(labels)), test_size=0.25, random_state=seed, stratify=labels
    )
    X_train, X_test = table.take(train), table.take(test)
    y_train, y_test = labels[train], labels[test]
    # Names of ramps are too long for a terminal: without them, a term is a weight times a column.
    full = BNeuralTClassifier(ramps=0, random_state=seed).fit(X_train, y_train)
    model = full.compact(X_train, y_train, max_weights=READABLE_WEIGHTS, cv=None)
    return SmallTree(model, X_test, y_test, full.n_parameters_)


def tree_text(tree: SmallTree) -> str:
    """Return the drawing of a small tree, with a guide to reading it."""
    n_correct = int(np.sum(tree.model.predict(tree.X_test) == tree.y_test))
    return (
        f"A tree for iris, compacted from {tree.n_weights_before} to "
        f"{tree.model.n_parameters_} weights\n"
        f"It predicts {n_correct} of {len(tree.y_test)} held-out flowers correctly.\n"
        "A line is a neuron: a constant, and weights times measurements in cm; the lines\n"
        "below it are more terms. The class with the largest value is predicted.\n\n"
        f"{draw_tree(tree.model)}\n"
    )
