"""Training of one tree or of many; the loop over epochs and batches is compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from threading import Event
from typing import Any

from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import FloatArray, IntArray
from bneuralt.arrays import CheckedTable
from bneuralt.training.jobs import (
    CheckedData,
    OffsetAndFactor,
    TargetReading,
    TrainingJob,
    core_job,
)
from bneuralt.training.losses import Loss, check_loss
from bneuralt.training.results import (
    HISTORY,
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingResult,
)
from bneuralt.training.settings import TrainingSettings
from bneuralt.tree.neural_tree import NeuralTree, grown
from bneuralt.warnings import warn_user

__all__ = ["epoch_order", "gradient", "train", "train_many"]


def train(
    tree: NeuralTree,
    X: ArrayLike | CheckedTable,
    y: ArrayLike,
    *,
    settings: TrainingSettings,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    validation: tuple[Any, ...] | None = None,
    input_scaling: OffsetAndFactor | None = None,
    n_threads: int = 1,
    callback: Callable[[EpochState], Any] | None = None,
    optimizer_state: OptimizerState | None = None,
    stop: Callable[[], Any] | Event | None = None,
) -> TrainingResult:
    """Train a tree by backpropagation.

    Parameters
    ----------
    tree : NeuralTree
        Structure and initial weights; its dtype is that of the computation.
    X : array of shape (n_rows, n_inputs)
        float64, float32 and uint8 arrays are read as they are, never copied.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Class numbers (integers from 0), or numbers to predict; which of them follows from the
        loss, and from the dtype of y where the loss takes either. Several columns for a tree that
        predicts several numbers.
    settings : TrainingSettings
    seed : int
        Seed of the order of the rows. The same seed gives the same weights, bit for bit, for any
        `n_threads`.
    sample_weight : array of shape (n_rows,), optional
        The gradient of a batch is the mean of `weight * gradient` over its rows.
    validation : tuple (X, y) or (X, y, sample_weight), optional
        Rows that are never trained on.
    input_scaling : tuple (offset, factor), optional
        The inputs of the tree are `(x - offset) * factor`. The result is a tree for scaled inputs:
        `tree.with_input_scaling` converts it to one for raw inputs.
    n_threads : int
        Number of threads for batches of more than 32 rows; smaller ones use one thread.
    callback : callable, optional
        Called with an `EpochState` after each epoch; a true result ends the training.
    optimizer_state : OptimizerState, optional
        Continue where an earlier call ended.
    stop : callable or threading.Event, optional
        Called every 40 ms, by the calling thread. A true result, or an event that is set, ends the
        training at once, as Ctrl-C does, but nothing is raised: the status is "interrupted".

    Returns
    -------
    TrainingResult

    Warns
    -----
    TrainingDiverged
        If the weights overflowed.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree, TrainingSettings, train
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> tree = NeuralTree.random(1, 1, max_depth=2, output_activation="linear", random_state=0)
    >>> settings = TrainingSettings(loss="squared_error", max_epochs=200)
    >>> result = train(tree, X, np.sin(3 * X[:, 0]), settings=settings)
    >>> bool(result.history["train_loss"][-1] < 0.01)
    True
    """
    job = TrainingJob(tree, settings, seed, optimizer_state=optimizer_state)
    (result,) = train_many(
        [job],
        X,
        y,
        sample_weight=sample_weight,
        validation=validation,
        input_scaling=input_scaling,
        n_threads=n_threads,
        callback=callback,
        stop=stop,
    )
    if result.status == "diverged":
        problem = (
            f"the weights overflowed in epoch {result.n_epochs + 1}; "
            "the best finite weights before that were kept"
        )
        if job.settings.select and result.n_epochs and result.best_epoch is None:
            problem = "no score on the validation rows was finite; the starting weights were kept"
        warn_user(f"{problem}. A smaller learning_rate or a clip_norm helps", TrainingDiverged)
    return result


def train_many(
    jobs: Iterable[TrainingJob],
    X: ArrayLike | CheckedTable,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    validation: tuple[Any, ...] | None = None,
    input_scaling: OffsetAndFactor | None = None,
    n_threads: int = 1,
    callback: Callable[[EpochState], Any] | None = None,
    progress: Callable[[int, TrainingResult], Any] | None = None,
    n_expected: int | None = None,
    stop: Callable[[], Any] | Event | None = None,
) -> list[TrainingResult]:
    """Train many trees on one table.

    The rows are checked once. Each job starts as soon as a thread is free, and each result is bit
    for bit that of training the tree alone.

    Parameters
    ----------
    jobs : sequence or iterator of TrainingJob
        The trees, with their settings and rows. An iterator is advanced when a thread is about to
        become free, so that drawing trees and training them overlap; a sequence is checked as a
        whole before the first job starts.
    X, y, sample_weight, validation, input_scaling
        As for `train`; values set on a job take precedence.
    n_threads : int
        Number of threads, at most one per processor; it never changes a result.
    callback : callable, optional
        Called with an `EpochState` after each epoch of each job, whose `job` is the job's position;
        a true result ends the training of that job.
    progress : callable, optional
        Called with the position and the result of each finished job, in no particular order; a
        true result ends all training.
    n_expected : int, optional
        Number of jobs of an iterator: with fewer jobs than threads, each job gets several threads.
    stop : callable or threading.Event, optional
        As for `train`; ends all training.

    Returns
    -------
    list of TrainingResult
        In the order of the jobs. The status of jobs that `progress` or `stop` ended, or that never
        started, is "interrupted"; of jobs that diverged, "diverged".

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; its `results` is the same list as of then. Any other exception, as of a callback
        or of a later job that is refused, has this attribute too.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree, TrainingSettings
    >>> from bneuralt.training import TrainingJob, train_many
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> settings = TrainingSettings(loss="squared_error", max_epochs=20)
    >>> trees = [NeuralTree.random(1, max_depth=2, random_state=seed) for seed in range(8)]
    >>> jobs = [TrainingJob(tree, settings, seed=i) for i, tree in enumerate(trees)]
    >>> results = train_many(jobs, X, X[:, 0] ** 2, n_threads=2)
    >>> len(results), results[0].status
    (8, 'completed')
    """
    prepared_jobs: list[TrainingJob] = []
    n_jobs = len(jobs) if isinstance(jobs, Sequence) else n_expected or 2**31 - 1
    if isinstance(jobs, Sequence):
        first = jobs[0] if jobs else None
    else:
        jobs = iter(jobs)
        first = next(jobs, None)
        jobs = jobs if first is None else chain([first], jobs)
    if first is None:
        return []
    reading = TargetReading.of(jobs if isinstance(jobs, Sequence) else [first])
    data = CheckedData(X, y, sample_weight, reading)
    held_out = None
    if validation is not None:
        X_val, y_val, *rest = validation
        held_out = CheckedData(X_val, y_val, rest[0] if rest else None, reading, "_val")
    start_time = time.perf_counter()

    checked = set()  # combinations of settings and outputs, each of which is checked once

    def prepared(job: TrainingJob) -> _core.Job:
        try:
            settings, tree = job.settings, job.tree
            kind = id(settings), tree.n_outputs, tree.output_activation
            if kind not in checked:
                check_loss(settings.loss, tree.n_outputs, tree.output_activation)
                checked.add(kind)
            scaling = job.input_scaling or input_scaling
            converted = core_job(job, data, held_out, scaling, reading)
        except (TypeError, ValueError) as error:
            raise _naming_job(error, len(prepared_jobs), n_jobs) from None
        prepared_jobs.append(job)
        return converted

    def on_epoch(i: int, epoch: int, *report: Any) -> bool:
        assert callback is not None
        *figures, parameters, leaf_input = report
        state = EpochState(
            lambda: grown(prepared_jobs[i].tree).with_leaf_inputs(leaf_input, parameters),
            epoch,
            prepared_jobs[i].settings.max_epochs,
            **dict(zip(HISTORY, figures, strict=True)),
            seconds=time.perf_counter() - start_time,
            job=i,
        )
        return bool(callback(state))

    def on_job(i: int, result: _core.Result) -> bool:
        assert progress is not None
        return bool(progress(i, TrainingResult(prepared_jobs[i].tree, result)))

    should_stop: Any = stop.is_set if isinstance(stop, Event) else stop
    ready: Iterable[_core.Job] = map(prepared, jobs)
    if isinstance(jobs, Sequence):
        ready = list(ready)  # to check all of them before the first one starts
    results, raised = _core.train(
        ready,
        n_jobs,
        data.core,
        None if held_out is None else held_out.core,
        n_threads,
        None if callback is None else on_epoch,
        None if progress is None else on_job,
        None if stop is None else lambda: bool(should_stop()),
    )
    # a list of jobs has a result for each, including those that never prepared_jobs
    untouched = (
        [_core.untouched(job) for job in ready[len(results) :]] if isinstance(ready, list) else []
    )
    all_results = [
        TrainingResult(job.tree, result)
        for job, result in zip(prepared_jobs, [*results, *untouched], strict=False)
    ]
    if isinstance(raised, KeyboardInterrupt):
        raise TrainingInterrupted(all_results) from raised
    if raised is not None:
        raised.results = all_results  # type: ignore[attr-defined]
        raise raised
    return all_results


def gradient(
    tree: NeuralTree,
    X: ArrayLike | CheckedTable,
    y: ArrayLike,
    *,
    loss: str | Loss = "cross_entropy",
    sample_weight: ArrayLike | None = None,
    n_threads: int = 1,
) -> tuple[float, FloatArray]:
    """Return the mean loss of a table, and its gradient with respect to `tree.parameters`.

    Parameters
    ----------
    tree, X, y, sample_weight, n_threads
        As for `train`.
    loss : str or Loss

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.training import gradient
    >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.5, 2.0])  # 0.5 + 2 x
    >>> gradient(tree, np.array([[1.0]]), [2.0], loss="squared_error")
    (0.125, array([0.5, 0.5]))
    """
    loss = check_loss(loss, tree.n_outputs, tree.output_activation)
    data = CheckedData(
        X, y, sample_weight, TargetReading(loss, tree.n_outputs, {tree.dtype}, {tree.dtype})
    )
    return _core.gradient(tree.core, data.core, data.weight, loss.name, loss.numbers, n_threads)


def epoch_order(seed: int, epoch: int, n_rows: int, block_rows: int | None = None) -> IntArray:
    """Return the order in which `train` takes the rows in an epoch.

    It needs 4 bytes for each row, of which there may be 2^31 - 1; Ctrl-C interrupts it.

    Parameters
    ----------
    seed, epoch, n_rows : int
    block_rows : int or None
        See `TrainingSettings`.

    Examples
    --------
    >>> sorted(epoch_order(seed=0, epoch=3, n_rows=4).tolist())
    [0, 1, 2, 3]
    """
    return _core.epoch_order(seed, epoch, n_rows, block_rows or 0)


def _naming_job(error: Exception, position: int, n_jobs: int) -> Exception:
    """Return an error that names the job, if there are several."""
    return error if n_jobs == 1 else type(error)(f"job {position}: {error}")
