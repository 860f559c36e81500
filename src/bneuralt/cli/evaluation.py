"""Splits and scores for the reports of `train` and `predict`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from bneuralt._typing import Array, IntArray
from bneuralt.cli.trained_models import trees_of

__all__ = ["baseline", "confusion", "cross_validate", "feature_usage", "scores", "split_rows"]


def scores(task: str, y: Array, predicted: Array) -> dict[str, float | None]:
    """Return the accuracy, or r2 and RMSE.

    Parameters
    ----------
    task : {"classification", "regression"}
        The task.
    y : array of shape (n_rows,)
        True labels or numbers.
    predicted : array of shape (n_rows,)
        Predictions.

    Returns
    -------
    dict of float
        Scores by name. r2 is None if all true values are equal.

    Examples
    --------
    >>> scores("classification", np.array(["a", "b"]), np.array(["a", "a"]))
    {'accuracy': 0.5}
    >>> scores("regression", np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    {'r2': 0.5, 'rmse': 0.7071067811865476}
    """
    if task == "classification":
        if y.dtype.kind != predicted.dtype.kind:
            # Labels of a later table may be of another type; as text they can be compared.
            y, predicted = y.astype(str), predicted.astype(str)
        return {"accuracy": float(np.mean(y == predicted))}
    squares = float(np.sum((y - predicted) ** 2))
    spread = float(np.sum((y - y.mean()) ** 2))
    r2 = 1 - squares / spread if spread > 0 else None
    return {"r2": r2, "rmse": math.sqrt(squares / len(y))}


def baseline(task: str, y_train: Array, y_test: Array) -> dict[str, Any]:
    """Return the best constant prediction (the most frequent class or the mean) and its scores."""
    if task == "classification":
        labels, counts = np.unique(y_train, return_counts=True)
        answer = labels[np.argmax(counts)]
    else:
        answer = y_train.mean()
    constant = np.full(len(y_test), answer)
    return {"answer": answer.item(), "scores": scores(task, y_test, constant)}


def split_rows(task: str, y: Array, test_fraction: float, seed: int) -> tuple[IntArray, IntArray]:
    """Choose the rows to train on and the rows to hold out.

    Classes have the same proportions in both parts if each class has enough rows.

    Parameters
    ----------
    task : {"classification", "regression"}
        The task.
    y : array of shape (n_rows,)
        The target.
    test_fraction : float
        Fraction of the rows to hold out.
    seed : int
        Seed of the choice.

    Returns
    -------
    train, test : int arrays
        Sorted indices of the rows.
    """
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
    X: Array,
    y: Array,
    folds: int,
    seed: int,
    status: Callable[[str], None],
) -> dict[str, Any] | None:
    """Score a model by cross-validation.

    Parameters
    ----------
    model : estimator
        Its settings are used; it is not changed.
    task : {"classification", "regression"}
        The task.
    X, y : arrays
        Features and target.
    folds : int
        Number of folds; fewer are used if there are not enough rows.
    seed : int
        Seed of the folds.
    status : callable
        Called with a message before each fold.

    Returns
    -------
    dict or None
        The number of folds, and for each score its mean, standard deviation and values; None if
        there are too few rows.
    """
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
        status(f"cross-validation, fold {i + 1} of {folds}")
        if task == "classification" and len(np.unique(y[train])) < 2:
            return None
        fitted = clone(model).fit(X[train], y[train])
        found.append(scores(task, y[test], fitted.predict(X[test])))
    each = {name: [fold[name] for fold in found] for name in found[0]}
    summary = {name: _mean_and_sd([v for v in each[name] if v is not None]) for name in each}
    return {"folds": folds, **summary}


def _mean_and_sd(values: list[float]) -> dict[str, Any] | None:
    if not values:
        return None
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)), "each": values}


def confusion(y: Array, predicted: Array) -> dict[str, Any]:
    """Count the rows by true label (rows of the matrix) and predicted label (columns).

    Examples
    --------
    >>> confusion(np.array(["a", "b", "b"]), np.array(["a", "a", "b"]))
    {'labels': ['a', 'b'], 'counts': [[1, 0], [1, 1]]}
    """
    labels = np.unique(np.concatenate([y, predicted]))
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(counts, (np.searchsorted(labels, y), np.searchsorted(labels, predicted)), 1)
    return {"labels": labels.tolist(), "counts": counts.tolist()}


def feature_usage(
    model: Any, X: Array, y: Array, names: list[str], seed: int, most_rows: int = 1000
) -> list[dict[str, Any]]:
    """Return how important each feature is and how many leaves use it.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest.
    X, y : arrays
        Rows to compute the importance on.
    names : list of str
        Names of the features.
    seed : int
        Seed of the permutations.
    most_rows : int
        Use at most this many rows.

    Returns
    -------
    list of dict
        The most important feature first. ``importance`` is the drop of the score (accuracy or r2)
        when the values of the feature are shuffled.
    """
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
