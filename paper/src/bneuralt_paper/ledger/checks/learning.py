"""Claims about learning curves: speed of convergence, overfitting, divergence."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_REGRESSION
from bneuralt_paper.ledger.checks.registry import check
from bneuralt_paper.ledger.evidence import Check, Evidence, NotTested

__all__: list[str] = []

_LABELS = {"G": "GD", "M": "MGD", "N": "NAG", "A": "Adagrad", "R": "RMSprop", "D": "Adam"}
_TASKS = {"classification": PAPER_CLASSIFICATION, "regression": PAPER_REGRESSION}


def _curves(evidence: Evidence, setting: str, task: str, part: str) -> dict[str, pd.DataFrame]:
    """Return, by optimizer, the mean errors with a row for each data set and a column per epoch."""
    table = evidence.curves
    found = {}
    for letter, label in _LABELS.items():
        rows = table[(table["experiment"] == f"{setting}-{letter}") & (table["part"] == part)]
        rows = rows[rows["dataset"].isin(_TASKS[task])]
        if not rows.empty:
            found[label] = rows.pivot(index="dataset", columns="epoch", values="mean")
    if len(found) < len(_LABELS):
        raise NotTested(f"there are no learning curves of {setting}")
    return found


def _ranks_at(curves: dict[str, pd.DataFrame], epoch: int | None) -> dict[str, float]:
    """Return mean ranks by the error at an epoch, or by the lowest error of all epochs."""
    values = {}
    for label, frame in curves.items():
        if epoch is None:
            values[label] = frame.min(axis=1)
        else:
            values[label] = frame.loc[:, [c for c in frame.columns if c <= epoch]].iloc[:, -1]
    ranks = pd.DataFrame(values).rank(axis=1).mean()
    return {str(label): float(rank) for label, rank in ranks.sort_values().items()}


def _text(ranks: dict[str, float]) -> str:
    return ", ".join(f"{label} {rank:.1f}" for label, rank in ranks.items())


@check
def fastest(
    evidence: Evidence, setting: str, task: str, printed: list[str], epoch: int = 10,
    part: str = "train",
) -> Check:  # fmt: skip
    """Rank optimizers by their error after some epochs."""
    ranks = _ranks_at(_curves(evidence, setting, task, part), epoch)
    first = list(ranks)[: len(printed)]
    rows = "training" if part == "train" else "test"
    text = f"mean ranks by {rows} error after {epoch} epochs: {_text(ranks)}"
    return Check(text, set(first) == set(printed))


@check
def lowest_curve(
    evidence: Evidence, setting: str, task: str, printed: list[str], within: int = 0
) -> Check:
    """Rank optimizers by the lowest test error of their mean curves."""
    ranks = _ranks_at(_curves(evidence, setting, task, "test"), None)
    first = list(ranks)[: max(within, len(printed))]
    return Check(f"mean ranks by lowest test error: {_text(ranks)}", set(printed) <= set(first))


@check
def late(evidence: Evidence, setting: str, label: str) -> Check:
    """Compare the place of an optimizer after 3 epochs and at the end, on classification sets."""
    curves = _curves(evidence, setting, "classification", "train")
    early, end = _ranks_at(curves, 3), _ranks_at(curves, 500)
    text = (
        f"mean rank of the training error {early[label]:.1f} after 3 epochs, {end[label]:.1f} at "
        f"the end"
    )
    return Check(text, end[label] <= early[label] - 1)


@check
def worse_convergence(evidence: Evidence, setting: str, task: str, printed: str) -> Check:
    """Check that an optimizer has the highest training error at the end."""
    ranks = _ranks_at(_curves(evidence, setting, task, "train"), 500)
    text = f"mean ranks by training error at the end: {_text(ranks)}"
    return Check(text, list(ranks)[-1] == printed)


@check
def overfitting(evidence: Evidence, setting: str, task: str, often: bool) -> Check:
    """Count mean test curves that end well above their minimum."""
    rises = []
    for frame in _curves(evidence, setting, task, "test").values():
        ends, lowest = frame.iloc[:, -1], frame.min(axis=1)
        rises += (ends > 1.1 * lowest).tolist()
    share = float(np.mean(rises))
    text = f"{sum(rises)} of {len(rises)} test curves end more than 10 % above their minimum"
    return Check(text, (share > 0.5) == often)


def _failures(evidence: Evidence, setting: str) -> tuple[dict[str, int], int]:
    """Count, by optimizer, the regression runs that explain nothing (training r2 below 0)."""
    counts, total = {}, 0
    for letter, label in _LABELS.items():
        scores = [
            score
            for dataset in PAPER_REGRESSION
            for score in evidence.results.runs("paper", f"{setting}-{letter}", dataset)[
                "train_score"
            ]
        ]
        if not scores:
            raise NotTested(f"there are no runs of {setting}")
        counts[label], total = sum(not score >= 0 for score in scores), len(scores)
    return counts, total


@check
def exploding(evidence: Evidence, setting: str, printed: list[str], never: list[str]) -> Check:
    """Count failed and overflowed runs; the named optimizers should fail, others least often."""
    counts, total = _failures(evidence, setting)
    table = evidence.curves
    rows = table[table["experiment"].str.fullmatch(f"{setting}-[GMNARD]") & (table["epoch"] == 1)]
    overflows = int(rows[rows["part"] == "train"]["diverged"].sum())
    text = ", ".join(f"{label} {count}" for label, count in counts.items())
    text = f"training r2 below 0 in {text} of {total} runs each; {overflows} overflowed"
    lowest = min(counts.values())
    good = all(counts[x] > 0 for x in printed) and all(counts[x] == lowest for x in never)
    return Check(text, good)


@check
def tolerance(evidence: Evidence, setting: str, other: str) -> Check:
    """Check that one model fails less often than another."""
    (ours, total), (others, _) = (_failures(evidence, s) for s in (setting, other))
    n = total * len(_LABELS)
    text = (
        f"training r2 below 0 in {sum(ours.values())} of {n} runs of MLPs (with RMSprop or Adam: "
        f"{ours['RMSprop'] + ours['Adam']}), in {sum(others.values())} of BNeuralT"
    )
    return Check(text, sum(ours.values()) < sum(others.values()))


@check
def steady(evidence: Evidence, setting: str, label: str) -> Check:
    """Count test curves that rise between kept epochs, to compare two tasks."""
    shares = {}
    for task in _TASKS:
        frame = _curves(evidence, setting, task, "test")[label]
        steps = np.diff(frame.to_numpy(), axis=1)
        shares[task] = float((steps > 0.01 * frame.to_numpy()[:, :-1]).mean())
    text = ", ".join(
        f"{100 * share:.0f} % of the steps rise ({task})" for task, share in shares.items()
    )
    return Check(text, shares["regression"] < shares["classification"])
