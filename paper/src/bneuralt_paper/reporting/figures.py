"""Figures of the experiments: convergence, tree sizes, best trees, protocols, and ranks.

All functions return a matplotlib figure, or None if there is nothing to show.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt_paper.images.paper_runs import SIZE_EPOCHS, PaperImageRun
from bneuralt_paper.images.result_files import DrawnTree
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.figure_files import INK, STYLE
from bneuralt_paper.reporting.run_results import Results
from bneuralt_paper.reporting.significance import Ranking
from bneuralt_paper.reporting.statistics import cliques
from bneuralt_paper.reporting.tree_shapes import plot_tree_shape, tree_of

__all__ = [
    "OPTIMIZER_STYLES",
    "OptimizerStyle",
    "best_trees_figure",
    "convergence",
    "critical_difference",
    "protocol_gap",
    "score_against_size",
    "settings_comparison",
]


class OptimizerStyle(NamedTuple):
    """The label, colour and marker of an optimizer, as in the paper."""

    label: str
    color: str
    marker: str


OPTIMIZER_STYLES = {
    "R": OptimizerStyle("RMSprop", "#1f77b4", "D"),
    "M": OptimizerStyle("MGD", "#ff7f0e", "^"),
    "N": OptimizerStyle("NAG", "#2ca02c", "s"),
    "A": OptimizerStyle("Adagrad", "#d62728", "o"),
    "G": OptimizerStyle("GD", "#9467bd", "v"),
    "D": OptimizerStyle("Adam", "#8c564b", "*"),
}

_COLUMNS = 4


def _panels(n: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Return a figure with n panels on a grid, and space for labels around it.

    The margins are explicit, because matplotlib's layout engines draw everything several times.
    """
    columns = min(columns, n)
    rows = math.ceil(n / columns)
    width, height = size[0] * columns + 0.3, size[1] * rows + 0.5
    figure = Figure(figsize=(width, height))
    figure.subplots_adjust(
        left=0.65 / width,
        right=1 - 0.05 / width,
        bottom=0.45 / height,
        top=1 - 0.5 / height,
        wspace=0.28,
        hspace=0.42,
    )
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(n)]
    return figure, axes


def convergence(curves: pd.DataFrame, setting: str, task: str) -> Figure | None:
    """Plot the errors of the six optimizers by epoch, on training and test rows.

    Parameters
    ----------
    curves : pandas.DataFrame
        From `bneuralt_paper.running.curves.read_curves`.
    setting : str
        The name of an experiment without the optimizer, such as ``"B-S-ESy-p4"``.
    task : {"classification", "regression"}
    """
    names = PAPER_CLASSIFICATION if task == "classification" else PAPER_REGRESSION
    shown = [d for d in names if _lines(curves, setting, d, "train")]
    if not shown:
        return None
    with rc_context(STYLE):
        figure, axes = _panels(2 * len(shown), _COLUMNS, (2.3, 1.8))
        for i, dataset in enumerate(shown):
            for ax, part in zip(axes[2 * i : 2 * i + 2], ("train", "test"), strict=True):
                for letter, rows in _lines(curves, setting, dataset, part):
                    _draw_curve(ax, rows, OPTIMIZER_STYLES[letter])
                _finish(ax, f"{dataset}, {'training' if part == 'train' else 'test'}")
        label = "error rate" if task == "classification" else "mean squared error"
        _axis_labels(figure, "epoch", label)
        _legend(figure, axes)
    return figure


def settings_comparison(
    curves: pd.DataFrame, datasets: Sequence[str] = ("glass", "mpg6")
) -> Figure | None:
    """Plot the test errors by epoch of several settings of BNeuralT and MLPs."""
    settings = {
        "B-S-ESy-p5": "BNeuralT, sigmoid, rate 0.1",
        "B-S-ESy-p5-L": "BNeuralT, sigmoid, default rate",
        "B-R-ESy-p5": "BNeuralT, ReLU, rate 0.1",
        "M-S-ESy-Rn": "MLP, sigmoid, rate 0.1",
        "M-S-ESy-Rn-L": "MLP, sigmoid, default rate",
        "M-R-ESn-Rn": "MLP, ReLU, rate 0.1",
    }
    panels = [(dataset, setting) for dataset in datasets for setting in settings]
    lines = {(d, s): _lines(curves, s, d, "test") for d, s in panels}
    if not any(lines.values()):
        return None
    with rc_context(STYLE):
        figure, axes = _panels(len(panels), 3, (3.0, 2.1))
        for ax, (dataset, setting) in zip(axes, panels, strict=True):
            for letter, rows in lines[dataset, setting]:
                _draw_curve(ax, rows, OPTIMIZER_STYLES[letter])
            if not lines[dataset, setting]:
                ax.text(0.5, 0.5, "not run", ha="center", va="center", transform=ax.transAxes)
                ax.set(xticks=[], yticks=[], title=f"{dataset}: {settings[setting]}")
                continue
            _finish(ax, f"{dataset}: {settings[setting]}")
        _axis_labels(figure, "epoch", "error on the test rows")
        _legend(figure, axes)
    return figure


def _lines(
    curves: pd.DataFrame, setting: str, dataset: str, part: str
) -> list[tuple[str, pd.DataFrame]]:
    """Return the curve of each optimizer, with a row for each epoch."""
    rows = curves[(curves["dataset"] == dataset) & (curves["part"] == part)]
    lines = []
    for letter in OPTIMIZER_STYLES:
        found = rows[rows["experiment"] == f"{setting}-{letter}"].sort_values("epoch")
        if len(found):
            lines.append((letter, found))
    return lines


def _draw_curve(ax: Axes, rows: pd.DataFrame, style: OptimizerStyle) -> None:
    """Draw the mean over runs, and a band between the quartiles."""
    epochs = rows["epoch"].to_numpy()
    ax.plot(
        epochs,
        rows["mean"],
        color=style.color,
        label=style.label,
        marker=style.marker,
        markevery=max(1, len(epochs) // 5),
        markersize=2.5,
    )
    if rows["runs"].max() > 1:
        ax.fill_between(
            epochs, rows["low"], rows["high"], color=style.color, alpha=0.12, linewidth=0
        )


def _finish(ax: Axes, title: str) -> None:
    ax.set_title(title)
    ax.set_xscale("log")
    values = np.array([value for line in ax.lines for value in np.asarray(line.get_ydata())])
    # Errors of 0 cannot be shown on a log axis; diverging runs would compress all other curves.
    if len(values) and (values > 0).all():
        ax.set_yscale("log")
        ax.set_ylim(values.min() * 0.8, min(values.max(), 20 * np.median(values)) * 1.2)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.tick_params(which="both", length=2, pad=1.5)


def _axis_labels(figure: Figure, x: str, y: str) -> None:
    figure.supxlabel(x, fontsize=8, y=0.08 / figure.get_figheight(), va="bottom")
    figure.supylabel(y, fontsize=8, x=0.08 / figure.get_figwidth(), ha="left")


def _legend(figure: Figure, axes: Iterable[Axes]) -> None:
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        list(entries.values()), list(entries), loc="upper center", ncols=len(entries) or 1
    )


def score_against_size(
    results: Results, digits: Sequence[PaperImageRun] = (), setting: str = "B-S-ESy-p4",
    protocol: str = "paper",
) -> Figure | None:  # fmt: skip
    """Plot the training score of each run against the size of its tree; the last panel is MNIST."""
    cells = {
        d: [(x, results.runs(protocol, f"{setting}-{x}", d)) for x in OPTIMIZER_STYLES]
        for d in PAPER_DATASETS
    }
    shown = [d for d, parts in cells.items() if any(len(runs) for _, runs in parts)]
    if not shown:
        return None
    with rc_context(STYLE):
        figure, axes = _panels(len(shown) + bool(digits), _COLUMNS, (2.3, 1.9))
        for ax, dataset in zip(axes, shown, strict=False):
            for letter, runs in cells[dataset]:
                style = OPTIMIZER_STYLES[letter]
                x, y = (runs[c].to_numpy(dtype=float) for c in ("size", "train_score"))
                if len(x):
                    y = np.clip(y, -0.5, 1)
                    marks = ax.scatter(x, y, s=9, c=style.color, marker=style.marker, alpha=0.75)
                    marks.set(label=style.label, linewidths=0)
            ax.set_title(dataset)
            ax.tick_params(length=2, pad=1.5)
        if digits:
            sizes = [run.size / 1000 for run in digits]
            accuracy = [1 - run.train_error[SIZE_EPOCHS - 1] for run in digits]
            style = OPTIMIZER_STYLES["R"]
            marks = axes[-1].scatter(sizes, accuracy, s=9, c=style.color, marker=style.marker)
            marks.set(linewidths=0)
            axes[-1].set(title="MNIST (thousands of nodes)", xscale="log")
        _axis_labels(figure, "nodes of the tree", "score on the training rows")
        _legend(figure, axes)
    return figure


def best_trees_figure(trees: Sequence[DrawnTree]) -> Figure | None:
    """Draw the tree with the best test score of each data set, with its score and size."""
    by_name = {tree.name: tree for tree in trees}
    shown = [by_name[name] for name in PAPER_DATASETS if name in by_name]
    if not shown:
        return None
    printed = published.best_trees()
    with rc_context(STYLE):
        figure, axes = _panels(len(shown), 5, (2.0, 2.4))
        for ax, drawn in zip(axes, shown, strict=True):
            tree = tree_of(drawn)
            plot_tree_shape(tree, ax, root_color=INK)
            paper = printed.loc[drawn.name]
            ax.set_title(
                f"{drawn.name}: {1 - drawn.test_error:.2f}, {tree.size} nodes\n"
                f"(paper: {paper['score']:.2f}, {int(paper['size'])})",
                fontsize=8,
            )
    return figure


def protocol_gap(results: Results, experiment: str = "B-S-ESy-p4-R") -> Figure | None:
    """Plot the scores of an algorithm on each data set: the paper's, and ours by protocol."""
    rows: list[tuple[str, float | None, float, float]] = []
    for dataset in PAPER_DATASETS:
        scores = [results.score(p, experiment, dataset).mean for p in ("paper", "honest")]
        if any(math.isfinite(s) for s in scores):
            rows.append((dataset, published.score(experiment, dataset), scores[0], scores[1]))
    if not rows:
        return None
    with rc_context(STYLE):
        height = 0.27 * len(rows) + 1.1
        figure = Figure(figsize=(8, height))
        ax = figure.add_axes((0.11, 0.5 / height, 0.87, 1 - 0.9 / height))
        for y, (_, printed, ours, honest) in enumerate(rows):
            ax.plot([ours, honest], [y, y], color=INK, linewidth=0.8, alpha=0.5, zorder=1)
            if printed is not None:
                ax.scatter([printed], [y], marker="|", s=80, color=INK, zorder=3)
            ax.scatter([ours], [y], s=28, color="#1f77b4", zorder=2)
            ax.scatter([honest], [y], s=28, color="#d62728", zorder=2)
        handles = [
            ax.scatter([], [], marker="|", s=80, color=INK, label="published"),
            ax.scatter([], [], s=28, color="#1f77b4", label="ours, selected on the test rows"),
            ax.scatter([], [], s=28, color="#d62728", label="ours, test rows used once"),
        ]
        ax.set_yticks(range(len(rows)), [row[0] for row in rows])
        ax.invert_yaxis()
        ax.set_xlabel("test score (accuracy, r2)")
        ax.grid(axis="x", color=INK, alpha=0.12, linewidth=0.5)
        figure.legend(handles=handles, loc="upper center", ncols=3)
    return figure


def critical_difference(ranking: Ranking) -> Figure:
    """Plot mean ranks; a bar joins algorithms that do not differ by Nemenyi's test."""
    names, ranks = ranking.friedman.names, ranking.friedman.mean_ranks
    n = len(names)
    groups = cliques(ranks, ranking.critical_difference)
    half = (n + 1) // 2
    bars_end = 0.35 + 0.25 * len(groups)
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 0.9 + 0.25 * (half + len(groups))))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        span = max(n - 1, 1)
        ax.set(xlim=(1 - 0.4 * span, n + 0.4 * span), ylim=(bars_end + 0.3 * half + 0.4, -1.1))
        ax.set_axis_off()
        ax.plot([1, n], [0, 0], color=INK, linewidth=0.8)
        for tick in range(1, n + 1):
            ax.plot([tick, tick], [0, -0.12], color=INK, linewidth=0.8)
            ax.text(tick, -0.2, str(tick), ha="center", va="bottom")
        ax.plot([1, 1 + ranking.critical_difference], [-0.75, -0.75], color=INK, linewidth=1.5)
        ax.text(1, -0.82, f"critical difference {ranking.critical_difference:.2f}", va="bottom")
        for level, (first, last) in enumerate(groups):
            y = 0.25 + 0.25 * level
            ends = [ranks[first] - 0.01 * span, ranks[last] + 0.01 * span]
            ax.plot(ends, [y, y], color="#d62728", linewidth=3, solid_capstyle="round")
        for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
            left = i < half
            y = bars_end + 0.3 * ((i if left else n - 1 - i) + 0.5)
            edge = 1 - 0.03 * span if left else n + 0.03 * span
            ax.plot([rank, rank, edge], [0, y, y], color=INK, linewidth=0.7)
            text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
            ax.text(edge, y, f" {text} ", ha="right" if left else "left", va="center")
    return figure
