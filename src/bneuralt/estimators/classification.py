"""Classification: encoding of labels, and predictions from the outputs of trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import log_expit, log_softmax, logit
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.block_rows import scored
from bneuralt.estimators.capacity import effective_share
from bneuralt.estimators.inputs import finite_inputs
from bneuralt.estimators.nested import setting_of
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import Scaling
from bneuralt.expressions import OUTPUTS, Expression, evaluate, maximum, minimum
from bneuralt.training.losses import (
    CLASSIFICATION_LOSSES,
    LINKS,
    LOSSES,
    SOFTMAX,
    Loss,
    get_loss,
    shares,
)
from bneuralt.tree import NeuralTree
from bneuralt.values import is_auto

__all__ = ["ClassifierTask"]


def _refuse_other_than_labels(y: Array, name: str, advice: str) -> None:
    """Raise an error if several columns have values other than 0 and 1."""
    odd = ~np.isin(y, (0, 1))
    if odd.any():
        row, column = np.argwhere(odd)[0].tolist()
        value = y[odd].tolist()[0]
        raise ValueError(
            f"{name} has {y.shape[1]} columns that are not all 0 and 1, but {value!r:.50} in row "
            f"{row}, column {column}: {advice}"
        )


class ClassifierTask(ClassifierMixin):
    """Task of classifiers: targets are labels, and trees have one output for each class.

    With several columns of y (multilabel), each is an independent label: 1 if the row has it, else
    0. Each label has its own probability.
    """

    _score_name = "accuracy"
    multilabel_: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _learn_target(self, y: Any, classes: Any = None) -> None:
        self.multilabel_ = y.ndim == 2
        if self.multilabel_:
            self._learn_labels(y, classes)
        else:
            self._learn_classes(y if classes is None else classes)

    def _learn_labels(self, y: Array, classes: Any) -> None:
        _refuse_other_than_labels(
            y,
            "y",
            "for several columns of classes, use "
            f"sklearn.multioutput.MultiOutputClassifier({type(self).__name__}()), which fits one "
            "model for each column",
        )
        self.classes_ = np.arange(y.shape[1])
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={np.unique(classes).tolist()!r} do not match the {y.shape[1]} columns "
                f"of y: use classes=range({y.shape[1]})"
            )
        if self.class_weight is not None:
            raise ValueError(
                f"class_weight={self.class_weight!r} is for rows of one class each, and y has "
                f"{y.shape[1]} columns: use sample_weight"
            )

    def _learn_classes(self, y: Any) -> None:
        try:
            is_whole = isinstance(y, np.ndarray) and y.dtype.kind in "iub"
            if not is_whole:
                check_classification_targets(y)
            classes = np.unique(y)
            if is_whole and 2 * classes.size > y.size:  # otherwise the check always passes
                check_classification_targets(y)
        except TypeError as error:
            kinds = ", ".join(sorted({type(label).__name__ for label in y}))
            raise TypeError(
                f"the labels in y, of type {kinds}, cannot be used: {error}. Convert them all "
                "to numbers or all to text, for instance with y.astype(str)"
            ) from None
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least 2 classes, and y has only one "
                f"class: {classes.tolist()[0]!r}"
            )
        self.classes_ = classes

    def _encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        """Return the position of the class of each row in `classes_`.

        Rows of weight 0 may have other labels. With several labels: 0 or 1 for each label.
        """
        if y.ndim == 2 or self.multilabel_:
            n_columns, n_labels = y.shape[1:] or (1,), (self._n_outputs(),)
            if not self.multilabel_ or n_columns != n_labels:
                needed = n_labels[0] if self.multilabel_ else 1
                raise ValueError(
                    f"{name} has {n_columns[0]} columns, the model was trained with {needed}"
                )
            _refuse_other_than_labels(y, name, "replace it by 0 or 1")
            return np.ascontiguousarray(y, dtype=np.float64)
        index = np.searchsorted(self.classes_, y).clip(max=self.classes_.size - 1)
        unknown = (self.classes_[index] != y) & (weight > 0)
        if unknown.any():
            raise ValueError(
                f"{name} has a label that is not among the classes: {y[unknown].tolist()[0]!r}; "
                f"they are {', '.join(map(repr, self.classes_.tolist()))}"
            )
        return index.astype(np.int32)

    def _n_outputs(self) -> int:
        return self.classes_.size

    def _n_classes(self) -> int:
        return 2 if self.multilabel_ else self.classes_.size

    def _effective_share(self, rows: Rows) -> float:
        """Return the share of the rows that the capacity of a tree depends on."""
        return 1.0 if self.multilabel_ else effective_share(np.bincount(rows.y, rows.copies))

    def _output_signs(self) -> tuple[int, ...]:
        """Return the direction of the probability of the second class with each output."""
        if self.multilabel_ or self.classes_.size > 2:
            raise ValueError(
                f"monotonic_cst needs two classes, y has {self.classes_.size} "
                f"{'columns' if self.multilabel_ else 'classes'}: constraints are on the "
                "probability of the second class"
            )
        return (-1, 1)

    def _learn_target_scaling(self, rows: Rows, constant: float) -> Scaling | None:
        return None

    def _output_scaling(self) -> Scaling | None:
        return None

    def _error_unit(self, target: Array, weight: FloatArray) -> float:
        return 1.0

    def _loss(self) -> Loss:
        parameter = setting_of(self, "loss")
        loss = get_loss("cross_entropy" if is_auto(parameter) else parameter)
        if loss.name not in CLASSIFICATION_LOSSES:
            raise ValueError(
                f"loss={parameter!r} is for regressors: {type(self).__name__} takes "
                f"{' or '.join(map(repr, CLASSIFICATION_LOSSES))}"
            )
        if not self.multilabel_:
            return loss
        per_label = loss.traits.per_label
        if per_label is None:
            raise ValueError(f"loss={loss.name!r} is for rows of one class each, not for labels")
        loss = LOSSES[per_label](*loss.values)
        if not loss.entry.needs_linear_outputs and self._output_activation != "sigmoid":
            raise ValueError(
                f"loss={loss.name!r} with several labels needs output_activation='sigmoid', not "
                f"{self._output_activation!r}: outputs must be probabilities"
            )
        return loss

    def _outputs_are_scores(self, trees: Sequence[NeuralTree]) -> bool:
        """Return whether probabilities are the softmax of outputs, or the sigmoid for labels.

        Otherwise, the outputs themselves are shares, or probabilities of labels.
        """
        return all(tree.output_activation == "linear" for tree in trees)

    def _link(self, trees: Sequence[NeuralTree]) -> Expression:
        """Return the function from the outputs of trees to probabilities."""
        if self._outputs_are_scores(trees):
            return LINKS["labels" if self.multilabel_ else "classes"]
        if self.multilabel_:
            return minimum(maximum(OUTPUTS, 0.0), 1.0)
        return shares(max(float(np.finfo(tree.dtype).tiny) for tree in trees))

    def _outputs_described(self) -> dict[str, Any]:
        """Return the fields of a `Model` about outputs."""
        return {
            "task": "labels" if self.multilabel_ else "classes",
            "link": self._link(self._trees),
            "averages": "outputs" if self._averages_outputs() else "predictions",
            "classes": tuple(self.classes_.tolist()),
        }

    def _averages_outputs(self) -> bool:
        """Return whether probabilities are those of mean outputs, in which effects are added."""
        return self._holds_many_trees and self.interaction_cst is not None

    def _mean_probabilities(self, trees: Sequence[NeuralTree], X: Array) -> FloatArray:
        """Return the mean over trees of the probability of each class.

        With constraints on interactions, it is the probability of the mean outputs.
        """
        link = self._link(trees)
        if self._averages_outputs():
            probabilities: FloatArray = evaluate(link, {"outputs": self._mean_outputs(trees, X)})
            return probabilities
        if link is SOFTMAX:  # computed in the core
            return self._mean_outputs(trees, X, softmax=True)
        X = finite_inputs(self, X)  # once for all trees
        total = np.zeros((len(X), self._n_outputs()))
        for tree in trees:
            total += evaluate(link, {"outputs": self._mean_outputs([tree], X)})
        return total / len(trees)

    def _scores(self, X: Any) -> FloatArray:
        """Return a score for each class, whose softmax are the probabilities.

        With several labels, the sigmoid of each score is the probability of the label.
        """
        (tree,) = self._trees
        outputs: FloatArray = self._mean_outputs([tree], X)
        if self._outputs_are_scores([tree]):
            return outputs
        if self.multilabel_:
            return self._scores_of_shares(outputs)
        return np.log(np.maximum(outputs, np.finfo(tree.dtype).tiny))  # softmax undoes the log

    def _scores_of_shares(self, shares: FloatArray) -> FloatArray:
        """Return the scores of probabilities, of which these are the softmax (or sigmoid)."""
        if self.multilabel_:
            low, high = np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg
            scores: FloatArray = logit(np.clip(shares, low, high))
            return scores
        return np.log(np.maximum(shares, np.finfo(np.float64).tiny))

    def _row_accuracies(self, shares: FloatArray, rows: Rows) -> FloatArray:
        """Return the share of correct labels of each row for these probabilities."""
        if self.multilabel_:
            labels: FloatArray = np.mean((shares > 0.5) == (rows.y > 0.5), axis=1)
            return labels
        return np.asarray(shares.argmax(axis=1) == rows.y, dtype=np.float64)

    def _accuracy(self, shares: FloatArray, rows: Rows) -> float:
        """Return the weighted share of correct labels for these probabilities."""
        return float(np.average(self._row_accuracies(shares, rows), weights=rows.weight))

    def _row_scores(self, rows: Rows, all_rows: Rows) -> FloatArray:
        """Return numbers whose mean over rows is the accuracy."""
        return self._row_accuracies(self._mean_probabilities(self._trees, rows.X), rows)

    def _row_errors(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Return errors of the probability of each class, and what it should be."""
        target = rows.y if rows.y.ndim == 2 else np.eye(self._n_outputs())[rows.y]
        return self._mean_probabilities(self._trees, rows.X) - target, target

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
        scores = self._scores(self._read_features(X))
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
        return self._mean_probabilities(self._trees, inputs)

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
        scores = self._scores(self._read_features(X))
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
        scores = self._scores(self._read_features(X))
        if self.multilabel_ or scores.shape[1] != 2:
            return scores
        return scores[:, 1] - scores[:, 0]
