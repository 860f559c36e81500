"""Estimators in integer arithmetic, with the same numbers as the generated C code."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.export.integer import FORMATS, IntegerModel, input_ranges, integer_model

__all__ = ["QuantizedClassifier", "QuantizedRegressor", "quantized"]


def quantized(estimator: NeuralTreeEstimator, dtype: str, X: Any = None) -> Any:
    """Return a fitted estimator in integer arithmetic; see the method `quantize`."""
    is_regressor = estimator.model_.task == "numbers"
    kind = QuantizedRegressor if is_regressor else QuantizedClassifier
    return kind(estimator, dtype)._set_up(estimator, X)


class _Quantized(BaseEstimator):
    """Base class of quantized classifiers and regressors."""

    estimator_: NeuralTreeEstimator
    integer_model_: IntegerModel
    n_features_in_: int

    def __init__(self, estimator: NeuralTreeEstimator, dtype: str = "int8") -> None:
        self.estimator = estimator
        self.dtype = dtype

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "integer_model_")

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit a copy of `estimator` and quantize it."""
        return self._set_up(clone(self.estimator).fit(X, y, **fit_params))

    def _set_up(self, estimator: NeuralTreeEstimator, X: Any = None) -> Self:
        if self.dtype not in FORMATS:
            raise ValueError(f"dtype={self.dtype!r} must be one of {', '.join(map(repr, FORMATS))}")
        self.estimator_ = estimator
        model = estimator.model_.in_raw_units()
        self.integer_model_ = integer_model(model, self.dtype, input_ranges(model, X))
        self.error_bound_ = float(self.integer_model_.bound.max())
        self.n_features_in_ = estimator.n_features_in_
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        return self

    def encode(self, X: Any) -> IntArray:
        """Return the inputs of the trees as integers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        int64 array of shape (n_rows, n_inputs)
        """
        check_is_fitted(self)
        return self.integer_model_.encode_rows(X)

    def integer_outputs(self, X: Any) -> IntArray:
        """Return the outputs of the trees as integers, equal to those of the C code.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        int64 array of shape (n_trees, n_rows, n_outputs)
        """
        return self.integer_model_.outputs(self.encode(X))


class QuantizedClassifier(ClassifierMixin, _Quantized):
    """Classify with a model in integer arithmetic.

    Parameters
    ----------
    estimator : estimator
        A tree or forest of this library, of which `fit` fits a copy. Its method `quantize`
        converts a fitted estimator without fitting it again.
    dtype : {"int8", "int16"}

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    integer_model_ : IntegerModel
        The integer weights and tables.
    error_bound_ : float
        The largest possible difference between its probabilities and those of `estimator_`, over
        the range of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, QuantizedClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> QuantizedClassifier(BNeuralTClassifier(random_state=0)).fit(X, y).score(X, y) > 0.95
    True
    """

    def _set_up(self, estimator: NeuralTreeEstimator, X: Any = None) -> Self:
        self.classes_ = estimator.classes_
        self.multilabel_ = estimator.multilabel_
        return super()._set_up(estimator, X)

    def predict(self, X: Any) -> Array:
        """Predict the label of each row; for each of several labels, 1 or 0.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        decisions = self.integer_model_.decisions(self.integer_outputs(X))
        return decisions if self.multilabel_ else self.classes_[decisions]

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of each class, a multiple of 2**-15 (for each tree).

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        """
        return self.integer_model_.predictions(self.integer_outputs(X))


class QuantizedRegressor(RegressorMixin, _Quantized):
    """Predict numbers with a model in integer arithmetic.

    Parameters
    ----------
    estimator : estimator
        A tree or forest of this library, of which `fit` fits a copy. Its method `quantize`
        converts a fitted estimator without fitting it again.
    dtype : {"int8", "int16"}

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    integer_model_ : IntegerModel
        The integer weights and tables.
    error_bound_ : float
        The largest possible difference between its predictions and those of `estimator_`, over the
        range of the training rows; if predictions are a function of the outputs of the trees, as
        with ``loss="poisson"``, between mean outputs.

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
        values = self.integer_model_.predictions(self.integer_outputs(X))
        return values[:, 0] if values.shape[1] == 1 else values
