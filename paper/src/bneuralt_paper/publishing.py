"""The small files of finished runs from which a page is drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from bneuralt_paper.best_trees import best_trees
from bneuralt_paper.experiments.protocols import Problem
from bneuralt_paper.images.result_files import ImageResults, write_results
from bneuralt_paper.ledger.evidence import PUBLISHED_TREES
from bneuralt_paper.reporting.run_results import Results
from bneuralt_paper.reporting.run_table import (
    FILE_NAME,
    KEYS,
    read_run_table,
    write_run_table,
)
from bneuralt_paper.running.store import Store

__all__ = ["publish"]


def publish(
    store: Store,
    out: str | os.PathLike[str],
    problems: Callable[[], list[Problem]],
) -> Iterator[Path]:
    """Add the runs of a store to the published table, draw the best trees anew, and yield paths.

    Parameters
    ----------
    store : Store
        Its runs replace those of the same experiment, data set and number in the table.
    out : path
        Folder for the files; created if necessary.
    problems : callable
        Returns the paper's data sets, to train the best trees again.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    frame = store.to_frame()
    if (out / FILE_NAME).exists():
        both = pd.concat([frame, read_run_table(out / FILE_NAME)], ignore_index=True)
        frame = both.drop_duplicates(list(KEYS))
    write_run_table(frame, out / FILE_NAME)
    yield out / FILE_NAME
    trees = best_trees(Results(frame), problems())
    write_results(ImageResults(drawn_trees=trees), out / PUBLISHED_TREES)
    yield out / PUBLISHED_TREES
