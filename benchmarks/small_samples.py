"""Small training sets, drawn from the larger tables that settings are chosen on.

    python -m benchmarks.small_samples run --store small.sqlite
    python -m benchmarks.small_samples report --store small.sqlite --against linear

Tables of some hundred rows have too few test rows to show a difference of .005. So training sets of
60 to 1,000 rows are drawn from every table of the choosing half that has more, and up to 5,000 of
its other rows are test rows. Whatever concerns small tables is chosen by this benchmark.

Settings that are tried are `--variants FILE`: a Python file with a dict MODELS of
`benchmarks.quality.models.Model`, which makes a classifier and a regressor from a seed and the
number of classes. `--label` is added to the names of models in the store, so that it can hold the
same models of several commits: run the program with the Python of another environment. `run`
measures what the store lacks; several processes may share a store.
"""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.quality.models import MODELS
from benchmarks.quality.running import run
from benchmarks.quality.suites import TABLES_HOME, Suite, small_samples
from benchmarks.quality.summaries import SCORE_NAMES, read_means, to_markdown
from benchmarks.quality.tables_report import mean_and_error
from bneuralt_paper.running.store import Store

SIZES = (60, 120, 250, 500, 1_000)
#: The score of each task, and those of probabilities; True: the more, the better.
SCORES = {"accuracy": True, "r2": True, "log_loss": False, "auc": True}
_DIGITS = {"tables": 0, "weights, median": 0, "fit, ms": 1, "times the fit": 2}


def main() -> None:
    """Run from a shell."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.small_samples", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add("action", choices=("run", "report"))
    add("--store", default="small_samples.sqlite", help="SQLite file of the figures (%(default)s)")
    add("--models", help="names, with commas between them; of a report: all of the store")
    add("--variants", type=Path, help="Python file with more models in a dict MODELS")
    add("--label", default="", help="run: added to the names of the models in the store")
    add("--rows", default=",".join(map(str, SIZES)), help="sizes of training sets (%(default)s)")
    add("--samples", type=int, default=4, help="training sets of each table (%(default)s)")
    add("--data-home", help=f"folder of the tables ({TABLES_HOME})")
    add("--against", help="report: the model that others are compared with")
    add("--tables", action="store_true", help="report: the differences of every table, too")
    arguments = parser.parse_args()

    if arguments.variants:
        MODELS.update(runpy.run_path(str(arguments.variants))["MODELS"])
    suites = [small_samples(int(n), arguments.samples) for n in arguments.rows.split(",")]
    names = arguments.models.split(",") if arguments.models else None
    with Store(arguments.store, must_exist=arguments.action == "report") as store:
        if arguments.action == "run":
            models = _labelled(parser, names or suites[0].models, arguments.label)
            for suite in suites:
                run(
                    store,
                    suite,
                    suite.cells(models, list(suite.tables), None),
                    arguments.data_home,
                    1,
                )
            return
        for suite in suites:
            means = compared(store, suite, names)
            if means.empty:
                continue
            print(f"## {suite.n_training} rows\n\n{to_markdown(overview(means), 'model', _DIGITS)}")
            if arguments.against:
                print(to_markdown(differences(means, arguments.against), "model", _DIGITS))
                if arguments.tables:
                    print(to_markdown(by_table(means, arguments.against), "table", _DIGITS))


def _labelled(parser: argparse.ArgumentParser, names: list[str], label: str) -> list[str]:
    """Return the names of models in the store, and make them known."""
    if unknown := set(names) - set(MODELS):
        parser.error(f"--models: {', '.join(unknown)} not among {', '.join(MODELS)}")
    labelled = {f"{name} {label}".strip(): MODELS[name] for name in names}
    MODELS.update(labelled)
    return list(labelled)


def compared(store: Store, suite: Suite, names: list[str] | None) -> pd.DataFrame:
    """Return means over training sets, of the tables that all models were measured on."""
    means = read_means(store, suite)
    if names is not None:
        means = means[means.index.isin(names, level="model")]
    n_models = means.index.unique("model").size
    means = means.groupby("table").filter(lambda rows: len(rows) == n_models)
    tasks = means.index.get_level_values("table").map(lambda table: suite.tables[table].task)
    for task, name in SCORE_NAMES.items():
        means[name] = means["test_score"].where(tasks == task)
    return means


def overview(means: pd.DataFrame) -> pd.DataFrame:
    """Return the mean scores of each model."""
    by_model = means.groupby("model")
    table = by_model[list(SCORES)].mean()
    table["weights, median"] = by_model["weights"].median()
    table["fit, ms"] = 1e3 * by_model["fit_seconds"].median()
    return table


def differences(means: pd.DataFrame, base: str) -> pd.DataFrame:
    """Return paired differences to a model: means over tables ± standard errors.

    `log-loss, %` is the change of the mean log-loss; `times the fit` the mean ratio of the times
    of a fit. The worst table is that with the largest loss of its score, accuracy or r2.
    """
    rows = {}
    for model in means.index.unique("model").drop(base):
        new, old = means.loc[model], means.loc[base]
        scores = new["test_score"] - old["test_score"]
        ratio = new["log_loss"].mean() / old["log_loss"].mean() if old["log_loss"].any() else np.nan
        rows[model] = (
            {"tables": float(len(new))}
            | {name: mean_and_error((new[name] - old[name]).dropna()) for name in SCORES}
            | {
                "log-loss, %": f"{100 * (ratio - 1):+.1f}",
                "times the fit": (new["fit_seconds"] / old["fit_seconds"]).mean(),
                "worst table": f"{scores.idxmin()} {scores.min():+.3f}",
            }
        )
    return pd.DataFrame.from_dict(rows, orient="index")


def by_table(means: pd.DataFrame, base: str) -> pd.DataFrame:
    """Return the differences of the scores of every table to those of a model."""
    scores = means["test_score"].unstack("model")
    return scores.sub(scores[base], axis=0).drop(columns=base).assign(**{base: scores[base]})


if __name__ == "__main__":
    main()
