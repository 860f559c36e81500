"""Regressors: predictions of numbers, and intervals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, column_or_1d

from bneuralt._sklearn import fit_context
from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.classification import learns_in_parts
from bneuralt.fitting.block_rows import scored
from bneuralt.fitting.target import numbers_in_texts, refuse_masked
from bneuralt.model.intervals import Calibration
from bneuralt.model.predict import interval, values

__all__ = ["Regressor"]


class Regressor(RegressorMixin, NeuralTreeEstimator):
    """Base class of regressors."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def n_outputs_(self) -> int:
        """Number of columns of y."""
        task = self._model_or_error.target
        assert task is not None
        return task.n_columns

    @property
    def calibration_(self) -> Calibration | None:
        """Residuals of rows that were not used for training; None if there are none."""
        return self._model_or_error.calibration

    @available_if(learns_in_parts)
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

    def _values(self, X: Any) -> FloatArray:
        """Return predictions as a table, one column for each output."""
        inputs = self._read_features(X)
        return values(self._raw(), inputs, self._n_threads())

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_columns) if y had several columns
            With ``loss="quantile"``, one column for each of several `quantiles`, in their order; a
            higher quantile is never below a lower one.
        """
        predicted = self._values(X)
        return predicted[:, 0] if predicted.shape[1] == 1 else predicted

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return r2 or, with ``loss="quantile"``, the share of the pinball loss that is explained.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_columns)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        float
            1 is the best score, 0 that of the best constant. For several columns of y, the mean
            over them; for several quantiles, of the sum of their losses.
        """
        y, sample_weight = scored(X, y, sample_weight)
        refuse_masked(y, "y")
        refuse_masked(sample_weight, "sample_weight")
        predicted, task = self._values(X), self._fitted().target
        assert task is not None
        check_consistent_length(predicted, y, sample_weight)
        target = np.asarray(numbers_in_texts(y), dtype=np.float64)
        if task.n_columns == 1:
            target = column_or_1d(target)
        weight = np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight)
        return task.score(predicted, target, weight)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Predict an interval that contains the target with a given probability.

        The intervals are those of split conformal prediction: their width is chosen so that they
        cover this share of the rows that were held out by ``conformal``. A forest whose trees are
        trained on a part of the rows (`bootstrap`, `max_samples`) needs no held-out rows: the
        residual of each row is that of the trees that were trained without it. With
        ``loss="quantile"``, the two quantiles that are closest to the ends of the interval are
        moved (conformalised quantile regression), so that its width depends on the row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        coverage : float in (0, 1)
            Share of new rows, like those of the training table, whose target is in the interval.

        Returns
        -------
        array of shape (n_rows, 2), or (n_rows, 2, n_columns) if y had several columns
            Lower and upper ends. For several columns, the coverage is that of each of them.

        Examples
        --------
        >>> from bneuralt import BNeuralTRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> reg = BNeuralTRegressor(conformal=0.3, random_state=0).fit(X[:300], y[:300])
        >>> low, high = reg.predict_interval(X[300:], coverage=0.8).T
        >>> bool(0.7 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 0.9)
        True
        """
        inputs = self._read_features(X)
        ends = interval(self._raw(), inputs, coverage, self._n_threads())
        return ends[:, :, 0] if ends.shape[2] == 1 else ends
