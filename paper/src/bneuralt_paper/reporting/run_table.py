"""The scores of all runs as one small file, from which the tables of a report follow.

A store with learning curves and trees takes hundreds of megabytes; this table takes some ten bytes
per run, so that it can be published with the report.
"""

from __future__ import annotations

import lzma
import os

import pandas as pd

from bneuralt.files import write_atomically
from bneuralt_paper.reporting.run_results import COLUMNS
from bneuralt_paper.running.store import Key

__all__ = ["FILE_NAME", "KEYS", "published_keys", "read_run_table", "write_run_table"]

FILE_NAME = "runs.csv.xz"
#: The columns that identify a run.
KEYS = ("protocol", "experiment", "dataset", "run")
_KEPT = (
    *KEYS, "train_score", "test_score", "size", "weights", "predict_seconds", "machine",
)  # fmt: skip
#: Significant digits, enough for all tables; the tests of significance depend on ties of scores.
_DIGITS = {"train_score": 6, "test_score": 15, "predict_seconds": 5, "size": 12, "weights": 12}


def write_run_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write the scores, sizes and prediction times of finished runs.

    Parameters
    ----------
    frame : pandas.DataFrame
        Finished runs, with the columns `bneuralt_paper.reporting.run_results.COLUMNS`.
    path : path
        A CSV file, compressed by xz. The same runs give the same bytes.

    Examples
    --------
    >>> from bneuralt_paper.reporting.run_table import write_run_table
    >>> from bneuralt_paper.running.store import Store  # doctest: +SKIP
    >>> write_run_table(Store("runs.sqlite").to_frame(), "runs.csv.xz")  # doctest: +SKIP
    """
    table = frame.loc[:, list(_KEPT)].sort_values(list(KEYS))
    for name, digits in _DIGITS.items():
        numbers = pd.to_numeric(table[name])
        table[name] = [f"{v:.{digits}g}" if pd.notna(v) else "" for v in numbers]
    text = table.to_csv(index=False, lineterminator="\n")
    write_atomically(path, lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read_run_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the runs of a file that `write_run_table` wrote; curves and trees are missing.

    Parameters
    ----------
    path : path

    Returns
    -------
    pandas.DataFrame
        With the columns `bneuralt_paper.reporting.run_results.COLUMNS`.

    Examples
    --------
    >>> from bneuralt_paper.reporting.run_table import read_run_table
    >>> runs = read_run_table("docs/reproduction/runs.csv.xz")  # doctest: +SKIP
    """
    texts = ("protocol", "experiment", "dataset", "machine")
    try:
        frame = pd.read_csv(
            path, compression="xz", dtype=dict.fromkeys(texts, str), float_precision="round_trip"
        )
    except (lzma.LZMAError, EOFError, ValueError) as error:
        raise ValueError(f"{path} is not a table of runs ({error}): copy it again") from error
    missing = [name for name in _KEPT if name not in frame.columns]
    if missing:
        raise ValueError(f"{path} is not a table of runs: it lacks {', '.join(missing)}")
    return frame.reindex(columns=list(COLUMNS))


def published_keys(path: str | os.PathLike[str]) -> set[Key]:
    """Return which runs a file of `write_run_table` has."""
    return {Key(*key) for key in read_run_table(path)[list(KEYS)].itertuples(index=False)}
