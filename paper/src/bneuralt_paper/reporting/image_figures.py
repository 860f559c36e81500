"""Figures of runs on images: errors by epoch with ROC curves, errors by size, and a tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bneuralt.tree import NeuralTree
from bneuralt_paper.images.image_runs import ImageRun
from bneuralt_paper.images.paper_runs import PRINTED, PaperImageRun
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.figure_files import INK, STYLE
from bneuralt_paper.reporting.image_tables import group_by_seed, mean_error, results_on
from bneuralt_paper.reporting.tree_shapes import outputs_above, radial_layout

__all__ = ["error_against_weights", "error_and_roc", "tree_picture"]

_COLORS = [f"C{i}" for i in range(10)]


def error_against_weights(
    paper_runs: Sequence[PaperImageRun], runs: Sequence[ImageRun], data: str = "mnist"
) -> Figure | None:
    """Plot test errors against numbers of weights: the paper's trees, ours, and the paper.

    The trees of each size are drawn as the authors' published ones.
    """
    points: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for run in paper_runs:
        if run.is_main and run.label in PRINTED:
            kind = f"the paper's trees, rate {run.rate:g}"
            points[f"{kind}, lowest on the test rows"][run.label].append(
                (run.weights, run.lowest_error)
            )
            points[f"{kind}, honest"][run.label].append((run.weights, run.last_error))
    with rc_context(STYLE):
        figure = Figure(figsize=(5.6, 3.6))
        ax = figure.add_subplot()
        for color, (label, sizes) in zip(_COLORS, sorted(points.items()), strict=False):
            lines = []
            for values in sizes.values():
                weights, errors = np.array(values).T
                deviation = errors.std(ddof=1) if len(errors) > 1 else 0.0
                lines.append((weights.mean(), 100 * errors.mean(), 100 * deviation))
            x, y, spread = np.array(sorted(lines)).T
            ax.errorbar(x, y, spread, marker="o", ms=4, capsize=2, color=color, label=label)
        modern = [
            (group[0].weights, mean_error(group)["error_percent"])
            for group in group_by_seed(results_on(runs, data)).values()
        ]
        if modern:
            x, y = np.array(sorted(modern)).T
            ax.plot(x, y, "^-", ms=4, color="0.5", label="modern recipe, honest")
        if not points and not modern:
            return None
        printed = published.mnist().dropna(subset="weights")
        ax.plot(
            printed["weights"], printed["error_percent"], "--s", color=INK, ms=4, mfc="none",
            label="the paper, lowest on the test rows",
        )  # fmt: skip
        ax.set(xscale="log", xlabel="weights", ylabel="test error (%)", ylim=(0, None))
        _plain_ticks(ax.xaxis)
        ax.legend(fontsize=6.5)
        figure.set_layout_engine("tight")
    return figure


def error_and_roc(run: PaperImageRun) -> Figure:
    """Plot errors by epoch, and ROC curves on training and test rows in insets, as Figure 7."""
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 3.4))
        left, *others = figure.subplots(1, 3)
        for part, errors in {"training": run.train_error, "test": run.test_error}.items():
            left.plot(np.arange(1, len(errors) + 1), 100 * np.array(errors), label=f"{part} rows")
        left.set(xlabel="epoch", ylabel="error (%)", ylim=(0, 30), title="error by epoch")
        left.legend()
        for ax, part in zip(others, ("train", "test"), strict=True):
            for k, (false_rate, true_rate) in enumerate(run.roc[part]):
                label = f"{k}  {run.areas[part][k]:.4f}"
                ax.plot(false_rate, true_rate, color=_COLORS[k % 10], lw=0.9, label=label)
            ax.set(
                xlim=(0, 0.2), ylim=(0.8, 1.005), xlabel="false positive rate",
                ylabel="true positive rate",
                title=f"{'training' if part == 'train' else 'test'} rows",
            )  # fmt: skip
            ax.legend(loc="lower right", title="digit, area", fontsize=6, title_fontsize=6)
        figure.set_layout_engine("tight")
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Label a logarithmic axis with 1, 2, 5, 10, ..., and thousands with K."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda x, _: f"{x / 1000:g}K" if x >= 1000 else f"{x:g}")
    axis.set_minor_formatter(NullFormatter())


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
