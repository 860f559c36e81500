"""Means over splits and tables, and Markdown tables, for all reports."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from benchmarks.quality.measuring import PROBABILITY_SCORES
from benchmarks.quality.suites import Suite
from bneuralt_paper.reporting.statistics import holm, wilcoxon_signed_rank
from bneuralt_paper.running.store import Store

__all__ = ["SCORE_NAMES", "mean_scores", "mean_useful_r2", "p_to_best", "read_means", "to_markdown"]

SCORE_NAMES = {"classification": "accuracy", "regression": "r2"}
_COLUMNS = ("test_score", "weights", "fit_seconds", "predict_seconds", *PROBABILITY_SCORES)
_DIGITS = {
    "mean rank": 2, "p": 4, "weights": 0, "tables": 0, "fit, ms": 1, "predict, us a row": 2,
    "median fit, s": 2, "all fits, s": 0,
}  # fmt: skip


def read_means(store: Store, suite: Suite) -> pd.DataFrame:
    """Return means over splits, indexed by model and table, where all splits were measured."""
    frame = store.to_frame()
    in_suite = (frame["protocol"] == suite.protocol) & frame["dataset"].isin(list(suite.tables))
    frame = frame[in_suite]
    frame = frame[frame["run"] < frame["dataset"].map(suite.n_splits)].rename(
        columns={"experiment": "model", "dataset": "table"}
    )
    for name in PROBABILITY_SCORES:
        frame[name] = [curves[name][0] if name in curves else np.nan for curves in frame["curves"]]
    groups = frame.groupby(["model", "table"])
    n_splits = groups["run"].nunique()
    n_expected = [suite.n_splits(table) for _, table in n_splits.index]
    return groups[list(_COLUMNS)].mean()[n_splits == n_expected]


def mean_scores(scores: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Return mean accuracy and mean r2 of each model, from scores with a column for each table."""
    return pd.DataFrame(
        {name: _of_task(scores, suite, task).mean(axis=1) for task, name in SCORE_NAMES.items()}
    )


def mean_useful_r2(scores: pd.DataFrame, suite: Suite) -> pd.Series:
    """Return the mean r2 with 0 where it is negative.

    On tables that no model can predict, r2 can be far below 0, and one of them would decide the
    mean.
    """
    return _of_task(scores, suite, "regression").clip(lower=0).mean(axis=1)


def _of_task(scores: pd.DataFrame, suite: Suite, task: str) -> pd.DataFrame:
    return scores[[table for table in scores if suite.tables[table].task == task]]


def p_to_best(scores: pd.DataFrame) -> pd.Series:
    """Return p-values of Wilcoxon tests over tables against the best mean rank, after Holm."""
    best = scores.rank(ascending=False).mean(axis=1).idxmin()
    others = scores.index.drop(best)
    p = [wilcoxon_signed_rank(scores.loc[best], scores.loc[name]).p_value for name in others]
    return pd.Series(holm(p), index=others)


def to_markdown(table: pd.DataFrame, corner: str, digits: Mapping[str, int] = _DIGITS) -> str:
    """Return a table in Markdown; missing numbers are left out, text is kept.

    Examples
    --------
    >>> print(to_markdown(pd.DataFrame({"r2": [0.5, np.nan]}, index=["a", "b"]), "model"), end="")
    | model | r2 |
    | --- | ---: |
    | a | 0.500 |
    | b |  |
    """
    lines = [f"| {corner} | {' | '.join(table)} |", "| --- |" + " ---: |" * table.shape[1]]
    for name, row in table.iterrows():
        cells = [_cell(value, digits.get(column, 3)) for column, value in row.items()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(value: object, digits: int) -> str:
    if isinstance(value, str):
        return value
    return "" if np.isnan(value) else f"{value:,.{digits}f}"
