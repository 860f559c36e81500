"""Finished runs, summed up: what the tables and figures ask of a store.

The input is one row per finished run, as `store.to_frame` returns it: protocol, experiment,
dataset, run, train_score, val_score, test_score, size, weights, fit_seconds, predict_seconds (for
one example), epochs, curves (a dict of lists, one value per epoch) and tree_json. Any part of the
paper's experiments may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from bneuralt.datasets.catalogue import (
    CATALOGUE,
    PAPER_CLASSIFICATION,
    PAPER_DATASETS,
    PAPER_REGRESSION,
)

__all__ = ["COLUMNS", "GROUPS_OF_DATASETS", "Results", "Summary"]

COLUMNS = (
    "protocol", "experiment", "dataset", "run", "train_score", "val_score", "test_score", "size",
    "weights", "fit_seconds", "predict_seconds", "epochs", "curves", "tree_json",
)  # fmt: skip

#: Names of the means over data sets, as they appear in tables beside the data sets.
GROUPS_OF_DATASETS = {
    "classification_mean": PAPER_CLASSIFICATION,
    "regression_mean": PAPER_REGRESSION,
    "overall_mean": PAPER_DATASETS,
}


_NONE = np.empty(0, dtype=int)


class Summary(NamedTuple):
    """Mean, standard deviation and number of finite values."""

    mean: float
    sd: float
    n: int


class Results:
    """The finished runs of a store.

    Parameters
    ----------
    frame : pandas.DataFrame
        With the columns `COLUMNS`; others are ignored.

    Examples
    --------
    >>> import pandas as pd
    >>> from bneuralt.paper.reporting.results import COLUMNS, Results
    >>> runs = pd.DataFrame([dict.fromkeys(COLUMNS), dict.fromkeys(COLUMNS)])
    >>> runs["protocol"], runs["experiment"], runs["dataset"] = "paper", "DT", "iris"
    >>> runs["run"], runs["test_score"] = [0, 1], [0.9, 1.0]
    >>> Results(runs).score("paper", "DT", "iris").mean
    0.95
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        missing = [name for name in COLUMNS if name not in frame.columns]
        if missing:
            raise ValueError(f"the frame of runs lacks the columns {', '.join(missing)}")
        keys = ["protocol", "experiment", "dataset", "run"]
        twice = frame.duplicated(keys)
        if twice.any():
            raise ValueError(f"run {tuple(frame.loc[twice, keys].iloc[0])} is in the frame twice")
        self.frame = frame.sort_values(keys, ignore_index=True)
        self._numbers: dict[str, np.ndarray] = {}
        self._summaries: dict[tuple[str, str, str, str], Summary] = {}

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str], np.ndarray]:
        """Positions of each cell's runs in the frame."""
        grouped = self.frame.groupby(["protocol", "experiment", "dataset"], sort=False)
        return {(str(p), str(e), str(d)): rows for (p, e, d), rows in grouped.indices.items()}

    @cached_property
    def _run_at_all(self) -> set[tuple[str, str]]:
        return {(protocol, experiment) for protocol, experiment, _ in self._rows}

    @property
    def protocols(self) -> list[str]:
        """Protocols with any run; the paper's first."""
        return sorted(set(self.frame["protocol"]), key=lambda name: (name != "paper", name))

    def experiments(self, protocol: str | None = None) -> list[str]:
        """Experiments with any run, in alphabetical order."""
        rows = self.frame if protocol is None else self.frame[self.frame["protocol"] == protocol]
        return sorted(set(rows["experiment"]))

    def datasets(self, protocol: str, experiment: str) -> list[str]:
        """Data sets with any run, in the paper's order, others after them."""
        names = [d for p, e, d in self._rows if (p, e) == (protocol, experiment)]
        order = list(CATALOGUE)
        return sorted(names, key=lambda n: (order.index(n) if n in order else len(order), n))

    def runs(self, protocol: str, experiment: str, dataset: str) -> pd.DataFrame:
        """The runs of one cell, indexed by run number; empty if there are none."""
        rows = self._rows.get((protocol, experiment, dataset), _NONE)
        return self.frame.iloc[rows].set_index("run")

    def _values(self, protocol: str, experiment: str, dataset: str, column: str) -> np.ndarray:
        if column not in self._numbers:
            numbers = pd.to_numeric(self.frame[column], errors="coerce")
            self._numbers[column] = numbers.to_numpy(dtype=float)
        return self._numbers[column][self._rows.get((protocol, experiment, dataset), _NONE)]

    def summary(self, protocol: str, experiment: str, dataset: str, column: str) -> Summary:
        """Sum up one column over the runs of one cell."""
        key = (protocol, experiment, dataset, column)
        if key not in self._summaries:
            self._summaries[key] = _summary(self._values(*key))
        return self._summaries[key]

    def score(self, protocol: str, experiment: str, dataset: str) -> Summary:
        """Test score of one cell, or the mean over data sets for a name of `GROUPS_OF_DATASETS`.

        A mean over data sets is nan unless every one of them has a run; its sd is that of all its
        runs, whatever the data set, and its n the least number of runs of any of them.
        """
        if dataset not in GROUPS_OF_DATASETS:
            return self.summary(protocol, experiment, dataset, "test_score")
        return self.mean_over(protocol, experiment, GROUPS_OF_DATASETS[dataset], "test_score")

    def mean_over(
        self, protocol: str, experiment: str, datasets: Sequence[str], column: str
    ) -> Summary:
        """Mean of the means of several data sets; nan unless every one of them has a value."""
        parts = [self.summary(protocol, experiment, name, column) for name in datasets]
        if not parts or any(part.n == 0 for part in parts):
            return Summary(math.nan, math.nan, 0)
        pooled = _summary(
            np.concatenate([self._values(protocol, experiment, name, column) for name in datasets])
        )
        return Summary(float(np.mean([p.mean for p in parts])), pooled.sd, min(p.n for p in parts))

    def paired(
        self, protocol: str, experiments: Sequence[str], dataset: str, column: str = "test_score"
    ) -> pd.DataFrame:
        """Scores by run number (rows) and experiment (columns), nan where a run is missing."""
        columns = {}
        for experiment in experiments:
            values = self._values(protocol, experiment, dataset, column)
            runs = self._values(protocol, experiment, dataset, "run").astype(int)
            columns[experiment] = pd.Series(values, index=runs, dtype=float)
        return pd.DataFrame(columns).sort_index()

    def has(self, protocol: str, experiment: str) -> bool:
        """Whether there is any run of this experiment."""
        return (protocol, experiment) in self._run_at_all


def _summary(values: np.ndarray) -> Summary:
    """Over finite values: a run that diverged has no score to average."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return Summary(math.nan, math.nan, 0)
    sd = float(finite.std(ddof=1)) if len(finite) > 1 else math.nan
    return Summary(float(finite.mean()), sd, len(finite))
