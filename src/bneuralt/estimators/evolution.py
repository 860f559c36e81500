"""Base class of estimators that search for a structure: search, Pareto front, choice of a model.

`evolved` has trees that are evolved and trained; other distributions have further subclasses. A
subclass defines `_n_steps`, `_new_search` and `_front_of`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.callbacks import Report, Step
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import Scaling, fold
from bneuralt.evolve.checkpoint import CheckpointError, read_checkpoint
from bneuralt.evolve.search_loop import GenerationState, run_search
from bneuralt.tree import NeuralTree

__all__ = ["EvolutionEstimator", "FrontModel"]


@dataclass(frozen=True, eq=False)
class FrontModel:
    """A model of a Pareto front: no other model is both smaller and better.

    Attributes
    ----------
    n_weights, size : int
        Number of weights, and of nodes.
    score : float
        Accuracy or r2 on validation rows: those of the folds (evolved trees) or those passed to
        `fit`; on the training rows where there are none. The search selected trees by these rows,
        so scores on new rows are lower.
    standard_error : float
        Standard error of the score.
    model : estimator
        A fitted estimator with this tree.
    """

    n_weights: int
    size: int
    score: float
    standard_error: float
    model: Any

    def __repr__(self) -> str:
        return (
            f"FrontModel(n_weights={self.n_weights}, size={self.size}, score={self.score:.4f}, "
            f"standard_error={self.standard_error:.4f})"
        )


@dataclass(frozen=True, eq=False)
class Entry:
    """A tree of a front as the search returns it, with its outputs for each scoring row."""

    tree: NeuralTree
    outputs: FloatArray


class EvolutionEstimator(NeuralTreeEstimator):
    """Base class of estimators that search for a structure."""

    tree_: NeuralTree
    pareto_front_: list[FrontModel]
    n_iter_: int
    best_epoch_: int | None
    _input_scaling: Scaling | None
    _target_scaling: Scaling | None

    # parameters of the other estimators
    monotonic_cst: ClassVar[None] = None
    interaction_cst: ClassVar[None] = None
    warm_start: ClassVar[bool] = False
    quantiles: ClassVar[tuple[float, ...]] = (0.5,)
    conformal: ClassVar[None] = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")

    @property
    def n_parameters_(self) -> int:
        """Number of weights of the tree."""
        return self.tree_.n_parameters

    @property
    def _trees(self) -> list[NeuralTree]:
        return [self.tree_]

    def _step(self, rows: Rows) -> Step:
        return Step("generation", self._n_steps(), describe_generation)

    def _fit_rows(self, rows: Rows, validation: Rows | None, report: Report | None) -> None:
        self._refuse_constant(rows)
        search = self._new_search(rows, validation)
        depends_on = self._depends_on(rows, validation)
        if self.checkpoint is not None:
            state = read_checkpoint(self.checkpoint, depends_on)
            if state is not None:
                self._restore(search, state)

        def report_generation(state: GenerationState) -> bool:
            assert report is not None
            return report(state, state.error, lambda: {"tree_": self._fold(search.best_tree())})

        try:
            run_search(search, report_generation if report else None, self.checkpoint, depends_on)
        finally:  # the result up to now is kept, also after Ctrl-C
            if search.n_done:
                self._keep(search, rows, validation)

    def _keep(self, search: Any, rows: Rows, validation: Rows | None) -> None:
        """Create a model for each tree of the front of a search, and choose one of them."""
        scoring_rows = self._scoring_rows(rows) if validation is None else validation
        entries, best = self._front_of(search, scoring_rows)
        scores = [self._score_entry(entry, scoring_rows) for entry in entries]
        choice = best
        if self.choose == "one_standard_error":
            least = scores[best][0] - scores[best][1]
            choice = next(i for i, (score, _) in enumerate(scores) if score >= least)
        self.n_iter_, self.best_epoch_ = max(1, search.n_done), None
        bare = copy(self)
        bare.__dict__.pop("pareto_front_", None)
        trees = [self._fold(entry.tree) for entry in entries]
        self.pareto_front_ = [
            FrontModel(tree.n_parameters, tree.size, *score, bare._with_trees([tree]))
            for tree, score in zip(trees, scores, strict=True)
        ]
        self.tree_ = self.pareto_front_[choice].model.tree_

    def _with_trees(
        self, trees: Sequence[NeuralTree], trained: Sequence[NeuralTree] | None = None
    ) -> Self:
        other = copy(self)
        other._set_trees(trees)
        return other

    def _set_trees(self, trees: Sequence[NeuralTree]) -> None:
        self.tree_ = trees[0]

    def _score_entry(self, entry: Entry, rows: Rows) -> tuple[float, float]:
        """Return accuracy or r2, and its standard error."""
        quality = self._row_qualities(entry.outputs, rows)
        share = rows.weight / rows.weight.sum()
        score = float(quality @ share)
        # standard error of a weighted mean of independent rows
        error = float(np.sqrt(np.square(share) @ np.square(quality - score)))
        return score, error

    def _row_qualities(self, outputs: FloatArray, rows: Rows) -> FloatArray:
        """Return a number for each row whose mean is the accuracy, or r2."""
        if rows.y.dtype.kind == "i":
            return (outputs.argmax(axis=1) == rows.y).astype(np.float64)
        if getattr(self, "multilabel_", False):
            right: FloatArray = ((outputs > 0) == (rows.y > 0.5)).mean(axis=1)
            return right
        target = self._scaled_target(rows).reshape(len(rows), -1)
        unit = self._error_unit(target, rows.weight)
        return 1.0 - np.square(outputs - target).mean(axis=1) / unit

    def _scaled_target(self, rows: Rows) -> Array:
        target: Array = rows.y
        if self._target_scaling is None or rows.y.dtype.kind == "i":
            return target
        return self._target_scaling.apply(target)

    def _fold(self, tree: NeuralTree) -> NeuralTree:
        return fold(tree, self._input_scaling, self._output_scaling())

    def _refuse_constant(self, rows: Rows) -> None:
        if rows.y.dtype.kind == "f" and not np.ptp(rows.y, axis=0).any():
            n_rows = f"all {len(rows)} rows" if len(rows) > 1 else "the only row (n_samples=1)"
            raise ValueError(
                f"y is constant, {np.ravel(rows.y)[0]:g} in {n_rows}: there is nothing to search "
                "for; pass rows of different targets"
            )

    # -- checkpoints ---------------------------------------------------------------------

    def _depends_on(self, rows: Rows, validation: Rows | None) -> dict[str, Any]:
        """Return the data and settings that must be the same for a search to be continued."""
        digest = hashlib.sha256()
        for part in (rows, *([] if validation is None else [validation])):
            for array in (part.X, part.y, part.weight):
                digest.update(np.ascontiguousarray(array).tobytes())
        ignored = ("checkpoint", "n_jobs", "verbose", "choose", "n_ensemble", "growth", "training")
        settings = {
            name: repr(value) for name, value in self.get_params().items() if name not in ignored
        }
        return {"table": digest.hexdigest(), "estimator": type(self).__name__, **settings}

    def _restore(self, search: Any, state: dict[str, Any]) -> None:
        try:
            search.restore(state)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise CheckpointError(
                f"checkpoint={str(self.checkpoint)!r} cannot be continued, it is damaged: "
                f"{error!s:.200}. Delete the file to start anew"
            ) from None

    # -- defined by subclasses -----------------------------------------------------------

    def _n_steps(self) -> int:
        raise NotImplementedError

    def _new_search(self, rows: Rows, validation: Rows | None) -> Any:
        raise NotImplementedError

    def _scoring_rows(self, rows: Rows) -> Rows:
        """Return the rows on which the trees of the front are scored."""
        return rows

    def _front_of(self, search: Any, rows: Rows) -> tuple[Sequence[Entry], int]:
        """Return the trees of the front by their size, and the position of the best one."""
        raise NotImplementedError


def describe_generation(state: GenerationState, score: float) -> str:
    """Return one line about the last generation."""
    width = len(str(state.n_steps))
    return (
        f"generation {state.n_done:{width}d}/{state.n_steps}  error {state.error:.4f}  "
        f"{state.n_weights} weights  {state.seconds_left:.1f} s left"
    )
