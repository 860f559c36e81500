"""Training on a table that comes in parts: `partial_fit` of trees and forests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from bneuralt._sklearn import fit_context
from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.fingerprints import Fingerprints
from bneuralt.estimators.rows import Rows

__all__ = ["ClassifierInParts", "RegressorInParts", "TrainedInParts"]


class TrainedInParts(BaseEstimator):
    """Base class of estimators that have `partial_fit`."""

    _read_rows: Callable[..., Rows]
    _importances: FloatArray | None
    _reference: FloatArray | None
    _fingerprints: Fingerprints | None

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        """Train for one epoch on some rows."""
        if getattr(self, "conformal", None) is not None:
            raise ValueError(
                f"conformal={self.conformal!r} holds out rows of the whole table, and partial_fit "
                "gets a part of it: use fit, or conformal=None"
            )
        is_first = not self.__sklearn_is_fitted__()
        rows = self._read_rows(X, y, sample_weight, is_first, classes, in_parts=True)
        fingerprints = None
        if is_first or self._fingerprints is not None:
            fingerprints = Fingerprints.of(rows, None if is_first else self._fingerprints)
        self._fit_part(rows)
        self._fingerprints = fingerprints
        self._importances = self._reference = None
        for name in ("calibration_", "compaction_", "edits_", "oob_score_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        raise NotImplementedError

    def _fit_part(self, rows: Rows) -> None:
        """Train all trees for one epoch; the first call draws them."""
        raise NotImplementedError


class ClassifierInParts(TrainedInParts):
    """Adds `partial_fit` to classifiers."""

    classes_: Array

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows, and keep the state of the optimizer.

        The first call draws the tree, or all trees of a forest, and learns the scaling of the
        features; the number of its rows determines the size. Later calls, and calls after `fit`,
        train the same trees further. A forest with `bootstrap` or `max_samples` draws the rows of
        each tree anew in each call. The learning rate is constant, and sample weights are not
        normalized.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        classes : array-like of shape (n_classes,), optional
            All labels that can occur; required in the first call.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        is_first = not self.__sklearn_is_fitted__()
        if is_first and classes is None:
            raise ValueError("classes must be given in the first call of partial_fit")
        if (
            not is_first
            and classes is not None
            and not np.array_equal(np.unique(classes), self.classes_)
        ):
            raise ValueError(
                f"classes={np.unique(classes).tolist()!r} are not those of the first call, "
                f"{self.classes_.tolist()!r}"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once, and partial_fit gets a part of "
                "them: pass the weights as a dict, or sample_weight"
            )
        return self._partial_fit(X, y, sample_weight, classes)


class RegressorInParts(TrainedInParts):
    """Adds `partial_fit` to regressors."""

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows, and keep the state of the optimizer.

        The first call draws the tree, or all trees of a forest, and learns the scaling of features
        and target; the number of its rows determines the size. Later calls, and calls after `fit`,
        train the same trees further. A forest with `bootstrap` or `max_samples` draws the rows of
        each tree anew in each call. The learning rate is constant, and sample weights are not
        normalized.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight)
