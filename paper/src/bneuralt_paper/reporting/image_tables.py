"""Tables of runs on images: the paper's Table 4, comparisons with scikit-learn, and k-trees."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bneuralt_paper.datasets.catalogue import CATALOGUE
from bneuralt_paper.images.image_baselines import ImageBaseline
from bneuralt_paper.images.image_runs import ImageRun
from bneuralt_paper.images.k_trees import PUBLISHED, STUCK_BELOW, KTreeTrials
from bneuralt_paper.images.paper_runs import PRINTED, SHALLOW, SMALL, PaperImageRun
from bneuralt_paper.images.result_files import ImageResults
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import ReportTable, TableCell, format_number
from bneuralt_paper.running.image_study import image_study

__all__ = [
    "comparison_table",
    "group_by_seed",
    "k_tree_table",
    "mean_error",
    "results_on",
    "run_list",
    "table4",
]

Result = TypeVar("Result", ImageRun, ImageBaseline)
Run = TypeVar("Run", ImageRun, PaperImageRun)


def results_on(results: Iterable[Result], data: str) -> list[Result]:
    """Return the results on one data set."""
    return [result for result in results if result.data == data]


def table4(results: ImageResults | None = None) -> ReportTable:
    """Return the paper's Table 4, the errors on MNIST, with our results added.

    Examples
    --------
    >>> from bneuralt_paper.reporting.image_tables import table4
    >>> [cell.text for cell in table4().rows[0]]
    ['BNeuralT', 'BNeuralT-10K', '11,987', '70', '7.74', '', '', '']
    """
    results = results or ImageResults()
    printed = published.mnist().reset_index().assign(source="printed")
    quoted = printed.replace({np.nan: None}).to_dict("records")
    measured = [
        *_paper_records(results.paper_runs),
        *_run_records(results_on(results.runs, "mnist")),
        *_baseline_records(results_on(results.baselines, "mnist")),
    ]
    notes = [
        "Values in italics are quoted from the paper: for BNeuralT the lowest error on the test "
        "rows, for the classification trees results from the literature. Ours: the lowest error "
        "after any epoch, and the error after the last epoch, which is honest. "
        "d: depth, m: printed maximum of children, p: leaf probability, r: learning rate. Seconds "
        "are processor time of one run on one thread. ± is the standard deviation over seeds."
    ]
    return _table("table4_mnist", "Table 4: MNIST", [*quoted, *measured], tuple(notes))


def group_by_seed(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Return the runs that differ only in their seed, by their name without it."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[re.sub(r"-s\d+", "", run.name)].append(run)
    return groups


def _paper_records(runs: Iterable[PaperImageRun]) -> list[dict[str, Any]]:
    labels = [*SMALL, *PRINTED, *SHALLOW]
    ordered = sorted(
        group_by_seed(runs).items(), key=lambda item: (labels.index(item[1][0].label), item[0])
    )
    return [
        {
            "group": "ours, the paper's trees",
            "algorithm": name,
            "weights": float(np.mean([run.weights for run in group])),
            "epochs": group[0].epochs,
            **mean_error(group, "lowest_error"),
            "last_percent": 100 * float(np.mean([run.last_error for run in group])),
            "last_deviation": _deviation([run.last_error for run in group]),
            "seconds": float(np.mean([run.seconds for run in group])),
            "source": "paper",
        }
        for name, group in ordered
    ]


def _deviation(errors: Sequence[float]) -> float | None:
    return 100 * float(np.std(errors, ddof=1)) if len(errors) > 1 else None


def comparison_table(
    runs: Sequence[ImageRun],
    baselines: Sequence[ImageBaseline],
    data: str = "fashion_mnist",
) -> ReportTable:
    """Return a table with the honest errors of trees and of scikit-learn's models."""
    records = [
        *_run_records(results_on(runs, data)),
        *_baseline_records(results_on(baselines, data)),
    ]
    name = CATALOGUE[data].title.split()[0]
    notes = ("Nothing was selected on the test rows; ± is the standard deviation over seeds.",)
    return _table(f"{data}_comparison", f"{name}: trees and scikit-learn models", records, notes)


def _run_records(runs: Iterable[ImageRun]) -> list[dict[str, Any]]:
    groups = sorted(group_by_seed(runs).values(), key=lambda group: group[0].weights)
    return [
        {
            "group": "ours, honest",
            "algorithm": "modern recipe, "
            + ("one tree" if group[0].trees == 1 else f"{group[0].trees} trees"),
            "weights": max(run.weights for run in group),
            "epochs": group[0].epochs,
            **_honest(group),
        }
        for group in groups
    ]


def _baseline_records(baselines: Iterable[ImageBaseline]) -> list[dict[str, Any]]:
    return [
        {
            "group": "scikit-learn, honest",
            "algorithm": baseline.model,
            "weights": baseline.weights,
            **_honest([baseline]),
        }
        for baseline in baselines
    ]


def _honest(results: Sequence[ImageRun] | Sequence[ImageBaseline]) -> dict[str, Any]:
    found = mean_error(results)
    return {
        "last_percent": found["error_percent"],
        "last_deviation": found["deviation"],
        "runs": found["runs"],
        "seconds": float(np.mean([result.seconds for result in results])),
        "source": "honest",
    }


def mean_error(results: Sequence[Any], name: str = "test_error") -> dict[str, Any]:
    """Return the mean and the standard deviation of errors, in percent, and their number."""
    errors = [getattr(result, name) for result in results]
    return {
        "error_percent": 100 * float(np.mean(errors)),
        "deviation": _deviation(errors),
        "runs": len(errors),
    }


def _table(
    slug: str, title: str, records: list[dict[str, Any]], notes: tuple[str, ...]
) -> ReportTable:
    groups = [record["group"] for record in records]
    starts = frozenset(i for i in range(len(groups)) if i == 0 or groups[i] != groups[i - 1])
    rows: list[tuple[TableCell, ...]] = []
    for i, record in enumerate(records):
        kind = "quoted" if record["source"] == "printed" else ""
        counts = [record.get(name) for name in ("weights", "epochs", "seconds", "runs")]
        weights, epochs, seconds, n_runs = (
            TableCell("" if n is None else f"{n:,.0f}" if n >= 1 else f"{n:.1f}", kind)
            for n in counts
        )
        lowest = TableCell(_with_spread(record, "error_percent", "deviation"), kind)
        last = TableCell(_with_spread(record, "last_percent", "last_deviation"), kind)
        group = record["group"] if i in starts else ""
        heads = TableCell(group, "head"), TableCell(record["algorithm"], "head")
        rows.append((*heads, weights, epochs, lowest, last, n_runs, seconds))
    header = ("group", "algorithm", "weights", "epochs", "lowest (%)", "honest (%)", "runs",
              "seconds")  # fmt: skip
    return ReportTable(slug, title, header, rows, pd.DataFrame(records), notes, 2, starts)


def _with_spread(record: dict[str, Any], name: str, deviation: str) -> str:
    if record.get(name) is None:
        return ""
    spread = record.get(deviation)
    return f"{record[name]:.2f}" + ("" if spread is None else f" ± {spread:.2f}")


def run_list(results: ImageResults) -> ReportTable:
    """Return a table of all runs of the study with their cost, those that are missing included."""
    found = {result.name: result for result in results.all()}
    records = []
    for task in image_study():
        result: Any = found.get(task.name)
        trials = getattr(result, "trials", [result])
        records.append(
            {
                "run": task.name,
                "data": task.data,
                "seed": getattr(result, "seed", None),
                "seconds": sum(trial.seconds for trial in trials) if result else None,
                "status": "finished" if result else "missing",
            }
        )
    frame = pd.DataFrame(records)
    rows = [
        tuple(TableCell("" if pd.isna(value) else str(value)) for value in record.values())
        for record in records
    ]
    title = "All planned runs on images, with their cost in seconds"
    return ReportTable("image_runs", title, tuple(frame.columns), rows, frame, heads=5)


def k_tree_table(results: Sequence[KTreeTrials]) -> ReportTable:
    """Return a table with the accuracies of k-trees for 3 against 5, and the published ones."""
    records, rows = [], []
    for entry in sorted(results, key=lambda entry: (entry.asymmetric, entry.k, entry.max_epochs)):
        accuracies = [trial.accuracy for trial in entry.trials]
        stuck = sum(trial.stuck for trial in entry.trials)
        record: dict[str, Any] = {
            "model": entry.name,
            "weights": entry.weights,
            "epochs": entry.max_epochs,
            "trials": len(accuracies),
            "published": PUBLISHED.get(entry.name),
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
                TableCell(entry.name, "head"),
                *(TableCell(f"{record[name]:,}") for name in ("weights", "epochs", "trials")),
                TableCell(format_number(record["published"], 4), "quoted"),
                TableCell(mean),
                *(TableCell(format_number(record[name], 4)) for name in ("lowest", "highest")),
                TableCell(f"{stuck} ({100 * stuck / len(accuracies):.0f} %)"),
            )
        )
    header = ("model", "weights", "epochs", "trials", "published", "mean accuracy", "lowest",
              "highest", "stuck")  # fmt: skip
    notes = (
        f"All trials are included; those that end below {STUCK_BELOW}, no better than guessing, "
        "are called stuck. ± is the standard deviation over trials. The numbers of weights do not "
        "include biases.",
    )
    title = "Dendritic k-trees: accuracy for 3 against 5"
    return ReportTable("k_trees", title, header, rows, pd.DataFrame(records), notes)
