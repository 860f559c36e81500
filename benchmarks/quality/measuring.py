"""Fit one model to the training rows of one split, and score it on the test rows.

Needs NumPy, scikit-learn and the library of the model only: a measurement can be made on a machine
that has no bneuralt, and be added to a store with `python -m benchmarks.quality import`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.quality.models import make_model, n_weights

__all__ = [
    "PROBABILITY_SCORES",
    "Measured",
    "area_under_curve",
    "calibration_error",
    "log_loss",
    "measure",
]

N_ROWS_TO_PREDICT = 1000
N_BINS = 15
TRAINING_SHARE = 0.8

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Measured:
    """Scores, times (processor seconds; prediction: of a row) and size of one fitted model."""

    train_score: float
    test_score: float
    fit_seconds: float
    predict_seconds: float
    weights: int | None = None
    log_loss: float | None = None
    auc: float | None = None
    calibration_error: float | None = None


def measure(
    name: str,
    task: str,
    X: Array,
    y: Array,
    *,
    split_seed: int,
    model_seed: int,
    n_training: int | None = None,
    most_test: int | None = None,
) -> Measured:
    """Measure a model on one split; test rows of classes without training rows are left out.

    There are `n_training` training rows (by default a share of all), and at most `most_test` others
    are test rows.
    """
    if n_training is None:
        n_training = int(TRAINING_SHARE * len(y))
    order = np.random.default_rng(split_seed).permutation(len(y))
    train, test = np.split(order, [n_training])
    test = test[:most_test]
    n_classes = 0
    if task == "classification":
        classes = np.unique(y[train])
        test = test[np.isin(y[test], classes)]
        y = np.searchsorted(classes, y)
        n_classes = len(classes)
    score = r2_score if task == "regression" else accuracy_score
    model = make_model(name, task, model_seed, n_classes)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # solvers that stop at their default number of iterations
        started = time.process_time()
        model.fit(X[train], y[train])
        fit_seconds = time.process_time() - started
        many = X[np.resize(test, N_ROWS_TO_PREDICT)]
        probable = {}
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(X[test])
            probable = {
                name: score_of(probabilities, y[test])
                for name, score_of in PROBABILITY_SCORES.items()
            }
        return Measured(
            train_score=float(score(y[train], np.ravel(model.predict(X[train])))),
            test_score=float(score(y[test], np.ravel(model.predict(X[test])))),
            fit_seconds=fit_seconds,
            predict_seconds=_least_seconds(model.predict, many) / N_ROWS_TO_PREDICT,
            weights=n_weights(model),
            **probable,
        )


def _least_seconds(predict: Callable[[Array], Any], X: Array) -> float:
    seconds = []
    for _ in range(3):
        started = time.process_time()
        predict(X)
        seconds.append(time.process_time() - started)
    return min(seconds)


def log_loss(probabilities: Array, y: Array) -> float:
    """Return the mean negative log-probability of the true class; 0 counts as 2e-16."""
    true = np.maximum(probabilities[np.arange(len(y)), y], np.finfo(np.float64).eps)
    return float(-np.log(true).mean())


def area_under_curve(probabilities: Array, y: Array) -> float:
    """Return the area under the ROC curve: of each class against the rest, the mean over classes.

    Classes that all rows or none of them have are left out.

    Examples
    --------
    >>> area_under_curve(np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 1, 1]))
    1.0
    """
    is_class = y[:, np.newaxis] == np.arange(probabilities.shape[1])
    varying = is_class.any(axis=0) & ~is_class.all(axis=0)
    if not varying.any():
        return float("nan")
    return float(
        np.mean(
            [roc_auc_score(is_class[:, k], probabilities[:, k]) for k in np.flatnonzero(varying)]
        )
    )


def calibration_error(probabilities: Array, y: Array) -> float:
    """Return the expected calibration error: difference of confidence and accuracy, in 15 bins.

    Examples
    --------
    >>> calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1])).__round__(3)
    0.4
    """
    confidence = probabilities.max(axis=1)
    surplus = confidence - (probabilities.argmax(axis=1) == y)
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, surplus, minlength=N_BINS)).sum() / len(y))


#: Scores of probabilities, by their names in `Measured` and in the store.
PROBABILITY_SCORES: dict[str, Callable[[Array, Array], float]] = {
    "log_loss": log_loss,
    "auc": area_under_curve,
    "calibration_error": calibration_error,
}
