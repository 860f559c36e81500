"""Training of the trees of an estimator: several starts each, all in one call of the core."""

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
from bneuralt.tree import NeuralTree
from bneuralt.tree.joining import mean_tree
from bneuralt.tree.monotonic import Signs
from bneuralt.warnings import warn_user

__all__ = ["FitBatch", "TreeFit"]

#: Number of targets of a table on disk from which the unit of its errors is computed.
SUFFICIENT_TARGETS = 2**20


@dataclass
class TreeFit:
    """One tree of an estimator, trained from one or more starts: the best of them, or their mean.

    Parameters
    ----------
    starts : list of NeuralTree
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
    """

    starts: list[NeuralTree]
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
    def best(self) -> int:
        """Position of the start to keep: the lowest final loss among those that are done."""
        losses = [self._final_loss(result) for result in self.results]
        return int(np.argmin(losses))

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
        best = self.best
        if not self.is_mean:
            return [best]
        n_epochs = self.results[best].n_epochs
        for result in self.results:
            if self._final_loss(result) < inf:
                n_epochs = max(n_epochs, result.n_epochs)
        return [
            i
            for i, result in enumerate(self.results)
            if i == best or (self._final_loss(result) < inf and result.n_epochs == n_epochs)
        ]

    @property
    def tree(self) -> NeuralTree:
        """The tree to keep, with the factor in its outputs, and with the linear part."""
        tree = mean_tree([self.results[i].tree for i in self.kept])
        if self.output_factor != 1.0:
            tree = tree.with_output_scaling(0.0, self.output_factor)
        return tree if self.linear is None else self.linear.added_to(tree, self.linear_share)

    def _final_loss(self, result: TrainingResult | None) -> float:
        """Return the loss of the weights that were kept; infinite if they diverged."""
        if result is None:
            return inf
        losses = result.history["val_loss" if self.settings.select else "train_loss"]
        if result.status in ("diverged", "interrupted") or losses.size == 0:
            return inf
        return float(losses[-1 if result.best_epoch is None else result.best_epoch])

    def history(self, error_unit: Callable[[Array, FloatArray], float]) -> dict[str, Array]:
        """Return the loss, score and learning rate of each epoch: means over the starts kept.

        Parameters
        ----------
        error_unit : callable
            Returns the error of the best constant, from targets and weights. A score is 1 minus
            the error divided by this unit.
        """
        kept = [self._curves(i) for i in self.kept]
        figures = {name: np.mean([h[name] for h in kept], axis=0) for name in kept[0]}
        history = {}
        for kind, rows in {"train": self.rows, "val": self.validation}.items():
            if rows is not None:
                unit = self.error_unit(rows, error_unit)
                history[f"{kind}_loss"] = figures[f"{kind}_loss"]
                history[f"{kind}_score"] = 1.0 - figures[f"{kind}_error"] / unit
        return {**history, "learning_rate": figures["learning_rate"]}

    def _curves(self, i: int) -> dict[str, Array]:
        """Return the figures of all epochs of a start."""
        curves: dict[str, Array] = self.results[i].history
        if not self.earlier:
            return curves
        before = self.earlier[i].history
        return {name: np.concatenate([before[name], curve]) for name, curve in curves.items()}

    @property
    def n_epochs(self) -> int:
        """Number of epochs of the result to keep."""
        return self.result.n_epochs + (self.earlier[self.best].n_epochs if self.earlier else 0)

    def moved_leaves(self) -> tuple[IntArray, IntArray]:
        """Return the inputs that leaves were moved to, and the new inputs of those that moved."""
        parts = [[self.results[i], *self.earlier[i : i + 1]] for i in self.kept]
        tried = [part.moves[:, 3] for results in parts for part in results]
        starts = [results[-1].start for results in parts]
        start = np.concatenate([tree.leaf_input for tree in starts])
        end = np.concatenate([self.results[i].tree.leaf_input for i in self.kept])
        return np.concatenate(tried), end[end != start]

    def error_unit(self, rows: Rows, of_targets: Callable[[Array, FloatArray], float]) -> float:
        """Return the error of the best constant, on the scale of the outputs of the tree.

        That of a large table on disk is computed from some of its rows, at equal distances.
        """
        step = -(-len(rows) // SUFFICIENT_TARGETS) if rows.on_disk else 1
        return of_targets(self._scaled(rows.y[::step]), rows.weight[::step])

    def scaled_target(self, rows: Rows) -> FloatArray:
        """Return the target of rows on the scale of the outputs of the tree."""
        return self._scaled(rows.y)

    def _scaled(self, target: FloatArray) -> FloatArray:
        return target if self.target_scaling is None else self.target_scaling.apply(target)


class FitBatch:
    """Trees that are trained in one call of the core.

    Parameters
    ----------
    fits : iterable of TreeFit
        All on the table of the same rows. An iterator is asked for the next one when a thread
        becomes free, so that drawing trees and training them overlap.
    n_starts : int
        Number of starts of all trees together.

    Attributes
    ----------
    fits : list of TreeFit
        Those whose training has begun, with their results.
    """

    def __init__(self, fits: Iterable[TreeFit], n_starts: int) -> None:
        self.fits: list[TreeFit] = []
        self._pending, self._n_starts = fits, n_starts
        self._owner: list[tuple[int, int]] = []  # fit and start of each job

    def jobs(self) -> Iterator[TrainingJob]:
        """Yield the jobs of the starts of one tree after the other."""
        for i, fit in enumerate(self._pending):
            fit.results = [None] * len(fit.starts)
            self.fits.append(fit)
            for k, job in enumerate(fit.jobs):
                self._owner.append((i, k))
                yield job

    def train(
        self,
        rows: Rows,
        validation: Rows | None,
        n_threads: int,
        callback: Callable[[EpochState], Any] | None = None,
        progress: Callable[[int], Any] | None = None,
    ) -> None:
        """Train all trees, and leave the results in `fits`.

        Parameters
        ----------
        rows : Rows
            Rows of the table that all trees are trained on.
        validation : Rows or None
            Validation rows of a table of their own, the same for all trees.
        n_threads : int
        callback : callable, optional
            Called after each epoch of each start.
        progress : callable, optional
            Called with the position of each tree that is done; a true value ends the training.

        Raises
        ------
        TrainingInterrupted
            On Ctrl-C; the results up to then are kept.
        """
        held_out = None
        if validation is not None:
            held_out = validation.checked_table, validation.target, validation.sample_weight

        def job_done(job: int, result: TrainingResult) -> bool:
            i, k = self._owner[job]
            self.fits[i].results[k] = result
            is_done = None not in self.fits[i].results
            return progress is not None and is_done and bool(progress(i))

        try:
            results = train_many(
                self.jobs(),
                rows.checked_table,
                rows.target,
                validation=held_out,
                n_threads=n_threads,
                callback=callback,
                progress=None if progress is None else job_done,
                n_expected=self._n_starts,
            )
        except TrainingInterrupted as interruption:
            self._store_results(interruption.results)
            raise
        self._store_results(results)
        self._warn_of_divergence()

    def _store_results(self, results: Sequence[TrainingResult]) -> None:
        for (i, k), result in zip(self._owner, results, strict=False):
            self.fits[i].results[k] = result

    def _warn_of_divergence(self) -> None:
        n_diverged = sum(fit.result.status == "diverged" for fit in self.fits if fit.is_done)
        if n_diverged:
            which = "the weights" if len(self.fits) == 1 else f"the weights of {n_diverged} trees"
            warn_user(
                f"{which} overflowed; the best finite weights before that were kept. A smaller "
                "learning_rate or a clip_norm helps",
                TrainingDiverged,
            )
