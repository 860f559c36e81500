"""What all estimators share: reading input, the two tasks, and predicting.

`NeuralTreeEstimator` reads what `fit` is given and makes rows of it; what is done with the rows is
left to the classes of `estimators` and `forest`. `ClassifierTask` and `RegressorTask` say how
targets become what a tree can learn, and what predictions are made of its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from bneuralt._sklearn import CallbackSupportMixin, fit_context
from bneuralt._typing import Array, FloatArray
from bneuralt.arrays import NotFiniteError
from bneuralt.estimators.callbacks import TrainingData, reporting
from bneuralt.estimators.model_file import save_model
from bneuralt.estimators.parameters import TreeParameters
from bneuralt.estimators.rows import (
    Rows,
    blocks,
    canonical_rows,
    check_inputs,
    class_weights,
    encode,
    learn_table_encoder,
    read_features,
    read_training,
    read_weights,
    refuse_not_finite,
)
from bneuralt.estimators.scaling import Scaling, learn_scaling
from bneuralt.tables.encoder import TableEncoder
from bneuralt.training.losses import CrossEntropy, Loss, get_loss
from bneuralt.tree import NeuralTree, mean_forward

__all__ = [
    "ClassifierTask",
    "NeuralTreeEstimator",
    "RegressorTask",
    "scores_of_outputs",
]


class NeuralTreeEstimator(CallbackSupportMixin, BaseEstimator, TreeParameters):
    """Reads the input of a fit, and leaves the rest to `_fit_rows`."""

    encoder_: TableEncoder | None

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            A data frame (pandas, polars, Arrow), an array or a sparse matrix. Text, dates and
            missing values are encoded; see `categorical_features`. float64, float32 and uint8
            arrays without missing values are used as they are.
        y : array-like of shape (n_rows,)
            The target of each row: a label for classifiers, a number for regressors.
        sample_weight : array-like of shape (n_rows,), optional
            How much each row counts. A row of weight 2 is exactly two equal rows.
        X_val, y_val : array-like, optional
            Validation rows, to be used instead of a part of the training rows.
        callback : callable, optional
            Called with a state object after each epoch (`bneuralt.training.EpochState`) or, by
            forests, after each tree (`bneuralt.estimators.callbacks.ForestState`). Training stops
            if it returns something true.

        Returns
        -------
        self
        """
        rows = self._read_rows(X, y, sample_weight, reset=not self._is_warm_start())
        validation = self._read_validation_rows(X_val, y_val)
        data = TrainingData(X, y, sample_weight)
        with reporting(self, self._step(rows), data, callback) as report:
            self._fit_rows(rows, validation, report)
        return self

    def _is_warm_start(self) -> bool:
        return self.warm_start and self.__sklearn_is_fitted__()

    def _read_rows(
        self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any = None
    ) -> Rows:
        """Read training rows; with `reset`, their features and classes are those of the model."""
        X, y = read_training(self, X, y, reset)
        weight = read_weights(sample_weight, X)
        if reset:
            self._learn_classes(y[weight > 0] if classes is None else classes)
            self.encoder_ = learn_table_encoder(self, X, weight)
        return self._weigh(canonical_rows(self._inputs(X), self._encode(y, weight), weight))

    def _inputs(self, table: Any) -> Array:
        """Return the inputs of the trees, without gaps."""
        X = encode(self, table)
        if self.encoder_ is not None and self.encoder_.is_plain:
            X = self.encoder_.encode(X)
        return check_inputs(self, X)

    def _read_validation_rows(self, X_val: Any, y_val: Any) -> Rows | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            missing = "X_val" if X_val is None else "y_val"
            raise ValueError(f"{missing} is missing: validation rows need both X_val and y_val")
        X, y = read_training(self, X_val, y_val, reset=False)
        weight = np.ones(len(y))
        return Rows(self._inputs(X), self._encode(y, weight, "y_val"), weight)

    def _read_features(self, X: Any) -> Any:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return read_features(self, X)

    def _mean_outputs(
        self, trees: Sequence[NeuralTree], X: Any, softmax: bool = False
    ) -> FloatArray:
        """Return the mean of what trees say of each row; refuse rows that they cannot take."""
        if issparse(X):
            parts = (self._mean_outputs(trees, encode(self, b), softmax) for b in blocks(X))
            return np.concatenate(list(parts))
        try:
            return mean_forward(trees, X, self._n_threads(), softmax)
        except NotFiniteError as error:
            if self.encoder_ is None or not np.isnan(X[error.row, error.column]):
                raise refuse_not_finite(self, X, error.row, error.column) from None
        return self._mean_outputs(trees, self.encoder_.encode(X), softmax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _n_threads(self) -> int:
        return effective_n_jobs(self.n_jobs)

    def save(self, path: str | PathLike[str], extra: dict[str, Any] | None = None) -> None:
        """Write the model to a JSON file; `bneuralt.load_model` reads it.

        The file is written in full or not at all, and holds all that predicting needs.

        Parameters
        ----------
        path : str or path-like
            File to write; an existing one is replaced.
        extra : dict, optional
            Anything else that JSON can hold; the loaded model has it as `extra_`.
        """
        check_is_fitted(self)
        save_model(self, path, extra)


class ClassifierTask(ClassifierMixin):
    """Targets are labels; predictions come from one score for each class."""

    _score_name = "accuracy"

    def _learn_classes(self, y: Any) -> None:
        try:
            check_classification_targets(y)
            classes = np.unique(y)
        except TypeError as error:
            kinds = ", ".join(sorted({type(label).__name__ for label in y}))
            raise TypeError(
                f"the labels in y, of type {kinds}, cannot be used: {error}. Make them all "
                "numbers or all text, for instance with y.astype(str)"
            ) from None
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least 2 classes, and y has only one "
                f"class: {classes.tolist()[0]!r}"
            )
        self.classes_ = classes

    def _encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        """Return the class of each row as a position in `classes_`; rows of weight 0 may err."""
        index = np.searchsorted(self.classes_, y).clip(max=self.classes_.size - 1)
        unknown = (self.classes_[index] != y) & (weight > 0)
        if unknown.any():
            raise ValueError(
                f"{name} has a label that is not among the classes: {y[unknown].tolist()[0]!r}; "
                f"they are {', '.join(map(repr, self.classes_.tolist()))}"
            )
        return index.astype(np.int32)

    def _weigh(self, rows: Rows) -> Rows:
        if self.class_weight is None:
            return rows
        return rows.weighed(class_weights(self.class_weight, self.classes_, rows))

    def _n_outputs(self) -> int:
        return self.classes_.size

    def _learn_target_scaling(self, rows: Rows, constant: float) -> Scaling | None:
        return None

    def _error_unit(self, target: Array, weight: FloatArray) -> float:
        return 1.0

    def _loss(self) -> Loss:
        loss = get_loss(self.loss)
        if self.label_smoothing and loss.name != "cross_entropy":
            raise ValueError(
                f"label_smoothing={self.label_smoothing!r} goes with loss='cross_entropy' only, "
                f"not with loss={loss.name!r}: use 0"
            )
        return CrossEntropy(self.label_smoothing) if self.label_smoothing else loss

    def _mean_probabilities(self, trees: Sequence[NeuralTree], X: Array) -> FloatArray:
        """Return the mean of the probabilities that trees give to each class."""
        if all(tree.output_activation == "linear" for tree in trees):
            return self._mean_outputs(trees, X, softmax=True)
        X = self._inputs(X)  # once for all trees
        total = np.zeros((len(X), self._n_outputs()))
        for tree in trees:
            shares = np.maximum(self._mean_outputs([tree], X), np.finfo(tree.dtype).tiny)
            total += shares / shares.sum(axis=1, keepdims=True)
        return total / len(trees)

    def predict(self, X: Any) -> Array:
        """Predict the label of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
            Labels, out of `classes_`.
        """
        best = self._scores(self._read_features(X)).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        return self._probabilities(self._read_features(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        log_probabilities: FloatArray = log_softmax(self._scores(self._read_features(X)), axis=1)
        return log_probabilities

    def decision_function(self, X: Any) -> Array:
        """Return the scores whose softmax is `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes), or (n_rows,) if there are two classes
            With two classes, the score of the second less that of the first.
        """
        scores = self._scores(self._read_features(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class RegressorTask(RegressorMixin):
    """Targets are numbers, scaled while the tree is trained."""

    _score_name = "r2"

    def _learn_classes(self, y: Any) -> None:
        """Regression has none."""

    def _encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        return np.asarray(y, dtype=np.float64)

    def _weigh(self, rows: Rows) -> Rows:
        return rows

    def _n_outputs(self) -> int:
        return 1

    def _learn_target_scaling(self, rows: Rows, constant: float) -> Scaling | None:
        kind = "standard" if self.output_activation == "linear" else "minmax"
        return learn_scaling(kind, rows.y[:, np.newaxis], rows.weight, constant, "y")

    def _error_unit(self, target: Array, weight: FloatArray) -> float:
        """Return the error of always predicting the mean: what r2 compares errors with."""
        mean = np.average(target, weights=weight)
        return float(np.average(np.square(target - mean), weights=weight)) or 1.0

    def _loss(self) -> Loss:
        return get_loss(self.loss)

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        return self._values(self._read_features(X))


def scores_of_outputs(outputs: FloatArray, tree: NeuralTree) -> FloatArray:
    """Return a score for each class; the softmax of the scores are the probabilities."""
    if tree.output_activation == "linear":
        return outputs
    return np.log(np.maximum(outputs, np.finfo(tree.dtype).tiny))  # softmax undoes the log
