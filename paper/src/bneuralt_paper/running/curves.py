"""Learning curves of the paper's figures: computed without selection, thinned, in one small table.

Selecting weights after every update does not influence the training, so that curves are computed
without it, some ten times as fast. A curve is kept as its mean and quartiles over the runs at some
twenty epochs.
"""

from __future__ import annotations

import io
import lzma
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from bneuralt.files import write_atomically
from bneuralt_paper._typing import FloatArray, IntArray
from bneuralt_paper.experiments.definitions import (
    OPTIMIZERS,
    BNeuralTExperiment,
    MLPExperiment,
    parse_experiment,
)
from bneuralt_paper.experiments.mlp import run_mlp
from bneuralt_paper.experiments.neural_trees import run_bneuralt
from bneuralt_paper.experiments.protocols import Outcome, Problem, get_protocol

__all__ = [
    "CURVE_SETTINGS",
    "PUBLISHED_CURVES",
    "compute_curves",
    "curve_epochs",
    "read_curves",
    "run_curves",
    "summarise",
    "write_curves",
]

#: The name of the file with all curves, beside the table of runs.
PUBLISHED_CURVES = "curves.csv.xz"
#: Settings of the paper's figures of convergence, with the claims that are the figures of
#: classification and regression. Figure 11 compares some of them; one setting is in no other.
CURVE_SETTINGS = {
    "B-S-ESy-p4": ("fig-9", "fig-10"),
    "B-S-ESy-p5": ("fig-a1", "fig-a1b"),
    "B-S-ESy-p5-L": ("fig-a2", "fig-a2b"),
    "B-R-ESy-p5": ("fig-a3", "fig-a3b"),
    "M-S-ESy-Rn": ("fig-a4", "fig-a4b"),
    "M-S-ESy-Rn-L": ("fig-a5", "fig-a5b"),
    "M-S-ESn-Rn": ("fig-a6", "fig-a6b"),
    "M-S-ESn-Rn-L": ("fig-a7", "fig-a7b"),
    "M-R-ESn-Rn": (),
}
_COLUMNS = ("experiment", "dataset", "part", "epoch", "mean", "low", "high", "runs", "diverged")
_PARTS = {"train": "train_error", "test": "val_error"}
_POINTS = 24
#: Errors of diverging runs are limited, so that means stay finite.
_LARGEST = 1e12


def curve_epochs(n_epochs: int) -> IntArray:
    """Return the epochs that are kept, evenly spaced on a logarithmic axis.

    Examples
    --------
    >>> curve_epochs(500)[[0, 1, -1]].tolist()
    [1, 2, 500]
    """
    return np.unique(np.geomspace(1, n_epochs, _POINTS).round().astype(int))


def compute_curves(experiment: str, problem: Problem, runs: Iterable[int]) -> pd.DataFrame:
    """Train the runs of an experiment under the paper's protocol, and summarise their curves."""
    protocol, parsed, numbers = get_protocol("paper"), parse_experiment(experiment), tuple(runs)
    partitions = [protocol.partition(problem, run) for run in numbers]
    if isinstance(parsed, MLPExperiment):
        outcomes = run_mlp(parsed, partitions, numbers)
    elif isinstance(parsed, BNeuralTExperiment):
        parsed = replace(parsed, early_stopping=False)
        pairs = zip(partitions, numbers, strict=True)
        outcomes = [run_bneuralt(parsed, protocol, part, run) for part, run in pairs]
    else:
        raise ValueError(f"experiment {experiment!r} has no learning curves")
    return summarise(experiment, problem.name, outcomes, parsed.max_epochs)


def summarise(
    experiment: str, dataset: str, outcomes: list[Outcome], max_epochs: int
) -> pd.DataFrame:
    """Return the mean and the quartiles of the curves of several runs at `curve_epochs`."""
    diverged = sum(_has_diverged(experiment, outcome, max_epochs) for outcome in outcomes)
    records = []
    for part, name in _PARTS.items():
        matrix: FloatArray = np.full((len(outcomes), max_epochs), math.nan)
        for row, outcome in zip(matrix, outcomes, strict=True):
            values = np.asarray(outcome.curves.get(name, []), dtype=float)
            row[: len(values)] = np.where(np.isfinite(values), values, _LARGEST)
        matrix = np.minimum(matrix, _LARGEST)
        for epoch in curve_epochs(max_epochs):
            column = matrix[:, epoch - 1]
            column = column[np.isfinite(column)]
            if len(column):
                low, high = np.quantile(column, [0.25, 0.75])
                figures = (float(column.mean()), float(low), float(high), len(column))
                records.append((experiment, dataset, part, int(epoch), *figures, diverged))
    return pd.DataFrame(records, columns=list(_COLUMNS))


def _has_diverged(experiment: str, outcome: Outcome, max_epochs: int) -> bool:
    """Return whether a training overflowed; that of a tree ends then, that of an MLP does not."""
    losses = outcome.curves.get("train_loss", [])
    stopped = experiment.startswith("B-") and (outcome.epochs or 0) < max_epochs
    return stopped or not np.isfinite(losses).all()


def run_curves(
    path: str | os.PathLike[str],
    problems: Iterable[Problem],
    settings: Iterable[str] = tuple(CURVE_SETTINGS),
    runs: int = 30,
    report: Callable[[str], object] = print,
) -> None:
    """Compute the curves that a file lacks, or has of fewer runs, and add them to it.

    The file, such as the published one, is replaced atomically after each experiment.
    """
    loaded = list(problems)
    for setting in settings:
        for letter in OPTIMIZERS:
            experiment = f"{setting}-{letter}"
            known = read_curves(path) if Path(path).exists() else pd.DataFrame(columns=_COLUMNS)
            missing = [p for p in loaded if _n_runs(known, experiment, p.name) < runs]
            if missing:
                names = [problem.name for problem in missing]
                is_old = (known["experiment"] == experiment) & known["dataset"].isin(names)
                new = [compute_curves(experiment, problem, range(runs)) for problem in missing]
                write_curves(pd.concat([known[~is_old], *new]), path)
            report(experiment)


def _n_runs(curves: pd.DataFrame, experiment: str, dataset: str) -> int:
    is_same = (curves["experiment"] == experiment) & (curves["dataset"] == dataset)
    return int(curves["runs"][is_same].max()) if is_same.any() else 0


def write_curves(curves: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write curves to one compressed file; the same curves give the same bytes."""
    table = curves.loc[:, list(_COLUMNS)].sort_values(list(_COLUMNS[:4]))
    for name in ("mean", "low", "high"):
        table[name] = [f"{value:.4g}" for value in table[name]]
    text = table.to_csv(index=False, lineterminator="\n")
    write_atomically(path, lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read_curves(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the curves of a file of `write_curves`."""
    try:
        text = lzma.decompress(Path(path).read_bytes()).decode()
        curves = pd.read_csv(io.StringIO(text))
    except (lzma.LZMAError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path} is not a table of curves ({error}): copy it again") from error
    missing = [name for name in _COLUMNS if name not in curves.columns]
    if missing:
        raise ValueError(f"{path} is not a table of curves: it lacks {', '.join(missing)}")
    return curves
