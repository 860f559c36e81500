"""Measure the cells that a store lacks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from joblib import Parallel, delayed

from benchmarks.quality.measuring import PROBABILITY_SCORES, Measured, measure
from benchmarks.quality.models import settings_of
from benchmarks.quality.suites import Cell, Suite
from bneuralt_paper.experiments.protocols import Outcome, Scores, derive_seed
from bneuralt_paper.running.store import KEY_MATCHES, Finished, Key, Store

__all__ = ["add_records", "forget", "missing", "run"]


def run(
    store: Store, suite: Suite, cells: Iterable[Cell], data_home: str | None, n_jobs: int
) -> None:
    """Measure the cells that the store lacks, except those that others add meanwhile.

    An error of a model on a table is printed, and the others are measured.
    """
    to_measure = missing(store, suite, cells)
    measured = Parallel(n_jobs, return_as="generator_unordered")(
        delayed(measure_cell)(cell, suite, data_home)
        for cell in to_measure
        if Key(suite.protocol, *cell) not in store.finished()
    )
    for n_done, (cell, checksum, result) in enumerate(measured, start=1):
        if isinstance(result, Exception):
            print(f"{' / '.join(map(str, cell))} failed: {result!r}", flush=True)
        else:
            store.add([_finished(suite, cell, checksum, result)])
        if n_done % 20 == 0 or n_done == len(to_measure):
            print(
                f"{n_done} of {len(to_measure)} measured, last {' / '.join(map(str, cell))}",
                flush=True,
            )


def measure_cell(
    cell: Cell, suite: Suite, data_home: str | None
) -> tuple[Cell, str, Measured | Exception]:
    """Read a table and measure a model on one split of it; return an error of the model."""
    model, table, split = cell
    data = suite.read(table, data_home)
    rows = {"n_training": suite.n_training, "most_test": suite.most_test}
    try:
        result = measure(model, data.task, data.X, data.y, **seeds_of(split), **rows)
    except Exception as error:
        return cell, data.checksum, error
    return cell, data.checksum, result


def seeds_of(split: int) -> dict[str, int]:
    """Return the seeds of a split, which are the same for all models and tables."""
    return {
        "split_seed": derive_seed(split, "split"),
        "model_seed": derive_seed(split, "model"),
    }


def missing(store: Store, suite: Suite, cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells that have not been measured; drop runs of models with other settings."""
    cells = list(cells)
    for model in dict.fromkeys(model for model, _, _ in cells):
        _forget_other_settings(store, suite, model)
    finished = store.finished()
    return [cell for cell in cells if Key(suite.protocol, *cell) not in finished]


def forget(store: Store, suite: Suite, cells: Iterable[Cell]) -> None:
    """Drop runs, to have them measured again."""
    with store.transaction() as execute:
        for cell in cells:
            execute(f"DELETE FROM runs WHERE {KEY_MATCHES}", Key(suite.protocol, *cell))


def _forget_other_settings(store: Store, suite: Suite, model: str) -> None:
    """Drop runs of a model whose defaults or version have changed since."""
    n_dropped = 0
    for task in ("classification", "regression"):
        settings = json.dumps(settings_of(model, task), sort_keys=True)
        for table in suite.tables:
            if suite.tables[table].task == task:
                n_dropped += store.execute(
                    "DELETE FROM runs WHERE protocol = ? AND experiment = ? AND dataset = ?"
                    " AND settings <> ?",
                    (suite.protocol, model, table, settings),
                ).rowcount
    if n_dropped:
        print(f"{n_dropped} runs of {model} with other settings dropped", flush=True)


def add_records(store: Store, suite: Suite, records: Iterable[dict[str, Any]]) -> int:
    """Store measurements of another machine, and return the number of records.

    A record has the fields of `Measured`, and model, table, split, settings, checksum and machine.
    Settings that differ from those that the model has here are a `ValueError`.
    """
    n_records = 0
    for record in records:
        cell = (record.pop("model"), record.pop("table"), record.pop("split"))
        settings, checksum, machine = (record.pop(k) for k in ("settings", "checksum", "machine"))
        here = settings_of(cell[0], suite.tables[cell[1]].task)
        if settings != here:
            different = {key: (here.get(key), value) for key, value in settings.items()
                         if here.get(key) != value}  # fmt: skip
            raise ValueError(
                f"{cell[0]} on {cell[1]} was measured with other settings than it has here: "
                f"{different}; install the same version of its library"
            )
        key = Key(suite.protocol, *cell)
        store.add([_finished(suite, cell, checksum, Measured(**record))])
        store.execute(f"UPDATE runs SET machine = ? WHERE {KEY_MATCHES}", (machine, *key))
        n_records += 1
    return n_records


def _finished(suite: Suite, cell: Cell, checksum: str, result: Measured) -> Finished:
    model, table, split = cell
    figures = asdict(result)
    outcome = Outcome(
        seeds_of(split)["model_seed"],
        Scores(result.train_score, None, result.test_score, result.predict_seconds),
        result.fit_seconds,
        weights=result.weights,
        curves={name: [figures[name]] for name in PROBABILITY_SCORES if figures[name] is not None},
    )
    settings = settings_of(model, suite.tables[table].task)
    return Finished(Key(suite.protocol, *cell), settings, checksum, outcome)
