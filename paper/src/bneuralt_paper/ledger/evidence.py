"""What verdicts are computed from: runs, curves, image results, measurements and trees."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bneuralt_paper.images.result_files import (
    PUBLISHED_IMAGES,
    DrawnTree,
    ImageResults,
    load_results,
)
from bneuralt_paper.reporting.run_results import Results
from bneuralt_paper.reporting.run_table import FILE_NAME, read_run_table
from bneuralt_paper.running.curves import PUBLISHED_CURVES, read_curves
from bneuralt_paper.running.measurements import PUBLISHED_MEASUREMENTS, read_measurements

__all__ = ["PUBLISHED_TREES", "Check", "Evidence", "NotTested"]

#: The name of the file with the best trees, beside the table of runs.
PUBLISHED_TREES = "trees.json.xz"


class NotTested(Exception):
    """The evidence does not decide a claim; the message says why."""


class Check(NamedTuple):
    """What we found, and whether it agrees with the paper."""

    ours: str
    agrees: bool


@dataclass
class Evidence:
    """All published artefacts; any of them may be missing."""

    runs: Results | None = None
    curve_table: pd.DataFrame | None = None
    image_results: ImageResults = field(default_factory=ImageResults)
    measurements: dict[str, Any] = field(default_factory=dict)
    trees: list[DrawnTree] = field(default_factory=list)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Evidence:
        """Read the artefacts of a folder such as ``docs/reproduction``."""
        folder = Path(folder)
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is no folder with published results")
        found = cls()
        if (folder / FILE_NAME).exists():
            found.runs = Results(read_run_table(folder / FILE_NAME))
        if (folder / PUBLISHED_CURVES).exists():
            found.curve_table = read_curves(folder / PUBLISHED_CURVES)
        if (folder / PUBLISHED_IMAGES).exists():
            found.image_results = load_results(folder / PUBLISHED_IMAGES)
        if (folder / PUBLISHED_MEASUREMENTS).exists():
            found.measurements = read_measurements(folder / PUBLISHED_MEASUREMENTS)
        if (folder / PUBLISHED_TREES).exists():
            found.trees = load_results(folder / PUBLISHED_TREES).drawn_trees
        return found

    @property
    def results(self) -> Results:
        """The runs of the 110 experiments."""
        if self.runs is None or self.runs.frame.empty:
            raise NotTested("there are no runs of the experiments")
        return self.runs

    @property
    def curves(self) -> pd.DataFrame:
        """The thinned learning curves."""
        if self.curve_table is None or self.curve_table.empty:
            raise NotTested("there are no learning curves")
        return self.curve_table

    def measured(self, name: str) -> Any:
        """Return a part of the measurements."""
        if name not in self.measurements:
            raise NotTested(f"there is no measurement of {name.replace('_', ' ')}")
        return self.measurements[name]

    def score(self, protocol: str, experiment: str, dataset: str) -> float:
        """Return a mean test score on a data set or a group of them."""
        summary = self.results.score(protocol, experiment, dataset)
        if not summary.n:
            raise NotTested(f"{experiment} was not run on all data sets ({protocol} protocol)")
        return summary.mean
