"""Plain sentences about a store: what reproduces, what does not, and why.

Every number in them is computed from the runs at hand or read from the paper's tables; what the
store does not hold is not spoken of, except to say that it is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from bneuralt.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt.paper.experiments.grid import ALL_EXPERIMENTS
from bneuralt.paper.images.image_files import ImageResults
from bneuralt.paper.images.mnist import ImageRun, group_runs, same_size
from bneuralt.paper.reporting import published
from bneuralt.paper.reporting.cells import number
from bneuralt.paper.reporting.result_tables import REFERENCE, TOLERANCE
from bneuralt.paper.reporting.results import Results
from bneuralt.paper.reporting.significance import rank_algorithms

__all__ = ["HEADINGS", "Finding", "findings"]

#: The kinds of findings, in the order in which they are read.
HEADINGS = {
    "reproduces": "What reproduces",
    "differs": "What does not",
    "why": "Why, and what the numbers measure",
    "scope": "What this report rests on",
}
#: How far the mean over the nine classification sets may lie from the paper's.
MEAN_TOLERANCE = 0.015
#: How far an error on MNIST may lie from the paper's, in percentage points.
ERROR_TOLERANCE = 1.0
_PROTOCOLS = ("paper", "honest")
_OPTIMIZERS = {
    "G": "GD", "M": "MGD", "N": "NAG", "A": "Adagrad", "R": "RMSprop", "D": "Adam",
}  # fmt: skip


class Finding(NamedTuple):
    """One sentence and where it belongs."""

    kind: str
    text: str


def findings(results: Results | None, images: ImageResults | None = None) -> list[Finding]:
    """Return what can be said about the runs at hand.

    Parameters
    ----------
    results : Results or None
        Runs of a store.
    images : ImageResults, optional
        Runs on images.

    Examples
    --------
    >>> import pandas as pd
    >>> from bneuralt.paper.reporting.findings import findings
    >>> from bneuralt.paper.reporting.results import COLUMNS, Results
    >>> nothing = Results(pd.DataFrame(columns=COLUMNS))
    >>> print(findings(nothing)[0].text)
    The store holds no finished run: every figure below is the paper's own.
    """
    parts: list[Iterable[Finding]] = []
    if results is not None:
        parts += [
            _scope(results),
            _reference_scores(results),
            _optimizer_order(results),
            _all_cells(results),
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
        text = "The store holds no finished run: every figure below is the paper's own."
        yield Finding("scope", text)
        return
    counts = frame["protocol"].value_counts()
    held = " and ".join(f"{counts[p]:,} under the {p} protocol" for p in results.protocols)
    run = set(results.experiments())
    missing = len([e for e in ALL_EXPERIMENTS if e not in run])
    yield Finding(
        "scope",
        f"The store holds {len(frame):,} finished runs ({held}) of {len(run)} experiments on "
        f"{frame['dataset'].nunique()} data sets. Of the paper's {len(ALL_EXPERIMENTS)} "
        f"experiments {missing} are not in it; they are shown with the paper's figures, marked as "
        "quoted.",
    )


def _reference_scores(results: Results) -> Iterable[Finding]:
    """BNeuralT's RMSprop against its row of Table 2."""
    inside: list[str] = []
    outside: list[str] = []
    for dataset in PAPER_DATASETS:
        ours, printed = results.score("paper", REFERENCE, dataset), _printed(REFERENCE, dataset)
        if not ours.n:
            continue
        difference = round(ours.mean - printed, 3)
        task = "regression" if dataset in PAPER_REGRESSION else "classification"
        text = f"{dataset} ({number(ours.mean)} against {number(printed)})"
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
                f"BNeuralT with RMSprop (leaf probability 0.4), mean of the {len(group)} {name} "
                f"sets under the paper's protocol: {number(ours.mean)} ({_runs(results, group)}) "
                f"against {number(printed)} in Table 2.",
            )
    margins = f"{TOLERANCE['classification']} (classification) or {TOLERANCE['regression']} (r2)"
    if inside:
        yield Finding(
            "reproduces",
            f"BNeuralT with RMSprop: {len(inside)} of {tried} data sets lie within {margins} of "
            "Table 2.",
        )
    if outside:
        text = f"BNeuralT with RMSprop, further than {margins} from Table 2: {', '.join(outside)}."
        yield Finding("differs", text)


def _runs(results: Results, datasets: Iterable[str]) -> str:
    counts = {results.score("paper", REFERENCE, dataset).n for dataset in datasets}
    least = min(counts)
    return f"{least} runs on each" if len(counts) == 1 else f"at least {least} runs on each"


def _optimizer_order(results: Results) -> Iterable[Finding]:
    names = {f"B-S-ESy-p4-{letter}": label for letter, label in _OPTIMIZERS.items()}
    means = {e: results.score("paper", e, "classification_mean").mean for e in names}
    if any(math.isnan(mean) for mean in means.values()):
        return
    printed = published.table2()["classification_mean"]
    ours = sorted(names, key=lambda e: -means[e])
    theirs = sorted(names, key=lambda e: -printed[e])
    text = ", ".join(f"{names[e]} {number(means[e])}" for e in ours)
    first_three = ours[0] == theirs[0] and set(ours[:3]) == set(theirs[:3])
    yield Finding(
        "reproduces" if first_three else "differs",
        f"Order of the optimizers over the classification sets: {text}; in the paper: "
        f"{', '.join(f'{names[e]} {number(float(printed[e]))}' for e in theirs)}.",
    )


def _all_cells(results: Results) -> Iterable[Finding]:
    """All other rows of Table 2 that were run."""
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
        f"Of the other figures of Table 2 that were computed again, {near} of {near + far} lie "
        "within the same margins.",
    )
    if worst:
        worst.sort(key=lambda pair: (-pair[0], pair[1]))
        listed = ", ".join(f"{e} ({n})" for n, e in worst[:6])
        yield Finding("differs", f"Algorithms with the most figures outside of them: {listed}.")


def _selection(results: Results) -> Iterable[Finding]:
    """The same trees with and without a look at the test rows."""
    pairs = []
    for task, group in (
        ("classification", PAPER_CLASSIFICATION),
        ("regression", PAPER_REGRESSION),
    ):
        sets = [d for d in group if all(results.score(p, REFERENCE, d).n for p in _PROTOCOLS)]
        chosen, honest = (results.mean_over(p, REFERENCE, sets, "test_score") for p in _PROTOCOLS)
        if sets:
            of = f"{len(sets)} {task} set" + "s" * (len(sets) > 1)
            pairs.append(f"{number(honest.mean)} instead of {number(chosen.mean)} ({of})")
    if pairs:
        yield Finding(
            "why",
            "The paper keeps, out of all weights met in training, those that do best on the test "
            "rows, and reports their score on the same rows. With the choice made on validation "
            "rows, which then cannot be learned from, and the test rows used once, the same trees "
            f"reach a mean of {' and '.join(pairs)}.",
        )
    sets = [d for d in PAPER_CLASSIFICATION if results.score("paper", REFERENCE, d).n]
    train = results.mean_over("paper", REFERENCE, sets, "train_score")
    test = results.mean_over("paper", REFERENCE, sets, "test_score")
    if train.n and test.mean > train.mean:
        yield Finding(
            "why",
            f"A sign of it: the chosen weights score {number(test.mean)} on test rows and "
            f"{number(train.mean)} on the rows that they were trained on.",
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
    apart = "further" if gap > ranking.critical_difference else "no further"
    yield Finding(
        "reproduces" if place == 1 else "differs",
        f"When the test rows are used once, BNeuralT ({ours}) has mean rank "
        f"{ranks[place - 1]:.2f}, place {place} of {len(names)} algorithms over "
        f"{ranking.friedman.n_datasets} data sets; first is {names[0]} with {ranks[0]:.2f}"
        + ("." if place == 1 else f", {apart} away than the critical difference of ")
        + ("" if place == 1 else f"{ranking.critical_difference:.2f}.")
        + f" (Friedman test of no difference at all: p = {ranking.friedman.p_value:.2g}.)",
    )


def _equal_oracle(results: Results) -> Iterable[Finding]:
    """MLPs with the same right to choose on the test rows."""
    names = [e for e in results.experiments("paper") if e.startswith(("M-S-ESe-", "M-S-ESu-"))]
    ours = results.score("paper", REFERENCE, "classification_mean")
    means = {e: results.score("paper", e, "classification_mean").mean for e in names}
    means = {e: m for e, m in means.items() if math.isfinite(m)}
    if not means:
        yield Finding(
            "scope",
            "MLPs chosen on the test rows as often as BNeuralT (experiments M-S-ESe-..., "
            "M-S-ESu-...) are not in this store, so the comparison on equal terms is open.",
        )
        return
    if not ours.n:
        return
    best = max(means, key=lambda e: means[e])
    if means[best] > ours.mean:
        verdict = "ahead of BNeuralT's {}: its first place rests on unequal treatment"
    else:
        verdict = "behind BNeuralT's {}, which stays ahead on equal terms"
    patience = results.score("paper", _with_patience(best), "classification_mean")
    before = f" (with patience on the test loss: {number(patience.mean)})" if patience.n else ""
    yield Finding(
        "why",
        f"Given the same right to choose on the test rows, the MLP {best} reaches "
        f"{number(means[best])} over the classification sets{before}, "
        f"{verdict.format(number(ours.mean))}.",
    )


def _with_patience(experiment: str) -> str:
    return experiment.replace("-ESe-", "-ESy-").replace("-ESu-", "-ESy-")


def _paper_itself() -> Iterable[Finding]:
    """What a reader of the paper should know, whatever was run."""
    yield Finding(
        "why",
        "RMSprop is printed in the paper with its two coefficients exchanged; its results come "
        "from the usual form, which is used here. Its Adam never counts steps: the correction of "
        "the first step is applied for ever, which acts like a larger rate. Under the paper's "
        "protocol the same is done here; everywhere else Adam is the usual one.",
    )
    yield Finding(
        "why",
        "The paper's runs drew new splits for every algorithm, so its Wilcoxon test pairs runs "
        "that have nothing in common. Here run k has the same rows for all algorithms.",
    )
    yield Finding(
        "why",
        "In the paper's own tables: the weights of Table 2 stand under the wrong classification "
        "sets (they are in alphabetical order); Table 3 multiplies p-values by 10 or 9 in most "
        "rows and by 13 or 12 in others, with 14 and 13 algorithms compared; HFNT-M has a mean of "
        f"{number(float(published.table2().loc['HFNT-M', 'classification_mean']))} in Table 2 and "
        f"{number(float(published.experiments().loc['HFNT-M', 'classification_mean']))} in A3.",
    )


# Images


def _digits_as_printed(images: ImageResults) -> Iterable[Finding]:
    """The paper's recipe under the paper's protocol, beside Table 4."""
    for name, printed, group in _groups_like_table4(images, "paper", "paper"):
        error = _error(group)
        good = abs(error - printed) <= ERROR_TOLERANCE
        yield Finding(
            "reproduces" if good else "differs",
            f"MNIST by the paper's recipe, {_size(group)} and {group[0].epochs} epochs, lowest "
            f"error on the test rows: {error:.2f} % against {printed:.2f} % ({name}) in Table 4.",
        )


def _digits_honestly(images: ImageResults) -> Iterable[Finding]:
    ours: dict[tuple[str, float], list[str]] = {}
    for recipe, whose in (("modern", "the modern"), ("paper", "the paper's")):
        for name, printed, group in _groups_like_table4(images, recipe, "honest"):
            text = f"{_error(group):.2f} % by {whose} recipe ({_size(group)})"
            ours.setdefault((name, printed), []).append(text)
    if ours:
        listed = "; ".join(
            f"where {name} has {printed:.2f} %, {' and '.join(texts)}"
            for (name, printed), texts in sorted(ours.items(), key=lambda item: -item[0][1])
        )
        yield Finding(
            "why",
            "On MNIST the paper prints the lowest error on the test rows over all updates. "
            "The errors of the last weights, with a fixed number of epochs and nothing chosen on "
            f"the test rows: {listed}.",
        )


def _groups_like_table4(
    images: ImageResults, recipe: str, protocol: str
) -> Iterable[tuple[str, float, list[ImageRun]]]:
    """Runs about as large as a tree of Table 4, with its name and its printed error."""
    runs = [r for r in images.runs if (r.data, r.recipe, r.protocol) == ("mnist", recipe, protocol)]
    for name, row in published.mnist().dropna(subset="weights").iterrows():
        size = float(row["weights"])
        like = [group for group in group_runs(runs) if same_size(group[0].weights, size)]
        if like:  # the longest trained, then the nearest in size
            best = min(like, key=lambda g: (-g[0].epochs, abs(g[0].weights - size)))
            yield str(name), float(row["error_percent"]), best


def _error(group: list[ImageRun]) -> float:
    return 100 * sum(run.test_error for run in group) / len(group)


def _size(group: list[ImageRun]) -> str:
    seeds = "1 seed" if len(group) == 1 else f"mean of {len(group)} seeds"
    return f"{max(run.weights for run in group):,} weights, {seeds}"


def _printed(experiment: str, dataset: str) -> float:
    value = published.score(experiment, dataset)
    return math.nan if value is None else value
