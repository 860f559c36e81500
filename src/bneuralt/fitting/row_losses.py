"""Losses of rows as functions of linear outputs, for fits that need no tree: values and slopes.

Arrays have one line for each output, with the rows last. Two classes have one output, the
difference of those of a tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.model.intervals import weighted_quantile
from bneuralt.model.tasks import Task
from bneuralt.training.losses import Loss

__all__ = ["WITH_ROW_LOSS", "RowLoss", "row_loss"]

#: Losses that `row_loss` knows; training with others has no trial.
WITH_ROW_LOSS = frozenset(
    {
        "absolute_error",
        "binary_cross_entropy",
        "cross_entropy",
        "huber",
        "pinball",
        "poisson",
        "squared_error",
    }
)

#: Slope near 0 of losses that have a corner there, for a target of deviation 1.
STEEPNESS = 20.0
#: Largest exponent of counts.
LARGEST_EXPONENT = 50.0


class RowLoss(NamedTuple):
    """A loss with its targets.

    Attributes
    ----------
    kind : {"classes", "two classes", "counts", "numbers"}
    target : array of shape (n_columns, n_rows)
    low, high : arrays of shape (n_columns, 1)
        Limits of the slope of numbers, which is the difference times the steepness.
    steepness : float
    quantile : array of shape (n_columns,) or None
        The quantiles that are the best constants; None: the mean is.
    """

    kind: str
    target: FloatArray
    low: FloatArray | float = -np.inf
    high: FloatArray | float = np.inf
    steepness: float = 1.0
    quantile: FloatArray | None = None

    def __call__(self, outputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return losses and their slopes.

        Parameters
        ----------
        outputs : array of shape (n_models, n_columns, n_rows)

        Returns
        -------
        losses : array of shape (n_models, n_rows)
        slopes : array of the shape of the outputs

        Examples
        --------
        >>> loss = RowLoss("numbers", np.array([[1.0, 2.0]]))
        >>> loss(np.zeros((1, 1, 2)))
        (array([[0.5, 2. ]]), array([[[-1., -2.]]]))
        """
        target = self.target
        if self.kind == "classes":
            shifted = outputs - outputs.max(axis=1, keepdims=True)
            powers = np.exp(shifted)
            total = powers.sum(axis=1, keepdims=True)
            losses = np.log(total[:, 0]) - (shifted * target).sum(axis=1)
            return losses, powers / total - target
        if self.kind == "two classes":
            powers = np.exp(-np.abs(outputs))  # faster than logaddexp and expit
            total = 1.0 + powers
            losses = np.maximum(outputs, 0.0) - target * outputs + np.log(total)
            return losses.sum(axis=1), np.where(outputs < 0.0, powers, 1.0) / total - target
        if self.kind == "counts":
            powers = np.exp(np.minimum(outputs, LARGEST_EXPONENT))
            return (powers - target * outputs).sum(axis=1), powers - target
        difference = outputs - target
        slopes = np.clip(self.steepness * difference, self.low, self.high)
        return (slopes * (difference - slopes / (2 * self.steepness))).sum(axis=1), slopes

    @property
    def curvature(self) -> float:
        """About the mean second derivative by an output."""
        if self.kind == "classes":
            return min(0.25, 1.0 / len(self.target))
        return 0.2 if self.kind == "two classes" else 1.0

    @property
    def unit(self) -> float:
        """Factor of penalties: the difference of two outputs has twice the penalty of both."""
        return 0.5 if self.kind == "two classes" else 1.0

    def constant(self, weight: FloatArray) -> FloatArray:
        """Return about the best outputs that are the same for all rows of these weights.

        Examples
        --------
        >>> RowLoss("counts", np.array([[1.0, 3.0]])).constant(np.ones(2)).round(3)
        array([0.693])
        """
        if self.quantile is not None:
            pairs = zip(self.target, self.quantile, strict=True)
            return np.array([weighted_quantile(line, weight, q) for line, q in pairs])
        total, n_columns = weight.sum(), len(self.target)
        means: FloatArray = self.target @ weight / total
        if self.kind == "numbers":
            return means
        best: FloatArray = np.log(np.maximum(means, np.exp(-LARGEST_EXPONENT)))
        if self.kind == "counts":
            return best
        n_classes = max(2, n_columns) if self.kind == "classes" else 2
        frequency = (self.target @ weight + 0.5) / (total + 0.5 * n_classes)
        if self.kind == "classes":
            best = np.log(frequency) - np.log(frequency).mean()
        else:
            best = np.log(frequency / (1.0 - frequency))
        return best

    def of_trees(self, outputs: FloatArray) -> FloatArray:
        """Return the outputs of trees as this loss reads them.

        Parameters
        ----------
        outputs : array of shape (n_rows, n_outputs)
        """
        if len(self.target) < outputs.shape[1]:
            return (outputs[:, 1:] - outputs[:, :1]).T
        return outputs.T

    def take(self, rows: Array) -> RowLoss:
        """Return the loss of some rows."""
        return self._replace(target=self.target[:, rows])


def row_loss(loss: Loss, task: Task, target: Array) -> RowLoss:
    """Return a loss of linear outputs with its targets.

    Parameters
    ----------
    loss : Loss
        One of `WITH_ROW_LOSS`.
    task : Task
    target : array
        As trees are trained on it.
    """
    n = task.n_outputs
    if task.kind == "classes":
        indicators = (target == np.arange(n)[:, np.newaxis]).astype(np.float64)
    else:
        indicators = np.broadcast_to(target.reshape(len(target), -1).T, (n, len(target)))
    lines = indicators.astype(np.float64)
    if loss.name == "cross_entropy":
        lines = _smoothed(loss, lines, n)
        return RowLoss("classes", lines) if n > 2 else RowLoss("two classes", lines[1:])
    if loss.name == "binary_cross_entropy":
        return RowLoss("two classes", _smoothed(loss, lines, 2))
    if loss.name == "poisson":
        return RowLoss("counts", lines)
    if loss.name == "huber":
        return RowLoss("numbers", lines, -loss.delta, loss.delta)
    if loss.name in ("absolute_error", "pinball"):
        quantile = np.full(n, 0.5) if loss.name == "absolute_error" else np.array(loss.quantiles)
        factor = 2.0 if loss.name == "absolute_error" else 1.0
        low, high = -factor * quantile[:, np.newaxis], factor * (1.0 - quantile[:, np.newaxis])
        return RowLoss("numbers", lines, low, high, STEEPNESS, quantile)
    return RowLoss("numbers", lines)


def _smoothed(loss: Loss, lines: FloatArray, n_classes: int) -> FloatArray:
    smoothing = loss.label_smoothing
    result: FloatArray = (1.0 - smoothing) * lines + smoothing / n_classes
    return result
