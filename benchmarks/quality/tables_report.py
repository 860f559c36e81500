"""The report on the tables of other sources: all of them, and by the number of rows.

A group of tables compares the models that were measured on all of its tables; the others, such as
those that are too slow for large tables, appear in the groups that they were measured on.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.quality.suites import Suite
from benchmarks.quality.summaries import (
    SCORE_NAMES,
    mean_scores,
    mean_useful_r2,
    p_to_best,
    read_means,
    to_markdown,
)
from benchmarks.tables import SIZE_CLASSES
from bneuralt.files import write_atomically
from bneuralt_paper.running.store import Store

__all__ = ["differences", "mean_and_error", "overview", "write"]

OURS = "forest"


def write(suite: Suite, store: Store, out: Path) -> None:
    """Write `tables.md`."""
    means = read_means(store, suite)
    groups = {"All tables": list(suite.tables)} | {
        f"Tables {name}": [
            table for table, facts in suite.tables.items() if facts.size_class == name
        ]
        for name in SIZE_CLASSES
    }
    parts = [_section(title, means, tables, suite) for title, tables in groups.items()]
    scores = means["test_score"].unstack("model")
    scores = scores.loc[[table for table in suite.tables if table in scores.index]]
    scores.insert(0, "rows", [f"{suite.tables[table].n_rows:,}" for table in scores.index])
    parts += ["## Every table\n", to_markdown(scores, "table"), _provenance(store, suite)]
    text = "\n".join(parts)
    write_atomically(out / "tables.md", text)
    print(text)


def _section(title: str, means: pd.DataFrame, tables: list[str], suite: Suite) -> str:
    """Return the comparison of models on a group of tables."""
    compared = _measured_on_all(means, tables)
    n_classified = sum(suite.tables[table].task == "classification" for table in tables)
    counts = f"{n_classified} for classification, {len(tables) - n_classified} for regression."
    lines = [f"## {title}\n", counts]
    here = means[means.index.isin(tables, level="table")]
    if absent := sorted(set(here.index.unique("model")) - set(compared.index.unique("model"))):
        lines.append(f"Not measured on all of them: {', '.join(absent)}.")
    if len(compared):
        lines += ["", to_markdown(overview(compared, suite), "model")]
    if OURS in here.index.unique("model"):
        lines += [
            f"{OURS} minus the other model, mean over the tables of both ± standard error:\n",
            to_markdown(differences(here, suite), "model"),
        ]
    return "\n".join(lines)


def _measured_on_all(means: pd.DataFrame, tables: list[str]) -> pd.DataFrame:
    """Return the rows of these tables, without models that lack one of them."""
    here = means[means.index.isin(tables, level="table")]
    return here.groupby("model").filter(lambda rows: len(rows) == len(tables))


def overview(means: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Return one row for each model, best mean rank first; all models have the same tables.

    Fit times are processor times of one fit of each table: their median and their sum.
    """
    scores = means["test_score"].unstack("table")
    by_model = means.groupby("model")
    table = mean_scores(scores, suite).assign(
        **{
            "r2, at least 0": mean_useful_r2(scores, suite),
            "log-loss": by_model["log_loss"].mean(),
            "AUC": by_model["auc"].mean(),
            "mean rank": scores.rank(ascending=False).mean(axis=1),
            "p": p_to_best(scores) if len(scores) > 1 else float("nan"),
            "weights": by_model["weights"].mean(),
            "median fit, s": by_model["fit_seconds"].median(),
            "all fits, s": by_model["fit_seconds"].sum(),
            "predict, us a row": 1e6 * by_model["predict_seconds"].mean(),
        }
    )
    return table.sort_values("mean rank")


def differences(means: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Return the paired differences of our forest to each other model, with standard errors."""
    by_name = {name: means[name].unstack("model") for name in ("test_score", "log_loss", "auc")}
    scores = by_name["test_score"]
    tasks = pd.Series({table: suite.tables[table].task for table in scores.index})
    compared = {name: scores[tasks == task] for task, name in SCORE_NAMES.items()}
    compared |= {"log-loss": by_name["log_loss"], "AUC": by_name["auc"]}
    rows = {}
    for model in scores.columns.drop(OURS):
        n_tables = scores[[OURS, model]].dropna().shape[0]
        rows[model] = {"tables": float(n_tables)} | {
            name: mean_and_error((values[OURS] - values[model]).dropna())
            for name, values in compared.items()
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def mean_and_error(values: pd.Series) -> str:
    """Return the mean of differences with its standard error."""
    if len(values) < 2:
        return ""
    return f"{values.mean():+.4f} ± {values.sem():.4f}"


def _provenance(store: Store, suite: Suite) -> str:
    """Return which machine measured which models, because times depend on it."""
    rows = store.execute(
        "SELECT DISTINCT machine, experiment FROM runs WHERE protocol = ? ORDER BY 1, 2",
        (suite.protocol,),
    ).fetchall()
    models: dict[str, list[str]] = {}
    for machine, model in rows:
        models.setdefault(machine, []).append(model)
    lines = [f"Measured on {machine}: {', '.join(names)}." for machine, names in models.items()]
    return "\n".join(lines) + "\n"
