"""Scikit-learn estimators: forests, which average independently drawn and trained trees.

Every tree is a `BNeuralTClassifier` or `BNeuralTRegressor` with its own seed, so that the result
does not depend on the number of threads or on the order in which trees are finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from copy import copy
from dataclasses import fields, replace
from functools import partial
from math import nan
from typing import Any, ClassVar, Self

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.callbacks import ForestState, Report, Step, describe_forest
from bneuralt.estimators.capacity import IN_FOREST, ROWS_PER_TREE
from bneuralt.estimators.classification import ClassifierTask
from bneuralt.estimators.fitting import FitBatch, TreeFit
from bneuralt.estimators.nested import NestedParameters
from bneuralt.estimators.parameters import (
    ForestClassifierParameters,
    ForestParameters,
    ForestRegressorParameters,
    declared,
)
from bneuralt.estimators.parts import ClassifierInParts, RegressorInParts, TrainedInParts
from bneuralt.estimators.readable import READABLE
from bneuralt.estimators.regression import RegressorTask
from bneuralt.estimators.retraining import with_bent_leaves
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.single import BNeuralTClassifier, BNeuralTRegressor, SingleTree
from bneuralt.estimators.spreading import active_backend, aligned, over_workers
from bneuralt.estimators.trials import USUAL, Choice, choose
from bneuralt.expressions import evaluate
from bneuralt.shrinking import WEIGHTS, BentLeaves, SizeUnit
from bneuralt.tree import NeuralTree

__all__ = ["BNeuralForestClassifier", "BNeuralForestRegressor"]


#: Number of rows of a table on disk that are scored by the trees that were trained without them.
MOST_OUT_OF_BAG = 100_000


class Forest(TrainedInParts, NestedParameters, NeuralTreeEstimator, ForestParameters):
    """Base class of forests."""

    _tree_type: ClassVar[type[SingleTree]]
    _holds_many_trees: ClassVar[bool] = True
    _reads_blocks: ClassVar[bool] = True
    estimators_: list[SingleTree]

    def _validate_params(self) -> None:
        super()._validate_params()
        if isinstance(self.n_weights, str) and self.n_weights == READABLE:
            raise ValueError(
                f"n_weights='readable' is for a single tree, and {type(self).__name__} has "
                f"several: use {self._tree_type.__name__}, or another n_weights"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    @property
    def n_parameters_(self) -> int:
        """Number of trainable weights of all trees together."""
        return sum(member.n_parameters_ for member in self.estimators_)

    @property
    def n_iter_(self) -> int:
        """Number of epochs of the tree that was trained longest."""
        return max(member.n_iter_ for member in self.estimators_)

    @property
    def history_(self) -> dict[str, Array]:
        """Loss, score and learning rate of each epoch of each tree, concatenated."""
        histories = [getattr(member, "history_", {}) for member in self.estimators_]
        if not all(histories):
            raise AttributeError(
                f"this {type(self).__name__} has no history_: it was loaded from a file, and files "
                "of forests hold none"
            )
        n_epochs = [len(history["train_loss"]) for history in histories]
        columns = {
            "tree": np.repeat(np.arange(len(histories)), n_epochs),
            "epoch": np.concatenate([np.arange(n) for n in n_epochs]),
        }
        for name in dict.fromkeys(name for history in histories for name in history):
            curves = [
                history.get(name, np.full(n, nan))
                for history, n in zip(histories, n_epochs, strict=True)
            ]
            columns[name] = np.concatenate(curves)
        return columns

    def _step(self, rows: Rows) -> Step:
        n_before = len(self.estimators_) if self._is_warm_start() else 0
        return Step("tree", self.n_estimators - n_before, describe_forest)

    # -- training ------------------------------------------------------------------------

    def _fit_rows(self, rows: Rows, validation: Rows | None, report: Report | None) -> None:
        old = list(self.estimators_) if self._is_warm_start() else []
        if self.n_estimators < len(old):
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(old)} trees that are "
                "there already, and warm_start=True only adds trees"
            )
        seed = self._draw_seed()
        new = self._new_members(seed, len(old), choose(self, rows, seed))
        if self.max_weights is not None:
            WEIGHTS.check(self.max_weights, self._n_outputs())
        try:
            self._train(new, rows, validation, report)
            for member in _trained(new):
                self._shrink(member, rows)
        finally:  # finished trees are kept, also after Ctrl-C
            if done := old + _trained(new):
                self.estimators_ = done
        if self._draws_rows(rows.n_separate):
            self._score_out_of_bag(rows.separate)

    def _shrink(self, member: SingleTree, rows: Rows) -> None:
        """Remove idle branches of a trained member, and as many weights as `max_weights` says."""
        if self._has_automatic_size:
            member._remove_idle(rows)
        member._remove_weights(self._sample(rows, member.random_state))

    def _trial_tree(self, seed: int, rows: Rows, share: float, ramp_share: float) -> SingleTree:
        """Return an unfitted member with a share of its weights."""
        member: SingleTree = self._new_member(seed, Choice(ramp_share=ramp_share))
        self._prepare(member, rows)
        return member._with_share_of_weights(rows, share)

    def _new_members(
        self, seed: int, n_before: int = 0, choice: Choice = USUAL
    ) -> list[SingleTree]:
        """Return unfitted trees, as many as are missing."""
        children = np.random.SeedSequence(seed).spawn(self.n_estimators)[n_before:]
        seeds = [int(child.generate_state(1)[0]) for child in children]
        return [self._new_member(child, choice) for child in seeds]

    def _new_member(self, seed: int | None, choice: Choice = USUAL) -> Any:
        """Return an unfitted tree with the parameters and the features of the forest."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self._tree_type)}
        parameters |= {"random_state": seed, "warm_start": False, "n_jobs": None, "verbose": 0}
        member = self._tree_type(**parameters)
        member._choice = choice
        self._pass_on(member)
        return member

    def _train(
        self,
        members: list[SingleTree],
        rows: Rows,
        validation: Rows | None,
        report: Report | None,
    ) -> None:
        """Train the members; an interrupted training leaves some of them without a tree."""
        started, n_done = time.perf_counter(), 0

        def report_tree() -> bool:
            nonlocal n_done
            assert report is not None
            n_done += 1
            state = ForestState(n_done, len(members), time.perf_counter() - started)
            return report(state, nan, lambda: {"estimators_": _trained(members)})

        on_tree = report_tree if report else None
        backend = active_backend(self.n_jobs) if len(members) > 1 else None
        if backend is None:
            self._train_here(members, rows, validation, on_tree)
        else:
            self._train_over_workers(backend, members, rows, validation, on_tree)

    def _train_over_workers(
        self,
        backend: Any,
        members: list[SingleTree],
        rows: Rows,
        validation: Rows | None,
        report_tree: Callable[[], bool] | None,
    ) -> None:
        """Train each member in a worker of a joblib backend."""
        forest = self._new_copy()
        held_out: list[Array | None] = [None] * 3
        if validation is not None:
            held_out = [validation.table, validation.target, validation.weight]
        arrays = [rows.table, rows.target, rows.weight, rows.index, rows.copies, *held_out]
        train = partial(_train_member, forest, rows.times, rows.on_disk)
        results = over_workers(backend, self.n_jobs, train, members, arrays)
        with closing(results):
            for i, trained in results:
                members[i].__dict__.update(trained.__dict__)
                if report_tree is not None and report_tree():
                    break

    def _new_copy(self) -> Self:
        """Return a forest with the same parameters and features, without trees."""
        forest = type(self)(**{**self.get_params(deep=False), "n_jobs": 1, "verbose": 0})
        self._pass_on(forest)
        return forest

    def _train_here(
        self,
        members: list[SingleTree],
        rows: Rows,
        validation: Rows | None,
        report_tree: Callable[[], bool] | None = None,
    ) -> None:
        """Train all members in this process.

        Rows that are drawn for a tree take memory until all trees of a batch are done, so on large
        tables a batch has only as many trees as there are threads.
        """
        size = self._n_threads() if len(rows) > ROWS_PER_TREE else max(1, len(members))
        for start in range(0, len(members), size):
            if self._train_batch(members[start : start + size], rows, validation, report_tree):
                return

    def _train_batch(
        self,
        members: list[SingleTree],
        rows: Rows,
        validation: Rows | None,
        report_tree: Callable[[], bool] | None,
    ) -> bool:
        """Train some members in this process; return whether `report_tree` has ended it."""
        is_over = False
        fits = (self._plan_member(member, rows, validation) for member in members)
        batch = FitBatch(fits, len(members) * self._growth.n_init)

        def keep_and_report(i: int) -> bool:
            nonlocal is_over
            assert report_tree is not None
            members[i]._keep(batch.fits[i])
            is_over = report_tree()
            return is_over

        reports = keep_and_report if report_tree else None
        try:
            batch.train(rows, validation, self._n_threads(), progress=reports)
        finally:
            pairs = zip(members, batch.fits, strict=False)
            done = [(member, fit) for member, fit in pairs if fit.is_done]
            for member, fit in done:
                if not hasattr(member, "tree_"):
                    member._keep(fit)
        self._refit(done, rows)
        return is_over

    def _plan_member(self, member: SingleTree, rows: Rows, validation: Rows | None) -> TreeFit:
        """Draw the rows and the features of a member, and plan its training."""
        sample = self._sample(rows, member.random_state)
        self._prepare(member, sample)
        return member._plan(sample, validation)

    def _prepare(self, member: SingleTree, sample: Rows) -> None:
        """Choose the features, the size and the weight decay of a member for its rows."""
        features = self._draw_features(member.random_state)
        if features is not self._growth.feature_sampling:
            member.set_params(growth__feature_sampling=features)
        member.n_weights = member._n_weights(sample, IN_FOREST)
        member.weight_decay = member._weight_decay(sample, IN_FOREST)
        if self.training is not None:
            member.set_params(training__weight_decay="auto")  # which must not be given twice

    def _fit_part(self, rows: Rows) -> None:
        is_first = not self.__sklearn_is_fitted__()
        members = self._new_members(self._draw_seed()) if is_first else self.estimators_
        before = [member._progress() for member in members]
        fits = []
        for member, (n_before, _) in zip(members, before, strict=True):
            sample = self._sample(rows, member.random_state, n_before)
            if is_first:
                self._prepare(member, sample)
            fits.append(member._plan_part(sample))
        batch = FitBatch(fits, len(fits))
        batch.train(rows, None, self._n_threads())  # Ctrl-C leaves all trees as they were
        for member, fit, progress in zip(members, fits, before, strict=True):
            member._keep(fit)
            member._add_progress(fit, *progress)
        self.estimators_ = members

    def _refit(self, done: list[tuple[SingleTree, TreeFit]], rows: Rows) -> None:
        """Train trees again on all their rows after early stopping with 'refit'."""
        planned = [(member, member._plan_refit(fit)) for member, fit in done]
        refits = [(member, refit) for member, refit in planned if refit is not None]
        if not refits:
            return
        batch = FitBatch([refit for _, refit in refits], len(refits))
        batch.train(rows, None, self._n_threads())
        for member, refit in refits:
            search = member.history_, member.moved_leaves_, member.best_epoch_
            member._keep(refit)
            member.history_, member.moved_leaves_, member.best_epoch_ = search

    # -- rows and features of each tree --------------------------------------------------

    def _draws_rows(self, n_rows: int) -> bool:
        return self.bootstrap or _number(self.max_samples, n_rows) < n_rows

    def _sample(self, rows: Rows, seed: Any, n_before: int | None = None) -> Rows:
        """Return the rows that the tree with this seed is trained on.

        Of very many rows, these are blocks of neighbours, so that a tree takes a limited time and
        memory. Of a table in parts, `n_before` is the number of parts before this one.
        """
        times = self._draw_rows(rows.n_separate, seed, n_before)
        if times is None and len(rows) > ROWS_PER_TREE:
            return rows.some_blocks(ROWS_PER_TREE, np.random.default_rng([2, seed]))
        if times is None:
            return rows
        positions = np.flatnonzero(times)
        sample = rows.separate.take(positions)
        return replace(sample, weight=sample.weight * times[positions]).merged()

    def _draw_rows(self, n_rows: int, seed: Any, n_before: int | None = None) -> IntArray | None:
        """Return how often the tree with this seed draws each row, None if it uses all rows."""
        if not self._draws_rows(n_rows):
            return None
        rng = np.random.default_rng([0, seed] if n_before is None else [0, seed, n_before])
        size = _number(self.max_samples, n_rows)
        if self.bootstrap:
            positions = rng.integers(n_rows, size=size)
        else:
            positions = rng.permutation(n_rows)[:size]
        return np.bincount(positions, minlength=n_rows)

    def _draw_features(self, seed: Any) -> Any:
        """Return `feature_sampling` of the tree with this seed."""
        sampling = self._growth.feature_sampling
        n_used = _number(self.max_features, self.n_features_in_)
        if n_used == self.n_features_in_:
            return sampling
        if callable(sampling):
            raise ValueError("max_features cannot be combined with a callable feature_sampling")
        weights = np.ones(self.n_features_in_)
        if sampling is not None:
            weights = np.array(sampling, dtype=np.float64)
        rng = np.random.default_rng([1, seed])
        weights[rng.permutation(self.n_features_in_)[n_used:]] = 0.0
        return weights

    # -- copies with other trees ---------------------------------------------------------

    def _smaller_models(self, rows: Rows, sizes: Sequence[int], unit: SizeUnit) -> list[Self]:
        """Return forests of these sizes; each tree keeps its share of the size."""
        whole = sum(unit.size_of(tree) for tree in self._trees)
        smaller = []
        for member in self.estimators_:
            share = unit.size_of(member.tree_) / whole
            sample = self._sample(rows, member.random_state)
            smaller.append(
                member._smaller_models(sample, [int(size * share) for size in sizes], unit)
            )
        return [self._with_members(members) for members in zip(*smaller, strict=True)]

    def _with_members(self, members: Iterable[SingleTree]) -> Self:
        other = copy(self)
        other.estimators_ = list(members)
        return other

    def _with_trees(
        self, trees: Sequence[NeuralTree], trained: Sequence[NeuralTree] | None = None
    ) -> Self:
        starts = [None] * len(trees) if trained is None else [[tree] for tree in trained]
        return self._with_members(
            member._with_trees([tree], start)
            for member, tree, start in zip(self.estimators_, trees, starts, strict=True)
        )

    def _with_bent_leaves(self, bent: BentLeaves) -> Self:
        members = zip(self.estimators_, bent.model.trees, strict=True)
        other = self._with_members(with_bent_leaves(m, bent, [tree]) for m, tree in members)
        other.encoder_, other._reference = bent.model.encoder, bent.model.reference
        return other

    def _trained_trees(self) -> Sequence[NeuralTree] | None:
        trees = [tree for member in self.estimators_ for tree in member._trained_trees() or ()]
        return trees if len(trees) == len(self.estimators_) else None

    # -- predicting ----------------------------------------------------------------------

    @property
    def _trees(self) -> list[NeuralTree]:
        return [member.tree_ for member in self.estimators_]

    def _score_out_of_bag(self, rows: Rows) -> None:
        """Score the predictions of each row by the trees that were trained without it."""
        n_rows, chosen = len(rows), slice(None)
        if rows.on_disk:  # some of them, at equal distances
            chosen = slice(None, None, -(-n_rows // MOST_OUT_OF_BAG))
            rows = rows.take(np.arange(n_rows)[chosen])
        total, n_votes = np.zeros((len(rows), self._n_outputs())), np.zeros(len(rows))
        for member in self.estimators_:
            times = self._draw_rows(n_rows, member.random_state)
            assert times is not None
            unseen = np.flatnonzero(times[chosen] == 0)
            if unseen.size:
                votes = [self._vote(member.tree_, X) for X in rows.take(unseen).X_blocks()]
                total[unseen] += np.concatenate(votes)
            n_votes[unseen] += 1
        scored = np.flatnonzero(n_votes)
        self.oob_score_ = nan
        if scored.size:
            self._use_out_of_bag(total[scored] / n_votes[scored, np.newaxis], rows.take(scored))


def _train_member(
    forest: Forest, times: int, on_disk: bool, member: SingleTree, *arrays: Array | None
) -> SingleTree:
    """Train one member of a forest in a worker."""
    table, target, weight, index, copies, *held_out = (aligned(array) for array in arrays)
    assert table is not None and target is not None and weight is not None
    validation = None
    if held_out[0] is not None:
        validation = replace(Rows(*held_out), lines=forest.encoder_.lines)  # type: ignore[arg-type]
    rows = Rows(table, target, weight, index, times, copies, forest.encoder_.lines, on_disk)
    forest._train_here([member], rows, validation)
    return member


def _trained(members: list[SingleTree]) -> list[SingleTree]:
    return [member for member in members if hasattr(member, "tree_")]


def _number(parameter: int | float | None, total: int) -> int:
    """Return the number that a parameter stands for: a number, a share of the total, or all."""
    if parameter is None:
        return total
    number = round(parameter * total) if isinstance(parameter, float) else parameter
    return min(max(1, number), total)


@declared
class BNeuralForestClassifier(
    ClassifierInParts, ClassifierTask, Forest, ForestClassifierParameters
):
    """Average the class probabilities of several neural trees.

    The trees are drawn and trained independently of each other. The mean of their probabilities is
    usually more accurate than those of each tree.

    {parameters}

    Attributes
    ----------
    estimators_ : list of BNeuralTClassifier
        The trees.
    {classes}
    {trees}
    {columns}
    oob_score_ : float
        Accuracy of the predictions that, for each training row, come from the trees trained
        without it. Only if trees are trained on a part of the rows (`max_samples`, `bootstrap`).

    Examples
    --------
    >>> from bneuralt import BNeuralForestClassifier
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = BNeuralForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.predict(X[::60])
    array([0, 1, 1])
    """

    _tree_type = BNeuralTClassifier

    def _scores(self, X: Array) -> FloatArray:
        if self._averages_outputs():
            return self._mean_outputs(self._trees, X)
        return self._scores_of_shares(self._mean_probabilities(self._trees, X))

    def _vote(self, tree: NeuralTree, X: Array) -> FloatArray:
        if self._averages_outputs():
            return self._mean_outputs([tree], X)
        return self._mean_probabilities([tree], X)

    def _use_out_of_bag(self, votes: FloatArray, rows: Rows) -> None:
        if self._averages_outputs():
            votes = evaluate(self._link(self._trees), {"outputs": votes})
        self.oob_score_ = self._accuracy(votes, rows)


@declared
class BNeuralForestRegressor(RegressorInParts, RegressorTask, Forest, ForestRegressorParameters):
    """Average the predictions of several neural trees.

    The trees are drawn and trained independently of each other.

    {parameters}

    Attributes
    ----------
    estimators_ : list of BNeuralTRegressor
        The trees.
    {trees}
    {columns}
    n_outputs_ : int
        Number of columns of y.
    calibration_ : Calibration or None
        Residuals of the rows that were held out by `conformal`; without it, of all rows, if trees
        are trained on a part of the rows.
    oob_score_ : float
        r2 of the predictions that, for each training row, come from the trees trained without it.
        Only if trees are trained on a part of the rows (`max_samples`, `bootstrap`).

    Examples
    --------
    >>> from bneuralt import BNeuralForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = BNeuralForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.5
    True
    >>> reg.predict(X[:2]).round(-2)
    array([200., 100.])
    """

    _tree_type = BNeuralTRegressor

    def _vote(self, tree: NeuralTree, X: Array) -> FloatArray:
        return self._mean_outputs([tree], X)

    def _use_out_of_bag(self, votes: FloatArray, rows: Rows) -> None:
        values = self._values_of(votes)
        if len(rows) > 1:  # r2 of a single row is not defined
            self.oob_score_ = self._score_of(values, rows.y, rows.weight)
        if self.conformal is None:
            self._set_calibration(votes, rows)
