"""How the trees of an estimator are trained: several starts each, all in one call of the core."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.arrays import CheckedTable
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import Scaling
from bneuralt.training import (
    EpochState,
    OptimizerState,
    TrainingDiverged,
    TrainingInterrupted,
    TrainingJob,
    TrainingResult,
    TrainingSettings,
    train_many,
)
from bneuralt.tree import NeuralTree

__all__ = ["TreeFit", "train_fits"]


@dataclass
class TreeFit:
    """One tree of an estimator, trained from one or more starts; the one that learns best is kept.

    Parameters
    ----------
    starts : list of NeuralTree
        Trees to be trained.
    rows : Rows
        What an epoch goes over.
    validation : Rows or None
        Rows of the same table or, if `has_own_table`, of another one.
    settings : TrainingSettings
    seed : int
    input_scaling, target_scaling : Scaling or None
    optimizer_state : OptimizerState, optional
        Continue from here.
    """

    starts: list[NeuralTree]
    rows: Rows
    validation: Rows | None
    settings: TrainingSettings
    seed: int
    input_scaling: Scaling | None
    target_scaling: Scaling | None
    optimizer_state: OptimizerState | None = None
    results: list[Any] = field(default_factory=list)  # None until a start has been trained

    @property
    def jobs(self) -> list[TrainingJob]:
        """What the core is asked to do."""
        held_out = self.validation if self.validation_is_in_table else None
        return [
            TrainingJob(
                start,
                self.settings,
                self.seed,
                rows=self.rows.index,
                sample_weight=self.rows.sample_weight,
                validation_rows=None if held_out is None else held_out.index,
                validation_weight=None if held_out is None else held_out.sample_weight,
                input_scaling=self.input_scaling,
                target_scaling=self.target_scaling,
                optimizer_state=self.optimizer_state,
            )
            for start in self.starts
        ]

    @property
    def validation_is_in_table(self) -> bool:
        """Whether the validation rows were held out of the training rows."""
        return self.validation is not None and self.validation.table is self.rows.table

    @property
    def is_done(self) -> bool:
        """Whether all starts have been trained to their ends."""
        return bool(self.results) and all(
            result is not None and result.status != "interrupted" for result in self.results
        )

    @property
    def best(self) -> int:
        """Position of the start to keep: the lowest final loss among those that are done."""
        losses = [self._final_loss(result) for result in self.results]
        return int(np.argmin(losses))

    @property
    def result(self) -> TrainingResult:
        """The result to keep."""
        result: TrainingResult = self.results[self.best]
        return result

    def _final_loss(self, result: TrainingResult) -> float:
        """Return the loss of the weights that were kept; infinite if they diverged."""
        losses = result.history["val_loss" if self.settings.select else "train_loss"]
        if result.status in ("diverged", "interrupted") or losses.size == 0:
            return inf
        return float(losses[-1 if result.best_epoch is None else result.best_epoch])

    def scaled_target(self, rows: Rows) -> FloatArray:
        """Return the target of rows as the tree learns it."""
        target: FloatArray = rows.y
        return target if self.target_scaling is None else self.target_scaling.apply(target)


def train_fits(
    fits: Sequence[TreeFit],
    n_threads: int,
    callback: Callable[[EpochState], Any] | None = None,
    progress: Callable[[int], Any] | None = None,
) -> None:
    """Train all trees in one call, and leave the results in `TreeFit.results`.

    Parameters
    ----------
    fits : sequence of TreeFit
        All on rows of one table; validation rows of another table are the same for all.
    n_threads : int
    callback : callable, optional
        Called after each epoch of each start.
    progress : callable, optional
        Called with the position of each tree that is done; anything true ends the training.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; the results are as of then.
    """
    jobs = [job for fit in fits for job in fit.jobs]
    owner = [(i, k) for i, fit in enumerate(fits) for k in range(len(fit.starts))]
    n_left = [len(fit.starts) for fit in fits]
    for fit in fits:
        fit.results = [None] * len(fit.starts)

    def job_done(job: int, result: TrainingResult) -> bool:
        i, k = owner[job]
        fits[i].results[k] = result
        n_left[i] -= 1
        return progress is not None and n_left[i] == 0 and bool(progress(i))

    def hand_out(results: Sequence[TrainingResult]) -> None:
        for (i, k), result in zip(owner, results, strict=True):
            fits[i].results[k] = result

    base, held_out = fits[0].rows, fits[0].validation
    validation = None
    if held_out is not None and not fits[0].validation_is_in_table:
        validation = CheckedTable(held_out.table), held_out.target, held_out.sample_weight
    try:
        results = train_many(
            jobs,
            CheckedTable(base.table),
            base.target,
            validation=validation,
            n_threads=n_threads,
            callback=callback,
            progress=None if progress is None else job_done,
        )
    except TrainingInterrupted as interruption:
        hand_out(interruption.results)
        raise
    hand_out(results)
    n_diverged = sum(fit.result.status == "diverged" for fit in fits)
    if n_diverged:
        which = "the weights" if len(fits) == 1 else f"the weights of {n_diverged} trees"
        warnings.warn(
            f"{which} overflowed; the best finite weights before that were kept. A smaller "
            "learning_rate or a clip_norm helps",
            TrainingDiverged,
            stacklevel=2,
        )
