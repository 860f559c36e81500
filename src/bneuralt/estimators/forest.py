"""Forests: the mean of independently drawn trees, trained side by side.

Every tree is a `BNeuralTClassifier` or `BNeuralTRegressor` with a seed of its own, so that neither
the number of threads nor the order in which trees get done changes anything.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import partial
from math import nan
from threading import Event
from typing import Any, ClassVar

import numpy as np

from bneuralt.estimators.base import (
    ClassifierTask,
    NeuralTreeEstimator,
    RegressorTask,
    outputs_of,
    probabilities_of,
)
from bneuralt.estimators.callbacks import ForestState, Report, Step, describe_forest
from bneuralt.estimators.parameters import (
    ForestClassifierParameters,
    ForestParameters,
    ForestRegressorParameters,
    declared,
)
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.single import BNeuralTClassifier, BNeuralTRegressor, SingleTree
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["BNeuralForestClassifier", "BNeuralForestRegressor"]

#: Trees that see no more examples than this are trained to the end whoever wants to stop: for trees
#: of a usual size it is a matter of milliseconds, of which asking every epoch would take a tenth.
LONG_TRAINING = 100_000


class Forest(NeuralTreeEstimator, ForestParameters):
    """Trains many trees, and asks them all."""

    _tree_type: ClassVar[type[SingleTree]]
    estimators_: list[SingleTree]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    @property
    def n_parameters_(self) -> int:
        """Number of trainable weights of all trees together."""
        return sum(member.n_parameters_ for member in self.estimators_)

    def _step(self, rows: Rows) -> Step:
        n_before = len(self.estimators_) if self._goes_on() else 0
        return Step("tree", self.n_estimators - n_before, describe_forest)

    # -- training ------------------------------------------------------------------------

    def _fit_rows(self, rows: Rows, validation: Rows | None, report: Report | None) -> None:
        kept = list(self.estimators_) if self._goes_on() else []
        if self.n_estimators < len(kept):
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(kept)} trees that are "
                "there already, and warm_start=True only adds trees"
            )
        seeds = np.random.SeedSequence(self._draw_seed()).spawn(self.n_estimators)
        new = [self._new_member(int(seed.generate_state(1)[0])) for seed in seeds[len(kept) :]]
        try:
            n_done = self._train(new, rows, validation, report)
        except KeyboardInterrupt:
            if trained := kept + [member for member in new if hasattr(member, "tree_")]:
                self.estimators_ = trained
            raise
        self.estimators_ = kept + new[:n_done]
        if self._draws_rows(len(rows)):
            self.oob_score_ = self._out_of_bag_score(rows)

    def _new_member(self, seed: int | None) -> Any:
        """Return a tree to be trained, with the parameters and the features of the forest."""
        names = {field.name for field in fields(self._tree_type)}
        parameters = {name: getattr(self, name) for name in names}
        own = {"random_state": seed, "warm_start": False, "n_jobs": None, "verbose": 0}
        member = self._tree_type(**{**parameters, **own})
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))
        return member

    def _train(
        self,
        members: list[SingleTree],
        rows: Rows,
        validation: Rows | None,
        report: Report | None,
    ) -> int:
        """Train the members in threads; return how many are done when somebody wants to stop."""
        stop, started = Event(), time.perf_counter()

        def fit(member: SingleTree) -> None:
            member.feature_sampling = self._draw_features(member.random_state)
            drawn = self._draw_rows(len(rows), member.random_state)
            sample = rows if drawn is None else _repeated(rows, drawn)
            n_examples = member._n_epochs(sample) * len(sample)
            hears = n_examples > LONG_TRAINING
            member._fit_rows(sample, validation, (lambda *_: stop.is_set()) if hears else None)

        with ThreadPoolExecutor(self._n_threads()) as pool:
            futures = [pool.submit(fit, member) for member in members]
            try:
                for n_done, future in enumerate(futures, start=1):
                    future.result()
                    state = ForestState(n_done, len(members), time.perf_counter() - started)
                    if report and report(state, nan, partial(_so_far, members, n_done)):
                        return n_done
            finally:  # if all is well there is nothing left to stop
                stop.set()
                pool.shutdown(cancel_futures=True)
        return len(members)

    # -- what each tree sees -------------------------------------------------------------

    def _draws_rows(self, n_rows: int) -> bool:
        return self.bootstrap or _number(self.max_samples, n_rows) < n_rows

    def _draw_rows(self, n_rows: int, seed: Any) -> np.ndarray | None:
        """Return how often each row is drawn for the tree with this seed, None for all rows."""
        if not self._draws_rows(n_rows):
            return None
        rng = np.random.default_rng([0, seed])
        size = _number(self.max_samples, n_rows)
        drawn = (
            rng.integers(n_rows, size=size) if self.bootstrap else rng.permutation(n_rows)[:size]
        )
        return np.bincount(drawn, minlength=n_rows)

    def _draw_features(self, seed: Any) -> Any:
        """Return `feature_sampling` of the tree with this seed."""
        n_used = _number(self.max_features, self.n_features_in_)
        if n_used == self.n_features_in_:
            return self.feature_sampling
        if callable(self.feature_sampling):
            raise ValueError("max_features cannot be combined with a callable feature_sampling")
        weights = np.ones(self.n_features_in_)
        if self.feature_sampling is not None:
            weights = np.array(self.feature_sampling, dtype=np.float64)
        rng = np.random.default_rng([1, seed])
        weights[rng.permutation(self.n_features_in_)[n_used:]] = 0.0
        return weights

    # -- asking the trees ----------------------------------------------------------------

    def _mean_vote(self, X: np.ndarray) -> np.ndarray:
        n_threads = self._n_threads()
        total = np.zeros((len(X), self._n_outputs()), order="F")
        for member in self.estimators_:
            total += self._vote(member.tree_, X, n_threads)
        total /= len(self.estimators_)
        return total

    def _out_of_bag_score(self, rows: Rows) -> float:
        """Return the score of what, for each row, the trees predict that were trained without."""
        total, n_votes = np.zeros((len(rows), self._n_outputs())), np.zeros(len(rows))
        for member in self.estimators_:
            unseen = np.flatnonzero(self._draw_rows(len(rows), member.random_state) == 0)
            total[unseen] += self._vote(member.tree_, rows.X[unseen], self._n_threads())
            n_votes[unseen] += 1
        judged = np.flatnonzero(n_votes)
        if judged.size == 0:
            return nan
        rows = rows.take(judged)
        error = self._errors(total[judged] / n_votes[judged, np.newaxis], rows.y)
        return float(1.0 - np.average(error, weights=rows.weight) / self._error_unit(rows))


def _so_far(members: list[SingleTree], n_done: int) -> dict[str, Any]:
    return {"estimators_": members[:n_done]}


def _repeated(rows: Rows, times: np.ndarray) -> Rows:
    """Return the rows that are repeated at least once, with weights that say how often."""
    drawn = np.flatnonzero(times)
    sample = rows.take(drawn)
    return replace(sample, weight=sample.weight * times[drawn])


def _number(wanted: int | float | None, available: int) -> int:
    """Return the number that a parameter asks for: as it is, as a share, or all."""
    if wanted is None:
        return available
    number = round(wanted * available) if isinstance(wanted, float) else wanted
    return min(max(1, number), available)


@declared
class BNeuralForestClassifier(ClassifierTask, Forest, ForestClassifierParameters):
    """A classifier that asks several small trees of neurons.

    The trees are drawn and trained independently of each other. Their probabilities are averaged,
    which makes for better probabilities than any of them has.

    {parameters}

    Attributes
    ----------
    estimators_ : list of BNeuralTClassifier
        The trees.
    classes_ : array of shape (n_classes,)
        The labels.
    n_parameters_ : int
        Number of trainable weights of all trees together.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
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
    """

    _tree_type = BNeuralTClassifier

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        return self._mean_vote(X)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(self._mean_vote(X), np.finfo(np.float64).tiny))

    @staticmethod
    def _vote(tree: NeuralTree, X: np.ndarray, n_threads: int) -> np.ndarray:
        return probabilities_of(tree, X, n_threads)

    @staticmethod
    def _errors(votes: np.ndarray, y: np.ndarray) -> np.ndarray:
        return votes.argmax(axis=1) != y


@declared
class BNeuralForestRegressor(RegressorTask, Forest, ForestRegressorParameters):
    """A regressor that asks several small trees of neurons.

    The trees are drawn and trained independently of each other, and their predictions averaged.

    {parameters}

    Attributes
    ----------
    estimators_ : list of BNeuralTRegressor
        The trees.
    n_parameters_ : int
        Number of trainable weights of all trees together.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
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
    """

    _tree_type = BNeuralTRegressor

    def _values(self, X: np.ndarray) -> np.ndarray:
        return self._mean_vote(X)[:, 0]

    @staticmethod
    def _vote(tree: NeuralTree, X: np.ndarray, n_threads: int) -> np.ndarray:
        return outputs_of(tree, X, n_threads)

    @staticmethod
    def _errors(votes: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.square(votes[:, 0] - y)
