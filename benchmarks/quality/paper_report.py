"""The report on the 14 data sets of the paper: two tables and the critical-difference picture."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.quality.suites import Suite
from benchmarks.quality.summaries import mean_scores, p_to_best, read_means, to_markdown
from bneuralt.files import write_atomically
from bneuralt_paper.reporting.figures import critical_difference
from bneuralt_paper.reporting.significance import Ranking
from bneuralt_paper.reporting.statistics import friedman, nemenyi_critical_difference
from bneuralt_paper.running.store import Store

__all__ = ["overview", "write"]


def write(suite: Suite, store: Store, out: Path) -> None:
    """Write `quality.md` and `quality.svg`."""
    means = read_means(store, suite)
    table = overview(means, suite)
    scores = means["test_score"].unstack("model")[table.index].dropna()
    scores = scores.loc[[name for name in suite.tables if name in scores.index]]
    text = "\n".join([to_markdown(table, "model"), to_markdown(scores, "data set")])
    write_atomically(out / "quality.md", text)
    critical_difference(ranking(scores)).savefig(out / "quality.svg", metadata={"Date": None})
    print(text)


def overview(means: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Return the table: one row for each model, best mean rank first."""
    scores = means["test_score"].unstack("table")
    by_model = means.groupby("model").mean()
    table = mean_scores(scores, suite).assign(
        **{
            "mean rank": scores.rank(ascending=False).mean(axis=1),
            "p": p_to_best(scores),
            "log-loss": by_model["log_loss"],
            "AUC": by_model["auc"],
            "calibration error": by_model["calibration_error"],
            "weights": by_model["weights"].round(),
            "fit, ms": 1e3 * by_model["fit_seconds"],
            "predict, us a row": 1e6 * by_model["predict_seconds"],
        }
    )
    return table.sort_values("mean rank")


def ranking(scores: pd.DataFrame) -> Ranking:
    """Return mean ranks over the data sets, for the critical-difference picture."""
    result = friedman({name: scores[name].to_numpy() for name in scores})
    return Ranking(result, nemenyi_critical_difference(scores.shape[1], scores.shape[0]), scores)
