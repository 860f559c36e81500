"""Training trees: one call for one tree, one call for many.

The loop itself (epochs, batches, selection, stopping) is compiled; this module checks what goes
in, and gives names to what comes out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import CheckedTable, checked_table
from bneuralt.training.losses import Loss, check_loss, check_targets
from bneuralt.training.results import (
    HISTORY,
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingResult,
)
from bneuralt.training.settings import TrainingSettings
from bneuralt.tree.monotonic import Signs
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["TrainingJob", "epoch_order", "gradient", "train", "train_many"]

#: (offset, factor): what is learnt from is `(value - offset) * factor`.
OffsetAndFactor = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """One tree to be trained by `train_many`, and what is special about it.

    Parameters
    ----------
    tree : NeuralTree
        Its structure and starting weights; its dtype is the one computed in.
    settings : TrainingSettings
    seed : int
        Decides the order of the rows.
    rows : int array, optional
        Positions of the rows to train on, in any order, repeated if wanted; all rows by default.
    sample_weight : array, optional
        How much each of these rows counts. By default they count as `train_many` was told, or 1.
    validation_rows : int array, optional
        Positions of validation rows, in the validation table if there is one, else in the table
        itself.
    validation_weight : array, optional
        How much each of the validation rows counts.
    input_scaling : tuple (offset, factor), optional
        The tree sees `(x - offset) * factor`; by default as `train_many` was told.
    target_scaling : tuple (offset, factor), optional
        The outputs learn `(y - offset) * factor`.
    optimizer_state : OptimizerState, optional
        Continue where an earlier training ended.
    may_move_to : bool array of shape (n_inputs,), optional
        The inputs that leaves may move to, where they move; all by default.
    signs : Signs, optional
        Signs that weights must have (`bneuralt.tree.monotonic`): a weight that an update takes to
        the other side of 0 becomes 0.
    """

    tree: NeuralTree
    settings: TrainingSettings
    seed: int = 0
    rows: ArrayLike | None = None
    sample_weight: ArrayLike | None = None
    validation_rows: ArrayLike | None = None
    validation_weight: ArrayLike | None = None
    input_scaling: OffsetAndFactor | None = None
    target_scaling: OffsetAndFactor | None = None
    optimizer_state: OptimizerState | None = None
    may_move_to: ArrayLike | None = None
    signs: Signs | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", self.settings.complete)


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
        Its structure and starting weights; its dtype is the one computed in.
    X : array of shape (n_rows, n_inputs)
        float64, float32 and uint8 arrays are read as they are, never copied.
    y : array of shape (n_rows,) or (n_rows, n_outputs)
        Class numbers (integers from 0), or numbers to predict; which of them follows from the
        loss, and from the dtype of y where the loss takes either. Several columns for a tree that
        predicts several numbers.
    settings : TrainingSettings
    seed : int
        Decides the order of the rows. The same seed gives the same weights, bit for bit,
        whatever `n_threads` is.
    sample_weight : array of shape (n_rows,), optional
        The gradient of a batch is the mean of `weight * gradient` over its rows.
    validation : tuple (X, y) or (X, y, sample_weight), optional
        Rows that are never trained on.
    input_scaling : tuple (offset, factor), optional
        The tree sees `(x - offset) * factor`, for all rows. The result is a tree for scaled
        inputs: `tree.with_input_scaling` turns it into one for raw inputs.
    n_threads : int
        Threads for batches of more than 32 rows; smaller ones are a single piece of work.
    callback : callable, optional
        Called with an `EpochState` after each epoch; anything true ends the training.
    optimizer_state : OptimizerState, optional
        Continue where an earlier call ended.
    stop : callable or threading.Event, optional
        Asked every 40 ms, by the calling thread. Anything true, or an event that is set, ends the
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
        kept = "the best finite weights before that were kept"
        what = f"the weights overflowed in epoch {result.n_epochs + 1}; {kept}"
        if job.settings.select and result.n_epochs and result.best_epoch is None:
            what = "no score on the validation rows was finite; the starting weights were kept"
        warnings.warn(
            f"{what}. A smaller learning_rate or a clip_norm helps",
            TrainingDiverged,
            stacklevel=2,
        )
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
    n_jobs: int | None = None,
    stop: Callable[[], Any] | Event | None = None,
) -> list[TrainingResult]:
    """Train many trees on one table.

    The rows are checked once. Jobs are spread over the threads as these become free, and each
    result is bit for bit the one of training that tree alone.

    Parameters
    ----------
    jobs : sequence or iterator of TrainingJob
        The trees, with whatever differs between them. An iterator is asked for the next job when a
        thread is about to become free, so that drawing trees and training them overlap; a sequence
        is checked as a whole before the first job starts.
    X, y, sample_weight, validation, input_scaling
        As for `train`; what a job says itself comes first.
    n_threads : int
        Number of threads, at most one per processor; it never changes a result.
    callback : callable, optional
        Called with an `EpochState` after each epoch of each job, whose `job` is the job's position;
        anything true ends the training of that job.
    progress : callable, optional
        Called with the position and the result of each job that is done, in no particular order;
        anything true ends all training.
    n_jobs : int, optional
        How many jobs an iterator will give, if that is known: fewer threads are started for fewer
        jobs.
    stop : callable or threading.Event, optional
        As for `train`; ends all training.

    Returns
    -------
    list of TrainingResult
        In the order of the jobs. The status of those that were cut short or never begun, because
        `progress` or `stop` ended the training, is "interrupted"; of those that diverged,
        "diverged".

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
    taken: list[TrainingJob] = []
    n_expected = len(jobs) if isinstance(jobs, Sequence) else n_jobs or 2**31 - 1
    if isinstance(jobs, Sequence):
        first = jobs[0] if jobs else None
    else:
        jobs = iter(jobs)
        first = next(jobs, None)
        jobs = jobs if first is None else chain([first], jobs)
    if first is None:
        return []
    task = _Task.of(jobs if isinstance(jobs, Sequence) else [first])
    data = _Data(X, y, sample_weight, task)
    held_out = None
    if validation is not None:
        X_val, y_val, *rest = validation
        held_out = _Data(X_val, y_val, rest[0] if rest else None, task, "_val")
    started = time.perf_counter()

    fitting = set()  # what has been found to fit, so that it is not checked a thousand times

    def prepared(job: TrainingJob) -> _core.Job:
        try:
            settings, tree = job.settings, job.tree
            kind = id(settings), tree.n_outputs, tree.structure.output_activation
            if kind not in fitting:
                check_loss(settings.loss, tree.n_outputs, tree.output_activation)
                fitting.add(kind)
            scaling = job.input_scaling or input_scaling
            core_job = _prepare(job, data, held_out, scaling, task)
        except (TypeError, ValueError) as error:
            raise _naming_job(error, len(taken), n_expected) from None
        taken.append(job)
        return core_job

    def on_epoch(i: int, epoch: int, *told: Any) -> bool:
        assert callback is not None
        *figures, parameters, leaf_input = told
        state = EpochState(
            lambda: taken[i].tree.with_leaf_inputs(leaf_input, parameters),
            epoch,
            taken[i].settings.max_epochs,
            **dict(zip(HISTORY, figures, strict=True)),
            seconds=time.perf_counter() - started,
            job=i,
        )
        return bool(callback(state))

    def on_job(i: int, result: _core.Result) -> bool:
        assert progress is not None
        return bool(progress(i, TrainingResult(taken[i].tree, result)))

    asked: Any = stop.is_set if isinstance(stop, Event) else stop
    ready: Iterable[_core.Job] = map(prepared, jobs)
    if isinstance(jobs, Sequence):
        ready = list(ready)  # so that what is wrong with any of them is found before the first
    results, raised = _core.train(
        ready,
        n_expected,
        data.core,
        None if held_out is None else held_out.core,
        n_threads,
        None if callback is None else on_epoch,
        None if progress is None else on_job,
        None if stop is None else lambda: bool(asked()),
    )
    # a list of jobs has a result for each, also for those that were not even taken
    untouched = (
        [_core.untouched(job) for job in ready[len(results) :]] if isinstance(ready, list) else []
    )
    made = [
        TrainingResult(job.tree, result)
        for job, result in zip(taken, [*results, *untouched], strict=False)
    ]
    if isinstance(raised, KeyboardInterrupt):
        raise TrainingInterrupted(made) from raised
    if raised is not None:
        raised.results = made  # type: ignore[attr-defined]
        raise raised
    return made


def gradient(
    tree: NeuralTree,
    X: ArrayLike | CheckedTable,
    y: ArrayLike,
    *,
    loss: str | Loss = "cross_entropy",
    sample_weight: ArrayLike | None = None,
    n_threads: int = 1,
) -> tuple[float, FloatArray]:
    """Return the mean loss of some rows, and its gradient with respect to `tree.parameters`.

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
    data = _Data(X, y, sample_weight, _Task(loss, tree.n_outputs, {tree.dtype}, {tree.dtype}))
    return _core.gradient(tree.core, data.core, data.weight, loss.name, loss.numbers, n_threads)


def epoch_order(seed: int, epoch: int, n_rows: int, block_rows: int | None = None) -> IntArray:
    """Return the order in which `train` takes the rows in an epoch.

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


# -- what users give, as the core takes it ------------------------------------------------


class _Task(NamedTuple):
    """What decides how targets are read; jobs that are trained together have it in common."""

    loss: Loss
    n_outputs: int
    dtypes: set[np.dtype[Any]]
    target_dtypes: set[np.dtype[Any]]  # targets that are scaled on the way become float64 first

    @classmethod
    def of(cls, jobs: Sequence[TrainingJob]) -> _Task:
        loss = jobs[0].settings.loss
        assert isinstance(loss, Loss)
        plain = {job.tree.dtype for job in jobs if job.target_scaling is None}
        dtypes = {job.tree.dtype for job in jobs}
        return cls(loss, jobs[0].tree.n_outputs, dtypes, plain or {np.dtype(np.float64)})


class _Data:
    """A table with targets and weights, checked."""

    def __init__(
        self,
        X: ArrayLike | CheckedTable,
        y: ArrayLike,
        weight: ArrayLike | None,
        task: _Task,
        suffix: str = "",
    ) -> None:
        table = checked_table(X, f"X{suffix}").X
        self.n_rows = len(table)
        self.core = _core.Data(table, _as_targets(y, f"y{suffix}", task))
        self.weight = None
        if weight is not None:
            name = "w_val" if suffix else "sample_weight"
            self.weight = _as_weights(weight, name, len(table), task)


def _as_targets(y: ArrayLike, name: str, task: _Task) -> Array:
    target = np.asarray(y)
    compares, is_whole = task.loss.compares, target.dtype.kind in "iub"
    if compares == "labels" and not is_whole:
        raise TypeError(f"{name} must be class numbers (integers), got dtype {target.dtype}")
    may_be_labels = compares == "either" and is_whole and task.n_outputs > 1 and target.ndim == 1
    if compares == "labels" or may_be_labels:
        if target.ndim != 1:
            raise ValueError(f"{name} must have one dimension, it has {target.ndim}")
        known = (target >= 0) & (target < task.n_outputs)
        if not known.all():
            at = int(np.argmin(known))
            raise ValueError(
                f"{name}[{at}] is {target[at]}, but classes run from 0 to {task.n_outputs - 1}"
            )
        return np.ascontiguousarray(target, dtype=np.int32)
    if target.ndim not in (1, 2):
        raise ValueError(f"{name} must have one dimension, or two, it has {target.ndim}")
    numbers = _as_numbers(target, name, task.target_dtypes)
    check_targets(numbers, task.loss, name)
    return numbers


def _as_weights(
    weight: ArrayLike, name: str, n_rows: int, task: _Task, rows: str = "X"
) -> FloatArray:
    numbers = _as_numbers(np.asarray(weight), name, task.dtypes)
    if numbers.shape != (n_rows,):
        raise ValueError(f"{name} has {numbers.size} entries, {rows} has {n_rows} rows")
    if numbers.size and numbers.min() < 0:
        at = int(numbers.argmin())
        raise ValueError(f"{name}[{at}] is {numbers[at]}; weights cannot be negative")
    return numbers


def _as_numbers(values: Array, name: str, dtypes: set[np.dtype[Any]]) -> FloatArray:
    """Return float64 numbers, if they are finite in all these dtypes too."""
    try:
        numbers = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, got dtype {values.dtype}") from error
    dtype = min(dtypes, key=lambda dtype: dtype.itemsize)
    finite = np.abs(numbers) <= np.finfo(dtype).max
    if not finite.all():
        at = tuple(np.argwhere(~finite)[0].tolist())
        place = ", ".join(map(str, at))
        raise ValueError(f"{name}[{place}] is {numbers[at]}, which is not finite in {dtype}")
    return numbers


def _naming_job(error: Exception, position: int, n_jobs: int) -> Exception:
    """Return an error that says which of several jobs it is about."""
    return error if n_jobs == 1 else type(error)(f"job {position}: {error}")


def _prepare(
    job: TrainingJob,
    data: _Data,
    held_out: _Data | None,
    scaling: OffsetAndFactor | None,
    task: _Task,
) -> _core.Job:
    rows = weight = val_rows = val_weight = None
    if job.rows is not None:
        rows = _as_positions(job.rows, "rows", data.n_rows)
    if job.sample_weight is not None or data.weight is not None:
        weight = _weights_of(job.sample_weight, "sample_weight", rows, data, task)
    judged = data if held_out is None else held_out
    if job.validation_rows is not None:
        val_rows = _as_positions(job.validation_rows, "validation_rows", judged.n_rows)
    if held_out is not None or val_rows is not None:
        val_weight = _weights_of(
            job.validation_weight, "validation_weight", val_rows, judged, task, held_out is not None
        )
        if val_weight is not None and not val_weight.any():
            name = "w_val" if job.validation_weight is None else "validation_weight"
            raise ValueError(f"{name} is zero for all rows: give some row a positive weight")
    target_scaling, state, allowed = job.target_scaling, job.optimizer_state, job.may_move_to
    return _core.Job(
        tree=job.tree.core,
        settings=job.settings.for_core,
        seed=job.seed,
        rows=rows,
        sample_weight=weight,
        validation_rows=val_rows,
        validation_weight=val_weight,
        input_scaling=scaling and _pair(scaling, job.tree.n_inputs, "input_scaling"),
        target_scaling=target_scaling and _pair(target_scaling, None, "target_scaling"),
        optimizer_state=state and (state.values, state.step),
        may_move_to=None if allowed is None else np.asarray(allowed, dtype=np.uint8),
        signs=job.signs,
    )


def _weights_of(
    weight: ArrayLike | None,
    name: str,
    rows: IntArray | None,
    data: _Data,
    task: _Task,
    inherits: bool = True,
) -> FloatArray | None:
    """Return the weights of the rows of a job: its own, or those of the table if it `inherits`."""
    if weight is not None:
        if rows is None:
            return _as_weights(weight, name, data.n_rows, task)
        return _as_weights(weight, name, rows.size, task, "the job")
    if data.weight is None or not inherits:
        return None
    return data.weight if rows is None else data.weight[rows]


def _as_positions(rows: ArrayLike, name: str, n_rows: int) -> IntArray:
    positions = np.asarray(rows)
    if positions.size == 0:
        raise ValueError(f"{name} is empty: give at least one row")
    if positions.dtype.kind not in "iu":
        raise TypeError(f"{name} must be positions (integers), got dtype {positions.dtype}")
    if positions.ndim != 1:
        raise ValueError(f"{name} must have one dimension, it has {positions.ndim}")
    known = (positions >= 0) & (positions < n_rows)
    if not known.all():
        at = int(np.argmin(known))
        raise ValueError(f"{name}[{at}] is {positions[at]}, rows run from 0 to {n_rows - 1}")
    return np.ascontiguousarray(positions, dtype=np.int32)


def _pair(scaling: OffsetAndFactor, size: int | None, name: str) -> tuple[FloatArray, FloatArray]:
    """Return offsets and factors as arrays, one number for each of `size` columns."""
    pair = [np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in scaling]
    for what, part in zip(("offset", "factor"), pair, strict=True):
        if not np.isfinite(part).all():
            raise ValueError(f"{name}: {what} has a value that is not finite")
        if size is not None and part.size not in (1, size):
            raise ValueError(f"{name} needs one offset and one factor for each of {size} inputs")
    if size is not None:
        pair = [np.ascontiguousarray(np.broadcast_to(part, (size,))) for part in pair]
    return pair[0], pair[1]
