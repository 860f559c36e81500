"""Splits and scores for the report of `bneuralt train`, the same for trees and forests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bneuralt.tree.neural_tree import NeuralTree


def scores(task: str, y: np.ndarray, predicted: np.ndarray) -> dict[str, float | None]:
    """Accuracy, or r2 and RMSE; r2 is None where all true values are the same.

    Examples
    --------
    >>> scores("classification", np.array(["a", "b"]), np.array(["a", "a"]))
    {'accuracy': 0.5}
    >>> scores("regression", np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    {'r2': 0.5, 'rmse': 0.7071067811865476}
    """
    if task == "classification":
        # Labels may be of two types when a later table holds other ones; as text they compare.
        hits = y == predicted if y.dtype.kind == predicted.dtype.kind else _as_text(y, predicted)
        return {"accuracy": float(np.mean(hits))}
    squares = float(np.sum((y - predicted) ** 2))
    spread = float(np.sum((y - y.mean()) ** 2))
    r2 = 1 - squares / spread if spread > 0 else None
    return {"r2": r2, "rmse": math.sqrt(squares / len(y))}


def _as_text(y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return y.astype(str) == predicted.astype(str)


def baseline(task: str, y_train: np.ndarray, y_test: np.ndarray) -> dict[str, Any]:
    """The scores of always answering the same: the most frequent class, or the mean."""
    if task == "classification":
        labels, counts = np.unique(y_train, return_counts=True)
        answer = labels[np.argmax(counts)]
    else:
        answer = y_train.mean()
    constant = np.full(len(y_test), answer)
    return {"answer": answer.item(), "scores": scores(task, y_test, constant)}


def split_rows(
    task: str, y: np.ndarray, test_fraction: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted numbers of the training rows and of the held-out rows.

    Classes are spread evenly over both parts where each class has enough rows for that.
    """
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(y))
    n_test = round(test_fraction * len(y))
    if n_test == 0:
        return rows, rows[:0]
    strata = None
    if task == "classification":
        _, counts = np.unique(y, return_counts=True)
        if counts.min() >= 2 and min(n_test, len(y) - n_test) >= len(counts):
            strata = y
    train, test = train_test_split(rows, test_size=n_test, random_state=seed, stratify=strata)
    return np.sort(train), np.sort(test)


def cross_validate(
    model: Any,
    task: str,
    X: np.ndarray,
    y: np.ndarray,
    folds: int,
    seed: int,
    say: Callable[[str], None],
) -> dict[str, Any] | None:
    """Mean, standard deviation and list of each score over the folds; None with too few rows."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "classification":
        folds = min(folds, int(np.unique(y, return_counts=True)[1].max()))
    folds = min(folds, len(y) // 2)
    if folds < 2:
        return None
    splitter = (StratifiedKFold if task == "classification" else KFold)(
        folds, shuffle=True, random_state=seed
    )
    found: list[dict[str, float | None]] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(splitter.split(X, y))
    for i, (train, test) in enumerate(splits):
        say(f"cross-validation, fold {i + 1} of {folds}")
        if task == "classification" and len(np.unique(y[train])) < 2:
            return None
        fitted = clone(model).fit(X[train], y[train])
        found.append(scores(task, y[test], fitted.predict(X[test])))
    each = {name: [fold[name] for fold in found] for name in found[0]}
    summary = {name: _summary([v for v in each[name] if v is not None]) for name in each}
    return {"folds": folds, **summary}


def _summary(values: list[float]) -> dict[str, Any] | None:
    if not values:
        return None
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)), "each": values}


def confusion(y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """Counts of true (rows) against predicted (columns) labels."""
    labels = np.unique(np.concatenate([y, predicted]))
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(counts, (np.searchsorted(labels, y), np.searchsorted(labels, predicted)), 1)
    return {"labels": labels.tolist(), "counts": counts.tolist()}


def trees_of(model: Any) -> list[NeuralTree]:
    """The tree of a model, or the trees of a forest."""
    members = [model] if hasattr(model, "tree_") else model.estimators_
    return [member.tree_ for member in members]


def feature_usage(
    model: Any, X: np.ndarray, y: np.ndarray, names: list[str], seed: int, most_rows: int = 1000
) -> list[dict[str, Any]]:
    """How much each feature matters, the most important first.

    The importance is the drop of the score (accuracy or r2) when the feature's values are
    shuffled; ``leaves`` is how often the feature stands in the tree.
    """
    from sklearn.inspection import permutation_importance

    if len(y) < 2:
        drop = np.zeros(len(names))
    else:
        rows = np.random.default_rng(seed).permutation(len(y))[:most_rows]
        repeats = 5 if len(names) <= 100 else 1  # each repeat predicts all rows once per feature
        drop = permutation_importance(
            model, X[rows], y[rows], n_repeats=repeats, random_state=seed
        ).importances_mean
    leaves = np.sum([tree.input_counts for tree in trees_of(model)], axis=0)
    order = np.lexsort((-leaves, -drop))
    return [
        {"feature": names[i], "importance": float(drop[i]), "leaves": int(leaves[i])} for i in order
    ]
