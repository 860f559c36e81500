"""Models that are fitted without some rows, and scores of these rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from bneuralt._typing import FloatArray
from bneuralt.estimators.forest import LEARNT_FROM_INPUT
from bneuralt.estimators.intervals import pinball
from bneuralt.estimators.rows import Rows

__all__ = ["fitted_on", "folds", "row_scores"]


def folds(model: Any, rows: Rows, n_folds: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield training rows and held-out rows of each fold, with the classes in proportion."""
    n_folds = min(n_folds, len(rows))
    if n_folds < 2:
        raise ValueError(f"cv={n_folds}: there is only one row; pass max_weights and cv=None")
    splitter: Any = KFold(n_folds, shuffle=True, random_state=0)
    if is_classifier(model) and not model.multilabel_ and np.bincount(rows.y).max() >= n_folds:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes of fewer rows than folds
        parts = list(splitter.split(np.zeros(len(rows)), rows.y))
    for training, held_out in parts:
        yield rows.take(training), rows.take(held_out)


def fitted_on(model: Any, rows: Rows) -> Any:
    """Return a model with the same settings and features that is fitted on other rows."""
    fresh = clone(model)
    for name in LEARNT_FROM_INPUT:
        if hasattr(model, name):
            setattr(fresh, name, getattr(model, name))
    fresh.max_weights = None
    fresh.warm_start = False
    fresh._fit_rows(copy.copy(rows), None, None)
    return fresh


def row_scores(model: Any, rows: Rows, all_rows: Rows) -> FloatArray:
    """Return numbers whose mean over rows is the score of a model: accuracy or r2."""
    X = rows.X
    if is_classifier(model):
        shares = model._probabilities(X)
        if model.multilabel_:
            labels: FloatArray = np.mean((shares > 0.5) == (rows.y > 0.5), axis=1)
            return labels
        right: FloatArray = np.asarray(shares.argmax(axis=1) == rows.y, dtype=np.float64)
        return right
    values = model._values(X)
    quantiles = model._quantiles()
    if quantiles is not None:
        cost = pinball(rows.y, values, quantiles).mean(axis=1)
    else:
        cost = np.square(values - rows.y.reshape(len(rows), -1)).mean(axis=1)
    scores: FloatArray = 1.0 - cost / model._error_unit(all_rows.y, all_rows.weight)
    return scores
