"""The tables and the picture of `benchmarks.size_curve`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

TASKS = ("classification", "regression")
#: Models that are drawn as a curve, and as a point.
CURVES = {
    "front": ("evolved trees, front of one search", "#c8553d", "o-"),
    "limited": ("evolved trees, max_weights", "#e09f3e", "s-"),
    "compact": ("compacted default trees", "#2f6690", "o-"),
    "default": ("default trees of that size", "#81a4cd", "o-"),
    "mlp": ("MLP, one hidden layer", "#588157", "^-"),
    "cart": ("CART", "#888888", "v-"),
}
POINTS = {
    "default": "default tree",
    "evolved": "evolved, default",
    "MONT3": "MONT-3",
    "HFNT-S": "HFNT-S",
    "HFNT-M": "HFNT-M",
}
#: Where the axes begin. CART is below that in regression, and the others would be one line.
LOWEST = {"classification": 0.77, "regression": 0.6}


class Means(NamedTuple):
    """Means over the splits and then over the data sets."""

    score: float
    n_weights: float
    n_nodes: float
    seconds: float
    difference: float
    standard_error: float


def complete_splits(rows: Sequence[Any], task: str) -> list[Any]:
    """Return the rows of the splits for which all families were measured on all data sets."""
    task_rows = [row for row in rows if row.task == task]
    parts = {(row.family, row.dataset, row.split) for row in task_rows}
    families, names = ({part[i] for part in parts} for i in (0, 1))
    complete = {
        split
        for split in {part[2] for part in parts}
        if all((family, name, split) in parts for family in families for name in names)
    }
    return [row for row in task_rows if row.split in complete]


def complete_models(rows: Sequence[Any], task: str) -> dict[tuple[str, str], list[Any]]:
    """Return the rows of each model that was measured on all data sets and complete splits."""
    complete_rows = complete_splits(rows, task)
    n_cells = len({(row.dataset, row.split) for row in complete_rows})
    by_model: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in complete_rows:
        by_model[row.family, row.limit].append(row)
    return {
        model: model_rows for model, model_rows in by_model.items() if len(model_rows) == n_cells
    }


def summary(rows: Sequence[Any], task: str) -> dict[tuple[str, str], Means]:
    """Return the means of all models, and their lead over the default tree.

    The standard error of the difference is that over splits.
    """
    models = complete_models(rows, task)
    whole = {(row.dataset, row.split): row.score for row in models.get(("default", ""), [])}
    means = {}
    for model, model_rows in models.items():
        ahead = _by_split(
            model_rows, lambda row: row.score - whole.get((row.dataset, row.split), np.nan)
        )
        means[model] = Means(
            *(
                float(np.mean([getattr(row, name) for row in model_rows]))
                for name in ("score", "n_weights", "n_nodes", "seconds")
            ),
            float(ahead.mean()),
            _standard_error(ahead),
        )
    return means


def optimism(rows: Sequence[Any], task: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Return by how much validation scores exceed test scores, with the standard error."""
    gaps = {}
    for model, model_rows in complete_models(rows, task).items():
        if model_rows[0].validation:
            gap = _by_split(model_rows, lambda row: float(row.validation) - row.score)
            gaps[model] = float(gap.mean()), _standard_error(gap)
    return gaps


def _by_split(rows: Sequence[Any], figure: Callable[[Any], float]) -> np.ndarray[Any, Any]:
    figures: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        figures[row.split].append(figure(row))
    return np.array([np.mean(values) for values in figures.values()])


def _standard_error(values: np.ndarray[Any, Any]) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")


def report(rows: Sequence[Any]) -> None:
    """Print scores and sizes of all models, and the optimism of validation scores."""
    for task in TASKS:
        complete_rows = complete_splits(rows, task)
        n_sets, n_splits = (
            len({getattr(row, n) for row in complete_rows}) for n in ("dataset", "split")
        )
        print(f"\n{task}: {n_sets} data sets, {n_splits} splits\n")
        print("| model | limit | score | weights | nodes | ahead of default | s (processor) |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for (family, limit), means in sorted(
            summary(rows, task).items(), key=lambda item: (item[0][0], int(item[0][1] or 0))
        ):
            print(
                f"| {family} | {limit} | {means.score:.4f} | {means.n_weights:.1f} | "
                f"{means.n_nodes:.1f} | {means.difference:+.4f} ± {means.standard_error:.4f} | "
                f"{means.seconds:.2f} |"
            )
        print("\n| chosen tree | limit | validation score minus test score |")
        print("| --- | ---: | ---: |")
        for (family, limit), (gap, error) in optimism(rows, task).items():
            print(f"| {family} | {limit} | {gap:+.4f} ± {error:.4f} |")


def plot(rows: Sequence[Any], picture: Path) -> None:
    """Draw mean scores against mean numbers of weights."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "size_curve"
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, task, unit in zip(axes, TASKS, ("accuracy", "r2"), strict=True):
        means_of_models = summary(rows, task)
        for family, (label, color, style) in CURVES.items():
            points = sorted(
                (means.n_weights, means.score)
                for (model_family, limit), means in means_of_models.items()
                if model_family == family and limit and means.n_weights <= 450
            )
            if points:
                ax.plot(*zip(*points, strict=True), style, color=color, label=label, markersize=4)
        for family, label in POINTS.items():
            if (means := means_of_models.get((family, ""))) is not None:
                ax.plot([means.n_weights], [means.score], "x", color="black")
                ax.annotate(
                    label,
                    (means.n_weights, means.score),
                    xytext=(4, -10 if family == "HFNT-S" else 4),
                    textcoords="offset points",
                    fontsize=8,
                )
        ax.set_ylim(bottom=LOWEST[task])
        ticks = (8, 16, 32, 64, 128, 256, 400)
        ax.set_xscale("log")
        ax.set_xticks(ticks, [str(n) for n in ticks])
        ax.minorticks_off()
        n_sets = len({row.dataset for row in rows if row.task == task})
        ax.set(xlabel="weights (mean)", ylabel=f"{unit}, mean over {n_sets} data sets", title=task)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    axes[1].legend(frameon=False, fontsize=8)
    figure.savefig(picture, metadata={"Date": None})
