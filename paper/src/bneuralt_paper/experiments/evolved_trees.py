"""HFNT and MONT as in the paper: structures by genetic programming, weights by evolution.

They select nothing on monitored rows: both protocols train them on all training rows, and differ in
the rows that inputs are scaled by.
"""

from __future__ import annotations

import time
from typing import Any

import bneuralt_paper
from bneuralt_paper._typing import Array, FloatArray
from bneuralt_paper.experiments.definitions import EvolvedExperiment
from bneuralt_paper.experiments.protocols import Outcome, Partition, derive_seed

__all__ = ["make_evolved", "run_evolved"]


def make_evolved(experiment: EvolvedExperiment, task: str, seed: int) -> Any:
    """Return an unfitted estimator.

    Examples
    --------
    >>> from bneuralt_paper.experiments.definitions import parse_experiment
    >>> make_evolved(parse_experiment("HFNT-S"), "regression", 0).n_generations
    500
    """
    kind = "Classifier" if task == "classification" else "Regressor"
    settings: dict[str, Any] = {
        "population_size": experiment.population_size,
        "n_generations": experiment.n_generations,
        "tuning_size": experiment.tuning_size,
        "n_tuning": experiment.n_tuning,
        "max_depth": experiment.max_depth,
        "max_children": experiment.max_children,
        "random_state": seed,
    }
    if experiment.algorithm == "MONT3":
        return getattr(bneuralt_paper, f"MONT{kind}")(**settings)
    return getattr(bneuralt_paper, f"HFNT{kind}")(objectives=experiment.objectives, **settings)


def run_evolved(experiment: EvolvedExperiment, partition: Partition, run: int) -> Outcome:
    """Search for a tree on the training rows of one run, and score it."""
    seed = derive_seed(run, "model", partition.name)
    estimator = make_evolved(experiment, partition.task, seed)
    X, y = partition.training_rows(selects=False)
    start = time.perf_counter()
    estimator.fit(X, y)
    seconds = time.perf_counter() - start

    def predict(X: FloatArray) -> Array:
        labels_or_values: Array = estimator.predict(X)
        return labels_or_values

    tree = estimator.tree_
    # a regressor has another root above the tree, which reverses the scaling of the target
    size = tree.size - (partition.n_classes == 0)
    return Outcome(
        seed,
        partition.score(predict, selects=False),
        seconds,
        size=size,
        weights=tree.n_parameters,
        epochs=estimator.n_iter_,
        tree_json=tree.to_json(),
    )
