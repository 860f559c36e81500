"""Tables of runs on images: the paper's Table 4, comparisons with scikit-learn, and k-trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bneuralt.datasets.catalogue import CATALOGUE
from bneuralt_paper.images.image_baselines import ImageBaseline
from bneuralt_paper.images.image_runs import ImageRun, group_runs
from bneuralt_paper.images.k_trees import PUBLISHED, STUCK_BELOW, KTreeTrials
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import ReportTable, TableCell, format_number

__all__ = [
    "SELECTION_LABELS",
    "comparison_table",
    "k_tree_table",
    "mean_error",
    "results_on",
    "table4",
]

#: How the weights of a run were selected, by protocol.
SELECTION_LABELS = {"paper": "lowest on the test rows", "honest": "honest"}

Result = TypeVar("Result", ImageRun, ImageBaseline)


def results_on(results: Iterable[Result], data: str) -> list[Result]:
    """Return the results on one data set."""
    return [result for result in results if result.data == data]


def table4(runs: Sequence[ImageRun] = (), baselines: Sequence[ImageBaseline] = ()) -> ReportTable:
    """Return the paper's Table 4, the errors on MNIST, with our results added.

    Parameters
    ----------
    runs : sequence of ImageRun
    baselines : sequence of ImageBaseline

    Examples
    --------
    >>> from bneuralt_paper.reporting.image_tables import table4
    >>> [cell.text for cell in table4().rows[2]]
    ['BNeuralT', 'BNeuralT-20K', '23,835', '70', '6.08', '']
    """
    printed = published.mnist().reset_index().assign(source="printed")
    quoted = printed.replace({np.nan: None}).to_dict("records")
    measured = [
        *_run_records(results_on(runs, "mnist")),
        *_baseline_records(results_on(baselines, "mnist")),
    ]
    notes = [
        "Values in italics are quoted from the paper: for BNeuralT the lowest error on the test "
        "rows over all updates, for the classification trees results from the literature."
    ]
    if any(record.get("deviation") is not None for record in measured):
        notes.append("± is the standard deviation over seeds.")
    return _table("table4_mnist", "Table 4: MNIST", [*quoted, *measured], tuple(notes))


def comparison_table(
    runs: Sequence[ImageRun], baselines: Sequence[ImageBaseline], data: str = "fashion_mnist"
) -> ReportTable:
    """Return a table with the honest errors of trees and of scikit-learn's models."""
    honest = [run for run in results_on(runs, data) if run.protocol == "honest"]
    records = [*_run_records(honest), *_baseline_records(results_on(baselines, data))]
    name = CATALOGUE[data].title.split()[0]
    notes = ("Nothing was selected on the test rows; ± is the standard deviation over seeds.",)
    return _table(f"{data}_comparison", f"{name}: trees and scikit-learn models", records, notes)


def _run_records(runs: Iterable[ImageRun]) -> list[dict[str, Any]]:
    return [
        {
            "group": f"ours, {SELECTION_LABELS[group[0].protocol]}",
            "algorithm": f"{group[0].recipe} recipe, "
            + ("one tree" if group[0].trees == 1 else f"{group[0].trees} trees"),
            "weights": max(run.weights for run in group),
            "epochs": group[0].epochs,
            **mean_error(group),
            "source": group[0].protocol,
        }
        for group in group_runs(runs)
    ]


def _baseline_records(baselines: Iterable[ImageBaseline]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, int | None], list[ImageBaseline]] = defaultdict(list)
    for baseline in baselines:
        groups[baseline.name, baseline.weights].append(baseline)
    return [
        {
            "group": "scikit-learn, honest",
            "algorithm": name,
            "weights": weights,
            **mean_error(group),
            "source": "honest",
        }
        for (name, weights), group in groups.items()
    ]


def mean_error(results: Sequence[ImageRun] | Sequence[ImageBaseline]) -> dict[str, Any]:
    """Return the mean and the standard deviation of test errors, in percent, and their number."""
    errors = [100 * result.test_error for result in results]
    return {
        "error_percent": float(np.mean(errors)),
        "deviation": float(np.std(errors, ddof=1)) if len(errors) > 1 else None,
        "runs": len(errors),
    }


def _table(
    slug: str, title: str, records: list[dict[str, Any]], notes: tuple[str, ...]
) -> ReportTable:
    rows: list[tuple[TableCell, ...]] = []
    for record in records:
        kind = "quoted" if record["source"] == "printed" else ""
        counts = [record.get(name) for name in ("weights", "epochs", "runs")]
        weights, epochs, n_runs = (
            TableCell("" if n is None else f"{n:,.0f}", kind) for n in counts
        )
        deviation = record.get("deviation")
        spread = "" if deviation is None else f" ± {deviation:.2f}"
        error = TableCell(f"{record['error_percent']:.2f}{spread}", kind)
        heads = TableCell(record["group"], "head"), TableCell(record["algorithm"], "head")
        rows.append((*heads, weights, epochs, error, n_runs))
    header = ("group", "algorithm", "weights", "epochs", "test error (%)", "runs")
    groups = [record["group"] for record in records]
    starts = frozenset(i for i in range(len(groups)) if i == 0 or groups[i] != groups[i - 1])
    return ReportTable(slug, title, header, rows, pd.DataFrame(records), notes, 2, starts)


def k_tree_table(results: Sequence[KTreeTrials]) -> ReportTable:
    """Return a table with the accuracies of k-trees for 3 against 5, and the published ones."""
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
        mean = format_number(record["accuracy"], 4)
        if record["deviation"] is not None:
            mean += f" ± {format_number(record['deviation'], 4)}"
        rows.append(
            (
                TableCell(str(entry.k), "head"),
                *(TableCell(f"{record[name]:,}") for name in ("weights", "epochs", "trials")),
                TableCell(format_number(record["published"], 4), "quoted"),
                TableCell(mean),
                *(TableCell(format_number(record[name], 4)) for name in ("lowest", "highest")),
                TableCell(f"{stuck} ({100 * stuck / len(accuracies):.0f} %)"),
            )
        )
    header = ("k", "weights", "epochs", "trials", "published", "mean accuracy", "lowest",
              "highest", "stuck")  # fmt: skip
    notes = (
        f"All trials are included; those that end below {STUCK_BELOW}, no better than guessing, "
        "are called stuck. ± is the standard deviation over trials. The numbers of weights do not "
        "include biases.",
    )
    title = "Dendritic k-trees: accuracy for 3 against 5"
    return ReportTable("k_trees", title, header, rows, pd.DataFrame(records), notes)
