"""`TrainingJob`, and the conversion of jobs and tables to objects of the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import CheckedTable, checked_table
from bneuralt.training.losses import Loss, check_targets
from bneuralt.training.results import OptimizerState
from bneuralt.training.settings import TrainingSettings
from bneuralt.tree.monotonic import Signs
from bneuralt.tree.neural_tree import AnyTree

__all__ = ["CheckedData", "OffsetAndFactor", "TargetReading", "TrainingJob", "core_job"]

#: Numbers are checked in parts of this many rows, so that no copy is as large as they are.
CHECKED_AT_ONCE = 2**20

#: (offset, factor): training uses `(value - offset) * factor`.
OffsetAndFactor = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """One tree to be trained by `train_many`, with the settings and rows of its training.

    Parameters
    ----------
    tree : NeuralTree or PlannedTree
        Structure and initial weights; its dtype is that of the computation. A planned tree is
        grown by the thread that trains it.
    settings : TrainingSettings
    seed : int
        Seed of the order of the rows.
    rows : int array, optional
        Positions of the rows to train on, in any order, possibly repeated; all rows by default.
    sample_weight : array, optional
        Weight of each of these rows; by default that of `train_many`, or 1.
    validation_rows : int array, optional
        Positions of validation rows, in the validation table if there is one, else in the table
        itself.
    validation_weight : array, optional
        Weight of each of the validation rows.
    input_scaling : tuple (offset, factor), optional
        The inputs of the tree are `(x - offset) * factor`; by default those of `train_many`.
    target_scaling : tuple (offset, factor), optional
        The outputs learn `(y - offset) * factor`.
    optimizer_state : OptimizerState, optional
        Continue where an earlier training ended.
    may_move_to : bool array of shape (n_inputs,) or (n_nodes, n_inputs), optional
        The inputs that leaves, or the leaves of each node, can move to; all by default.
    signs : Signs, optional
        Signs that weights must have (`bneuralt.tree.monotonic`): a weight that an update takes to
        the other side of 0 becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree, TrainingJob, TrainingSettings, train_many
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> tree = NeuralTree.random(1, max_depth=2, random_state=0)
    >>> settings = TrainingSettings(loss="squared_error", max_epochs=20)
    >>> jobs = [TrainingJob(tree, settings, rows=np.arange(start, 100, 2)) for start in (0, 1)]
    >>> [result.status for result in train_many(jobs, X, X[:, 0] ** 2)]
    ['completed', 'completed']
    """

    tree: AnyTree
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


class TargetReading(NamedTuple):
    """How targets are read, which is the same for all jobs that are trained together."""

    loss: Loss
    n_outputs: int
    dtypes: set[np.dtype[Any]]
    target_dtypes: set[np.dtype[Any]]  # scaled targets become float64 first

    @classmethod
    def of(cls, jobs: Sequence[TrainingJob]) -> TargetReading:
        """Return how targets are read for these jobs."""
        loss = jobs[0].settings.loss
        assert isinstance(loss, Loss)
        plain = {job.tree.dtype for job in jobs if job.target_scaling is None}
        dtypes = {job.tree.dtype for job in jobs}
        return cls(loss, jobs[0].tree.n_outputs, dtypes, plain or {np.dtype(np.float64)})


class CheckedData:
    """A table with targets and weights, checked."""

    def __init__(
        self,
        X: ArrayLike | CheckedTable,
        y: ArrayLike,
        weight: ArrayLike | None,
        reading: TargetReading,
        suffix: str = "",
    ) -> None:
        checked = checked_table(X, f"X{suffix}")
        table, lines = checked.X, checked.lines
        self.n_rows = len(table)
        self.core = _core.Data(
            table, _as_targets(y, f"y{suffix}", reading), None if lines is None else lines.core
        )
        self.weight = None
        if weight is not None:
            name = "w_val" if suffix else "sample_weight"
            self.weight = _as_weights(weight, name, len(table), reading)


def _as_targets(y: ArrayLike, name: str, reading: TargetReading) -> Array:
    target = np.asarray(y)
    compares, is_whole = reading.loss.compares, target.dtype.kind in "iub"
    if compares == "labels" and not is_whole:
        raise TypeError(f"{name} must be class numbers (integers), got dtype {target.dtype}")
    may_be_labels = compares == "either" and is_whole and reading.n_outputs > 1 and target.ndim == 1
    if compares == "labels" or may_be_labels:
        if target.ndim != 1:
            raise ValueError(f"{name} must have one dimension, it has {target.ndim}")
        valid = (target >= 0) & (target < reading.n_outputs)
        if not valid.all():
            at = int(np.argmin(valid))
            raise ValueError(
                f"{name}[{at}] is {target[at]}, but classes run from 0 to {reading.n_outputs - 1}"
            )
        return np.ascontiguousarray(target, dtype=np.int32)
    if target.ndim not in (1, 2):
        raise ValueError(f"{name} must have one dimension, or two, it has {target.ndim}")
    numbers = _as_numbers(target, name, reading.target_dtypes)
    check_targets(numbers, reading.loss, name)
    return numbers


def _as_weights(
    weight: ArrayLike, name: str, n_rows: int, reading: TargetReading, rows: str = "X"
) -> FloatArray:
    numbers = _as_numbers(np.asarray(weight), name, reading.dtypes)
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
    for start in range(0, len(numbers), CHECKED_AT_ONCE):
        finite = np.abs(numbers[start : start + CHECKED_AT_ONCE]) <= np.finfo(dtype).max
        if not finite.all():
            first, *rest = np.argwhere(~finite)[0].tolist()
            at = start + first, *rest
            place = ", ".join(map(str, at))
            raise ValueError(f"{name}[{place}] is {numbers[at]}, which is not finite in {dtype}")
    return numbers


def core_job(
    job: TrainingJob,
    data: CheckedData,
    held_out: CheckedData | None,
    scaling: OffsetAndFactor | None,
    reading: TargetReading,
) -> _core.Job:
    """Return a job of the core, after all checks that need the table."""
    rows = weight = val_rows = val_weight = None
    if job.rows is not None:
        rows = _as_positions(job.rows, "rows", data.n_rows)
    if job.sample_weight is not None or data.weight is not None:
        weight = _weights_of(job.sample_weight, "sample_weight", rows, data, reading)
    validation = data if held_out is None else held_out
    if job.validation_rows is not None:
        val_rows = _as_positions(job.validation_rows, "validation_rows", validation.n_rows)
    if held_out is not None or val_rows is not None:
        val_weight = _weights_of(
            job.validation_weight,
            "validation_weight",
            val_rows,
            validation,
            reading,
            held_out is not None,
        )
        if val_weight is not None and not val_weight.any():
            name = "w_val" if job.validation_weight is None else "validation_weight"
            raise ValueError(
                f"{name} is zero for all rows: at least one row needs a positive weight"
            )
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
        may_move_to=None if allowed is None else np.ascontiguousarray(allowed, dtype=np.uint8),
        signs=job.signs,
    )


def _weights_of(
    weight: ArrayLike | None,
    name: str,
    rows: IntArray | None,
    data: CheckedData,
    reading: TargetReading,
    inherits: bool = True,
) -> FloatArray | None:
    """Return the weights of the rows of a job, by default those of the table if it `inherits`."""
    if weight is not None:
        if rows is None:
            return _as_weights(weight, name, data.n_rows, reading)
        return _as_weights(weight, name, rows.size, reading, "the job")
    if data.weight is None or not inherits:
        return None
    return data.weight if rows is None else data.weight[rows]


def _as_positions(rows: ArrayLike, name: str, n_rows: int) -> IntArray:
    positions = np.asarray(rows)
    if positions.size == 0:
        raise ValueError(f"{name} is empty: it needs at least one row")
    if positions.dtype.kind not in "iu":
        raise TypeError(f"{name} must be positions (integers), got dtype {positions.dtype}")
    if positions.ndim != 1:
        raise ValueError(f"{name} must have one dimension, it has {positions.ndim}")
    valid = (positions >= 0) & (positions < n_rows)
    if not valid.all():
        at = int(np.argmin(valid))
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
        pair = [
            np.ascontiguousarray(part if part.size == size else np.broadcast_to(part, (size,)))
            for part in pair
        ]
    return pair[0], pair[1]
