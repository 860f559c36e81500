"""Claims about tests of significance."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt_paper.experiments.definitions import ALL_EXPERIMENTS
from bneuralt_paper.ledger.checks.registry import check
from bneuralt_paper.ledger.evidence import Check, Evidence, NotTested
from bneuralt_paper.reporting import published
from bneuralt_paper.reporting.result_tables import REFERENCE
from bneuralt_paper.reporting.significance import tests_on

__all__: list[str] = []

_LEVEL = 0.05
_NAMES = {"ks": "KS", "wilcoxon": "Wilcoxon", "t": "t"}


def _opponents() -> list[str]:
    return [e for e in published.table2().index if not e.startswith("B-")]


def _printed(test: str, datasets: tuple[str, ...]) -> dict[tuple[str, str], float]:
    table = published.significance().loc[test]
    values: dict[tuple[str, str], float] = {}
    for (opponent, quantity), row in table.iterrows():
        if quantity == "post":
            values |= {(opponent, d): float(row[d]) for d in datasets if math.isfinite(row[d])}
    return values


def _ours(
    evidence: Evidence, test: str, protocol: str, datasets: tuple[str, ...], extra: bool = False
) -> Iterator[tuple[str, str, float]]:
    opponents = [e for e in _opponents() if evidence.results.has(protocol, e)]
    if extra:
        opponents += [
            e for e in evidence.results.experiments(protocol) if e in ("HGB", "SVC", "LIN")
        ]
    if not opponents or not evidence.results.has(protocol, REFERENCE):
        raise NotTested(f"there are no runs under the {protocol} protocol")
    for dataset in datasets:
        for opponent, found in tests_on(
            evidence.results, protocol, test, opponents, dataset
        ).items():
            if math.isfinite(found["post"]):
                yield opponent, dataset, found["post"]


def _count(
    evidence: Evidence, test: str, protocol: str, datasets: tuple[str, ...], extra: bool = False
) -> tuple[int, int]:
    values = [p for _, _, p in _ours(evidence, test, protocol, datasets, extra)]
    return sum(p < _LEVEL for p in values), len(values)


@check
def rejections(evidence: Evidence, test: str) -> Check:
    """Count the rejected hypotheses on classification sets: printed, ours, and honest."""
    printed = _printed(test, PAPER_CLASSIFICATION)
    ours = _count(evidence, test, "paper", PAPER_CLASSIFICATION)
    text = (
        f"{_NAMES[test]}: {sum(p < _LEVEL for p in printed.values())} of {len(printed)} printed, "
        f"{ours[0]} of {ours[1]} ours"
    )
    if evidence.results.has("honest", REFERENCE):
        honest = _count(evidence, test, "honest", PAPER_CLASSIFICATION)
        text += f", {honest[0]} of {honest[1]} honest"
    return Check(text, ours[0] > ours[1] / 2)


@check
def same_decisions(evidence: Evidence, test: str) -> Check:
    """Count the cells of a table of tests in which we decide as printed."""
    printed = _printed(test, PAPER_DATASETS)
    ours = {(e, d): p for e, d, p in _ours(evidence, test, "paper", PAPER_DATASETS)}
    common = [key for key in printed if key in ours and key[0] in ALL_EXPERIMENTS]
    same = sum((printed[key] < _LEVEL) == (ours[key] < _LEVEL) for key in common)
    return Check(f"the same decision in {same} of {len(common)} cells", same >= 0.85 * len(common))


@check
def only_friedman(evidence: Evidence) -> Check:
    """List the regression sets on which BNeuralT and MLP's Adam do not differ significantly."""
    opponent = "M-S-ESy-Rn-L-D"
    printed = _printed("ks", PAPER_REGRESSION)
    ours = {d: p for e, d, p in _ours(evidence, "ks", "paper", PAPER_REGRESSION) if e == opponent}
    insignificant = [d for d, p in ours.items() if p >= _LEVEL]
    theirs = [d for d in PAPER_REGRESSION if printed.get((opponent, d), 0) >= _LEVEL]
    text = (
        f"not significant: {', '.join(insignificant) or 'none'}; in the printed table "
        f"{', '.join(theirs)}, so all but friedman"
    )
    return Check(text, insignificant == ["friedman"])


@check
def correction(evidence: Evidence) -> Check:
    """Count rejections with Bonferroni's factor for the paper's algorithms and for all of ours."""
    alone = _count(evidence, "ks", "paper", PAPER_DATASETS)
    more = [
        p for e, _, p in _ours(evidence, "ks", "paper", PAPER_DATASETS, extra=True)
        if e in ALL_EXPERIMENTS
    ]  # fmt: skip
    text = (
        f"KS rejects {alone[0]} of {alone[1]} with the factor of the paper's algorithms, "
        f"{sum(p < _LEVEL for p in more)} with our three additions"
    )
    return Check(f"{text}; printed factors are 10 or 9 in most rows, 13 or 12 in others", False)


@check
def similar_on_regression(evidence: Evidence, opponent: str) -> Check:
    """Count the regression sets without a significant difference from an opponent."""
    ours = {d: p for e, d, p in _ours(evidence, "ks", "paper", PAPER_REGRESSION) if e == opponent}
    if not ours:
        raise NotTested(f"{opponent} was not run")
    similar = sum(p >= _LEVEL for p in ours.values())
    return Check(f"no significant difference on {similar} of {len(ours)}", similar >= 3)
