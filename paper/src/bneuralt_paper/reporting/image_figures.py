"""Figures of runs on images: error curves, confusions, and a tree."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from sklearn.metrics import auc, confusion_matrix, roc_curve

from bneuralt.tree import NeuralTree
from bneuralt.tree.walk import outputs_above
from bneuralt_paper._typing import FloatArray, IntArray
from bneuralt_paper.images.image_data import Images
from bneuralt_paper.images.image_runs import ImageRun, group_runs, is_same_size
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.figure_files import INK, STYLE
from bneuralt_paper.reporting.image_tables import SELECTION_LABELS, mean_error, results_on
from bneuralt_paper.reporting.tree_shapes import radial_layout

__all__ = [
    "confusions",
    "error_against_weights",
    "error_per_epoch",
    "order_of_difficulty",
    "roc_curves",
    "tree_picture",
]

_COLORS = [f"C{i}" for i in range(10)]


def error_against_weights(runs: Sequence[ImageRun], data: str = "mnist") -> Figure:
    """Plot errors against numbers of weights, one line for each recipe and protocol.

    Of runs that differ only in their number of epochs, the longest are shown.
    """
    lines: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for group in sorted(group_runs(results_on(runs, data)), key=lambda group: -group[0].epochs):
        errors, size = mean_error(group), group[0].weights
        line = lines[f"{group[0].recipe} recipe, {SELECTION_LABELS[group[0].protocol]}"]
        if not any(is_same_size(size, other) for other, _, _ in line):
            line.append((size, errors["error_percent"], errors["deviation"] or 0.0))
    with rc_context(STYLE):
        figure = Figure(figsize=(5.6, 3.4))
        ax = figure.add_subplot()
        for color, (label, points) in zip(_COLORS, sorted(lines.items()), strict=False):
            weights, mean, deviation = np.array(sorted(points)).T
            ax.errorbar(
                weights, mean, deviation, marker="o", ms=4, capsize=2, color=color, label=label
            )
        if data == "mnist":
            printed = published.mnist().dropna(subset="weights")
            ax.plot(
                printed["weights"], printed["error_percent"], "--s", color=INK, ms=4,
                mfc="none", label="the paper, lowest on the test rows",
            )  # fmt: skip
        ax.set(xscale="log", xlabel="weights", ylabel="test error (%)", ylim=(0, None))
        _plain_ticks(ax.xaxis)
        ax.legend()
        figure.set_layout_engine("tight")
    return figure


def error_per_epoch(runs: Sequence[ImageRun], data: str = "mnist") -> Figure | None:
    """Plot training and test errors by epoch, with one panel for each recipe.

    One run of each size is shown. Its protocol makes no difference, because it determines which
    weights are selected, not how they are trained.

    Returns
    -------
    Figure or None
        None if no run recorded test errors.
    """
    monitored = [replace(r, protocol="") for r in results_on(runs, data) if "test" in r.history]
    if not monitored:
        return None
    shown = [group[0] for group in group_runs(monitored)]
    recipes = sorted({run.recipe for run in shown})
    with rc_context(STYLE):
        figure = Figure(figsize=(0.8 + 3.6 * len(recipes), 3.4))
        axes = figure.subplots(1, len(recipes), sharey=True, squeeze=False)[0]
        for ax, recipe in zip(axes, recipes, strict=True):
            of_recipe = [run for run in shown if run.recipe == recipe]
            for color, run in zip(_COLORS, of_recipe, strict=False):
                for part, style in {"train": ":", "test": "-"}.items():
                    errors = 100 * np.array(run.history[part])
                    ax.plot(np.arange(1, errors.size + 1), errors, style, color=color)
                ax.plot([], [], color=color, label=f"{run.weights:,} weights")
            for part, style in {"training": ":", "test": "-"}.items():
                ax.plot([], [], style, color=INK, label=f"{part} rows")
            ax.set(title=f"{recipe} recipe", xlabel="epoch", yscale="log")
            _plain_ticks(ax.yaxis)
            ax.legend(loc="upper right")
        axes[0].set_ylabel("error (%)")
        figure.set_layout_engine("tight")
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Label a logarithmic axis with 1, 2, 5, 10, ..., and thousands with K."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda x, _: f"{x / 1000:g}K" if x >= 1000 else f"{x:g}")
    axis.set_minor_formatter(NullFormatter())


def order_of_difficulty(scores: FloatArray, y: IntArray) -> list[tuple[int, float]]:
    """Return the classes and the areas under their ROC curves, the hardest class first.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        For example the output of `predict_proba`.
    y : array of shape (n_rows,)
        Class indices.
    """
    areas = []
    for k in range(scores.shape[1]):
        false_positives, true_positives, _ = roc_curve(y == k, scores[:, k])
        areas.append((k, float(auc(false_positives, true_positives))))
    return sorted(areas, key=lambda entry: entry[1])


def roc_curves(scores: FloatArray, y: IntArray, class_names: Sequence[str]) -> Figure:
    """Plot the ROC curve of each class against all others, with an enlarged corner."""
    with rc_context(STYLE):
        figure = Figure(figsize=(5.2, 4.6))
        ax = figure.add_subplot()
        corner = ax.inset_axes((0.3, 0.38, 0.58, 0.5))
        corner.yaxis.tick_right()  # on the left, lines would cross the labels
        for k, area in order_of_difficulty(scores, y):
            false_positives, true_positives, _ = roc_curve(y == k, scores[:, k])
            for axes in (ax, corner):
                axes.plot(false_positives, true_positives, color=_COLORS[k % 10], lw=0.9)
            ax.plot([], [], color=_COLORS[k % 10], label=f"{class_names[k]}  {area:.5f}")
        corner.set(xlim=(0, 0.03), ylim=(0.94, 1.001), xticks=(0, 0.01, 0.02))
        ax.indicate_inset_zoom(corner, edgecolor="0.5")
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
        title = "class, area under its curve"
        ax.legend(loc="lower right", title=title, ncols=2, fontsize=7, title_fontsize=7)
        figure.set_layout_engine("tight")
    return figure


def confusions(scores: FloatArray, images: Images, n_worst: int = 20) -> Figure:
    """Plot the confusion matrix, and the errors with the highest confidence as images."""
    predicted, y = scores.argmax(axis=1), images.y_test
    counts = confusion_matrix(y, predicted, labels=np.arange(images.n_classes))
    true_class_scores = scores[np.arange(len(y)), y]
    margin = np.where(predicted == y, -np.inf, scores.max(axis=1) - true_class_scores)
    worst = np.argsort(-margin, kind="stable")[: min(n_worst, int((predicted != y).sum()))]
    with rc_context(STYLE):
        figure = Figure(figsize=(7.5, 3.9))
        halves = figure.add_gridspec(1, 2)
        _draw_counts(figure.add_subplot(halves[0]), counts, images.class_names)
        columns = 5
        grid = halves[1].subgridspec(math.ceil(n_worst / columns), columns, hspace=0.5, wspace=0.1)
        for place, row in enumerate(worst):
            ax = figure.add_subplot(grid[place // columns, place % columns])
            ax.imshow(images.X_test[row].reshape(images.shape), cmap="gray_r")
            title = f"{images.class_names[y[row]]} as {images.class_names[predicted[row]]}"
            ax.set_title(title, fontsize=5 if len(title) < 12 else 4, pad=2)
            ax.set_axis_off()
        figure.subplots_adjust(left=0.1, right=0.98, top=0.92, bottom=0.12)
    return figure


def _draw_counts(ax: Axes, counts: IntArray, names: Sequence[str]) -> None:
    wrong = counts * (1 - np.eye(len(counts), dtype=counts.dtype))
    ax.imshow(wrong, cmap="Oranges")
    for (i, j), count in np.ndenumerate(counts):
        color = "0.5" if i == j else ("white" if count > 0.6 * wrong.max() else "black")
        ax.text(
            j, i, str(count) if count else "", ha="center", va="center", color=color, fontsize=6
        )
    long = max(map(len, names)) > 2
    ax.set_xticks(range(len(names)), names, rotation=90 if long else 0)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="predicted", ylabel="true class")


def tree_picture(
    tree: NeuralTree, class_names: Sequence[str] | None = None, size: float = 7.0
) -> Figure:
    """Draw a tree with tens of thousands of nodes around its root, each class in its own colour.

    Save the figure as PNG (``figure.savefig("tree.png", dpi=200)``): an SVG file would be large.

    Parameters
    ----------
    tree : NeuralTree
    class_names : sequence of str, optional
        Labels of the class nodes.
    size : float
        Width and height in inches.
    """
    nodes, leaves = radial_layout(tree)
    owner = outputs_above(tree.parent)
    children = np.concatenate([nodes[tree.n_outputs :], leaves])
    parents = np.concatenate([tree.parent[tree.n_outputs :], tree.leaf_parent])
    edges = np.stack([nodes[parents], children, np.full_like(children, np.nan)], axis=1)
    with rc_context(STYLE):
        figure = Figure(figsize=(size, size))
        ax = figure.add_axes((0, 0, 1, 1))
        for k in range(tree.n_outputs):
            color = _COLORS[k % len(_COLORS)]
            lines = edges[owner[parents] == k].reshape(-1, 2)
            thin = float(np.clip(1500 / tree.size, 0.1, 0.8))
            ax.plot(*lines.T, color=color, lw=thin, alpha=0.8, zorder=1)
            ax.plot([0, nodes[k, 0]], [0, nodes[k, 1]], color=color, lw=2, zorder=1)
            inner = nodes[owner == k][1:]
            area = max(1.0, 4000 / tree.size)
            ax.scatter(inner[:, 0], inner[:, 1], area, color=color, lw=0, zorder=2)
            x, y = nodes[k]
            ax.plot(x, y, "o", color=color, ms=14, zorder=3)
            if class_names is not None:
                name = class_names[k]
                ax.text(x, y, name, ha="center", va="center", color="white", zorder=4)
        ax.plot(
            0, 0, "o", color="0.5", ms=8, zorder=3
        )  # grey is visible on light and dark backgrounds
        ax.set(aspect="equal")
        ax.set_axis_off()
    return figure
