"""The small files that a page is drawn from: all results of a study, compressed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from bneuralt_paper.best_trees import best_trees
from bneuralt_paper.experiments.protocols import Problem
from bneuralt_paper.images.result_files import (
    PUBLISHED_IMAGES,
    ImageResults,
    load_results,
    publish_results,
)
from bneuralt_paper.ledger.evidence import PUBLISHED_TREES
from bneuralt_paper.reporting.run_results import Results
from bneuralt_paper.reporting.run_table import FILE_NAME, write_run_table
from bneuralt_paper.running.curves import PUBLISHED_CURVES, publish_curves, read_curves
from bneuralt_paper.running.measurements import PUBLISHED_MEASUREMENTS
from bneuralt_paper.running.store import Store

__all__ = ["publish"]


def publish(
    study: str | os.PathLike[str],
    out: str | os.PathLike[str],
    problems: Callable[[], list[Problem]],
) -> Iterator[Path]:
    """Write the published files of a study's folder, and yield their paths.

    Parameters
    ----------
    study : path
        A folder with any of ``runs.sqlite``, ``curves/``, ``images/`` and ``measurements.json``.
    out : path
        Folder for the files; created if necessary.
    problems : callable
        Returns the paper's data sets, to train the best trees again.
    """
    study, out = Path(study), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    if (study / "runs.sqlite").exists():
        with Store(study / "runs.sqlite", must_exist=True) as store:
            frame = store.to_frame()
        write_run_table(frame, out / FILE_NAME)
        yield out / FILE_NAME
        trees = best_trees(Results(frame), problems())
        publish_results(ImageResults(drawn_trees=trees), out / PUBLISHED_TREES)
        yield out / PUBLISHED_TREES
    if (study / "curves").is_dir():
        publish_curves(read_curves(study / "curves"), out / PUBLISHED_CURVES)
        yield out / PUBLISHED_CURVES
    if (study / "images").is_dir():
        publish_results(load_results(study / "images"), out / PUBLISHED_IMAGES)
        yield out / PUBLISHED_IMAGES
    if (study / PUBLISHED_MEASUREMENTS).exists():
        shutil.copyfile(study / PUBLISHED_MEASUREMENTS, out / PUBLISHED_MEASUREMENTS)
        yield out / PUBLISHED_MEASUREMENTS
