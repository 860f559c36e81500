"""Findings: sentences that say which of the paper's results are reproduced, and why.

All numbers in them are computed from the available runs or taken from the paper's tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from bneuralt.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt_paper.experiments.definitions import ALL_EXPERIMENTS
from bneuralt_paper.images.image_runs import ImageRun, group_runs, is_same_size
from bneuralt_paper.images.result_files import ImageResults
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.cells import format_number
from bneuralt_paper.reporting.result_tables import REFERENCE, TOLERANCE
from bneuralt_paper.reporting.run_results import Results
from bneuralt_paper.reporting.significance import rank_algorithms

__all__ = ["HEADINGS", "Finding", "findings"]

#: The kinds of findings in their order, with headings.
HEADINGS = {
    "reproduces": "What is reproduced",
    "differs": "What differs",
    "why": "Why, and what the scores measure",
    "scope": "Scope",
}
#: Largest difference from the paper's mean over the nine classification sets to be reproduced.
MEAN_TOLERANCE = 0.015
#: Largest difference from an error in the paper on MNIST, in percentage points.
ERROR_TOLERANCE = 1.0
_PROTOCOLS = ("paper", "honest")
_OPTIMIZERS = {
    "G": "GD", "M": "MGD", "N": "NAG", "A": "Adagrad", "R": "RMSprop", "D": "Adam",
}  # fmt: skip


class Finding(NamedTuple):
    """A statement and its kind, one of `HEADINGS`."""

    kind: str
    text: str


def findings(results: Results | None, images: ImageResults | None = None) -> list[Finding]:
    """Return all findings that the available runs support.

    Parameters
    ----------
    results : Results or None
        Runs of a store.
    images : ImageResults, optional
        Runs on images.

    Examples
    --------
    >>> import pandas as pd
    >>> from bneuralt_paper.reporting.findings import findings
    >>> from bneuralt_paper.reporting.run_results import COLUMNS, Results
    >>> nothing = Results(pd.DataFrame(columns=COLUMNS))
    >>> print(findings(nothing)[0].text)
    The store contains no finished runs: all results below are quoted from the paper.
    """
    parts: list[Iterable[Finding]] = []
    if results is not None:
        parts += [
            _scope(results),
            _reference_scores(results),
            _optimizer_order(results),
            _all_cells(results),
            _all_means(results),
            _selection(results),
            _honest_rank(results),
            _equal_oracle(results),
            _paper_itself(),
        ]
    if images is not None:
        parts += [_digits_as_printed(images), _digits_honestly(images)]
    return [finding for part in parts for finding in part]


def _scope(results: Results) -> Iterable[Finding]:
    frame = results.frame
    if frame.empty:
        text = "The store contains no finished runs: all results below are quoted from the paper."
        yield Finding("scope", text)
        return
    counts = frame["protocol"].value_counts()
    counted = " and ".join(f"{counts[p]:,} under the {p} protocol" for p in results.protocols)
    run = set(results.experiments())
    missing = len([e for e in ALL_EXPERIMENTS if e not in run])
    of = f"of the paper's {len(ALL_EXPERIMENTS)} experiments"
    yield Finding(
        "scope",
        f"The store contains {len(frame):,} finished runs ({counted}) of {len(run)} experiments on "
        f"{frame['dataset'].nunique()} data sets. "
        + (
            f"{missing} {of} were not run; their results are quoted from the paper and marked as "
            "quoted."
            if missing
            else f"All {of} were run."
        ),
    )


def _reference_scores(results: Results) -> Iterable[Finding]:
    """Compare BNeuralT with RMSprop to its row of Table 2."""
    inside: list[str] = []
    outside: list[str] = []
    for dataset in PAPER_DATASETS:
        ours, printed = results.score("paper", REFERENCE, dataset), _printed(REFERENCE, dataset)
        if not ours.n:
            continue
        difference = round(ours.mean - printed, 3)
        task = "regression" if dataset in PAPER_REGRESSION else "classification"
        text = f"{dataset} ({format_number(ours.mean)}, paper {format_number(printed)})"
        (inside if abs(difference) <= TOLERANCE[task] else outside).append(text)
    tried = len(inside) + len(outside)
    if not tried:
        return
    for name, group in (
        ("classification", PAPER_CLASSIFICATION),
        ("regression", PAPER_REGRESSION),
    ):
        ours = results.score("paper", REFERENCE, f"{name}_mean")
        printed = float(published.table2().loc[REFERENCE, f"{name}_mean"])
        if ours.n:
            limit = MEAN_TOLERANCE if name == "classification" else TOLERANCE[name]
            good = abs(round(ours.mean - printed, 3)) <= limit
            yield Finding(
                "reproduces" if good else "differs",
                f"BNeuralT with RMSprop (leaf probability 0.4), mean over the {len(group)} {name} "
                f"sets under the paper's protocol: {format_number(ours.mean)} "
                f"({_runs(results, group)}); in Table 2: {format_number(printed)}.",
            )
    margins = f"{TOLERANCE['classification']} (classification) or {TOLERANCE['regression']} (r2)"
    if inside:
        yield Finding(
            "reproduces",
            f"BNeuralT with RMSprop: the scores on {len(inside)} of {tried} data sets differ from "
            f"Table 2 by at most {margins}.",
        )
    if outside:
        names = ", ".join(outside)
        text = f"BNeuralT with RMSprop, differences of more than {margins} from Table 2: {names}."
        yield Finding("differs", text)


def _runs(results: Results, datasets: Iterable[str]) -> str:
    counts = {results.score("paper", REFERENCE, dataset).n for dataset in datasets}
    least = min(counts)
    return f"{least} runs each" if len(counts) == 1 else f"at least {least} runs each"


def _optimizer_order(results: Results) -> Iterable[Finding]:
    names = {f"B-S-ESy-p4-{letter}": label for letter, label in _OPTIMIZERS.items()}
    means = {e: results.score("paper", e, "classification_mean").mean for e in names}
    if any(math.isnan(mean) for mean in means.values()):
        return
    printed = published.table2()["classification_mean"]
    ours = sorted(names, key=lambda e: -means[e])
    theirs = sorted(names, key=lambda e: -printed[e])
    text = ", ".join(f"{names[e]} {format_number(means[e])}" for e in ours)
    first_three = ours[0] == theirs[0] and set(ours[:3]) == set(theirs[:3])
    yield Finding(
        "reproduces" if first_three else "differs",
        f"Order of the optimizers over the classification sets: {text}; in the paper: "
        f"{', '.join(f'{names[e]} {format_number(float(printed[e]))}' for e in theirs)}.",
    )


def _all_cells(results: Results) -> Iterable[Finding]:
    """Compare all other rows of Table 2 that were run."""
    table = published.table2()
    near, far, worst = 0, 0, []
    for experiment in table.index:
        if experiment == REFERENCE or not results.has("paper", experiment):
            continue
        beyond = 0
        for dataset in PAPER_DATASETS:
            ours, printed = results.score("paper", experiment, dataset), table[dataset][experiment]
            if ours.n and math.isfinite(printed):
                task = "regression" if dataset in PAPER_REGRESSION else "classification"
                within = abs(round(ours.mean - printed, 3)) <= TOLERANCE[task]
                near, far, beyond = near + within, far + (not within), beyond + (not within)
        if beyond:
            worst.append((beyond, str(experiment)))
    if near + far == 0:
        return
    yield Finding(
        "reproduces" if near >= far else "differs",
        f"Other results of Table 2: {near} of the {near + far} that were computed are within the "
        "same margins.",
    )
    if worst:
        worst.sort(key=lambda pair: (-pair[0], pair[1]))
        counts = ", ".join(f"{e} ({n})" for n, e in worst)
        text = f"Results of Table 2 outside the margins above, by algorithm: {counts}."
        yield Finding("differs", text)


def _all_means(results: Results) -> Iterable[Finding]:
    """Compare the means of Tables A2 and A3, one for each experiment and kind of data sets."""
    table = published.experiments()
    for task, limit in TOLERANCE.items():
        part = f"{task}_mean"
        ours = {str(e): results.score("paper", str(e), part).mean for e in table.index}
        differences = {e: round(mean - table[part][e], 3) for e, mean in ours.items()}
        finite = [d for d in differences.values() if math.isfinite(d)]
        if finite:
            near = sum(abs(d) <= limit for d in finite)
            yield Finding(
                "reproduces" if 2 * near >= len(finite) else "differs",
                f"Tables A2 and A3: the means over the {task} sets of {near} of {len(finite)} "
                f"experiments differ from the published ones by at most {limit}.",
            )


def _selection(results: Results) -> Iterable[Finding]:
    """Compare the scores of the same trees with and without selection on the test rows."""
    pairs = []
    for task, group in (
        ("classification", PAPER_CLASSIFICATION),
        ("regression", PAPER_REGRESSION),
    ):
        sets = [d for d in group if all(results.score(p, REFERENCE, d).n for p in _PROTOCOLS)]
        chosen, honest = (results.mean_over(p, REFERENCE, sets, "test_score") for p in _PROTOCOLS)
        if sets:
            of = f"{len(sets)} {task} set" + "s" * (len(sets) > 1)
            pairs.append(
                f"{format_number(honest.mean)} instead of {format_number(chosen.mean)} ({of})"
            )
    if pairs:
        yield Finding(
            "why",
            "The paper selects, among all weights during training, those with the best score on "
            "the test rows, and reports this score. If the weights are selected on validation "
            "rows, which are then not available for training, and the test rows are used once, the "
            f"mean scores of the same trees are {' and '.join(pairs)}.",
        )
    sets = [d for d in PAPER_CLASSIFICATION if results.score("paper", REFERENCE, d).n]
    train = results.mean_over("paper", REFERENCE, sets, "train_score")
    test = results.mean_over("paper", REFERENCE, sets, "test_score")
    if train.n and test.mean > train.mean:
        yield Finding(
            "why",
            "An indication of this selection bias: the mean score of the selected weights is "
            f"{format_number(test.mean)} on the test rows, but {format_number(train.mean)} on the "
            "training rows.",
        )


def _honest_rank(results: Results) -> Iterable[Finding]:
    ranking = rank_algorithms(results, "honest")
    if ranking is None:
        return
    names, ranks = ranking.friedman.names, ranking.friedman.mean_ranks
    ours = next((n for n in names if n.startswith("B-")), None)
    if ours is None:
        return
    place = names.index(ours) + 1
    gap = ranks[place - 1] - ranks[0]
    text = (
        f"If the test rows are used once, BNeuralT ({ours}) has a mean rank of "
        f"{ranks[place - 1]:.2f} over {ranking.friedman.n_datasets} data sets, place {place} of "
        f"{len(names)} algorithms."
    )
    if place > 1:
        compared = "more" if gap > ranking.critical_difference else "not more"
        text += (
            f" The best is {names[0]} with {ranks[0]:.2f}; the difference is {compared} than the "
            f"critical difference of {ranking.critical_difference:.2f}."
        )
    text += f" (Friedman test for any difference: p = {ranking.friedman.p_value:.2g}.)"
    yield Finding("reproduces" if place == 1 else "differs", text)


def _equal_oracle(results: Results) -> Iterable[Finding]:
    """Compare with MLPs whose weights are selected on the test rows, too."""
    names = [e for e in results.experiments("paper") if e.startswith(("M-S-ESe-", "M-S-ESu-"))]
    ours = results.score("paper", REFERENCE, "classification_mean")
    means = {e: results.score("paper", e, "classification_mean").mean for e in names}
    means = {e: m for e, m in means.items() if math.isfinite(m)}
    if not means:
        yield Finding(
            "scope",
            "MLPs with weights selected on the test rows as for BNeuralT (experiments "
            "M-S-ESe-..., M-S-ESu-...) were not run, so there is no comparison on equal terms.",
        )
        return
    if not ours.n:
        return
    best = max(means, key=lambda e: means[e])
    if means[best] > ours.mean:
        verdict = "above BNeuralT's {}: its first place is due to unequal treatment"
    else:
        verdict = "below BNeuralT's {}, which is also first on equal terms"
    patience = results.score("paper", _with_patience(best), "classification_mean")
    before = (
        f" (with patience on the test loss: {format_number(patience.mean)})" if patience.n else ""
    )
    yield Finding(
        "why",
        f"With weights selected on the test rows, too, the MLP {best} has a mean score of "
        f"{format_number(means[best])} over the classification sets{before}, "
        f"{verdict.format(format_number(ours.mean))}.",
    )


def _with_patience(experiment: str) -> str:
    return experiment.replace("-ESe-", "-ESy-").replace("-ESu-", "-ESy-")


def _paper_itself() -> Iterable[Finding]:
    """State known errors and peculiarities of the paper, independent of the runs."""
    yield Finding(
        "why",
        "The paper's formula for RMSprop has its two coefficients exchanged; its results come "
        "from the usual form, which is used here. Its Adam does not count steps: the bias "
        "correction of the first step is applied in all steps, which acts like a larger rate. "
        "The paper's protocol reproduces this; everywhere else Adam has its usual form.",
    )
    yield Finding(
        "why",
        "The paper uses different splits for each algorithm, so its Wilcoxon test pairs "
        "unrelated runs. Here run k has the same rows for all algorithms.",
    )
    yield Finding(
        "why",
        "Errors in the paper's tables: the numbers of weights in Table 2 are in the columns of "
        "other classification sets (they are in alphabetical order); Table 3 multiplies p-values "
        "by 10 or 9 in most rows and by 13 or 12 in others, with 14 and 13 algorithms compared; "
        f"HFNT-M has a mean of {_hfnt_m_mean(published.table2())} in Table 2 and "
        f"{_hfnt_m_mean(published.experiments())} in Table A3; the means of M-R-ESn-Rn-L in Table "
        "A3 are without wdbc and iris, by their numbers of weights (1,946 for classification).",
    )


def _hfnt_m_mean(table: pd.DataFrame) -> str:
    return format_number(float(table["classification_mean"]["HFNT-M"]))


def _digits_as_printed(images: ImageResults) -> Iterable[Finding]:
    """Compare the paper's recipe under the paper's protocol to Table 4."""
    for name, printed, group in _groups_like_table4(images, "paper", "paper"):
        error = _error(group)
        good = abs(error - printed) <= ERROR_TOLERANCE
        yield Finding(
            "reproduces" if good else "differs",
            f"MNIST with the paper's recipe, {_size(group)} and {group[0].epochs} epochs, lowest "
            f"error on the test rows: {error:.2f} %; in Table 4: {printed:.2f} % ({name}).",
        )


def _digits_honestly(images: ImageResults) -> Iterable[Finding]:
    ours: dict[tuple[str, float], list[str]] = {}
    for recipe, whose in (("modern", "the modern"), ("paper", "the paper's")):
        for name, printed, group in _groups_like_table4(images, recipe, "honest"):
            text = f"{_error(group):.2f} % with {whose} recipe ({_size(group)})"
            ours.setdefault((name, printed), []).append(text)
    if ours:
        errors = "; ".join(
            f"for {name}, published with {printed:.2f} %, {' and '.join(texts)}"
            for (name, printed), texts in sorted(ours.items(), key=lambda item: -item[0][1])
        )
        yield Finding(
            "why",
            "On MNIST the paper reports the lowest error on the test rows over all updates. "
            "With a fixed number of epochs and nothing selected on the test rows, the errors of "
            f"the last weights are: {errors}.",
        )


def _groups_like_table4(
    images: ImageResults, recipe: str, protocol: str
) -> Iterable[tuple[str, float, list[ImageRun]]]:
    """Yield the name and error of trees of Table 4, with our runs of the same size."""
    runs = [r for r in images.runs if (r.data, r.recipe, r.protocol) == ("mnist", recipe, protocol)]
    for name, row in published.mnist().dropna(subset="weights").iterrows():
        size = float(row["weights"])
        similar = [group for group in group_runs(runs) if is_same_size(group[0].weights, size)]
        if similar:  # those with the most epochs, then the nearest in size
            best = min(similar, key=lambda g: (-g[0].epochs, abs(g[0].weights - size)))
            yield str(name), float(row["error_percent"]), best


def _error(group: list[ImageRun]) -> float:
    return 100 * sum(run.test_error for run in group) / len(group)


def _size(group: list[ImageRun]) -> str:
    seeds = "1 seed" if len(group) == 1 else f"mean of {len(group)} seeds"
    return f"{max(run.weights for run in group):,} weights, {seeds}"


def _printed(experiment: str, dataset: str) -> float:
    value = published.score(experiment, dataset)
    return math.nan if value is None else value
