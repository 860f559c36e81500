"""Measurements behind claims that no score shows: times, memory, unused inputs, sizes of trees.

The times of whole runs are measured, too, from which the cost of the study follows.

All times are processor times of one thread, the lowest of several repetitions.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from bneuralt.files import format_json, parse_json, read_text, write_atomically
from bneuralt.training import TrainingSettings, train
from bneuralt.tree import NeuralTree
from bneuralt_paper.experiments import mlp
from bneuralt_paper.experiments.baselines import CLASSIFICATION_ONLY, make_estimator
from bneuralt_paper.experiments.definitions import (
    BNeuralTExperiment,
    Experiment,
    parse_experiment,
    select_experiments,
)
from bneuralt_paper.experiments.neural_trees import draw_tree, training_settings
from bneuralt_paper.experiments.protocols import Problem, derive_seed, get_protocol
from bneuralt_paper.images.paper_runs import PRINTED, printed_grid
from bneuralt_paper.images.paper_trees import mean_size, reaching
from bneuralt_paper.running.tasks import Task, execute

__all__ = ["PUBLISHED_MEASUREMENTS", "read_measurements", "run_measurements", "study_hours"]

#: The name of the file, beside the table of runs.
PUBLISHED_MEASUREMENTS = "measurements.json"
_REFERENCE = "B-S-ESy-p4-R"
_MLP = "M-S-ESn-Rn-L-R"
_TIMED = ("DT", "RF", "GP", "NBC", "SVM")
_N_RUNS = 30
_N_SIZES = 100_000
_TREE_SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
_SINGLE_CALLS = 30
#: Experiments of each kind that are timed on each data set.
_N_TIMED_RUNS = 3


def run_measurements(
    path: str | os.PathLike[str],
    problems: list[Problem],
    report: Callable[[str], object] = print,
) -> None:
    """Add the measurements that a file lacks to it.

    Parameters
    ----------
    path : path
        The file, such as the published one; created if necessary, and replaced atomically after
        each part.
    problems : list of Problem
        The paper's data sets.
    report : callable
        Called with the name of each part.
    """
    measured = read_measurements(path) if Path(path).exists() else {}
    parts: dict[str, Callable[[], Any]] = {
        "unused_inputs": lambda: {p.name: _unused(p) for p in problems},
        "sizes_of_image_trees": _sizes_of_image_trees,
        "cost_by_size": _cost_by_size,
        "training_seconds": lambda: {p.name: _training_seconds(p) for p in problems},
        "single_row_microseconds": lambda: {p.name: _single_row(p) for p in problems},
        "run_seconds": lambda: {p.name: _run_seconds(p) for p in problems},
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, compute in parts.items():
            if name not in measured:
                measured[name] = compute()
                write_atomically(path, format_json(measured) + "\n")
            report(name)


def read_measurements(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the file of `run_measurements`."""
    measured = parse_json(read_text(path))
    if not isinstance(measured, dict):
        raise ValueError(f"{path} contains no measurements: write it with `bneuralt paper measure`")
    return measured


def _lowest(call: Callable[[], Any], repetitions: int = 5) -> float:
    """Return the lowest processor time of a call, in seconds."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def _reference() -> BNeuralTExperiment:
    experiment = parse_experiment(_REFERENCE)
    assert isinstance(experiment, BNeuralTExperiment)
    return experiment


def _unused(problem: Problem) -> dict[str, float]:
    """Return the number of inputs, and the mean number that a tree of the best setting lacks."""
    n_inputs = problem.X.shape[1]
    missing = [
        n_inputs - len(np.unique(_first_tree(problem, run).leaf_input)) for run in range(_N_RUNS)
    ]
    return {
        "inputs": n_inputs,
        "unused": round(float(np.mean(missing)), 3),
        "trees_with_all_inputs": sum(n == 0 for n in missing),
        "trees": _N_RUNS,
    }


def _first_tree(problem: Problem, run: int) -> NeuralTree:
    seed = derive_seed(run, "structure", problem.name)
    return draw_tree(_reference(), problem.X.shape[1], problem.n_classes or 1, seed)


def _sizes_of_image_trees() -> list[dict[str, float]]:
    """Return, for the printed settings, the mean size and how many trees have a printed size."""
    records = []
    for growth in printed_grid():
        record: dict[str, float] = {
            "max_depth": growth.max_depth,
            "max_children": growth.max_children,
            "leaf_probability": growth.leaf_probability,
            "mean_nodes": round(mean_size(growth)),
            "trees": _N_SIZES,
        }
        for label, (weights, _, _) in PRINTED.items():
            record[f"share_{label}"] = reaching(growth, weights, _N_SIZES)
        records.append(record)
    return records


def _cost_by_size() -> list[dict[str, float]]:
    """Return times and memory of a pass over 1,000 rows for trees of different sizes."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(1000, 50)), rng.integers(2, size=1000).astype(np.int32)
    settings = TrainingSettings(
        loss="squared_error", optimizer="rmsprop", learning_rate=0.01, schedule="constant",
        batch_size=1, max_epochs=1,
    )  # fmt: skip
    records = []
    for n_weights in _TREE_SIZES:
        tree = NeuralTree.random(50, 2, n_weights=n_weights, random_state=0)
        arrays = (tree.parameters, tree.parent, tree.leaf_parent, tree.leaf_input)
        records.append(
            {
                "nodes": tree.size,
                "weights": tree.n_parameters,
                "forward_us": round(1e3 * _lowest(partial(tree.forward, X)), 4),
                "update_us": round(
                    1e3 * _lowest(partial(train, tree, X, y, settings=settings), 3), 4
                ),
                "bytes": sum(array.nbytes for array in arrays),
            }
        )
    return records


def _training_seconds(problem: Problem) -> dict[str, float]:
    """Return the times of 500 epochs of the best tree's setting and of an MLP, one run each."""
    protocol, experiment = get_protocol("paper"), _reference()
    partition = protocol.partition(problem, 0)
    X, y = partition.training_rows(selects=False)
    settings = training_settings(replace(experiment, early_stopping=False), protocol)
    tree = _first_tree(problem, 0)
    network = parse_experiment(_MLP)
    return {
        "tree": round(_lowest(lambda: train(tree, X, y, settings=settings), 3), 4),
        "tree_weights": tree.paper_parameter_count,
        "mlp": round(_lowest(lambda: mlp.run_mlp(network, [partition], [0]), 3), 4),  # type: ignore[arg-type]
        "mlp_weights": 100 * (X.shape[1] + 1) + 101 * (problem.n_classes or 1),
    }


def _single_row(problem: Problem) -> dict[str, float]:
    """Return the times of predicting one row, by algorithm, in microseconds."""
    partition = get_protocol("paper").partition(problem, 0)
    X, y = partition.training_rows(selects=False)
    row = X[:1]
    tree = _first_tree(problem, 0)
    network = mlp.initial_parameters(0, X.shape[1], 100, problem.n_classes or 1)
    calls: dict[str, Callable[[], Any]] = {
        "BNeuralT": lambda: np.argmax(tree.forward(row), axis=1),
        "MLP": lambda: mlp.predict(network, row, "sigmoid", bool(problem.n_classes)),
    }
    for name in _TIMED:
        if problem.n_classes or name not in CLASSIFICATION_ONLY:
            fitted = make_estimator(name, problem.task, 0).fit(X, y)
            calls[name] = partial(fitted.predict, row)

    def repeated(call: Callable[[], Any]) -> None:
        for _ in range(_SINGLE_CALLS):
            call()

    return {
        name: round(1e6 * _lowest(partial(repeated, call)) / _SINGLE_CALLS, 2)
        for name, call in calls.items()
    }


def _run_seconds(problem: Problem) -> dict[str, float]:
    """Return the mean time of a run by kind of experiment, of a few random experiments each."""
    rng = np.random.default_rng(0)
    by_kind: dict[str, list[Experiment]] = {}
    for experiment in select_experiments("all"):
        if problem.n_classes or experiment.name not in CLASSIFICATION_ONLY:
            by_kind.setdefault(experiment.kind, []).append(experiment)
    seconds = {}
    for kind, experiments in by_kind.items():
        times = []
        for index in rng.choice(len(experiments), _N_TIMED_RUNS):
            chosen, protocol = experiments[index], str(rng.choice(["paper", "honest"]))
            task = Task(protocol, chosen.name, problem, tuple(range(chosen.block)))
            times.append(_lowest(partial(execute, task), 1) / chosen.block)
        seconds[kind] = round(float(np.mean(times)), 4)
    return seconds


def study_hours(
    measured: Mapping[str, Mapping[str, float]], runs: pd.DataFrame
) -> dict[str, float]:
    """Return the hours of one core that runs take, by kind of experiment.

    Parameters
    ----------
    measured : mapping
        The part ``run_seconds`` of the measurements.
    runs : pandas.DataFrame
        A row for each run, with the columns ``experiment`` and ``dataset``.

    Examples
    --------
    >>> runs = pd.DataFrame({"experiment": ["DT", "RF", "B-S-ESn-R"], "dataset": "iris"})
    >>> study_hours({"iris": {"baseline": 1800.0, "bneuralt": 7200.0}}, runs)
    {'baseline': 1.0, 'bneuralt': 2.0}
    """
    hours: dict[str, float] = {}
    for (name, dataset), n in runs.value_counts(["experiment", "dataset"]).sort_index().items():
        kind = parse_experiment(name).kind
        hours[kind] = hours.get(kind, 0.0) + n * measured[dataset][kind] / 3600
    return dict(sorted(hours.items()))
