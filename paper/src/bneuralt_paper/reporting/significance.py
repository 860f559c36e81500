"""Tables of significance tests (Tables 3, A4 and A5), and of mean ranks over data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt_paper.experiments.baselines import LABELS
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import ReportTable, TableCell, format_number
from bneuralt_paper.reporting.result_tables import REFERENCE, SHORT_NAMES
from bneuralt_paper.reporting.run_results import Results
from bneuralt_paper.reporting.statistics import (
    FriedmanResult,
    compare_with_reference,
    friedman,
    holm,
    nemenyi_critical_difference,
    wilcoxon_signed_rank,
)

__all__ = ["Ranking", "rank_algorithms", "ranking_table", "significance_table", "tests_on"]

_TESTS = {
    "ks": ("table3_ks", "Table 3: Kolmogorov-Smirnov test"),
    "wilcoxon": ("tableA4_wilcoxon", "Table A4: Wilcoxon signed-rank test"),
    "t": ("tableA5_t", "Table A5: independent t-test"),
}


def significance_table(results: Results, test: str, protocol: str = "paper") -> ReportTable:
    """Return a table of tests of BNeuralT with RMSprop against the others on each data set.

    Under the paper's protocol it contains the published values, too.
    """
    slug, title = _TESTS[test]
    printed = published.significance().loc[test].to_dict("index")
    against = {opponent for opponent, _ in printed}
    compared = (e for e in published.table2().index if not e.startswith("B-"))
    opponents = [e for e in compared if e in against or results.has(protocol, e)]
    opponents += [e for e in results.experiments(protocol) if e in LABELS and e not in opponents]
    tested = {d: tests_on(results, protocol, test, opponents, d) for d in PAPER_DATASETS}
    rows: list[tuple[TableCell, ...]] = []
    starts: list[int] = []
    records: list[dict[str, object]] = []
    for opponent in opponents:
        starts.append(len(rows))
        for quantity, label in (("stat", "statistic"), ("pval", "p"), ("post", "p, corrected")):
            cells = [
                TableCell(opponent if quantity == "stat" else "", "head"),
                TableCell(label, "head"),
            ]
            for dataset in PAPER_DATASETS:
                paper = math.nan
                if protocol == "paper":
                    paper = printed.get((opponent, quantity), {}).get(dataset, math.nan)
                ours = tested[dataset].get(opponent, {}).get(quantity, math.nan)
                cells.append(_test_cell(ours, paper, quantity))
                records.append(
                    {"against": opponent, "quantity": quantity, "dataset": dataset}
                    | {"ours": ours, "paper_printed": paper}
                )
            rows.append(tuple(cells))
    notes = ["Bold: the null hypothesis is rejected at 0.05 after the correction."]
    if protocol == "paper":
        notes.append(
            "Published values are in parentheses, or in italics for algorithms that were not run."
        )
    suffix = "" if protocol == "paper" else "_honest"
    header = ("against", "", *(SHORT_NAMES[d] for d in PAPER_DATASETS))
    return ReportTable(
        slug + suffix, f"{title} ({protocol} protocol)", header, rows, pd.DataFrame(records),
        tuple(notes), 2, frozenset(starts),
    )  # fmt: skip


def tests_on(
    results: Results, protocol: str, test: str, opponents: Sequence[str], dataset: str
) -> dict[str, dict[str, float]]:
    """Return all tests on one data set, with p-values corrected for their number."""
    scores = results.paired(protocol, [REFERENCE, *opponents], dataset)
    compared = compare_with_reference(scores[REFERENCE], {e: scores[e] for e in opponents}, test)
    return {e: {"stat": c[0], "pval": c[1], "post": c[2]} for e, c in compared.items()}


def _test_cell(ours: float, paper: float, quantity: str) -> TableCell:
    def text(value: float) -> str:
        if not math.isfinite(value):
            return ""
        return f"{value:.1f}" if abs(value) >= 10 else format_number(value, 2)

    if not math.isfinite(ours):
        return TableCell(text(paper), "quoted")
    rejected = quantity == "post" and ours < 0.05
    return TableCell(text(ours), "strong" if rejected else "", text(paper))


class Ranking(NamedTuple):
    """Mean ranks of algorithms over data sets, and their critical difference."""

    friedman: FriedmanResult
    critical_difference: float
    scores: pd.DataFrame


def rank_algorithms(results: Results, protocol: str, task: str | None = None) -> Ranking | None:
    """Rank the algorithms that were run on all data sets.

    BNeuralT and the MLPs are represented by one setting each, because many similar algorithms would
    distort the ranks: the first in the order of the paper's Table A2 that was run. The selection
    does not depend on our scores.

    Parameters
    ----------
    results : Results
    protocol : str
    task : {"classification", "regression"}, optional
        The data sets of one task; by default all 14, or those on which BNeuralT was run.

    Returns
    -------
    Ranking or None
        None with fewer than three algorithms or data sets.
    """
    datasets = {"classification": PAPER_CLASSIFICATION, "regression": PAPER_REGRESSION}
    dataset_names = list(datasets.get(task or "", PAPER_DATASETS))
    names = results.experiments(protocol)
    table = pd.DataFrame(
        {e: [results.score(protocol, e, d).mean for d in dataset_names] for e in names},
        index=dataset_names,
    )
    # Use the data sets with runs of BNeuralT, and the algorithms with runs on all of them.
    covered = table.filter(regex="^B-").notna().any(axis=1)
    table = table[covered].dropna(axis=1)
    paper_order = list(published.experiments().index)
    ours = sorted(table.columns, key=lambda e: (e not in paper_order, e))
    chosen: dict[str, str] = {}
    for experiment in [e for e in paper_order if e in table.columns] + ours:
        chosen.setdefault(_family(experiment), experiment)
    # Equal mean accuracies are ties, even if their last bits differ.
    table = table[[e for e in table.columns if e in chosen.values()]].round(5)
    if table.shape[1] < 3 or table.shape[0] < 3:
        return None
    result = friedman({e: table[e].to_numpy() for e in table.columns})
    return Ranking(result, nemenyi_critical_difference(*table.shape[::-1]), table)


def _family(experiment: str) -> str:
    """Return the family of an experiment: B for BNeuralT, M for MLPs, otherwise its own name."""
    return experiment[0] if experiment.startswith(("B-", "M-")) else experiment


def ranking_table(ranking: Ranking, protocol: str) -> ReportTable:
    """Return a table of mean ranks, with Wilcoxon tests against the best algorithm."""
    best = ranking.friedman.names[0]
    others = ranking.friedman.names[1:]
    tests = [wilcoxon_signed_rank(ranking.scores[best], ranking.scores[e]) for e in others]
    corrected = dict(zip(others, holm([t.p_value for t in tests]), strict=True))
    rows: list[tuple[TableCell, ...]] = []
    records = []
    for name, rank in zip(ranking.friedman.names, ranking.friedman.mean_ranks, strict=True):
        mean, p = float(ranking.scores[name].mean()), corrected.get(name, math.nan)
        kind = "strong" if p < 0.05 else ""
        label = TableCell(LABELS.get(name, ""), "head")
        cells = (
            TableCell(format_number(rank, 2)),
            TableCell(format_number(mean)),
            TableCell(format_number(p, 3), kind),
        )
        rows.append((TableCell(name, "head"), label, *cells))
        records.append({"experiment": name, "mean_rank": rank, "mean_score": mean, "p_to_best": p})
    test = ranking.friedman
    notes = (
        f"{test.n_datasets} data sets, {len(test.names)} algorithms (BNeuralT and the MLPs with "
        "the setting that is best in the paper). Friedman test: chi-square "
        f"{test.statistic:.2f}, p = {test.p_value:.2g}. Mean ranks that differ by more than "
        f"{ranking.critical_difference:.2f} are significantly different at 0.05 by Nemenyi's test. "
        "The last column contains p-values of Wilcoxon signed-rank tests over data sets against "
        "the best algorithm, with Holm's correction.",
    )
    header = ("experiment", "", "mean rank", "mean score", "p against the best")
    title = f"Mean ranks over {test.n_datasets} data sets, {protocol} protocol"
    slug = f"ranks_{protocol}_{test.n_datasets}"
    return ReportTable(slug, title, header, rows, pd.DataFrame(records), notes, 2)
