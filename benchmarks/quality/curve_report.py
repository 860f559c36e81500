"""The report on single trees of 10 to 5,000 weights: a table and a picture."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.quality.models import CURVE_WEIGHTS, curve_name
from benchmarks.quality.suites import Suite
from benchmarks.quality.summaries import SCORE_NAMES, mean_scores, read_means, to_markdown
from benchmarks.tables import SIZE_CLASSES
from bneuralt.files import write_atomically
from bneuralt_paper.reporting.figure_files import INK, STYLE
from bneuralt_paper.running.store import Store

__all__ = ["curve", "write"]


def write(suite: Suite, store: Store, out: Path) -> None:
    """Write `curve.md` and `curve.svg`."""
    means = read_means(store, suite)
    table = curve(means, suite)
    text = to_markdown(table, "weights requested", digits={"weights": 0, "median fit, s": 3})
    write_atomically(out / "curve.md", text)
    picture(table).savefig(out / "curve.svg", metadata={"Date": None})
    print(text)


def curve(means: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Return mean scores for each number of weights, over the tables that all numbers have.

    A table with many classes needs more weights than the smallest trees have: it then has the
    smallest tree that is possible. "weights" is the mean number of weights of the trees.
    """
    by_weights = {curve_name(n): n for n in CURVE_WEIGHTS}
    means = means.rename(index=by_weights, level="model")
    scores = means["test_score"].unstack("table").dropna(axis=1)
    means = means[means.index.isin(scores.columns, level="table")]
    table = mean_scores(scores, suite)
    for size in SIZE_CLASSES:
        names = [name for name in scores if suite.tables[name].size_class == size]
        for name, column in mean_scores(scores[names], suite).items():
            if column.notna().all():
                table[f"{name}, {size.removeprefix('of ')}"] = column
    by_model = means.groupby("model")
    table["weights"] = by_model["weights"].mean()
    table["median fit, s"] = by_model["fit_seconds"].median()
    return table.sort_index()


def picture(table: pd.DataFrame) -> Figure:
    """Plot the scores against the number of weights, classification beside regression."""
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        for ax, name in zip(figure.subplots(1, 2), SCORE_NAMES.values(), strict=True):
            for column in table:
                if column == name:
                    ax.plot(table.index, table[column], "-o", color=INK, label="all tables")
                elif column.startswith(f"{name}, "):
                    label = column.removeprefix(f"{name}, ")
                    ax.plot(table.index, table[column], "--", linewidth=1, label=label)
            ax.set(xscale="log", xlabel="weights of one tree", ylabel=f"mean {name}")
            ax.legend(fontsize="small")
    return figure
