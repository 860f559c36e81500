"""Planning: the tasks that a selection of protocols, experiments and data sets consists of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt_paper.experiments.baselines import CLASSIFICATION_ONLY
from bneuralt_paper.experiments.definitions import Experiment, select_experiments
from bneuralt_paper.experiments.protocols import Problem, get_protocol
from bneuralt_paper.running.tasks import Task

__all__ = ["QUICK", "plan_tasks", "select_datasets"]

#: A small selection that uses only data included in scikit-learn, and takes about a minute.
QUICK: dict[str, Any] = {
    "protocols": ("paper", "honest"),
    "experiments": "quick",
    "datasets": ("iris", "wine", "wdbc", "diabetese"),
    "runs": 3,
}

_DATASET_GROUPS = {
    "all": PAPER_DATASETS,
    "classification": PAPER_CLASSIFICATION,
    "regression": PAPER_REGRESSION,
    "embedded": QUICK["datasets"],
}


def select_datasets(names: str | Iterable[str]) -> list[str]:
    """Return the data sets that names and groups refer to, without repetitions.

    Parameters
    ----------
    names : str or iterable of str
        In a string they are separated by commas.

    Examples
    --------
    >>> select_datasets("iris,regression")
    ['iris', 'baseball', 'dee', 'diabetese', 'friedman', 'mpg6']
    """
    if isinstance(names, str):
        names = names.split(",")
    selected: dict[str, None] = {}
    for name in filter(None, (name.strip() for name in names)):
        if name not in _DATASET_GROUPS and name not in PAPER_DATASETS:
            raise ValueError(
                f"data set {name!r} is not in the paper's tables: choose among "
                f"{', '.join(PAPER_DATASETS)}, or a group: {', '.join(_DATASET_GROUPS)}"
            )
        selected.update(dict.fromkeys(_DATASET_GROUPS.get(name, (name,))))
    if not selected:
        raise ValueError("datasets: none selected; name one, or a group such as 'all'")
    return list(selected)


def plan_tasks(
    protocols: str | Iterable[str],
    experiments: str | Iterable[str],
    datasets: str | Iterable[str],
    runs: int,
    data_home: str | None = None,
) -> list[Task]:
    """Return the tasks of a selection, whether or not they have been computed.

    Parameters
    ----------
    protocols, experiments, datasets, runs, data_home
        See `bneuralt_paper.running.runner.run_experiments`.
    """
    if runs < 1:
        raise ValueError(f"runs={runs} must be at least 1")
    if isinstance(protocols, str):
        protocols = protocols.split(",")
    protocol_names = [get_protocol(name.strip()).name for name in protocols]
    selected = select_experiments(experiments)
    problems = [
        Problem.from_dataset(load_dataset(name, data_home)) for name in select_datasets(datasets)
    ]
    return [
        Task(protocol, experiment.name, problem, block)
        for protocol in protocol_names
        for experiment in selected
        for problem in problems
        if problem.n_classes or experiment.name not in CLASSIFICATION_ONLY
        for block in _blocks(experiment, runs)
    ]


def _blocks(experiment: Experiment, runs: int) -> Iterator[tuple[int, ...]]:
    for _, block in groupby(range(runs), lambda run: run // experiment.block):
        yield tuple(block)
