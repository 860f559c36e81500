"""Suites: tables, models and number of splits of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import bneuralt
from benchmarks.quality.models import CURVE_WEIGHTS, MODELS, curve_name
from benchmarks.tables import TABLES, Facts, Table, read_table
from bneuralt.datasets.catalogue import CATALOGUE, PAPER_DATASETS

__all__ = ["SUITES", "Cell", "Suite", "make_suite"]

SUITES = ("paper", "tables", "curve")
PAPER_MODELS = ("tree", "forest", "linear", "SVM", "random forest", "boosting", "MLP", "GP")
TABLES_HOME = Path("build/tables")

#: One fit: the names of model and table, and the number of the split.
Cell = tuple[str, str, int]


@dataclass(frozen=True)
class Suite:
    """Tables in the order of their sizes, and the models that are measured on them by default.

    `protocol` is the name of the suite in the store, and `read` loads a table from a folder.
    """

    protocol: str
    models: tuple[str, ...]
    tables: dict[str, Facts]
    read: Callable[[str, str | None], Table]
    fixed_splits: int | None = None

    def n_splits(self, table: str) -> int:
        """Return the number of splits of a table."""
        return self.fixed_splits or (3 if self.tables[table].n_rows <= 10_000 else 2)

    def cells(self, models: list[str], tables: list[str], n_splits: int | None) -> list[Cell]:
        """Return all fits of the suite, model by model, small tables first."""
        return [
            (model, table, split)
            for model in models
            for table in tables
            if self.tables[table].n_rows <= (MODELS[model].most_rows or self.tables[table].n_rows)
            for split in range(min(self.n_splits(table), n_splits or self.n_splits(table)))
        ]


def make_suite(name: str, half: str = "reported") -> Suite:
    """Return a suite; `half` is that of the suite of tables."""
    if name == "paper":
        entries = {
            table: Facts(table, CATALOGUE[table].n_rows, CATALOGUE[table].task)
            for table in PAPER_DATASETS
        }
        return Suite("defaults", PAPER_MODELS, entries, _read_paper, fixed_splits=30)
    half = "chosen on" if name == "curve" else half
    by_size = sorted(TABLES.values(), key=lambda facts: facts.n_rows)
    entries = {facts.name: facts for facts in by_size if facts.half == half}
    if name == "curve":
        return Suite("curve", tuple(map(curve_name, CURVE_WEIGHTS)), entries, _read_other)
    models = tuple(model for model in MODELS if model != "GP" and not model.startswith("tree of"))
    return Suite("tables", models, entries, _read_other)


@lru_cache(maxsize=8)
def _read_paper(name: str, data_home: str | None) -> Table:
    data = bneuralt.load_dataset(name, data_home=data_home)
    return Table(name, data.task, data.X, data.y, data.checksum)


@lru_cache(maxsize=8)
def _read_other(name: str, data_home: str | None) -> Table:
    return read_table(name, TABLES_HOME if data_home is None else Path(data_home))
