"""Running experiments: what is missing in the store, on all cores or a cluster, until it is there.

Only this process writes to the store; workers get rows and hand back outcomes. So a worker may die,
or sit on another machine, and the store never holds half a run. The process itself may be killed at
any moment: what it had stored is there, and the same command goes on with the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import joblib

from bneuralt.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS, PAPER_REGRESSION
from bneuralt.datasets.loading import load_dataset
from bneuralt.paper.experiments.baselines import CLASSIFICATION_ONLY, run_baseline
from bneuralt.paper.experiments.grid import (
    MLP,
    Baseline,
    BNeuralT,
    Experiment,
    Quoted,
    parse,
    select,
)
from bneuralt.paper.experiments.protocols import Outcome, Problem, get_protocol
from bneuralt.paper.running import workers
from bneuralt.paper.running.claims import Claims
from bneuralt.paper.running.progress import Progress
from bneuralt.paper.running.store import Finished, Key, Store, StoreError

__all__ = ["QUICK", "RunSummary", "Task", "execute", "run", "select_datasets"]

#: A small selection that needs no data but scikit-learn's, and takes about a minute.
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
_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Task:
    """Runs that are computed together."""

    protocol: str
    experiment: str
    problem: Problem
    runs: tuple[int, ...]

    @property
    def keys(self) -> list[Key]:
        """The keys of the runs."""
        return [Key(self.protocol, self.experiment, self.problem.name, run) for run in self.runs]

    def restricted_to(self, keys: Iterable[Key]) -> Task:
        """Return the task with those of its runs that are among the keys."""
        runs = tuple(key.run for key in keys)
        return Task(self.protocol, self.experiment, self.problem, runs)


@dataclass
class RunSummary:
    """How a call of `run` ended.

    Attributes
    ----------
    requested : int
        Runs asked for.
    present : int
        Those of them that the store held before.
    computed : int
        Those that this call added.
    failures : dict of Key to str
        Runs that raised an error, with its text; they are not in the store.
    seconds : float
    """

    requested: int
    present: int
    computed: int = 0
    failures: dict[Key, str] = field(default_factory=dict)
    seconds: float = 0.0


def execute(task: Task) -> list[Outcome]:
    """Compute the runs of a task.

    Examples
    --------
    >>> from bneuralt.datasets.loading import load_dataset
    >>> task = Task("honest", "DT", Problem.from_dataset(load_dataset("iris")), (0,))
    >>> (outcome,) = execute(task)
    >>> 0.8 < outcome.scores.test <= 1
    True
    """
    experiment, protocol = parse(task.experiment), get_protocol(task.protocol)
    partitions = [protocol.partition(task.problem, run) for run in task.runs]
    if isinstance(experiment, MLP):
        # Loading jax takes a second: only those pay who need it.
        from bneuralt.paper.experiments.mlp import run_mlp

        return run_mlp(experiment, partitions, task.runs)
    pairs = zip(partitions, task.runs, strict=True)
    if isinstance(experiment, BNeuralT):
        from bneuralt.paper.experiments.bneuralt_runs import run_bneuralt

        return [run_bneuralt(experiment, protocol, partition, run) for partition, run in pairs]
    assert isinstance(experiment, Baseline)
    return [run_baseline(experiment, partition, run) for partition, run in pairs]


def select_datasets(names: str | Iterable[str]) -> list[str]:
    """Return the names of data sets that names and groups stand for.

    Examples
    --------
    >>> select_datasets("iris,regression")
    ['iris', 'baseball', 'dee', 'diabetese', 'friedman', 'mpg6']
    """
    if isinstance(names, str):
        names = names.split(",")
    chosen: dict[str, None] = {}
    for name in filter(None, (name.strip() for name in names)):
        if name not in _DATASET_GROUPS and name not in PAPER_DATASETS:
            raise ValueError(
                f"data set {name!r} is not one of the paper's tables: choose among "
                f"{', '.join(PAPER_DATASETS)}, or a group: {', '.join(_DATASET_GROUPS)}"
            )
        chosen.update(dict.fromkeys(_DATASET_GROUPS.get(name, (name,))))
    if not chosen:
        raise ValueError("datasets: nothing chosen; name one, or a group such as 'all'")
    return list(chosen)


def run(
    protocols: str | Iterable[str] = ("paper", "honest"),
    experiments: str | Iterable[str] = "table2",
    datasets: str | Iterable[str] = "all",
    runs: int = 30,
    *,
    jobs: int = 1,
    store: Store,
    backend: str = "loky",
    data_home: str | None = None,
    quiet: bool = False,
) -> RunSummary:
    """Bring a store to hold certain runs.

    Parameters
    ----------
    protocols, experiments, datasets : str or iterable of str
        Names, groups and patterns: see `bneuralt.paper.experiments.protocols.PROTOCOLS`,
        `bneuralt.paper.experiments.grid.select` and `select_datasets`. Experiments that are only quoted
        are passed over.
    runs : int
        Runs 0 to `runs - 1` of each.
    jobs : int
        Processes; -1 for one per core. A Dask cluster uses all it has.
    store : Store
        Runs that it holds are not repeated, nor are those that another process is working on: they
        are waited for.
    backend : str
        "loky" (processes of this machine), "sequential", or "dask://HOST:PORT".
    data_home : str, optional
        The data folder, see `bneuralt.load_dataset`.
    quiet : bool
        Show no progress.

    Returns
    -------
    RunSummary

    Examples
    --------
    >>> with Store(":memory:") as store:
    ...     summary = run("honest", "DT,NBC", "iris", 2, store=store, quiet=True)
    ...     summary.computed, len(store)
    (4, 4)
    """
    if runs < 1:
        raise ValueError(f"runs={runs} must be at least 1")
    tasks = _plan(protocols, experiments, datasets, runs, data_home)
    _check_data(tasks, store)
    started = time.perf_counter()
    requested = {key for task in tasks for key in task.keys}
    present = requested & store.finished()
    summary = RunSummary(len(requested), len(present))
    weights = {key: _weight(task) for task in tasks for key in task.keys}
    todo = sum(weights[key] for key in requested - present)
    progress = Progress(len(requested), len(present), todo, quiet=quiet)
    with closing(progress), Claims(store) as claims, ExitStack() as stack:
        parallel = _connect(backend, jobs, stack)
        while True:
            _run_what_is_free(tasks, parallel, store, claims, progress, weights, summary)
            missing = requested - store.finished() - summary.failures.keys()
            if not missing:
                break
            progress.note(f"waiting for another process to finish {len(missing)} of these runs")
            progress.update(summary.requested - len(missing))
            time.sleep(_POLL_SECONDS)
    summary.seconds = time.perf_counter() - started
    return summary


def _plan(
    protocols: str | Iterable[str],
    experiments: str | Iterable[str],
    datasets: str | Iterable[str],
    runs: int,
    data_home: str | None,
) -> list[Task]:
    """Return all tasks, as if nothing had been done yet."""
    if isinstance(protocols, str):
        protocols = protocols.split(",")
    names = [get_protocol(name.strip()).name for name in protocols]
    chosen = [e for e in select(experiments) if not isinstance(e, Quoted)]
    if not chosen:
        raise ValueError("experiments: those chosen are known from the paper only, none can be run")
    if any(isinstance(e, MLP) for e in chosen):
        workers.require_jax()
    problems = [
        Problem.from_dataset(load_dataset(name, data_home)) for name in select_datasets(datasets)
    ]
    return [
        Task(protocol, experiment.name, problem, block)
        for protocol in names
        for experiment in chosen
        for problem in problems
        if problem.n_classes or experiment.name not in CLASSIFICATION_ONLY
        for block in _blocks(experiment, runs)
    ]


def _blocks(experiment: Experiment, runs: int) -> Iterator[tuple[int, ...]]:
    for _, block in groupby(range(runs), lambda run: run // experiment.block):
        yield tuple(block)


def _weight(task: Task) -> float:
    """Return how long one run takes in comparison with others: good enough to guess an end."""
    n = len(task.problem.X)
    kind = parse(task.experiment).kind
    if kind == "bneuralt" or task.experiment == "GP":
        return float(n * n)
    return 400.0 * n if kind == "mlp" else 10.0 * n


def _check_data(tasks: Iterable[Task], store: Store) -> None:
    """Refuse to mix runs on different data under one name."""
    known = store.data_checksums()
    for problem in {task.problem.name: task.problem for task in tasks}.values():
        if known.get(problem.name, set()) - {problem.checksum}:
            raise StoreError(
                f"{store.path} holds runs on another table of the name {problem.name}: use the "
                "data folder that they were made with, or another store"
            )


def _connect(backend: str, jobs: int, stack: ExitStack) -> joblib.Parallel:
    options: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}
    if backend in ("loky", "sequential"):
        n_jobs = 1 if backend == "sequential" else jobs
        return joblib.Parallel(n_jobs=n_jobs, **options)
    if not backend.startswith("dask://"):
        raise ValueError(
            f"backend={backend!r} is not known: choose loky, sequential or dask://HOST:PORT"
        )
    client = stack.enter_context(workers.dask_client(backend.removeprefix("dask://")))
    stack.enter_context(joblib.parallel_config(backend="dask", client=client))
    return joblib.Parallel(n_jobs=-1, **options)


def _run_what_is_free(
    tasks: list[Task],
    parallel: joblib.Parallel,
    store: Store,
    claims: Claims,
    progress: Progress,
    weights: dict[Key, float],
    summary: RunSummary,
) -> None:
    """Compute what is neither finished, nor failed, nor claimed by another process."""
    finished = store.finished()
    trouble: list[StoreError] = []

    def claimed() -> Iterator[Any]:
        # joblib asks for the next task on a thread of its own, where an error would be lost.
        try:
            for task in tasks:
                open_keys = [
                    k for k in task.keys if k not in finished and k not in summary.failures
                ]
                taken = claims.take(open_keys) if open_keys else []
                if taken:
                    yield joblib.delayed(workers.attempt)(task.restricted_to(taken))
        except StoreError as error:
            trouble.append(error)

    with workers.calm_about_workers():
        for task, outcomes, error in parallel(claimed()):
            if error is not None:
                claims.drop(task.keys)
                summary.failures.update(dict.fromkeys(task.keys, error))
                name = " ".join(map(str, task.keys[0]))
                progress.note(f"{name} failed: {error.strip().splitlines()[-1]}")
                continue
            store.add(_finished(task, outcomes))
            summary.computed += len(outcomes)
            progress.advance(len(outcomes), sum(weights[key] for key in task.keys))
    if trouble:
        raise trouble[0]


def _finished(task: Task, outcomes: list[Outcome]) -> list[Finished]:
    settings = parse(task.experiment).settings() | get_protocol(task.protocol).describe()
    return [
        Finished(key, settings, task.problem.checksum, outcome)
        for key, outcome in zip(task.keys, outcomes, strict=True)
    ]
