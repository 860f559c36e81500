"""Predictions of a model, as functions of the numbers that `inputs.read_features` returns.

Trees are evaluated in raw units: pass `model.in_raw_units()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import logit

from bneuralt._typing import Array, FloatArray
from bneuralt.arrays import NotFiniteError
from bneuralt.expressions import Expression, evaluate, is_elementwise, slope
from bneuralt.model.inputs import (
    columns_of,
    encoded,
    encoded_parts,
    finite_inputs,
    refuse_not_finite,
)
from bneuralt.model.intervals import calibrated_interval
from bneuralt.model.model import Model
from bneuralt.tables.block_table import BlockTable
from bneuralt.tables.sparse_rows import blocks
from bneuralt.training.losses import LINKS, SOFTMAX
from bneuralt.tree import NeuralTree, mean_forward

__all__ = [
    "interval",
    "mean_outputs",
    "outputs_of_rows",
    "predictions_of_rows",
    "probabilities",
    "residual_scale",
    "scores",
    "values",
]


def mean_outputs(
    model: Model,
    X: Any,
    n_threads: int,
    softmax: bool = False,
    trees: Sequence[NeuralTree] | None = None,
) -> FloatArray:
    """Return the mean output of trees per row; raise an error on non-finite input.

    Parameters
    ----------
    model : Model
    X : array, sparse matrix or BlockTable
        As `read_features` returns it.
    n_threads : int
    softmax : bool
        Whether to average the softmax of outputs.
    trees : sequence of NeuralTree, optional
        Some of the trees; all by default.
    """
    trees = model.trees if trees is None else trees
    parts: Iterable[Array] | None = None
    if issparse(X):
        parts = (encoded(model.encoder, block) for block in blocks(X))
    elif isinstance(X, BlockTable):
        parts = encoded_parts(model.encoder, X)
    if parts is not None:
        means = [mean_outputs(model, part, n_threads, softmax, trees) for part in parts]
        return np.concatenate(means)
    try:
        return mean_forward(trees, X, n_threads, softmax, model.encoder.lines)
    except NotFiniteError as error:
        if not np.isnan(X[error.row, error.column]):
            place = X, error.row, error.column
            raise refuse_not_finite(columns_of(model), model.encoder, *place) from None
    return mean_outputs(model, model.encoder.numbers(X), n_threads, softmax, trees)


def probabilities(model: Model, X: Any, n_threads: int) -> FloatArray:
    """Return the probability of each class or label."""
    if model.averages == "outputs":
        outputs = mean_outputs(model, X, n_threads)
        result: FloatArray = evaluate(model.link, {"outputs": outputs})
        return result
    if model.link == SOFTMAX:  # computed in the core
        return mean_outputs(model, X, n_threads, softmax=True)
    X = finite_inputs(columns_of(model), model.encoder, X)  # once for all trees
    total: Any = 0.0
    for tree in model.trees:
        outputs = mean_outputs(model, X, n_threads, trees=[tree])
        total = total + evaluate(model.link, {"outputs": outputs})
    return np.asarray(total / len(model.trees))


def scores(model: Model, X: Any, n_threads: int) -> FloatArray:
    """Return a score for each class, whose softmax are the probabilities.

    With several labels, the sigmoid of each score is the probability of the label.
    """
    are_outputs = model.link in (LINKS["classes"], LINKS["labels"])
    if are_outputs and (len(model.trees) == 1 or model.averages == "outputs"):
        return mean_outputs(model, X, n_threads)
    if len(model.trees) == 1 and model.task == "classes":
        outputs = mean_outputs(model, X, n_threads)  # softmax undoes the logarithm
        return np.log(np.maximum(outputs, np.finfo(model.trees[0].dtype).tiny))
    return logits(model.task, probabilities(model, X, n_threads))


def logits(task: str, probability: FloatArray) -> FloatArray:
    """Convert probabilities to scores whose softmax, or sigmoid for labels, they are."""
    if task == "labels":
        low, high = np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg
        result: FloatArray = logit(np.clip(probability, low, high))
        return result
    return np.log(np.maximum(probability, np.finfo(np.float64).tiny))


def values(model: Model, X: Any, n_threads: int) -> FloatArray:
    """Return predicted numbers as a table, one column for each output."""
    assert model.target is not None
    return model.target.values(model.link, mean_outputs(model, X, n_threads))


def outputs_of_rows(model: Model, X: Any, n_threads: int) -> FloatArray:
    """Return the mean outputs of encoded rows."""
    return mean_outputs(model, X, n_threads)


def predictions_of_rows(model: Model, X: Any, n_threads: int) -> FloatArray:
    """Return probabilities or numbers of encoded rows."""
    if model.task == "numbers":
        return values(model, X, n_threads)
    return probabilities(model, X, n_threads)


def interval(model: Model, X: Any, coverage: float, n_threads: int) -> FloatArray:
    """Return the ends of prediction intervals, of shape (n_rows, 2, n_targets)."""
    if model.calibration is None:
        raise ValueError(
            f"predict_interval needs rows that were not used for training, and this "
            f"{model.kind} has none: fit it with conformal=0.2, which holds out a "
            "fifth of the rows (or fit a forest with bootstrap=True)"
        )
    task, loss = model.target, model.loss
    assert task is not None and loss is not None
    outputs = mean_outputs(model, X, n_threads)
    ends = calibrated_interval(
        task.values(model.link, outputs),
        residual_scale(model.link, outputs),
        model.calibration,
        coverage,
        task.quantiles,
    )
    return np.clip(ends, *loss.target_range)


def residual_scale(link: Expression, outputs: FloatArray) -> FloatArray:
    """Return the scale of residuals, a standard deviation up to a factor.

    The variance is proportional to the slope of the link, as for every loss that is the
    likelihood of a distribution with this canonical link. For counts, the scale is the root of
    the mean.
    """
    if not is_elementwise(link):
        return np.ones_like(outputs)
    variance = np.ones_like(outputs) * slope(link, {"outputs": outputs}, "outputs")
    scale: FloatArray = np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))
    return scale
