"""`compact`: a model of a given size, or the smallest that predicts as well."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.compacting import check_budget, smaller_models
from bneuralt.estimators.forest import Forest
from bneuralt.estimators.rows import Rows
from bneuralt.explaining.held_out import fitted_on, folds, row_scores
from bneuralt.explaining.models import check_model, trees_of
from bneuralt.pruning import fewest_bytes, fewest_weights, table_bytes
from bneuralt.pruning.path import n_weights
from bneuralt.tree import NeuralTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CompactCurve", "CompactResult", "compact"]

#: Each size of the curve as a share of the one before.
RATIO = 0.75


@dataclass(frozen=True)
class CompactCurve:
    """Scores of models of decreasing size on rows that they were not trained on.

    Attributes
    ----------
    size : int array
        Sizes, in weights or bytes, from large to small. The first is that of the whole model.
    score : array
        Mean score over the held-out rows: accuracy or r2 (of quantiles: the share of the pinball
        loss that is explained).
    standard_error : array
        Standard errors of these means.
    unit : {"weights", "bytes"}
    """

    size: IntArray
    score: FloatArray
    standard_error: FloatArray
    unit: str = "weights"

    def smallest_good_size(self) -> int:
        """Return the smallest size whose score is within one standard error of the best.

        Examples
        --------
        >>> curve = CompactCurve(
        ...     np.array([100, 50, 20]), np.array([0.9, 0.91, 0.6]), np.array([0.02] * 3)
        ... )
        >>> curve.smallest_good_size()
        50
        """
        best = int(np.argmax(self.score))
        good = self.score >= self.score[best] - self.standard_error[best]
        return int(self.size[np.flatnonzero(good)[-1]])


@dataclass(frozen=True, eq=False)
class CompactResult:
    """A smaller model, and how scores depend on size.

    Attributes
    ----------
    model : NeuralTreeEstimator
        The model, ready to predict.
    n_weights_before, n_weights : int
        Number of weights of the original model and of this one.
    curve : CompactCurve or None
        None if it was not asked for.
    """

    model: Any
    n_weights_before: int
    n_weights: int
    curve: CompactCurve | None

    @property
    def n_bytes(self) -> int:
        """Size of the model as tables of 16-bit integers, as exported to C."""
        return sum(table_bytes(tree) for tree in trees_of(self.model))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the curve with matplotlib: score against size.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default the current axes.

        Returns
        -------
        matplotlib Axes
        """
        from bneuralt.explaining.plots import TOTAL, UP, current_axes

        if self.curve is None:
            raise ValueError("there is no curve: call compact with cv=5")
        curve = self.curve
        ax = current_axes() if ax is None else ax
        ax.errorbar(
            curve.size, curve.score, curve.standard_error, color=TOTAL, marker="o", capsize=2
        )
        size = self.n_weights if curve.unit == "weights" else self.n_bytes
        ax.axvline(size, color=UP, linestyle="--", label=f"this model: {size:,} {curve.unit}")
        ax.set_xscale("log")
        ax.set_xlabel(curve.unit)
        ax.set_ylabel("score on held-out rows")
        ax.legend(frameon=False)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        return ax

    def __repr__(self) -> str:
        share = self.n_weights / self.n_weights_before
        return (
            f"CompactResult(n_weights={self.n_weights}, of {self.n_weights_before} "
            f"({share:.0%}), n_bytes={self.n_bytes})"
        )


def compact(
    model: Any,
    X: Any,
    y: Any,
    max_weights: int | None = None,
    *,
    max_bytes: int | None = None,
    sample_weight: Any = None,
    cv: int | None = 5,
) -> CompactResult:
    """Remove weights from a fitted model and train the others briefly.

    Weights are removed in steps by Optimal Brain Surgeon: the curvature of the loss by all weights
    says what the removal of a leaf, of a subtree, or of the activation of a node costs after all
    other weights have made up for it, and those go first that cost least per weight.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library. It is not modified.
    X, y : array-like
        The training rows.
    max_weights : int, optional
        Number of weights to keep at most. By default, and without `max_bytes`, the smallest size is
        chosen whose score on held-out rows is within one standard error of the best.
    max_bytes : int, optional
        The same in bytes of the tables of 16-bit integers that `to_c` writes for
        trees with one activation; the table of the activation itself is not counted.
    sample_weight : array-like of shape (n_rows,), optional
    cv : int or None
        Number of folds for the curve of sizes and scores. For each of them, a model is fitted and
        made smaller without the rows that it is judged by. None: no curve, if a size is given.

    Returns
    -------
    CompactResult
        With the smaller `model` and the `curve`. Prediction intervals have to be calibrated anew:
        the model has none.

    Examples
    --------
    >>> from bneuralt import BNeuralTClassifier, compact
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
    >>> result = compact(clf, X, y, max_weights=20, cv=None)
    >>> result.n_weights <= 20, result.model.score(X, y) > 0.93
    (True, True)
    """
    unit, wanted = _checked_size(model, max_weights, max_bytes)
    if cv is None and wanted is None:
        raise ValueError("cv=None computes no scores to choose a size by: pass max_weights or cv")
    if cv is not None and (not isinstance(cv, (int, np.integer)) or cv < 2):
        raise ValueError(f"cv={cv!r} must be a whole number, 2 or more, or None")
    work = copy.copy(model)
    rows = work._read_rows(X, y, sample_weight, reset=False)
    size_of = table_bytes if unit == "bytes" else n_weights
    whole = sum(size_of(tree) for tree in trees_of(work))
    n_before = sum(tree.n_parameters for tree in trees_of(work))
    curve = None
    if cv is not None:
        curve = _curve(work, rows, _sizes(work, whole, wanted, unit), cv, unit, size_of)
        wanted = curve.smallest_good_size() if wanted is None else wanted
    assert wanted is not None
    (smaller,) = _of_sizes(work, rows, [wanted], size_of)
    if hasattr(smaller, "calibration_"):
        smaller.calibration_ = None
    smaller._learn_importances(rows)
    n_after = sum(tree.n_parameters for tree in trees_of(smaller))
    return CompactResult(smaller, n_before, n_after, curve)


def _checked_size(
    model: Any, max_weights: int | None, max_bytes: int | None
) -> tuple[str, int | None]:
    check_model(model, "compact")
    if not isinstance(model, NeuralTreeEstimator):
        raise TypeError("compact takes a fitted estimator: a NeuralTree has no loss to keep low")
    if max_weights is not None and max_bytes is not None:
        raise ValueError("max_weights and max_bytes exclude each other: pass one of them")
    in_bytes = max_bytes is not None
    name, wanted = ("max_bytes", max_bytes) if in_bytes else ("max_weights", max_weights)
    if wanted is not None:
        if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)):
            raise TypeError(f"{name} must be an int, not {type(wanted).__name__}")
        n_outputs = sum(tree.n_outputs for tree in trees_of(model))
        check_budget(name, int(wanted), n_outputs, in_bytes)
    return "bytes" if in_bytes else "weights", None if wanted is None else int(wanted)


def _sizes(model: Any, whole: int, wanted: int | None, unit: str) -> list[int]:
    """Return the sizes of the curve, from that of the model down to the one that is wanted."""
    n_outputs = sum(tree.n_outputs for tree in trees_of(model))
    fewest = fewest_bytes(n_outputs) if unit == "bytes" else fewest_weights(n_outputs)
    last = fewest if wanted is None else min(wanted, whole)
    sizes = [whole]
    while sizes[-1] * RATIO > last:
        sizes.append(int(sizes[-1] * RATIO))
    return sizes if sizes[-1] == last else [*sizes, last]


def _curve(
    model: Any,
    rows: Rows,
    sizes: list[int],
    cv: int,
    unit: str,
    size_of: Callable[[NeuralTree], int],
) -> CompactCurve:
    """Return the scores of smaller models on rows that they were not trained on."""
    scores, weights = [], []
    for training, held_out in folds(model, rows, cv):
        whole = fitted_on(model, training)
        smaller = _of_sizes(whole, training, sizes[1:], size_of)
        scores.append([row_scores(each, held_out, rows) for each in (whole, *smaller)])
        weights.append(held_out.weight)
    by_row, weight = np.concatenate(scores, axis=1), np.concatenate(weights)
    mean = np.average(by_row, axis=1, weights=weight)
    variance = np.average(np.square(by_row - mean[:, np.newaxis]), axis=1, weights=weight)
    return CompactCurve(np.array(sizes), mean, np.sqrt(variance / len(weight)), unit)


def _of_sizes(
    model: Any, rows: Rows, sizes: list[int], size_of: Callable[[NeuralTree], int]
) -> list[Any]:
    """Return models of these sizes; the trees of a forest have their shares of it."""
    if not isinstance(model, Forest):
        return smaller_models(model, rows, sizes, size_of=size_of)
    whole = sum(size_of(tree) for tree in trees_of(model))
    members = []
    for member in model.estimators_:
        share = size_of(member.tree_) / whole
        sample = model._sample(rows, member.random_state)
        own = [int(size * share) for size in sizes]
        members.append(smaller_models(member, sample, own, size_of=size_of))
    forests = []
    for of_size in zip(*members, strict=True):
        forest = copy.copy(model)
        forest.estimators_ = list(of_size)
        forests.append(forest)
    return forests
