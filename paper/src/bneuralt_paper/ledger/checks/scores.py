"""Claims about mean scores, ranks and numbers of weights of the 110 experiments."""

from __future__ import annotations

import math

from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt_paper.experiments.definitions import ALL_EXPERIMENTS
from bneuralt_paper.ledger.checks.registry import check
from bneuralt_paper.ledger.evidence import Check, Evidence, NotTested
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import format_number
from bneuralt_paper.reporting.result_tables import REFERENCE, SETTINGS_HERE, TOLERANCE
from bneuralt_paper.reporting.run_results import GROUPS_OF_DATASETS
from bneuralt_paper.reporting.significance import rank_algorithms

__all__ = ["GROUPS"]

#: The groups of Table 2.
GROUPS = {
    "BNeuralT": [f"B-S-ESy-p4-{letter}" for letter in "GMNARD"],
    "MLP": [f"M-S-ESy-Rn-L-{letter}" for letter in "GMNARD"],
    "trees": ["HFNT-S", "HFNT-M", "MONT3", "DT", "RF"],
    "others": ["GP", "NBC", "SVM"],
}
#: Share of cells of a table that must be within the tolerance.
_MOST_CELLS = 0.9


def _fmt(value: float) -> str:
    return format_number(value)


def _tolerance(group: str) -> float:
    return TOLERANCE["regression" if "regression" in group else "classification"]


@check
def score(evidence: Evidence, experiment: str, group: str, printed: float) -> Check:
    """Compare a mean score with the printed one."""
    ours = evidence.score("paper", experiment, group)
    honest = evidence.results.score("honest", experiment, group)
    text = _fmt(ours) + (f"; honest {_fmt(honest.mean)}" if honest.n else "")
    return Check(text, abs(round(ours - printed, 3)) <= _tolerance(group))


def _ranked(evidence: Evidence, group: str, protocol: str = "paper") -> list[tuple[str, float]]:
    means = {e: evidence.results.score(protocol, e, group).mean for e in ALL_EXPERIMENTS}
    return sorted(((e, m) for e, m in means.items() if math.isfinite(m)), key=lambda pair: -pair[1])


@check
def place(evidence: Evidence, experiment: str, group: str, printed: int) -> Check:
    """Compare the place of an experiment among the paper's 110 with the printed one."""
    ranked = _ranked(evidence, group)
    names = [name for name, _ in ranked]
    if experiment not in names:
        raise NotTested(f"{experiment} was not run on all data sets")
    ours = names.index(experiment) + 1
    before = ", ".join(f"{e} {_fmt(m)}" for e, m in ranked[: min(ours - 1, 3)])
    text = f"place {ours} with {_fmt(ranked[ours - 1][1])}"
    honest = [name for name, _ in _ranked(evidence, group, "honest")]
    if before:
        text += f" (before it {before})"
    if experiment in honest:
        text += f"; honest: place {honest.index(experiment) + 1} of {len(honest)}"
    return Check(text, ours == printed)


@check
def first_places(evidence: Evidence, prefix: str, group: str, printed: int) -> Check:
    """Count how many of the first places belong to one algorithm."""
    ranked = [name for name, _ in _ranked(evidence, group)]
    count = next((i for i, name in enumerate(ranked) if not name.startswith(prefix)), len(ranked))
    seventh = ", ".join(ranked[count : count + 2])
    return Check(f"the first {count}; then {seventh}", count >= printed)


@check
def lead(evidence: Evidence, printed: float) -> Check:
    """Compare the relative lead of BNeuralT over the best other algorithm of Table 2."""
    ours = evidence.score("paper", REFERENCE, "classification_mean")
    others = [e for e in published.table2().index if not e.startswith("B-")]
    means = {e: evidence.results.score("paper", e, "classification_mean").mean for e in others}
    best = max((e for e in others if math.isfinite(means[e])), key=lambda e: means[e])
    percent = 100 * (ours / means[best] - 1)
    return Check(f"{percent:.2f} % over {best} ({_fmt(means[best])})", abs(percent - printed) <= 1)


@check
def group_average(evidence: Evidence, group: str, part: str, printed: float) -> Check:
    """Compare the mean over the algorithms of a group with an [Avg.] of Table 2."""
    means = [evidence.results.score("paper", e, part).mean for e in GROUPS[group]]
    finite = [m for m in means if math.isfinite(m)]
    if not finite:
        raise NotTested("there are no runs")
    ours = sum(finite) / len(finite)
    rows = published.table2().loc[GROUPS[group], part].dropna()
    text = f"{_fmt(ours)}; the printed rows give {_fmt(float(rows.mean()))}"
    return Check(text, abs(round(ours - printed, 3)) <= _tolerance(part))


@check
def weight_share(
    evidence: Evidence, group: str, printed_tree: int, printed_mlp: int, printed_percent: float
) -> Check:
    """Compare the number of weights of BNeuralT and of MLPs."""
    datasets = GROUPS_OF_DATASETS[group]
    tree, network = (
        evidence.results.mean_over("paper", e, datasets, "weights").mean
        for e in (REFERENCE, "M-S-ESy-Rn-L-D")
    )
    if not math.isfinite(tree + network):
        raise NotTested("there are no runs")
    percent = 100 * tree / network
    text = f"{percent:.1f} % ({tree:.0f} of {network:.0f})"
    return Check(text, abs(percent - printed_percent) <= 3)


@check
def tree_size(evidence: Evidence, experiment: str, group: str, printed: float) -> Check:
    """Compare the mean number of nodes of trees; a difference of 15 % is within the spread."""
    datasets = GROUPS_OF_DATASETS[group]
    size = evidence.results.mean_over("paper", experiment, datasets, "size").mean
    mean = evidence.results.score("paper", experiment, group).mean
    if not math.isfinite(size):
        raise NotTested("there are no runs")
    return Check(f"{size:.0f} nodes (score {_fmt(mean)})", abs(size / printed - 1) <= 0.15)


@check
def table_cells(evidence: Evidence) -> Check:
    """Count the scores of Table 2 that are within the tolerance."""
    table, near, total, reference = published.table2(), 0, 0, 0
    for experiment in table.index:
        for dataset in PAPER_DATASETS:
            ours = evidence.results.score("paper", experiment, dataset)
            printed = table[dataset][experiment]
            if ours.n and math.isfinite(printed):
                task = "regression" if dataset in PAPER_REGRESSION else "classification"
                is_near = abs(round(ours.mean - printed, 3)) <= TOLERANCE[task]
                near, total = near + is_near, total + 1
                reference += is_near and experiment == REFERENCE
    if not total:
        raise NotTested("there are no runs")
    text = f"{near} of {total} scores within .03 (r2: .05); {reference} of 14 of RMSprop"
    return Check(text, near >= _MOST_CELLS * total)


@check
def experiment_means(evidence: Evidence, first: int, last: int) -> Check:
    """Count the means of Tables A2 and A3 that are within the tolerance."""
    rows = published.experiments().iloc[first - 1 : last]
    counts, means_near, means_total = [], 0, 0
    for task in ("classification", "regression"):
        part = f"{task}_mean"
        pairs = [
            (evidence.results.score("paper", str(e), part).mean, row[part])
            for e, row in rows.iterrows()
        ]
        finite = [(ours, printed) for ours, printed in pairs if math.isfinite(ours - printed)]
        near = sum(abs(round(o - p, 3)) <= TOLERANCE[task] for o, p in finite)
        counts.append(f"{near} of {len(finite)} {task} means")
        means_near, means_total = means_near + near, means_total + len(finite)
    if not means_total:
        raise NotTested("there are no runs")
    spreads = [
        (evidence.results.score("paper", str(e), "overall_mean").sd, row["overall_sd"])
        for e, row in rows.iterrows()
    ]
    near = sum(abs(o - p) <= 0.05 for o, p in spreads if math.isfinite(o - p))
    text = f"{', '.join(counts)} within .03 (r2: .05); {near} deviations within .05"
    return Check(text, means_near >= _MOST_CELLS * means_total)


@check
def settings(evidence: Evidence) -> Check:
    """Count the settings of Table A1 that are used as printed."""
    table = published.settings()
    same = len(table) - len(SETTINGS_HERE)
    text = f"{same} of {len(table)} settings as printed, the others are listed in the table"
    return Check(text, same >= 0.75 * len(table))


@check
def activation_gap(evidence: Evidence, printed: float) -> Check:
    """Compare the best ReLU tree with the best sigmoid tree, in percent of accuracy."""
    best = {
        name: max(
            evidence.results.score("paper", f"{setting}-{x}", "classification_mean").mean
            for x in "GMNARD"
        )
        for name, setting in {"sigmoid": "B-S-ESy-p4", "ReLU": "B-R-ESy-p5"}.items()
    }
    if not math.isfinite(sum(best.values())):
        raise NotTested("there are no runs")
    gap = 100 * (best["sigmoid"] - best["ReLU"])
    text = f"{gap:.1f} points (sigmoid {_fmt(best['sigmoid'])}, ReLU {_fmt(best['ReLU'])})"
    return Check(text, abs(gap - printed) <= 3)


@check
def relu_against_sigmoid(evidence: Evidence) -> Check:
    """Check that the best ReLU tree is near sigmoid trees with GD, MGD and Adam."""
    best = max(evidence.score("paper", f"B-R-ESy-p5-{x}", "classification_mean") for x in "GMNARD")
    others = {x: evidence.score("paper", f"B-S-ESy-p4-{x}", "classification_mean") for x in "GMD"}
    text = f"ReLU {_fmt(best)}; GD, MGD, Adam: " + ", ".join(map(_fmt, others.values()))
    return Check(text, all(best >= value - 0.03 for value in others.values()))


@check
def better_than(
    evidence: Evidence, others: list[str], group: str = "classification_mean",
    experiment: str = REFERENCE,
) -> Check:  # fmt: skip
    """Check that an experiment is ahead of others under the paper's protocol; add honest scores."""
    ours = evidence.score("paper", experiment, group)
    means = {e: evidence.score("paper", e, group) for e in others}
    text = f"{_fmt(ours)} against " + ", ".join(f"{e} {_fmt(m)}" for e, m in means.items())
    honest = {e: evidence.results.score("honest", e, group).mean for e in [experiment, *others]}
    if all(map(math.isfinite, honest.values())):
        text += "; honest " + " against ".join(
            [_fmt(honest[experiment]), ", ".join(_fmt(honest[e]) for e in others)]
        )
    return Check(text, all(ours > mean for mean in means.values()))


@check
def honest_rank(evidence: Evidence) -> Check:
    """Check that BNeuralT is not significantly worse than the best algorithm, honestly scored."""
    ranking = rank_algorithms(evidence.results, "honest")
    if ranking is None:
        raise NotTested("there are no honest runs")
    names, ranks = list(ranking.friedman.names), ranking.friedman.mean_ranks
    if REFERENCE not in names:
        raise NotTested("there are no honest runs of BNeuralT")
    ours = ranks[names.index(REFERENCE)]
    network = next((r for n, r in zip(names, ranks, strict=True) if n.startswith("M-")), math.nan)
    text = (
        f"honest: place {names.index(REFERENCE) + 1} of {len(names)}, mean rank {ours:.2f}; MLP "
        f"{network:.2f}, {names[0]} {ranks[0]:.2f}, critical difference "
        f"{ranking.critical_difference:.2f}"
    )
    return Check(text, ours - min(ranks) <= ranking.critical_difference)


@check
def equal_selection(evidence: Evidence) -> Check:
    """Compare with MLPs whose weights are selected on the test rows as well."""
    names = [
        e for e in evidence.results.experiments("paper") if e.startswith(("M-S-ESe-", "M-S-ESu-"))
    ]
    means = {e: evidence.results.score("paper", e, "classification_mean").mean for e in names}
    means = {e: m for e, m in means.items() if math.isfinite(m)}
    if not means:
        raise NotTested("no MLPs were selected on the test rows")
    best = max(means, key=lambda e: means[e])
    ours = evidence.score("paper", REFERENCE, "classification_mean")
    text = f"BNeuralT {_fmt(ours)}, {best} selected likewise {_fmt(means[best])}"
    return Check(text, ours >= means[best])


@check
def number_of_experiments(evidence: Evidence, printed: int) -> Check:
    """Count the rows of Tables A2 and A3, and the experiments that were run here."""
    rows = len(published.experiments())
    ran = len(set(evidence.results.experiments("paper")) & set(ALL_EXPERIMENTS))
    text = f"Tables A2 and A3 have {rows} rows; {ran} experiments were run (MONT3 is in Table 2)"
    return Check(text, ran == printed)


@check
def stability(evidence: Evidence, setting: str, group: str, printed: list[str]) -> Check:
    """Find the optimizer whose scores vary least between runs, averaged over data sets."""
    labels = dict(zip("GMNARD", ("GD", "MGD", "NAG", "Adagrad", "RMSprop", "Adam"), strict=True))
    datasets = GROUPS_OF_DATASETS[group]
    spread = {}
    for letter, label in labels.items():
        parts = [evidence.results.score("paper", f"{setting}-{letter}", d).sd for d in datasets]
        spread[label] = sum(parts) / len(parts)
    if not math.isfinite(sum(spread.values())):
        raise NotTested("there are no runs")
    ordered = sorted(spread, key=lambda label: spread[label])
    text = ", ".join(f"{label} {_fmt(spread[label])}" for label in ordered)
    near = all(spread[label] <= spread[ordered[0]] + 0.001 for label in printed)
    return Check(f"deviation over runs: {text}", near)


@check
def best_optimizers(
    evidence: Evidence, setting: str, group: str, printed: list[str], in_order: bool = True
) -> Check:
    """Compare the optimizers with the highest mean scores with the named ones."""
    labels = dict(zip("GMNARD", ("GD", "MGD", "NAG", "Adagrad", "RMSprop", "Adam"), strict=True))
    means = {
        label: evidence.score("paper", f"{setting}-{letter}", group)
        for letter, label in labels.items()
    }
    ordered = sorted(means, key=lambda label: -means[label])
    text = ", ".join(f"{label} {_fmt(means[label])}" for label in ordered)
    found = ordered[: len(printed)]
    return Check(text, found == printed if in_order else set(found) == set(printed))


@check
def near_each_other(evidence: Evidence, setting: str, letters: str, group: str) -> Check:
    """Check that two optimizers have about the same mean score."""
    means = [evidence.score("paper", f"{setting}-{letter}", group) for letter in letters]
    text = " and ".join(map(_fmt, means))
    return Check(text, max(means) - min(means) <= 0.01)


@check
def rate_effect(
    evidence: Evidence, letter: str, better: str, worse: str, group: str = "classification_mean"
) -> Check:
    """Compare an optimizer with two learning rates; the named setting should be ahead."""
    means = {s: evidence.score("paper", f"{s}-{letter}", group) for s in (better, worse)}
    text = ", ".join(f"{s}-{letter} {_fmt(m)}" for s, m in means.items())
    return Check(text, means[better] > means[worse])


@check
def size_and_score(evidence: Evidence) -> Check:
    """Correlate the size of trees with their training scores, within each data set."""
    from scipy.stats import spearmanr

    correlations = {}
    for dataset in PAPER_DATASETS:
        runs = evidence.results.runs("paper", REFERENCE, dataset)
        if len(runs) > 5:
            correlations[dataset] = float(
                spearmanr(runs["size"].astype(float), runs["train_score"].astype(float))[0]
            )
    if not correlations:
        raise NotTested("there are no runs")
    positive = sum(value > 0 for value in correlations.values())
    mean = sum(correlations.values()) / len(correlations)
    text = f"rank correlation {mean:.2f} on average, positive on {positive} of {len(correlations)}"
    return Check(text, positive >= 0.75 * len(correlations))


@check
def best_trees(evidence: Evidence, group: str) -> Check:
    """Compare the best score of each data set with that of the printed tree."""
    printed = published.best_trees()
    names = PAPER_REGRESSION if group == "regression" else PAPER_CLASSIFICATION
    near = []
    for dataset in names:
        runs = evidence.results.runs("paper", REFERENCE, dataset)["test_score"]
        if len(runs):
            near.append(float(runs.max()) >= float(printed.loc[dataset, "score"]) - 0.02)
    if not near:
        raise NotTested("there are no runs")
    text = f"the best of 30 runs reaches the printed score (less .02) on {sum(near)} of {len(near)}"
    return Check(text, sum(near) >= 0.75 * len(near))


@check
def listed_experiments(evidence: Evidence, printed: int) -> Check:
    """Count the rows of Tables A2 and A3."""
    rows = len(published.experiments())
    return Check(f"{rows} rows; MONT3 is missing", rows == printed)
