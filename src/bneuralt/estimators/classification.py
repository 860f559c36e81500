"""Classifiers: predictions of labels and probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from bneuralt._sklearn import fit_context
from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.fitting.block_rows import scored
from bneuralt.model.predict import probabilities, scores

__all__ = ["Classifier", "learns_in_parts"]


def learns_in_parts(estimator: NeuralTreeEstimator) -> bool:
    """Return whether an estimator has `partial_fit`."""
    return type(estimator)._fit_part is not None


class Classifier(ClassifierMixin, NeuralTreeEstimator):
    """Base class of classifiers.

    With several columns of y (multilabel), each is an independent label: 1 if the row has it, else
    0. Each label has its own probability.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def classes_(self) -> Array:
        """The labels; 0, 1, ... if y had several columns."""
        task = self._model_or_error.target
        assert task is not None and task.classes is not None
        return task.classes

    @property
    def multilabel_(self) -> bool:
        """Whether y had several columns, each a label of its own."""
        return self._model_or_error.task == "labels"

    @available_if(learns_in_parts)
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

    def _scores(self, X: Any) -> FloatArray:
        """Return a score for each class, whose softmax (labels: sigmoid) are the probabilities."""
        inputs = self._read_features(X)
        return scores(self._raw(), inputs, self._n_threads())

    def predict(self, X: Any) -> Array:
        """Predict the label of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_labels) if y had several columns
            Labels, out of `classes_`; or 1 for each label that the row has, 0 elsewhere.
        """
        scores = self._scores(X)
        if self.multilabel_:
            return (scores > 0).astype(np.int64)
        return self.classes_[scores.argmax(axis=1)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose labels are all predicted right.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_labels)
            None for a table that is read in blocks, which has the target.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        float
        """
        y, sample_weight = scored(X, y, sample_weight)
        return float(super().score(X, y, sample_weight))

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`. If y had several columns: the probability of each
            label, independent of the others.
        """
        inputs = self._read_features(X)
        return probabilities(self._raw(), inputs, self._n_threads())

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
        scores = self._scores(X)
        log_probabilities: FloatArray = (
            log_expit(scores) if self.multilabel_ else log_softmax(scores, axis=1)
        )
        return log_probabilities

    def decision_function(self, X: Any) -> Array:
        """Return the scores whose softmax (with several labels: sigmoid) is `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes), or (n_rows,) if there are two classes
            With two classes, the score of the second minus that of the first.
        """
        scores = self._scores(X)
        if self.multilabel_ or scores.shape[1] != 2:
            return scores
        return scores[:, 1] - scores[:, 0]
