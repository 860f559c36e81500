"""What a model predicts: how targets are encoded and scaled, and outputs linked and scored.

A task is a value. `Classes` and `Labels` are those of classifiers; `Numbers`, `Counts` and
`Quantiles` those of regressors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils.multiclass import check_classification_targets

from bneuralt._typing import Array, FloatArray
from bneuralt.expressions import OUTPUTS, Expression, evaluate, is_elementwise, maximum, minimum
from bneuralt.expressions.operations import EXP_LIMIT
from bneuralt.model.intervals import pinball, weighted_quantile
from bneuralt.model.scaling import Scaling, learn_scaling
from bneuralt.tables.moments import ColumnMoments
from bneuralt.training.losses import LINKS, Loss, check_targets, shares
from bneuralt.tree import NeuralTree
from bneuralt.tree.forward import OutputOverflow

__all__ = ["Classes", "Counts", "Labels", "Numbers", "Quantiles", "Task", "regression_task"]

#: The value that `exp` has where its argument is limited: larger numbers are not predicted.
LARGEST_VALUE = float(np.exp(EXP_LIMIT))

#: Targets are processed in blocks of this many rows.
BLOCK_ROWS = 2**20


@dataclass(frozen=True, eq=False)
class Task:
    """Base class of tasks."""

    #: "classes", "labels" or "numbers".
    kind: ClassVar[str]
    #: Name of the score in reports.
    score_name: ClassVar[str]

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a tree."""
        raise NotImplementedError

    @property
    def n_classes(self) -> int:
        """Number of classes that a row is one of; 1 for numbers."""
        return 1

    @property
    def n_columns(self) -> int:
        """Number of columns of the target."""
        return 1

    @property
    def classes(self) -> Array | None:
        """The labels, None for numbers."""
        return None

    @property
    def quantiles(self) -> FloatArray | None:
        """The quantiles that are predicted, None for other tasks."""
        return None

    def encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        """Return targets as training reads them.

        Parameters
        ----------
        y : array of shape (n_rows,) or (n_rows, n_columns)
        weight : array of shape (n_rows,)
            Rows of weight 0 may have other labels.
        name : str
            Name of the target in messages.
        """
        raise NotImplementedError

    def output_signs(self) -> tuple[int, ...]:
        """Return the direction of the prediction with each output, for monotone constraints."""
        raise NotImplementedError

    def link(self, trees: Sequence[NeuralTree]) -> Expression:
        """Return the function from the outputs of trees to predictions."""
        raise NotImplementedError

    def target_scaling(
        self, target: Array, weight: FloatArray, output_activation: str, constant: float = 0.0
    ) -> Scaling | None:
        """Learn the scaling of targets for training; `constant` is the factor of constant ones."""
        return None

    def output_scaling(self, target: Scaling | None) -> Scaling | None:
        """Return the scaling that is folded into the outputs of trees."""
        return target

    def error_unit(self, target: Array, weight: FloatArray) -> float:
        """Return the error of the best constant, the unit of errors in scores."""
        return 1.0

    def row_scores(self, predictions: FloatArray, target: Array, unit: float) -> FloatArray:
        """Return numbers whose weighted mean over rows is the score.

        Parameters
        ----------
        predictions : array of shape (n_rows, n_outputs)
        target : array
            As `encode` returns it.
        unit : float
            `error_unit` of all rows.
        """
        raise NotImplementedError

    def score(self, predictions: FloatArray, target: Array, weight: FloatArray) -> float:
        """Return the score of predictions for encoded targets."""
        unit = self.error_unit(target, weight)
        return float(np.average(self.row_scores(predictions, target, unit), weights=weight))

    def values(self, link: Expression, outputs: FloatArray) -> FloatArray:
        """Return the predictions of outputs; raise `OutputOverflow` where a number overflows."""
        predictions: FloatArray = evaluate(link, {"outputs": outputs})
        return predictions


@dataclass(frozen=True, eq=False)
class Classes(Task):
    """One of several classes for each row; trees have one output for each class.

    Attributes
    ----------
    labels : array of shape (n_classes,)
        Sorted.
    """

    kind: ClassVar[str] = "classes"
    score_name: ClassVar[str] = "accuracy"
    labels: Array

    @classmethod
    def learn(cls, y: Any, estimator: str) -> Classes:
        """Find the labels of a target.

        Examples
        --------
        >>> Classes.learn(np.array(["b", "a", "b"]), "Tree").labels.tolist()
        ['a', 'b']
        """
        try:
            is_whole = isinstance(y, np.ndarray) and y.dtype.kind in "iub"
            if not is_whole:
                check_classification_targets(y)
            labels = np.unique(y)
            if is_whole and 2 * labels.size > y.size:  # otherwise the check always passes
                check_classification_targets(y)
        except TypeError as error:
            kinds = ", ".join(sorted({type(label).__name__ for label in y}))
            raise TypeError(
                f"the labels in y, of type {kinds}, cannot be used: {error}. Convert them all "
                "to numbers or all to text, for instance with y.astype(str)"
            ) from None
        if labels.size < 2:
            raise ValueError(
                f"{estimator} needs rows of at least 2 classes, and y has only one "
                f"class: {labels.tolist()[0]!r}"
            )
        return cls(labels)

    @property
    def n_outputs(self) -> int:
        """Number of classes."""
        return self.labels.size

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.labels.size

    @property
    def classes(self) -> Array:
        """The labels."""
        return self.labels

    def encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        """Return the position of the class of each row in `labels`."""
        if y.ndim == 2:
            raise ValueError(f"{name} has {y.shape[1]} columns, the model was trained with 1")
        index = np.searchsorted(self.labels, y).clip(max=self.labels.size - 1)
        unknown = (self.labels[index] != y) & (weight > 0)
        if unknown.any():
            raise ValueError(
                f"{name} has a label that is not among the classes: {y[unknown].tolist()[0]!r}; "
                f"they are {', '.join(map(repr, self.labels.tolist()))}"
            )
        return index.astype(np.int32)

    def output_signs(self) -> tuple[int, ...]:
        """Return the direction of the probability of the second class with each output."""
        if self.labels.size > 2:
            raise ValueError(
                f"monotonic_cst needs two classes, y has {self.labels.size} classes: constraints "
                "are on the probability of the second class"
            )
        return (-1, 1)

    def link(self, trees: Sequence[NeuralTree]) -> Expression:
        """Return the softmax of linear outputs; other outputs are divided by their sum."""
        if are_scores(trees):
            return LINKS[self.kind]
        return shares(max(float(np.finfo(tree.dtype).tiny) for tree in trees))

    def row_scores(self, predictions: FloatArray, target: Array, unit: float) -> FloatArray:
        """Return 1 for each row that is classified right."""
        return np.asarray(predictions.argmax(axis=1) == target, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Labels(Task):
    """Several labels, each of which a row has or has not; each has its own probability."""

    kind: ClassVar[str] = "labels"
    score_name: ClassVar[str] = "accuracy"
    n_labels: int

    @classmethod
    def learn(cls, y: Array, classes: Any, estimator: str) -> Labels:
        """Check a target of several columns of 0 and 1."""
        refuse_other_than_labels(
            y,
            "y",
            "for several columns of classes, use "
            f"sklearn.multioutput.MultiOutputClassifier({estimator}()), which fits one "
            "model for each column",
        )
        task = cls(y.shape[1])
        if classes is not None and not np.array_equal(np.unique(classes), task.classes):
            raise ValueError(
                f"classes={np.unique(classes).tolist()!r} do not match the {y.shape[1]} columns "
                f"of y: use classes=range({y.shape[1]})"
            )
        return task

    @property
    def n_outputs(self) -> int:
        """Number of labels."""
        return self.n_labels

    @property
    def n_classes(self) -> int:
        """A row has a label or not."""
        return 2

    @property
    def n_columns(self) -> int:
        """Number of labels."""
        return self.n_labels

    @property
    def classes(self) -> Array:
        """Positions of the labels."""
        return np.arange(self.n_labels)

    def encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        """Return 0 or 1 for each label."""
        n_columns = y.shape[1] if y.ndim == 2 else 1
        if n_columns != self.n_labels or y.ndim != 2:
            raise ValueError(
                f"{name} has {n_columns} columns, the model was trained with {self.n_labels}"
            )
        refuse_other_than_labels(y, name, "replace it by 0 or 1")
        return np.ascontiguousarray(y, dtype=np.float64)

    def output_signs(self) -> tuple[int, ...]:
        """Refuse constraints."""
        raise ValueError(
            f"monotonic_cst needs two classes, y has {self.n_labels} columns: constraints are on "
            "the probability of the second class"
        )

    def link(self, trees: Sequence[NeuralTree]) -> Expression:
        """Return the sigmoid of linear outputs; other outputs are probabilities."""
        if are_scores(trees):
            return LINKS[self.kind]
        return minimum(maximum(OUTPUTS, 0.0), 1.0)

    def row_scores(self, predictions: FloatArray, target: Array, unit: float) -> FloatArray:
        """Return the fraction of right labels of each row."""
        right: FloatArray = np.mean((predictions > 0.5) == (target > 0.5), axis=1)
        return right


@dataclass(frozen=True, eq=False)
class Numbers(Task):
    """One or several numbers, which are standardized for training.

    Attributes
    ----------
    n_targets : int
        Number of columns of the target.
    loss : Loss
    """

    kind: ClassVar[str] = "numbers"
    score_name: ClassVar[str] = "r2"
    n_targets: int
    loss: Loss

    @property
    def n_outputs(self) -> int:
        """Number of columns of the target."""
        return self.n_targets

    @property
    def n_columns(self) -> int:
        """Number of columns of the target."""
        return self.n_targets

    def encode(self, y: Array, weight: Array, name: str = "y") -> Array:
        """Return the target as numbers that the loss takes."""
        n_columns = y.shape[1] if y.ndim == 2 else 1
        if n_columns != self.n_targets:
            raise ValueError(
                f"{name} has {n_columns} columns, the model was trained with {self.n_targets}"
            )
        target = np.ascontiguousarray(y, dtype=np.float64)
        check_targets(target, self.loss, name)
        return target

    def output_signs(self) -> tuple[int, ...]:
        """Return 1 for each output."""
        if self.n_targets > 1:
            raise ValueError(
                f"monotonic_cst needs a single target, y has {self.n_targets} columns: use "
                "sklearn.multioutput.MultiOutputRegressor"
            )
        return (1,) * self.n_outputs

    def link(self, trees: Sequence[NeuralTree]) -> Expression:
        """Return the function of the loss."""
        return self.loss.link("numbers")

    def target_scaling(
        self, target: Array, weight: FloatArray, output_activation: str, constant: float = 0.0
    ) -> Scaling | None:
        """Learn mean and deviation; to [0, 1] for outputs that are not linear."""
        if self.loss.traits.scaling is None:
            return None
        columns = target.reshape(len(target), -1)
        kind = "standard" if output_activation == "linear" else "minmax"
        return learn_scaling(kind, ColumnMoments(columns, weight), constant, "y")

    def error_unit(self, target: Array, weight: FloatArray) -> float:
        """Return the mean squared error of the mean."""
        mean = np.average(target, axis=0, weights=weight)
        error = 0.0
        for start in range(0, len(target), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            square = np.square(target[block] - mean).reshape(len(weight[block]), -1).mean(axis=1)
            error += float(weight[block] @ square)
        return error / float(weight.sum()) or 1.0

    def row_scores(self, predictions: FloatArray, target: Array, unit: float) -> FloatArray:
        """Return 1 minus the squared error in its unit."""
        cost = np.square(predictions - target.reshape(len(target), -1)).mean(axis=1)
        scores: FloatArray = 1.0 - cost / unit
        return scores

    def score(self, predictions: FloatArray, target: Array, weight: FloatArray) -> float:
        """Return r2, the mean over the columns of the target."""
        return float(r2_score(target, predictions, sample_weight=weight))

    def values(self, link: Expression, outputs: FloatArray) -> FloatArray:
        """Return predictions as a table, one column for each output."""
        if link == OUTPUTS:
            return outputs
        values: FloatArray = evaluate(link, {"outputs": outputs})
        is_too_large = (values >= LARGEST_VALUE).any(axis=1)
        if is_elementwise(link) and is_too_large.any():  # sorted outputs may be of any size
            raise OutputOverflow(int(is_too_large.argmax()), values.dtype)
        return values


class Counts(Numbers):
    """Counts and other non-negative numbers; outputs are logarithms of their mean."""

    def target_scaling(
        self, target: Array, weight: FloatArray, output_activation: str, constant: float = 0.0
    ) -> Scaling | None:
        """Learn the mean, which targets are divided by."""
        mean = np.average(target.reshape(len(target), -1), axis=0, weights=weight)
        if not mean.all():
            raise ValueError(
                f"y is 0 in all rows: loss={self.loss.name!r} needs some that are positive"
            )
        return Scaling(np.zeros(mean.size), 1.0 / mean)

    def output_scaling(self, target: Scaling | None) -> Scaling | None:
        """Return the logarithm of the mean as an offset."""
        if target is None:
            return None
        return Scaling(-np.log(target.factor), np.ones(target.factor.size))


class Quantiles(Numbers):
    """Several quantiles of one number; trees have one output for each."""

    @property
    def quantiles(self) -> FloatArray:
        """The quantiles."""
        return np.array(self.loss.numbers)

    @property
    def n_outputs(self) -> int:
        """Number of quantiles."""
        return len(self.loss.numbers)

    def error_unit(self, target: Array, weight: FloatArray) -> float:
        """Return the pinball loss of the best constants."""
        best = [weighted_quantile(target, weight, q) for q in self.quantiles]
        cost = pinball(target, np.array(best), self.quantiles).mean(axis=1)
        return float(np.average(cost, weights=weight)) or 1.0

    def row_scores(self, predictions: FloatArray, target: Array, unit: float) -> FloatArray:
        """Return 1 minus the pinball loss in its unit."""
        scores: FloatArray = 1.0 - pinball(target, predictions, self.quantiles).mean(axis=1) / unit
        return scores

    def score(self, predictions: FloatArray, target: Array, weight: FloatArray) -> float:
        """Return the explained fraction of the pinball loss."""
        cost = pinball(target, predictions, self.quantiles).mean(axis=1)
        return float(1.0 - np.average(cost, weights=weight) / self.error_unit(target, weight))


def regression_task(loss: Loss, n_targets: int) -> Numbers:
    """Return the task of a loss of numbers.

    Examples
    --------
    >>> from bneuralt.training.losses import Poisson
    >>> type(regression_task(Poisson(), 1)).__name__
    'Counts'
    """
    if loss.compares == "shared":
        if n_targets > 1:
            raise ValueError(
                f"loss='quantile' takes a single target, y has {n_targets} columns: use "
                "sklearn.multioutput.MultiOutputRegressor, or another loss"
            )
        return Quantiles(n_targets, loss)
    return (Counts if loss.traits.scaling == "mean" else Numbers)(n_targets, loss)


def are_scores(trees: Sequence[NeuralTree]) -> bool:
    """Return whether the outputs of trees are scores, and not probabilities or parts of them."""
    return all(tree.output_activation == "linear" for tree in trees)


def refuse_other_than_labels(y: Array, name: str, advice: str) -> None:
    """Raise an error if several columns have values other than 0 and 1."""
    odd = ~np.isin(y, (0, 1))
    if odd.any():
        row, column = np.argwhere(odd)[0].tolist()
        value = y[odd].tolist()[0]
        raise ValueError(
            f"{name} has {y.shape[1]} columns that are not all 0 and 1, but {value!r:.50} in row "
            f"{row}, column {column}: {advice}"
        )
