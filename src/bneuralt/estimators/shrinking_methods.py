"""Methods of fitted estimators that return smaller ones."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from bneuralt._typing import FloatArray, IntArray
from bneuralt.estimators.retraining import with_bent_leaves
from bneuralt.estimators.rows import Rows
from bneuralt.shrinking import (
    BYTES,
    BentLeaves,
    Compaction,
    SizeUnit,
    bend_leaves,
    saturated_nodes,
    simplify_trees,
)
from bneuralt.shrinking.compaction import (
    checked_limit,
    curve_sizes,
    held_out_folds,
    mean_scores,
    smallest_good_size,
)
from bneuralt.tree import NeuralTree

__all__ = ["ShrinkingMethods"]


class ShrinkingMethods(BaseEstimator):
    """Adds `simplify` and `compact` to an estimator."""

    compaction_: Compaction

    def simplify(self, *, saturated_on: Any = None, tolerance: float = 1e-3) -> Self:
        """Return an estimator with fewer weights and the same predictions, up to rounding.

        Leaves of the same input under one parent are merged, weights of 0 are removed, subtrees
        that do not depend on any input become part of a bias, and linear nodes below other nodes
        are replaced by their children. Leaves of one column of numbers under one parent, of the
        number itself and of its ramps, become a single bent leaf with one weight; `encoder_` of
        the result has the bent inputs, whose bends are not counted as weights. Columns of
        `monotonic_cst` keep their leaves.

        Parameters
        ----------
        saturated_on : array-like of shape (n_rows, n_features), optional
            Rows, such as the training rows. If given, function nodes whose values vary by no more
            than `tolerance` over these rows are replaced by constants, too. This changes the
            predictions of these rows slightly, and those of other rows without a bound;
            `saturated_nodes` lists the nodes.
        tolerance : float
            See `saturated_on`.

        Returns
        -------
        estimator of the same class
            A copy; this one is not modified.

        Examples
        --------
        >>> import numpy as np
        >>> from bneuralt import BNeuralTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
        >>> small = clf.simplify()
        >>> small.n_parameters_ < clf.n_parameters_
        True
        >>> np.allclose(small.predict_proba(X), clf.predict_proba(X), atol=1e-5)
        True
        """
        model = self.model_
        constants = []
        if saturated_on is not None:
            constants = saturated_nodes(model, self._checked_table(saturated_on), tolerance)
        trained = self._trained_trees()
        if trained is not None:
            trained = simplify_trees(replace(model, trees=tuple(trained)), constants).trees
        smaller = self._with_trees(simplify_trees(model, constants).trees, trained)
        bent = bend_leaves(smaller.model_)
        return smaller if bent is None else smaller._with_bent_leaves(bent)

    def compact(
        self,
        X: Any,
        y: Any,
        max_weights: int | None = None,
        *,
        max_bytes: int | None = None,
        sample_weight: Any = None,
        cv: int | None = 5,
    ) -> Self:
        """Return an estimator with fewer weights, which are trained briefly after each removal.

        Weights are removed in steps by Optimal Brain Surgeon. The Hessian of the loss gives the
        cost of removing a leaf, a subtree, or the activation of a node after all other weights have
        been adjusted; units with the lowest cost per weight are removed first.

        Parameters
        ----------
        X, y : array-like
            The training rows.
        max_weights : int, optional
            Number of weights to keep at most. By default, and without `max_bytes`, the smallest
            size is chosen whose score on held-out rows is within one standard error of the best.
        max_bytes : int, optional
            The same in bytes of the tables of 16-bit integers that are exported to C for trees with
            one activation; the tables of the activation itself and of ramps are not counted.
        sample_weight : array-like of shape (n_rows,), optional
        cv : int or None
            Number of folds of the cross-validation that scores each size: in each fold, a model
            is fitted and pruned without the held-out rows. None: no scores; needs a size.

        Returns
        -------
        estimator of the same class
            A copy; this one is not modified. Its `compaction_` has the sizes and their scores
            (`bneuralt.shrinking.Compaction`). It is not calibrated for prediction intervals.

        Examples
        --------
        >>> from bneuralt import BNeuralTClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = BNeuralTClassifier(random_state=0).fit(X, y)
        >>> small = clf.compact(X, y, max_weights=20, cv=None)
        >>> small.n_parameters_ <= 20, small.score(X, y) > 0.93
        (True, True)
        >>> small.compaction_.n_weights_before == clf.n_parameters_
        True
        """
        trees = self.model_.trees
        unit, limit = checked_limit(
            max_weights, max_bytes, cv, sum(tree.n_outputs for tree in trees)
        )
        work = copy.copy(self)
        rows = work._read_rows(X, y, sample_weight, reset=False)
        size: IntArray = np.zeros(0, dtype=np.int64)
        curve: tuple[FloatArray, FloatArray] = np.zeros(0), np.zeros(0)
        if cv is not None:
            whole = sum(unit.size_of(tree) for tree in trees)
            fewest = unit.per_output * sum(tree.n_outputs for tree in trees)
            sizes = curve_sizes(whole, fewest if limit is None else min(limit, whole))
            size, curve = np.array(sizes), work._score_sizes(rows, sizes, unit, cv)
            limit = smallest_good_size(size, *curve) if limit is None else limit
        assert limit is not None
        smaller = work._pruned(
            rows, limit, [step for step in size[1:].tolist() if step > limit], unit
        )
        smaller.__dict__.pop("calibration_", None)
        smaller._learn_importances(rows)
        smaller.compaction_ = Compaction(
            self.n_parameters_,
            smaller.n_parameters_,
            sum(BYTES.size_of(tree) for tree in smaller.model_.trees),
            unit.name,
            limit,
            size,
            *curve,
        )
        return smaller

    def _pruned(self, rows: Rows, limit: int, steps: list[int], unit: SizeUnit) -> Self:
        """Return the model of a size: pruned at once or, if that is better, by steps.

        Each step ends with a longer training, as the steps of the curve do. Either way may fail;
        the training rows tell, because few weights hardly overfit.
        """
        (at_once,) = self._smaller_models(rows, [limit], unit)
        if not steps:
            return at_once
        by_steps = self._smaller_models(rows, [*steps, limit], unit)[-1]
        by_row = np.array([model._row_scores(rows, rows) for model in (at_once, by_steps)])
        scores, _ = mean_scores(by_row, rows.weight)
        return by_steps if scores[1] > scores[0] else at_once

    def _score_sizes(
        self, rows: Rows, sizes: Sequence[int], unit: SizeUnit, cv: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the mean scores of smaller models on held-out rows, and their standard errors."""
        has_classes = self.model_.task == "classes"
        scores, weights = [], []
        separate = rows.separate
        for training, held_out in held_out_folds(separate.y, cv, has_classes):
            training_rows, test_rows = separate.take(training).merged(), separate.take(held_out)
            whole = self._fitted_on(training_rows)
            models = [whole, *whole._smaller_models(training_rows, sizes[1:], unit)]
            scores.append([model._row_scores(test_rows, rows) for model in models])
            weights.append(test_rows.weight)
        return mean_scores(np.concatenate(scores, axis=1), np.concatenate(weights))

    def _fitted_on(self, rows: Rows) -> Self:
        """Return an estimator with the same parameters and features, fitted on other rows."""
        fresh: Self = clone(self)
        self._pass_on(fresh)
        fresh.max_weights = None
        fresh.warm_start = False
        fresh._fit_rows(copy.copy(rows), None, None)
        return fresh

    # -- defined by subclasses -----------------------------------------------------------

    def _with_trees(
        self, trees: Sequence[NeuralTree], trained: Sequence[NeuralTree] | None = None
    ) -> Self:
        """Return a copy of a fitted estimator with other trees.

        Parameters
        ----------
        trees : sequence of NeuralTree
            Trees for unscaled inputs, one for each tree of the estimator.
        trained : sequence of NeuralTree, optional
            The same trees for scaled inputs, from which later training continues. By default those
            of this estimator.
        """
        raise NotImplementedError

    def _with_bent_leaves(self, bent: BentLeaves) -> Self:
        """Return a copy of a fitted estimator with other trees of other inputs."""
        bent_self: Self = with_bent_leaves(self, bent, bent.model.trees)
        return bent_self

    def _trained_trees(self) -> Sequence[NeuralTree] | None:
        """Return the trees for scaled inputs, None if their nodes differ from those of `tree_`."""
        return None

    def _smaller_models(self, rows: Rows, sizes: Sequence[int], unit: SizeUnit) -> list[Self]:
        """Return copies of these sizes, from large to small, trained on these rows."""
        raise TypeError(
            f"{type(self).__name__} cannot be pruned, since it does not train single trees: limit "
            "the size of the trees in the search"
        )
