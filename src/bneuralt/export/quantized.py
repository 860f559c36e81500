"""Estimators that compute with whole numbers only, as the generated C code does."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.export.arithmetic import FORMATS
from bneuralt.export.integer_model import IntegerModel, integer_model
from bneuralt.export.plan import Plan, make_plan

__all__ = ["QuantizedClassifier", "QuantizedRegressor", "quantize"]


def quantize(model: Any, dtype: str = "int8", X: Any = None) -> Any:
    """Return an estimator that computes with whole numbers what a fitted model computes.

    Weights and values are rounded to 8 or 16 bits. The C code of ``export_c(model, ..., dtype)``
    computes the same whole numbers.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    dtype : {"int8", "int16"}
        Type of weights and values; sums have twice as many bits.
    X : array-like of shape (n_rows, n_features), optional
        Rows whose values are the range of the inputs; values outside are clipped. By default the
        range of the training rows, which fitted models know. Models of files that were written by
        earlier releases need it.

    Returns
    -------
    QuantizedClassifier or QuantizedRegressor
        Fitted; `error_bound_` says by how much its probabilities or predictions can differ from
        those of `model` over the training range.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, quantize
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
    >>> small = quantize(clf, "int8")
    >>> small.score(X, y) > clf.score(X, y) - 0.03
    True
    """
    plan = make_plan(model)
    if dtype not in FORMATS:
        raise ValueError(f"dtype={dtype!r} must be one of {', '.join(map(repr, FORMATS))}")
    kind = QuantizedRegressor if plan.task == "numbers" else QuantizedClassifier
    return kind(model, dtype)._set_up(model, plan, X)


def ranges_of(model: Any, plan: Plan, X: Any = None) -> FloatArray:
    """Return smallest and largest value of each input: of rows, or of the training rows."""
    if X is not None:
        inputs = model._filled(model._read_features(X)).astype(np.float64)
        return np.stack([inputs.min(axis=0), inputs.max(axis=0)], axis=1)
    ranges = plan.input_ranges()
    if ranges is None:
        raise ValueError(
            f"this {type(model).__name__} does not know the range of its training rows, which "
            "integer arithmetic needs: give rows as X, or fit the model again"
        )
    return ranges


class _Quantized(BaseEstimator):
    """What quantized classifiers and regressors share."""

    model_: Any
    integer_model_: IntegerModel
    n_features_in_: int

    def __init__(self, model: Any, dtype: str = "int8") -> None:
        self.model = model
        self.dtype = dtype

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "integer_model_")

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of `model`, and round it."""
        model = clone(self.model).fit(X, y, **fit_params)
        if self.dtype not in FORMATS:
            raise ValueError(f"dtype={self.dtype!r} must be one of {', '.join(map(repr, FORMATS))}")
        return self._set_up(model, make_plan(model), None)

    def _set_up(self, model: Any, plan: Plan, X: Any) -> Self:
        self.model_ = model
        self.integer_model_ = integer_model(plan, self.dtype, ranges_of(model, plan, X))
        self.error_bound_ = float(self.integer_model_.bound.max())
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _outputs(self, X: Any) -> IntArray:
        return self.integer_model_.outputs(self.encode(X))

    def encode(self, X: Any) -> IntArray:
        """Return the inputs of the trees as whole numbers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        int64 array of shape (n_rows, n_inputs)
        """
        check_is_fitted(self)
        inputs = self.model_._filled(self.model_._read_features(X))
        return self.integer_model_.encode(inputs.astype(np.float64))

    def integer_outputs(self, X: Any) -> IntArray:
        """Return the outputs of the trees as whole numbers, as the C code has them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        int64 array of shape (n_trees, n_rows, n_outputs)
        """
        return self._outputs(X)


class QuantizedClassifier(ClassifierMixin, _Quantized):
    """A classifier that computes with whole numbers only.

    Parameters
    ----------
    model : estimator
        A tree or forest of this library, which `fit` makes a copy of. `quantize` takes a fitted one
        as it is.
    dtype : {"int8", "int16"}

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    integer_model_ : IntegerModel
        All whole numbers.
    error_bound_ : float
        The largest possible difference between its probabilities and those of `model_`, over the
        range of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, QuantizedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> QuantizedClassifier(BNeuralTClassifier(random_state=0)).fit(X, y).score(X, y) > 0.95
    True
    """

    def _set_up(self, model: Any, plan: Plan, X: Any) -> Self:
        self.classes_ = model.classes_
        self.multilabel_ = model.multilabel_
        return super()._set_up(model, plan, X)

    def predict(self, X: Any) -> Array:
        """Predict the label of each row; for each of several labels, 1 or 0.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        decided = self.integer_model_.decided(self._outputs(X))
        return decided if self.multilabel_ else self.classes_[decided]

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class, a multiple of 2**-15 (for each tree).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        return self.integer_model_.values(self._outputs(X))


class QuantizedRegressor(RegressorMixin, _Quantized):
    """A regressor that computes with whole numbers only.

    Parameters
    ----------
    model : estimator
        A tree or forest of this library, which `fit` makes a copy of. `quantize` takes a fitted one
        as it is.
    dtype : {"int8", "int16"}

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    integer_model_ : IntegerModel
        All whole numbers.
    error_bound_ : float
        The largest possible difference between its predictions and those of `model_`, over the
        range of the training rows; with ``loss="poisson"``, between their logarithms.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from bneuralt import BNeuralTRegressor, QuantizedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> QuantizedRegressor(BNeuralTRegressor(random_state=0)).fit(X, y).score(X, y) > 0.5
    True
    """

    def predict(self, X: Any) -> FloatArray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        values = self.integer_model_.values(self._outputs(X))
        return values[:, 0] if values.shape[1] == 1 else values
