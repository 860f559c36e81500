"""Tables and pictures of the runs on images: the paper's Table 4 and what belongs to it.

Runs come from the files that ``bneuralt paper mnist --out`` writes; every function takes runs or a
model and returns a `ReportTable` or a matplotlib figure.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from sklearn.metrics import auc, confusion_matrix, roc_curve

from bneuralt.model_file import load_model
from bneuralt.paper import figures, published
from bneuralt.paper.cells import Cell, ReportTable
from bneuralt.paper.mnist import ImageRun, Images
from bneuralt.paper.mnist_baselines import Baseline
from bneuralt.plot import radial_layout
from bneuralt.tree import NeuralTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = [
    "comparison_table",
    "confusions",
    "error_against_weights",
    "error_per_epoch",
    "load_runs",
    "order_of_difficulty",
    "roc_curves",
    "table4",
    "tree_picture",
]

_CHOICE = {"paper": "lowest on the test rows", "honest": "honest"}
_COLORS = [f"C{i}" for i in range(10)]
_Group = tuple[str, str, int]


def load_runs(folder: str | PathLike[str]) -> list[ImageRun]:
    """Return the runs of all model files in a folder, smallest first."""
    runs = [ImageRun.of_model(load_model(path)) for path in sorted(Path(folder).glob("*.json"))]
    return sorted(runs, key=lambda run: (run.data, run.recipe, run.protocol, run.weights, run.seed))


def _groups(runs: Iterable[ImageRun]) -> dict[_Group, list[ImageRun]]:
    """Put runs together that differ in nothing but their seed, and the few weights it makes."""
    groups: dict[_Group, list[ImageRun]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.weights):
        size = next(
            (
                size
                for recipe, protocol, size in groups
                if (recipe, protocol) == (run.recipe, run.protocol)
                and abs(run.weights / size - 1) < 0.04
                and groups[recipe, protocol, size][0].epochs == run.epochs
            ),
            run.weights,
        )
        groups[run.recipe, run.protocol, size].append(run)
    return groups


# -- tables -------------------------------------------------------------------------------


def table4(runs: Sequence[ImageRun], baselines: Sequence[Baseline] = ()) -> ReportTable:
    """The paper's Table 4: errors on MNIST, quoted and measured.

    Parameters
    ----------
    runs : sequence of ImageRun
    baselines : sequence of Baseline
        Such as scikit-learn's CART.
    """
    printed = published.mnist().reset_index().assign(source="paper")
    quoted = printed.replace({np.nan: None}).to_dict("records")
    records = [*quoted, *_run_records(_of(runs, "mnist")), *_baseline_records(baselines, "mnist")]
    note = (
        "Figures in italics are the paper's; for BNeuralT they are the lowest error on the test "
        "rows over all updates. ± is the standard deviation over seeds."
    )
    return _table("table4_mnist", "Table 4: MNIST", records, (note,), len(quoted))


def comparison_table(
    runs: Sequence[ImageRun], baselines: Sequence[Baseline], data: str = "fashion_mnist"
) -> ReportTable:
    """Honest errors of trees beside those of scikit-learn's models."""
    honest = [run for run in _of(runs, data) if run.protocol == "honest"]
    records = [*_run_records(honest), *_baseline_records(baselines, data)]
    return _table(f"{data}_comparison", data, records)


def _run_records(runs: Iterable[ImageRun]) -> list[dict[str, Any]]:
    records = []
    for (recipe, protocol, _), group in sorted(_groups(runs).items()):
        errors = [100 * run.test_error for run in group]
        kind = "tree" if group[0].trees == 1 else f"{group[0].trees} trees"
        records.append(
            {
                "group": f"ours, {_CHOICE[protocol]}",
                "algorithm": f"{recipe} recipe, {kind}",
                "weights": max(run.weights for run in group),
                "epochs": group[0].epochs,
                "error_percent": float(np.mean(errors)),
                "deviation": float(np.std(errors, ddof=1)) if len(group) > 1 else None,
                "runs": len(group),
                "source": protocol,
            }
        )
    return records


def _baseline_records(baselines: Iterable[Baseline], data: str) -> list[dict[str, Any]]:
    return [
        {
            "group": "scikit-learn, honest",
            "algorithm": baseline.name,
            "weights": baseline.weights,
            "error_percent": 100 * baseline.test_error,
            "runs": 1,
            "source": "honest",
        }
        for baseline in baselines
        if baseline.data == data
    ]


def _table(
    slug: str,
    title: str,
    records: list[dict[str, Any]],
    notes: tuple[str, ...] = (),
    second_block: int = 0,
) -> ReportTable:
    rows: list[tuple[Cell, ...]] = []
    for record in records:
        counts = [record.get(name) for name in ("weights", "epochs", "runs")]
        weights, epochs, n_runs = ("" if n is None else f"{n:,.0f}" for n in counts)
        deviation = record.get("deviation")
        error = Cell(
            f"{record['error_percent']:.2f}",
            "quoted" if record["source"] == "paper" and not n_runs else "",
            "" if deviation is None else f"± {deviation:.2f}",
        )
        heads = Cell(record["group"], "head"), Cell(record["algorithm"], "head")
        rows.append((*heads, Cell(weights), Cell(epochs), error, Cell(n_runs)))
    header = ("group", "algorithm", "weights", "epochs", "test error (%)", "runs")
    starts = frozenset({0, second_block})
    return ReportTable(slug, title, header, rows, pd.DataFrame(records), notes, 2, starts)


# -- curves -------------------------------------------------------------------------------


def error_against_weights(runs: Sequence[ImageRun], data: str = "mnist") -> Figure:
    """Error by number of weights: one line for each recipe, and the paper's figures."""
    with rc_context(figures._STYLE):
        figure = Figure(figsize=(5.2, 3.4))
        ax = figure.add_subplot()
        lines: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
        for (recipe, protocol, size), group in sorted(_groups(_of(runs, data)).items()):
            errors = [100 * run.test_error for run in group]
            label = f"{recipe} recipe, {_CHOICE[protocol]}"
            lines[label].append((size, float(np.mean(errors)), float(np.std(errors))))
        for color, (label, points) in zip(_COLORS, lines.items(), strict=False):
            weights, mean, deviation = np.array(sorted(points)).T
            ax.errorbar(weights, mean, deviation, marker="o", ms=4, color=color, label=label)
        if data == "mnist":
            printed = published.mnist().dropna(subset="weights")
            ax.plot(
                printed["weights"], printed["error_percent"], "k--s", ms=4, mfc="none",
                label="the paper, lowest on the test rows",
            )  # fmt: skip
        ax.set(xscale="log", xlabel="weights", ylabel="test error (%)", ylim=(0, None))
        _plain_ticks(ax.xaxis)
        ax.legend()
        figure.set_layout_engine("tight")
    return figure


def error_per_epoch(runs: Sequence[ImageRun]) -> Figure:
    """Training and test error after each epoch, for runs that watched the test rows."""
    with rc_context(figures._STYLE):
        figure = Figure(figsize=(5.2, 3.4))
        ax = figure.add_subplot()
        for color, run in zip(_COLORS, [run for run in runs if run.history], strict=False):
            for part, style in {"train": ":", "test": "-"}.items():
                errors = 100 * np.array(run.history.get(part, []))
                label = f"{run.weights:,} weights, {run.recipe} recipe, {part}"
                if errors.size:
                    epochs = np.arange(1, errors.size + 1)
                    ax.plot(epochs, errors, style, color=color, label=label)
        ax.set(xlabel="epoch", ylabel="error (%)", yscale="log")
        _plain_ticks(ax.yaxis)
        ax.legend()
        figure.set_layout_engine("tight")
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Write 1, 2, 5, 10, ... on a logarithmic axis, and thousands as such."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda x, _: f"{x / 1000:g}K" if x >= 1000 else f"{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _of(runs: Iterable[ImageRun], data: str) -> list[ImageRun]:
    return [run for run in runs if run.data == data]


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
    with rc_context(figures._STYLE):
        figure = Figure(figsize=(5.2, 4.6))
        ax = figure.add_subplot()
        corner = ax.inset_axes((0.36, 0.42, 0.6, 0.54))
        for k, area in order_of_difficulty(scores, y):
            wrongly, rightly, _ = roc_curve(y == k, scores[:, k])
            for axes in (ax, corner):
                axes.plot(wrongly, rightly, color=_COLORS[k % 10], lw=0.9)
            ax.plot([], [], color=_COLORS[k % 10], label=f"{class_names[k]}  {area:.5f}")
        corner.set(xlim=(0, 0.03), ylim=(0.94, 1.001))
        corner.set_title("upper left corner", fontsize=7)
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
    with rc_context(figures._STYLE):
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
    owner = np.arange(tree.parent.size)  # the output above each node
    for node in range(tree.n_outputs, tree.parent.size):
        owner[node] = owner[tree.parent[node]]
    children = np.concatenate([nodes[tree.n_outputs :], leaves])
    parents = np.concatenate([tree.parent[tree.n_outputs :], tree.leaf_parent])
    edges = np.stack([nodes[parents], children, np.full_like(children, np.nan)], axis=1)
    with rc_context(figures._STYLE):
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
        ax.plot(0, 0, "ko", ms=8, zorder=3)
        ax.set(aspect="equal")
        ax.set_axis_off()
    return figure
