"""Tables and pictures of the runs on images: the paper's Table 4 and what belongs to it.

Every function takes runs or a model, see `image_files`, and returns a `ReportTable` or a matplotlib
figure.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from sklearn.metrics import auc, confusion_matrix, roc_curve

from bneuralt.datasets.catalogue import CATALOGUE
from bneuralt.drawing.pictures import radial_layout
from bneuralt.paper.images.ktree import PUBLISHED, STUCK_BELOW, KTreeTrials
from bneuralt.paper.images.mnist import ImageRun, Images, group_runs, same_size
from bneuralt.paper.images.mnist_baselines import Baseline
from bneuralt.paper.reporting import figures, published
from bneuralt.paper.reporting.cells import Cell, ReportTable, number
from bneuralt.tree.generate import outputs_above
from bneuralt.tree.neural_tree import NeuralTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = [
    "comparison_table",
    "confusions",
    "error_against_weights",
    "error_per_epoch",
    "k_tree_table",
    "order_of_difficulty",
    "roc_curves",
    "table4",
    "tree_picture",
]

_CHOICE = {"paper": "lowest on the test rows", "honest": "honest"}
_COLORS = [f"C{i}" for i in range(10)]

Result = TypeVar("Result", ImageRun, Baseline)


# -- tables -------------------------------------------------------------------------------


def table4(runs: Sequence[ImageRun] = (), baselines: Sequence[Baseline] = ()) -> ReportTable:
    """The paper's Table 4: errors on MNIST, quoted and measured.

    Parameters
    ----------
    runs : sequence of ImageRun
    baselines : sequence of Baseline
        Such as scikit-learn's CART.

    Examples
    --------
    >>> from bneuralt.paper.reporting.mnist_report import table4
    >>> [cell.text for cell in table4().rows[2]]
    ['BNeuralT', 'BNeuralT-20K', '23,835', '70', '6.08', '']
    """
    printed = published.mnist().reset_index().assign(source="printed")
    quoted = printed.replace({np.nan: None}).to_dict("records")
    measured = [*_run_records(_of(runs, "mnist")), *_baseline_records(_of(baselines, "mnist"))]
    notes = [
        "Figures in italics are printed in the paper: BNeuralT's are the lowest error on the test "
        "rows over all updates, those of the classification trees are the literature's."
    ]
    if any(record.get("deviation") is not None for record in measured):
        notes.append("± is the standard deviation over seeds.")
    return _table("table4_mnist", "Table 4: MNIST", [*quoted, *measured], tuple(notes))


def comparison_table(
    runs: Sequence[ImageRun], baselines: Sequence[Baseline], data: str = "fashion_mnist"
) -> ReportTable:
    """Honest errors of trees beside those of scikit-learn's models."""
    honest = [run for run in _of(runs, data) if run.protocol == "honest"]
    records = [*_run_records(honest), *_baseline_records(_of(baselines, data))]
    name = CATALOGUE[data].title.split()[0]
    notes = ("Nothing was chosen on the test rows; ± is the standard deviation over seeds.",)
    return _table(f"{data}_comparison", f"{name}: trees and scikit-learn's models", records, notes)


def _run_records(runs: Iterable[ImageRun]) -> list[dict[str, Any]]:
    return [
        {
            "group": f"ours, {_CHOICE[group[0].protocol]}",
            "algorithm": f"{group[0].recipe} recipe, "
            + ("one tree" if group[0].trees == 1 else f"{group[0].trees} trees"),
            "weights": max(run.weights for run in group),
            "epochs": group[0].epochs,
            **_errors(group),
            "source": group[0].protocol,
        }
        for group in group_runs(runs)
    ]


def _baseline_records(baselines: Iterable[Baseline]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, int | None], list[Baseline]] = defaultdict(list)
    for baseline in baselines:
        groups[baseline.name, baseline.weights].append(baseline)
    return [
        {
            "group": "scikit-learn, honest",
            "algorithm": name,
            "weights": weights,
            **_errors(group),
            "source": "honest",
        }
        for (name, weights), group in groups.items()
    ]


def _errors(results: Sequence[ImageRun] | Sequence[Baseline]) -> dict[str, Any]:
    errors = [100 * result.test_error for result in results]
    return {
        "error_percent": float(np.mean(errors)),
        "deviation": float(np.std(errors, ddof=1)) if len(errors) > 1 else None,
        "runs": len(errors),
    }


def _table(
    slug: str, title: str, records: list[dict[str, Any]], notes: tuple[str, ...]
) -> ReportTable:
    rows: list[tuple[Cell, ...]] = []
    for record in records:
        kind = "quoted" if record["source"] == "printed" else ""
        counts = [record.get(name) for name in ("weights", "epochs", "runs")]
        weights, epochs, n_runs = (Cell("" if n is None else f"{n:,.0f}", kind) for n in counts)
        deviation = record.get("deviation")
        spread = "" if deviation is None else f" ± {deviation:.2f}"
        error = Cell(f"{record['error_percent']:.2f}{spread}", kind)
        heads = Cell(record["group"], "head"), Cell(record["algorithm"], "head")
        rows.append((*heads, weights, epochs, error, n_runs))
    header = ("group", "algorithm", "weights", "epochs", "test error (%)", "runs")
    groups = [record["group"] for record in records]
    starts = frozenset(i for i in range(len(groups)) if i == 0 or groups[i] != groups[i - 1])
    return ReportTable(slug, title, header, rows, pd.DataFrame(records), notes, 2, starts)


def k_tree_table(results: Sequence[KTreeTrials]) -> ReportTable:
    """Accuracy of k-trees at telling a 3 from a 5, beside the published figures."""
    records, rows = [], []
    for entry in sorted(results, key=lambda entry: (entry.k, entry.max_epochs, entry.seed)):
        accuracies = [trial.accuracy for trial in entry.trials]
        stuck = sum(trial.stuck for trial in entry.trials)
        record: dict[str, Any] = {
            "k": entry.k,
            "weights": entry.weights,
            "epochs": entry.max_epochs,
            "trials": len(accuracies),
            "published": PUBLISHED[entry.k][0] if entry.k in PUBLISHED else None,
            "accuracy": float(np.mean(accuracies)),
            "deviation": float(np.std(accuracies, ddof=1)) if len(accuracies) > 1 else None,
            "lowest": min(accuracies),
            "highest": max(accuracies),
            "stuck": stuck,
        }
        records.append(record)
        mean = number(record["accuracy"], 4)
        if record["deviation"] is not None:
            mean += f" ± {number(record['deviation'], 4)}"
        rows.append(
            (
                Cell(str(entry.k), "head"),
                *(Cell(f"{record[name]:,}") for name in ("weights", "epochs", "trials")),
                Cell(number(record["published"], 4), "quoted"),
                Cell(mean),
                *(Cell(number(record[name], 4)) for name in ("lowest", "highest")),
                Cell(f"{stuck} ({100 * stuck / len(accuracies):.0f} %)"),
            )
        )
    header = ("k", "weights", "epochs", "trials", "published", "mean accuracy", "lowest",
              "highest", "stuck")  # fmt: skip
    notes = (
        f"Every trial counts; stuck are those that end below {STUCK_BELOW}, no better than "
        "guessing. ± is the standard deviation over trials. Weights are counted without biases.",
    )
    title = "Dendritic k-trees: accuracy at telling a 3 from a 5"
    return ReportTable("k_trees", title, header, rows, pd.DataFrame(records), notes)


# -- curves -------------------------------------------------------------------------------


def error_against_weights(runs: Sequence[ImageRun], data: str = "mnist") -> Figure:
    """Error by number of weights: one line for each recipe and protocol, and the paper's figures.

    Of runs that differ in their epochs only, the longest are shown.
    """
    lines: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for group in sorted(group_runs(_of(runs, data)), key=lambda group: -group[0].epochs):
        errors, size = _errors(group), group[0].weights
        line = lines[f"{group[0].recipe} recipe, {_CHOICE[group[0].protocol]}"]
        if not any(same_size(size, other) for other, _, _ in line):
            line.append((size, errors["error_percent"], errors["deviation"] or 0.0))
    with rc_context(figures.STYLE):
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
                printed["weights"], printed["error_percent"], "--s", color=figures.INK, ms=4,
                mfc="none", label="the paper, lowest on the test rows",
            )  # fmt: skip
        ax.set(xscale="log", xlabel="weights", ylabel="test error (%)", ylim=(0, None))
        _plain_ticks(ax.xaxis)
        ax.legend()
        figure.set_layout_engine("tight")
    return figure


def error_per_epoch(runs: Sequence[ImageRun], data: str = "mnist") -> Figure | None:
    """Training and test error by epoch, a panel for each recipe; None where none was watched.

    One run for each size. Its protocol makes no difference: that decides which of the weights met
    on the way are kept, not the way.
    """
    watched = [replace(r, protocol="") for r in _of(runs, data) if "test" in r.history]
    if not watched:
        return None
    shown = [group[0] for group in group_runs(watched)]
    recipes = sorted({run.recipe for run in shown})
    with rc_context(figures.STYLE):
        figure = Figure(figsize=(0.8 + 3.6 * len(recipes), 3.4))
        axes = figure.subplots(1, len(recipes), sharey=True, squeeze=False)[0]
        for ax, recipe in zip(axes, recipes, strict=True):
            chosen = [run for run in shown if run.recipe == recipe]
            for color, run in zip(_COLORS, chosen, strict=False):
                for part, style in {"train": ":", "test": "-"}.items():
                    errors = 100 * np.array(run.history[part])
                    ax.plot(np.arange(1, errors.size + 1), errors, style, color=color)
                ax.plot([], [], color=color, label=f"{run.weights:,} weights")
            for part, style in {"training": ":", "test": "-"}.items():
                ax.plot([], [], style, color=figures.INK, label=f"{part} rows")
            ax.set(title=f"{recipe} recipe", xlabel="epoch", yscale="log")
            _plain_ticks(ax.yaxis)
            ax.legend(loc="upper right")
        axes[0].set_ylabel("error (%)")
        figure.set_layout_engine("tight")
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Write 1, 2, 5, 10, ... on a logarithmic axis, and thousands as such."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda x, _: f"{x / 1000:g}K" if x >= 1000 else f"{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _of(results: Iterable[Result], data: str) -> list[Result]:
    return [result for result in results if result.data == data]


# -- classes ------------------------------------------------------------------------------


def order_of_difficulty(scores: np.ndarray, y: np.ndarray) -> list[tuple[int, float]]:
    """Return the classes with the areas under their ROC curves, the hardest first.

    Parameters
    ----------
    scores : array of shape (n_rows, n_classes)
        Such as the output of `predict_proba`.
    y : array of class numbers
    """
    areas = []
    for k in range(scores.shape[1]):
        wrongly, rightly, _ = roc_curve(y == k, scores[:, k])
        areas.append((k, float(auc(wrongly, rightly))))
    return sorted(areas, key=lambda entry: entry[1])


def roc_curves(scores: np.ndarray, y: np.ndarray, class_names: Sequence[str]) -> Figure:
    """One class against all others, hardest class first, with the corner enlarged."""
    with rc_context(figures.STYLE):
        figure = Figure(figsize=(5.2, 4.6))
        ax = figure.add_subplot()
        corner = ax.inset_axes((0.3, 0.38, 0.58, 0.5))
        corner.yaxis.tick_right()  # on the left, lines from the corner go through the labels
        for k, area in order_of_difficulty(scores, y):
            wrongly, rightly, _ = roc_curve(y == k, scores[:, k])
            for axes in (ax, corner):
                axes.plot(wrongly, rightly, color=_COLORS[k % 10], lw=0.9)
            ax.plot([], [], color=_COLORS[k % 10], label=f"{class_names[k]}  {area:.5f}")
        corner.set(xlim=(0, 0.03), ylim=(0.94, 1.001), xticks=(0, 0.01, 0.02))
        ax.indicate_inset_zoom(corner, edgecolor="0.5")
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
        title = "class, area under its curve"
        ax.legend(loc="lower right", title=title, ncols=2, fontsize=7, title_fontsize=7)
        figure.set_layout_engine("tight")
    return figure


def confusions(scores: np.ndarray, images: Images, n_worst: int = 20) -> Figure:
    """Which class is taken for which, and the test images that are most surely taken wrongly."""
    predicted, y = scores.argmax(axis=1), images.y_test
    counts = confusion_matrix(y, predicted, labels=np.arange(images.n_classes))
    own = scores[np.arange(len(y)), y]
    margin = np.where(predicted == y, -np.inf, scores.max(axis=1) - own)
    worst = np.argsort(-margin, kind="stable")[: min(n_worst, int((predicted != y).sum()))]
    with rc_context(figures.STYLE):
        figure = Figure(figsize=(7.5, 3.9))
        halves = figure.add_gridspec(1, 2)
        _draw_counts(figure.add_subplot(halves[0]), counts, images.class_names)
        columns = 5
        grid = halves[1].subgridspec(math.ceil(n_worst / columns), columns, hspace=0.5, wspace=0.1)
        for place, row in enumerate(worst):
            ax = figure.add_subplot(grid[place // columns, place % columns])
            ax.imshow(images.X_test[row].reshape(images.shape), cmap="gray_r")
            said, true = images.class_names[predicted[row]], images.class_names[y[row]]
            ax.set_title(f"{true}, said {said}", fontsize=5 if len(said + true) < 8 else 4, pad=2)
            ax.set_axis_off()
        figure.subplots_adjust(left=0.1, right=0.98, top=0.92, bottom=0.12)
    return figure


def _draw_counts(ax: Axes, counts: np.ndarray, names: Sequence[str]) -> None:
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


# -- the tree -----------------------------------------------------------------------------


def tree_picture(
    tree: NeuralTree, class_names: Sequence[str] | None = None, size: float = 7.0
) -> Figure:
    """A tree of tens of thousands of nodes around its root, each class in a colour of its own.

    Save it as PNG (``figure.savefig("tree.png", dpi=200)``): as SVG it has a mark for every node.

    Parameters
    ----------
    tree : NeuralTree
    class_names : sequence of str, optional
        To be written at the class nodes.
    size : float
        Width and height in inches.
    """
    nodes, leaves = radial_layout(tree)
    owner = outputs_above(tree.parent)
    children = np.concatenate([nodes[tree.n_outputs :], leaves])
    parents = np.concatenate([tree.parent[tree.n_outputs :], tree.leaf_parent])
    edges = np.stack([nodes[parents], children, np.full_like(children, np.nan)], axis=1)
    with rc_context(figures.STYLE):
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
        ax.plot(0, 0, "o", color="0.5", ms=8, zorder=3)  # grey: read on light and dark ground
        ax.set(aspect="equal")
        ax.set_axis_off()
    return figure
