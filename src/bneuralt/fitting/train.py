"""Training of trees: several starts each, all in one call of the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.fitting.linear import LinearPart
from bneuralt.fitting.rows import Rows
from bneuralt.model.scaling import Scaling
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
from bneuralt.training.results import HISTORY
from bneuralt.tree import NeuralTree
from bneuralt.tree.joining import mean_tree
from bneuralt.tree.monotonic import Signs
from bneuralt.tree.neural_tree import AnyTree
from bneuralt.warnings import warn_user

__all__ = ["TreeFit", "train_fits"]

#: Number of targets of a table on disk from which the unit of its errors is computed.
SUFFICIENT_TARGETS = 2**20


@dataclass
class TreeFit:
    """One tree of an estimator, trained from one or more starts: the best of them, or their mean.

    Parameters
    ----------
    starts : list of NeuralTree or PlannedTree
        Trees to be trained.
    rows : Rows
        The examples of an epoch.
    validation : Rows or None
        Rows of the same table, or of another one.
    settings : TrainingSettings
    seed : int
    input_scaling, target_scaling : Scaling or None
    optimizer_state : OptimizerState, optional
        State of the optimizer to continue from.
    may_move_to : list of bool arrays, optional
        The inputs that the leaves of each start may move to; see `TrainingJob`.
    signs : list of Signs, optional
        Signs that the weights of each start must keep.
    whole : Rows, optional
        All rows of the tree, of which some may have been held out for validation.
    output_factor : float
        Factor of the outputs of the trained tree.
    linear : LinearPart or None
        Linear function of the inputs that is added to the outputs.
    linear_share : float
        Its factor.
    is_mean : bool
        Whether the tree is the mean of all starts, and not the best of them.
    earlier : list of TrainingResult
        The training of each start before this one, as in a trial; may be empty.
    units : dict
        The unit of errors of rows, once it is known; the trees of a forest share it.
    """

    starts: list[AnyTree]
    rows: Rows
    validation: Rows | None
    settings: TrainingSettings
    seed: int
    input_scaling: Scaling | None
    target_scaling: Scaling | None
    optimizer_state: OptimizerState | None = None
    may_move_to: list[Array] | None = None
    signs: list[Signs] | None = None
    whole: Rows | None = None
    output_factor: float = 1.0
    linear: LinearPart | None = None
    linear_share: float = 0.0
    is_mean: bool = False
    earlier: list[TrainingResult] = field(default_factory=list)
    units: dict[Rows, float] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)  # None until a start has been trained

    @property
    def jobs(self) -> list[TrainingJob]:
        """One job for each start."""
        held_out = self.validation if self.validation_is_in_table else None
        return [
            TrainingJob(
                start,
                self.settings,
                self.seed + i,
                rows=self.rows.index,
                sample_weight=self.rows.sample_weight,
                validation_rows=None if held_out is None else held_out.index,
                validation_weight=None if held_out is None else held_out.sample_weight,
                input_scaling=self.input_scaling,
                target_scaling=self.target_scaling,
                optimizer_state=self.optimizer_state,
                may_move_to=None if self.may_move_to is None else self.may_move_to[i],
                signs=None if self.signs is None else self.signs[i],
            )
            for i, start in enumerate(self.starts)
        ]

    @property
    def each_start(self) -> list[TreeFit]:
        """A fit of each start alone."""
        return [
            replace(
                self,
                starts=[start],
                seed=self.seed + i,
                may_move_to=None if self.may_move_to is None else [self.may_move_to[i]],
                signs=None if self.signs is None else [self.signs[i]],
                is_mean=False,
                results=[],
            )
            for i, start in enumerate(self.starts)
        ]

    @property
    def validation_is_in_table(self) -> bool:
        """Whether the validation rows were held out of the training rows."""
        return self.validation is not None and self.validation.table is self.rows.table

    @property
    def is_done(self) -> bool:
        """Whether the training of all starts is complete."""
        return bool(self.results) and all(
            result is not None and result.status != "interrupted" for result in self.results
        )

    @property
    def losses(self) -> list[float]:
        """The loss of the weights of each start that were kept; infinite if it is not done."""
        name = "val_loss" if self.settings.select else "train_loss"
        losses = []
        for result in self.results:
            losses.append(inf)
            if result is None or result.status in ("diverged", "interrupted"):
                continue
            curve, best = result.history[name], result.best_epoch
            if curve.size:
                losses[-1] = float(curve[-1 if best is None else best])
        return losses

    @property
    def best(self) -> int:
        """Position of the start to keep: the lowest final loss among those that are done."""
        return int(np.argmin(self.losses)) if len(self.results) > 1 else 0

    @property
    def result(self) -> TrainingResult:
        """The result to keep."""
        result: TrainingResult = self.results[self.best]
        return result

    @property
    def kept(self) -> list[int]:
        """Positions of the starts that the tree consists of.

        The best one, or all that are done; if the training was stopped, those of most epochs.
        """
        if not self.is_mean:
            return [self.best]
        done = [i for i, loss in enumerate(self.losses) if loss < inf]
        if not done:
            return [self.best]
        n_epochs = max(self.results[i].n_epochs for i in done)
        return [i for i in done if self.results[i].n_epochs == n_epochs]

    @property
    def tree(self) -> NeuralTree:
        """The tree to keep, with the factor in its outputs, and with the linear part."""
        tree = mean_tree([self.results[i].tree for i in self.kept])
        if self.linear is not None and self.linear_share != 0.0:
            return self.linear.added_to(tree, self.linear_share, self.output_factor)
        if self.output_factor != 1.0:
            return tree.with_output_scaling(0.0, self.output_factor)
        return tree

    def history(self, error_unit: Callable[[Array, FloatArray], float]) -> dict[str, Array]:
        """Return the loss, score and learning rate of each epoch: means over the starts kept.

        Parameters
        ----------
        error_unit : callable
            Returns the error of the best constant, from targets and weights. A score is 1 minus
            the error divided by this unit.
        """
        parts = [[*self.earlier[i : i + 1], self.results[i]] for i in self.kept]
        curves = np.mean([np.concatenate([p.figures for p in each]) for each in parts], axis=0)
        figures = dict(zip(HISTORY, curves.T, strict=True))
        history = {}
        for kind, rows in {"train": self.rows, "val": self.validation}.items():
            if rows is not None:
                if rows not in self.units:
                    self.units[rows] = self.error_unit(rows, error_unit)
                unit = self.units[rows]
                history[f"{kind}_loss"] = figures[f"{kind}_loss"]
                history[f"{kind}_score"] = 1.0 - figures[f"{kind}_error"] / unit
        return {**history, "learning_rate": figures["learning_rate"]}

    @property
    def n_epochs(self) -> int:
        """Number of epochs of the result to keep."""
        first = self.kept[0]
        n_earlier = self.earlier[first].n_epochs if self.earlier else 0
        return int(self.results[first].n_epochs + n_earlier)

    def moved_leaves(self) -> tuple[IntArray, IntArray]:
        """Return the inputs that leaves were moved to, and the new inputs of those that moved."""
        parts = [[self.results[i], *self.earlier[i : i + 1]] for i in self.kept]
        tried = [part.moves[:, 3] for results in parts for part in results]
        start = np.concatenate([results[-1].start_inputs for results in parts])
        end = np.concatenate([self.results[i].tree.leaf_input for i in self.kept])
        return np.concatenate(tried), end[end != start]

    def error_unit(self, rows: Rows, of_targets: Callable[[Array, FloatArray], float]) -> float:
        """Return the error of the best constant, on the scale of the outputs of the tree.

        That of a large table on disk is computed from some of its rows, at equal distances.
        """
        step = -(-len(rows) // SUFFICIENT_TARGETS) if rows.on_disk else 1
        target = rows.y[::step]
        if self.target_scaling is not None:
            target = self.target_scaling.apply(target)
        return of_targets(target, rows.weight[::step])


def train_fits(
    fits: Iterable[TreeFit],
    rows: Rows,
    n_threads: int,
    *,
    validation: Rows | None = None,
    callback: Callable[[EpochState], Any] | None = None,
    progress: Callable[[int], Any] | None = None,
    n_starts: int | None = None,
) -> None:
    """Train trees in one call of the core, and leave the results in `fits`.

    Parameters
    ----------
    fits : iterable of TreeFit
        All on the table of the same rows. An iterator is asked for the next one when a thread
        becomes free, so that drawing trees and training them overlap.
    rows : Rows
        Rows of the table that all trees are trained on.
    n_threads : int
    validation : Rows, optional
        Validation rows of a table of their own, the same for all trees.
    callback : callable, optional
        Called after each epoch of each start.
    progress : callable, optional
        Called with the position of each tree that is done; a true value ends the training.
    n_starts : int, optional
        Number of starts of all trees together; by default that of a sequence.

    Raises
    ------
    TrainingInterrupted
        On Ctrl-C; the results up to then are kept.
    """
    if isinstance(fits, Sequence):
        n_starts = sum(len(fit.starts) for fit in fits)
    owners: list[tuple[int, TreeFit, int]] = []  # tree and start of each job

    def jobs() -> Iterator[TrainingJob]:
        for i, fit in enumerate(fits):
            fit.results = [None] * len(fit.starts)
            for k, job in enumerate(fit.jobs):
                owners.append((i, fit, k))
                yield job

    def job_done(job: int, result: TrainingResult) -> bool:
        i, fit, k = owners[job]
        fit.results[k] = result
        assert progress is not None
        return None not in fit.results and bool(progress(i))

    def store(results: Sequence[TrainingResult]) -> None:
        for (_, fit, k), result in zip(owners, results, strict=False):
            fit.results[k] = result

    held_out = None
    if validation is not None:
        held_out = validation.checked_table, validation.target, validation.sample_weight
    try:
        store(
            train_many(
                jobs(),
                rows.checked_table,
                rows.target,
                validation=held_out,
                n_threads=n_threads,
                callback=callback,
                progress=None if progress is None else job_done,
                n_expected=n_starts,
            )
        )
    except TrainingInterrupted as interruption:
        store(interruption.results)
        raise
    trained = {i: fit for i, fit, _ in owners if fit.is_done}
    n_diverged = sum(fit.result.status == "diverged" for fit in trained.values())
    if n_diverged:
        n_trees = len({i for i, _, _ in owners})
        which = "the weights" if n_trees == 1 else f"the weights of {n_diverged} trees"
        warn_user(
            f"{which} overflowed; the best finite weights before that were kept. A smaller "
            "learning_rate or a clip_norm helps",
            TrainingDiverged,
        )
