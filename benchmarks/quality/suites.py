"""Suites: tables, models and number of splits of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.quality.models import CURVE_WEIGHTS, MODELS, curve_name
from benchmarks.tables import TABLES, Facts, Table, read_table
from bneuralt_paper import load_dataset
from bneuralt_paper.datasets.catalogue import CATALOGUE, PAPER_DATASETS

__all__ = ["SUITES", "Cell", "Suite", "make_suite", "small_samples"]

SUITES = ("paper", "tables", "curve")
#: Small samples have at most, and at least, so many test rows.
MOST_TEST, FEWEST_TEST = 5_000, 40
PAPER_MODELS = ("tree", "forest", "linear", "SVM", "random forest", "boosting", "MLP", "GP")
TABLES_HOME = Path("build/tables")

#: One fit: the names of model and table, and the number of the split.
Cell = tuple[str, str, int]


@dataclass(frozen=True)
class Suite:
    """Tables in the order of their sizes, and the models that are measured on them by default.

    `protocol` is the name of the suite in the store, and `read` loads a table from a folder. Of
    each table, `n_training` rows are training rows (None: most of them), and at most `most_test`
    others are test rows.
    """

    protocol: str
    models: tuple[str, ...]
    tables: dict[str, Facts]
    read: Callable[[str, str | None], Table]
    fixed_splits: int | None = None
    n_training: int | None = None
    most_test: int | None = None

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


def small_samples(n_training: int, n_samples: int) -> Suite:
    """Return the suite of small training sets, drawn from tables that settings are chosen on."""
    tables = {
        name: facts
        for name, facts in make_suite("tables", "chosen on").tables.items()
        if facts.n_rows >= n_training + FEWEST_TEST
    }
    models = ("tree", "forest", "readable tree", "linear")
    protocol = f"{n_training} rows"
    return Suite(protocol, models, tables, _read_other, n_samples, n_training, MOST_TEST)


@lru_cache(maxsize=8)
def _read_paper(name: str, data_home: str | None) -> Table:
    data = load_dataset(name, data_home=data_home)
    return Table(name, data.task, data.X, data.y, data.checksum)


@lru_cache(maxsize=8)
def _read_other(name: str, data_home: str | None) -> Table:
    return read_table(name, TABLES_HOME if data_home is None else Path(data_home))
