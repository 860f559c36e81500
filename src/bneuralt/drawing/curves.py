"""Curves of models on matplotlib axes: the course of a training, and scores against size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import cross_val_score

from bneuralt._typing import FloatArray
from bneuralt.drawing.view import Drawable, as_model
from bneuralt.plotting import PALETTES, current_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_history", "plot_score_against_size"]

#: Sizes on the axis of a plot, as many as have room.
MAX_LABELS = 9

COLORS = PALETTES["light"]["positive"], PALETTES["light"]["mixed"]


def plot_history(model: Drawable, ax: Axes | None = None, *, what: str = "loss") -> Axes:
    """Plot the course of a training: loss or score per epoch, on training and validation rows.

    Parameters
    ----------
    model : estimator, fitted
        A tree; or a forest, whose trees are drawn in light lines and their mean in bold ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current axes by default.
    what : {"loss", "score", "learning_rate"}, default "loss"
        What is drawn.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, plot_history
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_history(BNeuralTClassifier(n_weights=30, random_state=0).fit(X, y))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('epoch', 'loss')
    """
    if what not in ("loss", "score", "learning_rate"):
        raise ValueError(f"what={what!r} must be 'loss', 'score' or 'learning_rate'")
    description = as_model(model)
    histories = [curves for curves in description.history if curves]
    if not histories:
        raise ValueError(
            f"this {type(model).__name__} has no history_: it was loaded from a file without one; "
            "fit it to see the course of its training"
        )
    ax = current_axes("plot_history") if ax is None else ax
    kinds = {"learning_rate": "learning rate"}
    if what != "learning_rate":
        kinds = {f"train_{what}": "training rows", f"val_{what}": "validation rows"}
    for (key, label), color in zip(kinds.items(), COLORS, strict=False):
        curves = [history[key] for history in histories if key in history]
        if not curves:
            continue
        for curve in curves if len(curves) > 1 else ():
            ax.plot(np.arange(1, len(curve) + 1), curve, color=color, alpha=0.25, lw=0.8)
        mean = _mean_curve(curves)
        ax.plot(np.arange(1, len(mean) + 1), mean, color=color, lw=1.8, label=label)
    best = getattr(model, "best_epoch_", None)
    if best is not None:
        ax.axvline(best + 1, color="0.5", lw=1, ls=":", label=f"best epoch: {best + 1}")
    score = "r2" if description.task == "numbers" else "accuracy"
    ylabel = {"loss": "loss", "score": score, "learning_rate": "learning rate"}[what]
    ax.set(xlabel="epoch", ylabel=ylabel)
    ax.legend(frameon=False)
    return ax


def _mean_curve(curves: Sequence[FloatArray]) -> FloatArray:
    """Return the mean over the curves that are long enough, epoch by epoch."""
    longest = max(map(len, curves))
    padded = np.full((len(curves), longest), np.nan)
    for row, curve in zip(padded, curves, strict=True):
        row[: len(curve)] = curve
    mean: FloatArray = np.nanmean(padded, axis=0)
    return mean


def plot_score_against_size(
    model: BaseEstimator,
    X: Any = None,
    y: Any = None,
    ax: Axes | None = None,
    *,
    sizes: Sequence[int] = (20, 40, 80, 160, 320, 640),
    cv: Any = 5,
) -> Axes:
    """Plot the cross-validated score of a model against its size.

    Parameters
    ----------
    model : estimator
        A tree or forest. Its clones are fitted with other `n_weights`; without rows, the scores are
        those of `compaction_`, by which `compact` has chosen the size of the model.
    X : array-like of shape (n_rows, n_features), optional
    y : array-like of shape (n_rows,), optional
    ax : matplotlib.axes.Axes, optional
        Where to draw; pyplot's current axes by default.
    sizes : sequence of int
        Values of `n_weights`.
    cv : int or splitter, default 5
        As in `sklearn.model_selection.cross_val_score`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, plot_score_against_size
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BNeuralTClassifier(max_epochs=20, random_state=0)
    >>> ax = plot_score_against_size(model, X, y, sizes=[20, 80], cv=3)
    >>> ax.get_xlabel()
    'weights of a tree'
    """
    ax = current_axes("plot_score_against_size") if ax is None else ax
    label = "weights of a tree"
    if X is None:
        compaction = getattr(model, "compaction_", None)
        if compaction is None or compaction.size.size == 0:
            raise ValueError(
                f"this {type(model).__name__} has no scores of several sizes: pass X and y, or "
                "plot what model.compact(X, y) returns"
            )
        sizes, mean, deviation = compaction.size, compaction.score, compaction.standard_error
        label = compaction.unit
        ax.axvline(compaction.chosen, color=COLORS[1], ls="--", lw=1, label="chosen")
    else:
        scores = np.array(
            [cross_val_score(clone(model).set_params(n_weights=n), X, y, cv=cv) for n in sizes]
        )
        mean, deviation = scores.mean(axis=1), scores.std(axis=1)
    high = np.minimum(mean + deviation, 1.0)
    ax.fill_between(sizes, mean - deviation, high, color=COLORS[0], alpha=0.2, lw=0)
    ax.plot(sizes, mean, "o-", color=COLORS[0], lw=1.6, ms=4)
    ax.set_xscale("log")
    labelled = list(sizes)[:: -(-len(sizes) // MAX_LABELS)]
    ax.set_xticks(labelled, [f"{size:,}" for size in labelled])
    ax.minorticks_off()
    score = "accuracy" if is_classifier(model) else "r2"
    ax.set(xlabel=label, ylabel=f"{score} (cross-validated)")
    return ax
