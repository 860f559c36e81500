"""Curves of models on matplotlib axes: training, ROC, precision and recall, calibration, size.

Each function takes axes and returns them. Where scikit-learn has a Display class for a curve, it
draws it; what is added here are several classes on one pair of axes, and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    roc_auc_score,
)
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

from bneuralt._typing import Array, FloatArray
from bneuralt.drawing.axes import require_matplotlib
from bneuralt.drawing.view import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "plot_calibration",
    "plot_confusion",
    "plot_history",
    "plot_precision_recall",
    "plot_roc",
    "plot_score_against_size",
]

#: The colours of Okabe and Ito, which can be told apart with all common kinds of colour blindness.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", ":", "-.")
#: More classes than this are drawn in grey, and only their mean has a label.
MOST_NAMED_CLASSES = 12


def _axes(ax: Axes | None, what: str) -> Any:
    """Return the axes given, or those of a new figure."""
    require_matplotlib(what)
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(5.2, 4.2), layout="constrained").add_subplot()


def plot_history(model: Any, ax: Axes | None = None, *, what: str = "loss") -> Axes:
    """Plot the course of a training: loss or score per epoch, on training and validation rows.

    Parameters
    ----------
    model : estimator, fitted
        A tree; or a forest, whose trees are drawn in light lines and their mean in bold ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
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
    check_is_fitted(model)
    members = [m for m in getattr(model, "estimators_", [model]) if getattr(m, "history_", None)]
    if not members:
        raise ValueError(
            f"this {type(model).__name__} has no history_: it was loaded from a file without one; "
            "fit it to see the course of its training"
        )
    ax = _axes(ax, "plot_history")
    kinds = {"learning_rate": "learning rate"}
    if what != "learning_rate":
        kinds = {f"train_{what}": "training rows", f"val_{what}": "validation rows"}
    for (key, label), color in zip(kinds.items(), COLORS, strict=False):
        curves = [member.history_[key] for member in members if key in member.history_]
        if not curves:
            continue
        for curve in curves if len(curves) > 1 else ():
            ax.plot(np.arange(1, len(curve) + 1), curve, color=color, alpha=0.25, lw=0.8)
        mean = _mean_curve(curves)
        ax.plot(np.arange(1, len(mean) + 1), mean, color=color, lw=1.8, label=label)
    best = getattr(members[0], "best_epoch_", None)
    if len(members) == 1 and best is not None:
        ax.axvline(best + 1, color="0.5", lw=1, ls=":", label=f"best epoch: {best + 1}")
    score = members[0]._score_name
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


def _shares(model: Any, X: Any, y: Any, what: str) -> tuple[list[str], Array, FloatArray]:
    """Return names, whether each row is of each class, and the probabilities."""
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"{what} needs a classifier, not {type(model).__name__}")
    shares = np.asarray(model.predict_proba(X))
    classes = model.classes_
    target = np.asarray(y)
    is_member = target.astype(bool) if target.ndim == 2 else target[:, np.newaxis] == classes
    if not is_member.any():
        raise ValueError(
            f"no label in y is among the classes {classes.tolist()[:5]!r} of the model"
        )
    return [printable(name) for name in classes], is_member, shares


def _drawn_classes(names: list[str], is_member: Array, positive: str | None) -> list[int]:
    """Return the classes that have a curve: with two, only the second."""
    if positive is not None:
        if str(positive) not in names:
            raise ValueError(f"pos_label={positive!r} is not a class: they are {', '.join(names)}")
        return [names.index(str(positive))]
    if len(names) == 2 and is_member.sum() == len(is_member):
        return [1]
    share = is_member.mean(axis=0)
    return [i for i in range(len(names)) if 0 < share[i] < 1]


def _style(i: int, n: int) -> dict[str, Any]:
    if n > MOST_NAMED_CLASSES:
        return {"color": "0.6", "lw": 0.7}
    return {"color": COLORS[i % len(COLORS)], "ls": STYLES[i // len(COLORS)], "lw": 1.6}


def plot_roc(model: Any, X: Any, y: Any, ax: Axes | None = None, *, pos_label: Any = None) -> Axes:
    """Plot the ROC curve of each class against all others, with the area below it.

    Parameters
    ----------
    model : classifier, fitted
    X : array-like of shape (n_rows, n_features)
        Rows that were not trained on.
    y : array-like of shape (n_rows,) or (n_rows, n_labels)
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    pos_label : optional
        Draw the curve of this class only. With two classes, the second by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from bneuralt import BNeuralTClassifier, plot_roc
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])
    >>> ax = plot_roc(clf, X[1::2], y[1::2])
    >>> ax.get_xlabel()
    'false positive rate'
    """
    names, is_member, shares = _shares(model, X, y, "plot_roc")
    ax = _axes(ax, "plot_roc")
    drawn = _drawn_classes(names, is_member, pos_label)
    for place, i in enumerate(drawn):
        area = roc_auc_score(is_member[:, i], shares[:, i])
        RocCurveDisplay.from_predictions(is_member[:, i], shares[:, i], ax=ax)
        _restyle(ax, place, len(drawn), f"{names[i]}, area {area:.3f}")
    ax.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls=":")
    ax.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    _add_legend(ax, len(drawn), "lower right")
    return ax


def plot_precision_recall(
    model: Any, X: Any, y: Any, ax: Axes | None = None, *, pos_label: Any = None
) -> Axes:
    """Plot precision against recall of each class against all others.

    Parameters
    ----------
    model, X, y, ax, pos_label
        As for `plot_roc`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from bneuralt import BNeuralTClassifier, plot_precision_recall
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])
    >>> ax = plot_precision_recall(clf, X[1::2], y[1::2])
    >>> ax.get_ylabel()
    'precision'
    """
    names, is_member, shares = _shares(model, X, y, "plot_precision_recall")
    ax = _axes(ax, "plot_precision_recall")
    drawn = _drawn_classes(names, is_member, pos_label)
    for place, i in enumerate(drawn):
        mean = average_precision_score(is_member[:, i], shares[:, i])
        PrecisionRecallDisplay.from_predictions(is_member[:, i], shares[:, i], ax=ax)
        _restyle(ax, place, len(drawn), f"{names[i]}, average {mean:.3f}")
    ax.set(xlabel="recall", ylabel="precision", aspect="equal", xlim=(-0.02, 1.02))
    _add_legend(ax, len(drawn), "lower left")
    return ax


def plot_calibration(
    model: Any, X: Any, y: Any, ax: Axes | None = None, *, pos_label: Any = None, n_bins: int = 10
) -> Axes:
    """Plot how often each class occurs among rows to which the model gives a probability.

    Parameters
    ----------
    model, X, y, ax, pos_label
        As for `plot_roc`.
    n_bins : int, default 10
        Number of groups of rows, of equal size.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from bneuralt import BNeuralTClassifier, plot_calibration
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])
    >>> ax = plot_calibration(clf, X[1::2], y[1::2])
    >>> ax.get_xlabel()
    'predicted probability'
    """
    names, is_member, shares = _shares(model, X, y, "plot_calibration")
    ax = _axes(ax, "plot_calibration")
    drawn = _drawn_classes(names, is_member, pos_label)
    for place, i in enumerate(drawn):
        CalibrationDisplay.from_predictions(
            is_member[:, i],
            np.clip(shares[:, i], 0, 1),
            n_bins=n_bins,
            strategy="quantile",
            ax=ax,
            ref_line=place == 0,
        )
        _restyle(ax, place, len(drawn), names[i])
    ax.set(xlabel="predicted probability", ylabel="share of rows", aspect="equal")
    _add_legend(ax, len(drawn), "upper left")
    return ax


def _restyle(ax: Any, place: int, n: int, label: str) -> None:
    """Give the latest line a colour and a name; each scikit-learn release has its own ways."""
    line = ax.lines[-1]
    line.set(**_style(place, n), label=label if n <= MOST_NAMED_CLASSES else "_")


def _add_legend(ax: Any, n: int, place: str) -> None:
    if n <= MOST_NAMED_CLASSES:
        ax.legend(frameon=False, loc=place, fontsize="small")
    elif ax.get_legend() is not None:
        ax.get_legend().remove()


def plot_confusion(
    model: Any, X: Any, y: Any, ax: Axes | None = None, *, normalize: str | None = None
) -> Axes:
    """Plot how many rows of each class are taken for each class.

    Parameters
    ----------
    model : classifier, fitted
    X : array-like of shape (n_rows, n_features)
        Rows that were not trained on.
    y : array-like of shape (n_rows,)
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    normalize : {"true", "pred", "all"}, optional
        Show shares of rows instead of their number.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from bneuralt import BNeuralTClassifier, plot_confusion
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BNeuralTClassifier(random_state=0).fit(X[::2], y[::2])
    >>> ax = plot_confusion(clf, X[1::2], y[1::2])
    >>> ax.get_xlabel()
    'predicted'
    """
    ax = _axes(ax, "plot_confusion")
    n_classes = len(getattr(model, "classes_", ()))
    is_small = n_classes <= MOST_NAMED_CLASSES
    ConfusionMatrixDisplay.from_estimator(
        model,
        X,
        y,
        ax=ax,
        normalize=normalize,
        cmap="Blues",
        colorbar=False,
        include_values=n_classes <= 30,
        xticks_rotation="horizontal" if is_small else "vertical",
        values_format=None if normalize is None else ".2f",
    )
    ax.set(xlabel="predicted", ylabel="true")
    return ax


def plot_score_against_size(
    model: Any,
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
        Where to draw; a new figure by default.
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
    from sklearn.base import clone, is_classifier

    ax = _axes(ax, "plot_score_against_size")
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
    ax.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    score = "accuracy" if is_classifier(model) else "r2"
    ax.set(xlabel=label, ylabel=f"{score} (cross-validated)")
    return ax
