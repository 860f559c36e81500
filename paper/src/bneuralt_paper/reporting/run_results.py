"""Summaries of finished runs, for tables and figures.

The input has one row for each finished run, as returned by
`bneuralt_paper.running.store.Store.to_frame`. Any experiments of the paper may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from bneuralt_paper._typing import FloatArray, IntArray
from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION

__all__ = ["COLUMNS", "GROUPS_OF_DATASETS", "Results", "Summary"]

COLUMNS = (
    "protocol", "experiment", "dataset", "run", "train_score", "val_score", "test_score", "size",
    "weights", "fit_seconds", "predict_seconds", "epochs", "curves", "tree_json",
    "machine",
)  # fmt: skip

#: Names of means over data sets, which tables use like names of data sets.
GROUPS_OF_DATASETS = {
    "classification_mean": PAPER_CLASSIFICATION,
    "regression_mean": PAPER_REGRESSION,
    "overall_mean": PAPER_DATASETS,
}


_NONE = np.empty(0, dtype=int)


class Summary(NamedTuple):
    """The mean, the standard deviation and the number of finite values."""

    mean: float
    sd: float
    n: int


class Results:
    """The finished runs of a store.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table with the columns `COLUMNS`; others are ignored.

    Examples
    --------
    >>> import pandas as pd
    >>> from bneuralt_paper.reporting.run_results import COLUMNS, Results
    >>> runs = pd.DataFrame([dict.fromkeys(COLUMNS), dict.fromkeys(COLUMNS)])
    >>> runs["protocol"], runs["experiment"], runs["dataset"] = "paper", "DT", "iris"
    >>> runs["run"], runs["test_score"] = [0, 1], [0.9, 1.0]
    >>> Results(runs).score("paper", "DT", "iris").mean
    0.95
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        missing = [name for name in COLUMNS if name not in frame.columns]
        if missing:
            raise ValueError(f"the frame lacks the columns {', '.join(missing)}")
        keys = ["protocol", "experiment", "dataset", "run"]
        twice = frame.duplicated(keys)
        if twice.any():
            raise ValueError(f"run {tuple(frame.loc[twice, keys].iloc[0])} is in the frame twice")
        self.frame = frame.sort_values(keys, ignore_index=True)
        self._numbers: dict[str, FloatArray] = {}
        self._summaries: dict[tuple[str, str, str, str], Summary] = {}

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str], IntArray]:
        """The rows of the frame by protocol, experiment and data set."""
        grouped = self.frame.groupby(["protocol", "experiment", "dataset"], sort=False)
        return {(str(p), str(e), str(d)): rows for (p, e, d), rows in grouped.indices.items()}

    @cached_property
    def _has_runs(self) -> set[tuple[str, str]]:
        return {(protocol, experiment) for protocol, experiment, _ in self._rows}

    @property
    def protocols(self) -> list[str]:
        """The protocols with runs; the paper's first."""
        return sorted(set(self.frame["protocol"]), key=lambda name: (name != "paper", name))

    def experiments(self, protocol: str | None = None) -> list[str]:
        """Return the experiments with runs, in alphabetical order."""
        rows = self.frame if protocol is None else self.frame[self.frame["protocol"] == protocol]
        return sorted(set(rows["experiment"]))

    def runs(self, protocol: str, experiment: str, dataset: str) -> pd.DataFrame:
        """Return the runs of an experiment on a data set, indexed by run number."""
        rows = self._rows.get((protocol, experiment, dataset), _NONE)
        return self.frame.iloc[rows].set_index("run")

    def _values(self, protocol: str, experiment: str, dataset: str, column: str) -> FloatArray:
        if column not in self._numbers:
            numbers = pd.to_numeric(self.frame[column], errors="coerce")
            self._numbers[column] = numbers.to_numpy(dtype=float)
        rows = self._rows.get((protocol, experiment, dataset), _NONE)
        values: FloatArray = self._numbers[column][rows]
        return values

    def summary(self, protocol: str, experiment: str, dataset: str, column: str) -> Summary:
        """Summarise a column over the runs of an experiment on a data set."""
        key = (protocol, experiment, dataset, column)
        if key not in self._summaries:
            self._summaries[key] = _summary(self._values(*key))
        return self._summaries[key]

    def score(self, protocol: str, experiment: str, dataset: str) -> Summary:
        """Summarise the test scores on a data set, or on a group in `GROUPS_OF_DATASETS`.

        For a group see `mean_over`.
        """
        if dataset not in GROUPS_OF_DATASETS:
            return self.summary(protocol, experiment, dataset, "test_score")
        return self.mean_over(protocol, experiment, GROUPS_OF_DATASETS[dataset], "test_score")

    def mean_over(
        self, protocol: str, experiment: str, datasets: Sequence[str], column: str
    ) -> Summary:
        """Return the mean of the means of several data sets, nan if one of them has no value.

        The standard deviation is that of all runs, and the number the lowest of any data set.
        """
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
        """Return scores by run number (rows) and experiment (columns), nan for missing runs."""
        columns = {}
        for experiment in experiments:
            values = self._values(protocol, experiment, dataset, column)
            runs = self._values(protocol, experiment, dataset, "run").astype(int)
            columns[experiment] = pd.Series(values, index=runs, dtype=float)
        return pd.DataFrame(columns).sort_index()

    def has(self, protocol: str, experiment: str) -> bool:
        """Return whether an experiment has runs."""
        return (protocol, experiment) in self._has_runs


def _summary(values: FloatArray) -> Summary:
    """Summarise the finite values; runs that diverged have no score."""
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return Summary(math.nan, math.nan, 0)
    sd = float(finite.std(ddof=1)) if len(finite) > 1 else math.nan
    return Summary(float(finite.mean()), sd, len(finite))
