"""Splits and scores for the reports of `train` and `predict`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score, f1_score, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from bneuralt._typing import Array, IntArray
from bneuralt.fitting.large_integers import RoundedIntegersWarning
from bneuralt.fitting.outliers import OutlyingTargetWarning
from bneuralt.fitting.readable import ReadableTreeWarning
from bneuralt.tables.columns import Frame
from bneuralt.tables.row_hashes import hash_rows
from bneuralt.tables.value_warnings import (
    COLUMN_WARNINGS,
    MissingValuesWarning,
    UnseenValuesWarning,
)
from bneuralt.training import TrainingDiverged

if TYPE_CHECKING:
    from bneuralt.estimators.base import NeuralTreeEstimator

__all__ = [
    "baseline",
    "confusion",
    "cross_validate",
    "feature_usage",
    "model_scores",
    "scores",
    "seen_rows",
    "split_rows",
]

#: Warnings that the fit before the cross-validation has issued, or that are about a fold only.
_NOT_OF_FOLDS: tuple[type[Warning], ...] = (
    UnseenValuesWarning,
    MissingValuesWarning,
    TrainingDiverged,
    OutlyingTargetWarning,
    ReadableTreeWarning,
    RoundedIntegersWarning,
    *COLUMN_WARNINGS,
)


def scores(
    task: str,
    y: Array,
    predicted: Array,
    probabilities: Array | None = None,
    classes: Array | None = None,
) -> dict[str, float | None]:
    """Return the scores of predictions.

    Parameters
    ----------
    task : {"classification", "regression"}
        The task.
    y : array of shape (n_rows,)
        True labels or numbers.
    predicted : array of shape (n_rows,)
        Predictions.
    probabilities : array of shape (n_rows, n_classes), optional
        Predicted probabilities of `classes`.
    classes : array of shape (n_classes,), optional
        The labels of the model.

    Returns
    -------
    dict of float
        Scores by name; None where they are not defined, as r2 if all true values are equal.

    Examples
    --------
    >>> scores("classification", np.array(["a", "b", "b"]), np.array(["a", "a", "b"]))
    {'accuracy': 0.6666666666666666, 'balanced_accuracy': 0.75, 'f1': 0.6666666666666666}
    >>> scores("regression", np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    {'r2': 0.5, 'rmse': 0.7071067811865476, 'mae': 0.5}
    """
    if task == "classification":
        if y.dtype.kind != predicted.dtype.kind:
            # Labels of a later table may be of another type; as text they can be compared.
            y, predicted = y.astype(str), predicted.astype(str)
            classes = None if classes is None else classes.astype(str)
        return _class_scores(y, predicted, probabilities, classes)
    squares = float(np.sum((y - predicted) ** 2))
    spread = float(np.sum((y - y.mean()) ** 2))
    r2 = 1 - squares / spread if spread > 0 else None
    mae = float(np.mean(np.abs(y - predicted)))
    return {"r2": r2, "rmse": math.sqrt(squares / len(y)), "mae": mae}


def _class_scores(
    y: Array, predicted: Array, probabilities: Array | None, classes: Array | None
) -> dict[str, float | None]:
    scores: dict[str, float | None] = {"accuracy": float(np.mean(y == predicted))}
    present = np.unique(y)
    recalls = [float(np.mean(predicted[y == label] == label)) for label in present]
    scores["balanced_accuracy"] = float(np.mean(recalls))
    labels = np.unique(np.concatenate([present, predicted]))
    scores["f1"] = float(f1_score(y, predicted, labels=labels, average="macro", zero_division=0))
    if probabilities is None or classes is None:
        return scores
    has_output = np.isin(y, classes)
    scores["auc"] = _auc(y[has_output], probabilities[has_output], classes)
    scores["log_loss"] = None
    if has_output.all():
        of_true_class = probabilities[np.arange(len(y)), np.searchsorted(classes, y)]
        scores["log_loss"] = float(-np.mean(np.log(np.maximum(of_true_class, 1e-15))))
    return scores


def _auc(y: Array, probabilities: Array, classes: Array) -> float | None:
    """Return the area under the ROC curve, the mean over classes of one against the rest."""
    present = [i for i, label in enumerate(classes) if 0 < np.sum(y == label) < len(y)]
    if len(classes) == 2:
        present = present[-1:]
    areas = [roc_auc_score(y == classes[i], probabilities[:, i]) for i in present]
    return float(np.mean(areas)) if areas else None


def baseline(task: str, y_train: Array, y_test: Array) -> dict[str, Any]:
    """Return the best constant prediction (the most frequent class or the mean) and its scores."""
    if task == "regression":
        answer = y_train.mean()
        result = scores(task, y_test, np.full(len(y_test), answer))
    else:
        labels, counts = np.unique(y_train, return_counts=True)
        answer = labels[np.argmax(counts)]
        shares = np.tile(counts / counts.sum(), (len(y_test), 1))
        result = scores(task, y_test, np.full(len(y_test), answer), shares, labels)
    return {"answer": answer.item(), "scores": result}


def split_rows(task: str, y: Array, test_fraction: float, seed: int) -> tuple[IntArray, IntArray]:
    """Choose the rows to train on and the rows to hold out.

    Classes have the same proportions in both parts. The rows of a class that has a single row are
    trained on.

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
    strata, single_rows = None, rows[:0]
    if task == "classification":
        _, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
        single = counts[inverse] < 2
        n_rest, n_classes = int(np.sum(~single)), int(np.sum(counts >= 2))
        if n_classes and min(n_test, n_rest - n_test) >= n_classes:
            rows, single_rows, strata = rows[~single], rows[single], y[~single]
    train, test = train_test_split(rows, test_size=n_test, random_state=seed, stratify=strata)
    return np.sort(np.concatenate([train, single_rows])), np.sort(test)


def model_scores(
    model: NeuralTreeEstimator, task: str, X: Frame, y: Array
) -> dict[str, float | None]:
    """Return the scores of a model on some rows."""
    if task == "regression":
        return scores(task, y, model.predict(X))
    return scores(task, y, model.predict(X), model.predict_proba(X), model.classes_)


def cross_validate(
    model: NeuralTreeEstimator,
    task: str,
    X: Frame,
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
    X : Frame
        Features.
    y : array
        Target.
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
    fold_scores: list[dict[str, float | None]] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(splitter.split(y, y))
    for i, (train, test) in enumerate(splits):
        status(f"cross-validation, fold {i + 1} of {folds}")
        if task == "classification" and len(np.unique(y[train])) < 2:
            return None
        with warnings.catch_warnings():  # about values that only some folds have
            for category in _NOT_OF_FOLDS:
                warnings.simplefilter("ignore", category)
            fitted = clone(model).fit(X.take(train), y[train])
            fold_scores.append(model_scores(fitted, task, X.take(test), y[test]))
    each = {name: [fold[name] for fold in fold_scores] for name in fold_scores[0]}
    summary = {name: _mean_and_sd([v for v in each[name] if v is not None]) for name in each}
    return {"folds": folds, **summary}


def _mean_and_sd(values: list[float]) -> dict[str, Any] | None:
    if not values:
        return None
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "sd": sd, "each": values}


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
    model: NeuralTreeEstimator, X: Frame, y: Array, seed: int, most_rows: int = 1000
) -> list[dict[str, Any]]:
    """Return how important each feature is and how many leaves use it.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest.
    X : Frame
        Rows to compute the importance on.
    y : array
        Their target.
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
    described, names = model.model_.in_raw_units(), X.names or []
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:most_rows]
    y = y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = described.encode(X.take(rows))  # once for all features
    leaves = _leaves(described)
    drop = np.zeros(len(names))
    repeats = 5 if len(names) <= 100 else 1  # each repeat predicts all rows once per feature
    whole = _score_of_inputs(model, inputs, y) if len(y) > 1 else 0.0
    shuffled = inputs.copy()
    for j, column in enumerate(described.columns if len(y) > 1 else ()):
        places = slice(column.inputs.start, column.inputs.stop)
        for order in [rng.permutation(len(y)) for _ in range(repeats)]:
            if leaves[j]:
                shuffled[:, places] = inputs[order, places]
                drop[j] -= _score_of_inputs(model, shuffled, y) / repeats
        if leaves[j]:
            drop[j] += whole
            shuffled[:, places] = inputs[:, places]
    order = np.lexsort((-leaves, -drop))
    return [
        {"feature": names[i], "importance": float(drop[i]), "leaves": int(leaves[i])} for i in order
    ]


def _leaves(described: Any) -> Array:
    """Return the number of leaves of each column.

    A leaf has an edge to each input of its column, or to one of its ramps in place of the number.
    """
    counts = np.sum([tree.input_counts for tree in described.trees], axis=0)
    leaves = np.zeros(len(described.columns), dtype=int)
    for j, column in enumerate(described.columns):
        if column.inputs:
            is_ramp = np.array([not described.inputs[i].is_drawn for i in column.inputs])
            own = counts[column.inputs.start : column.inputs.stop]
            leaves[j] = max(own[~is_ramp].max(), own[0] + own[is_ramp].sum())
    return leaves


def seen_rows(
    model: NeuralTreeEstimator, train: tuple[Frame, Array], test: tuple[Frame, Array]
) -> int:
    """Return how many held-out rows are equal to training rows, their targets included."""
    labels = np.unique(train[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen, hashes = (
            hash_rows(model.encoder_.numbers(X), np.searchsorted(labels, y))
            for X, y in (train, test)
        )
    is_known = np.isin(test[1], labels)
    return int(np.count_nonzero(np.isin(hashes, seen) & is_known))


def _score_of_inputs(model: NeuralTreeEstimator, inputs: Array, y: Array) -> float:
    """Return the score of a model on rows that are encoded already."""
    described = model.model_.in_raw_units()
    decisions = described.decisions(described.outputs(inputs))
    if described.task == "classes":
        return float(np.mean(model.classes_[decisions] == y))
    if described.quantiles is not None:
        return float(d2_pinball_score(y, decisions[:, 0], alpha=described.quantiles[0]))
    return float(r2_score(y, decisions))
