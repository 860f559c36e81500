"""Execution of experiments: compute the runs that a store lacks, on all cores or on a cluster.

Only this process writes to the store; workers receive tasks and return outcomes. A worker may
therefore be killed, or run on another machine, and the store never contains an incomplete run. This
process may be killed, too: all runs stored so far are kept, and the same command computes the rest.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import joblib

from bneuralt_paper.experiments.definitions import parse_experiment
from bneuralt_paper.experiments.protocols import Outcome, get_protocol
from bneuralt_paper.running.locks import RunLocks
from bneuralt_paper.running.planning import plan_tasks
from bneuralt_paper.running.progress import Progress
from bneuralt_paper.running.store import Finished, Key, Store, StoreError
from bneuralt_paper.running.tasks import Task
from bneuralt_paper.running.workers import attempt, dask_client, quiet_worker_warnings

__all__ = ["RunSummary", "run_experiments"]

_POLL_SECONDS = 1.0


@dataclass
class RunSummary:
    """The result of a call of `run_experiments`.

    Attributes
    ----------
    requested : int
        Number of requested runs.
    present : int
        Those that the store contained before.
    computed : int
        Those that this call added.
    failures : dict of Key to str
        Runs that raised an error, with its traceback; they are not stored.
    seconds : float
    """

    requested: int
    present: int
    computed: int = 0
    failures: dict[Key, str] = field(default_factory=dict)
    seconds: float = 0.0


def run_experiments(
    protocols: str | Iterable[str] = ("paper", "honest"),
    experiments: str | Iterable[str] = "table2",
    datasets: str | Iterable[str] = "all",
    runs: int = 30,
    *,
    jobs: int = 1,
    store: Store,
    without: Collection[Key] = (),
    backend: str = "loky",
    data_home: str | None = None,
    quiet: bool = False,
) -> RunSummary:
    """Compute those of the requested runs that a store does not contain.

    Parameters
    ----------
    protocols, experiments, datasets : str or iterable of str
        Names, groups and patterns: see `bneuralt_paper.experiments.protocols.PROTOCOLS`,
        `bneuralt_paper.experiments.definitions.select_experiments` and
        `bneuralt_paper.running.planning.select_datasets`.
    runs : int
        Runs 0 to ``runs - 1`` of each.
    jobs : int
        Number of processes; -1 for one per core. A Dask cluster uses all its workers.
    store : Store
        Runs that it contains are not repeated. Runs that another process is computing are not
        computed again; the call waits for them.
    without : collection of Key
        Runs that are not requested, because their results have been published.
    backend : str
        "loky" (processes of this machine), "sequential", or "dask://HOST:PORT".
    data_home : str, optional
        The data folder, see `load_dataset`.
    quiet : bool
        Show no progress.

    Returns
    -------
    RunSummary

    Examples
    --------
    >>> with Store(":memory:") as store:
    ...     summary = run_experiments("honest", "DT,NBC", "iris", 2, store=store, quiet=True)
    ...     summary.computed, len(store)
    (4, 4)
    """
    planned = plan_tasks(protocols, experiments, datasets, runs, data_home)
    open_keys = [[key for key in task.keys if key not in without] for task in planned]
    tasks = [t.restricted_to(keys) for t, keys in zip(planned, open_keys, strict=True) if keys]
    _check_data(tasks, store)
    started = time.perf_counter()
    requested = {key for task in tasks for key in task.keys}
    present = requested & store.finished()
    summary = RunSummary(len(requested), len(present))
    costs = {key: task.cost_per_run for task in tasks for key in task.keys}
    cost_left = sum(costs[key] for key in requested - present)
    progress = Progress(len(requested), len(present), cost_left, quiet=quiet)
    with closing(progress), RunLocks(store.path) as locks, ExitStack() as stack:
        parallel = _connect(backend, jobs, stack)
        while True:
            _run_unlocked(tasks, parallel, store, locks, progress, costs, summary)
            missing = requested - store.finished() - summary.failures.keys()
            if not missing:
                break
            progress.note(f"waiting for another process to finish {len(missing)} of these runs")
            progress.update(summary.requested - len(missing))
            time.sleep(_POLL_SECONDS)
    summary.seconds = time.perf_counter() - started
    return summary


def _check_data(tasks: Iterable[Task], store: Store) -> None:
    """Raise an error if the store has runs on other data with the same name."""
    checksums = store.data_checksums()
    for problem in {task.problem.name: task.problem for task in tasks}.values():
        if checksums.get(problem.name, set()) - {problem.checksum}:
            raise StoreError(
                f"{store.path} contains runs on a different version of {problem.name}: use the "
                "data folder of those runs, or another store"
            )


def _connect(backend: str, jobs: int, stack: ExitStack) -> joblib.Parallel:
    options: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}
    if backend in ("loky", "sequential"):
        n_jobs = 1 if backend == "sequential" else jobs
        return joblib.Parallel(n_jobs=n_jobs, **options)
    if not backend.startswith("dask://"):
        raise ValueError(
            f"backend={backend!r} is unknown: choose loky, sequential or dask://HOST:PORT"
        )
    client = stack.enter_context(dask_client(backend.removeprefix("dask://")))
    stack.enter_context(joblib.parallel_config(backend="dask", client=client))
    return joblib.Parallel(n_jobs=-1, **options)


def _run_unlocked(
    tasks: list[Task],
    parallel: joblib.Parallel,
    store: Store,
    locks: RunLocks,
    progress: Progress,
    costs: dict[Key, float],
    summary: RunSummary,
) -> None:
    """Compute all runs that are not finished, have not failed, and are not locked by others."""
    finished = store.finished()
    store_errors: list[StoreError] = []
    lock_of: dict[Key, Key] = {}  # of a task in progress, by its first run

    def unlocked() -> Iterator[Any]:
        # joblib iterates over the tasks in a thread of its own, where an error would be lost.
        try:
            for task in tasks:
                open_keys = [
                    k for k in task.keys if k not in finished and k not in summary.failures
                ]
                if not open_keys or not locks.take(task.keys[0]):
                    continue
                # another process may have finished some of them since
                open_keys = [key for key in open_keys if not store.has(key)]
                if not open_keys:
                    locks.drop(task.keys[0])
                    continue
                lock_of[open_keys[0]] = task.keys[0]
                yield joblib.delayed(attempt)(task.restricted_to(open_keys))
        except StoreError as error:
            store_errors.append(error)

    with quiet_worker_warnings():
        for task, outcomes, error in parallel(unlocked()):
            if error is not None:
                locks.drop(lock_of[task.keys[0]])
                summary.failures.update(dict.fromkeys(task.keys, error))
                name = " ".join(map(str, task.keys[0]))
                progress.note(f"{name} failed: {error.strip().splitlines()[-1]}")
                continue
            store.add(_finished(task, outcomes))
            locks.drop(lock_of[task.keys[0]])
            summary.computed += len(outcomes)
            progress.advance(len(outcomes), sum(costs[key] for key in task.keys))
    if store_errors:
        raise store_errors[0]


def _finished(task: Task, outcomes: list[Outcome]) -> list[Finished]:
    settings = parse_experiment(task.experiment).settings()
    settings |= get_protocol(task.protocol).describe()
    return [
        Finished(key, settings, task.problem.checksum, outcome)
        for key, outcome in zip(task.keys, outcomes, strict=True)
    ]
