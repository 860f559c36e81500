"""Heterogeneous flexible neural trees (Ojha, Abraham and Snasel, 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bneuralt.estimators.parameters import declared
from bneuralt.estimators.regression import RegressorTask
from bneuralt.estimators.rows import Rows
from bneuralt.tree import NeuralTree
from bneuralt_paper.estimators.genetic import GeneticClassifierTask, GeneticEstimator
from bneuralt_paper.estimators.parameters import (
    GENETIC_PARAMETERS,
    HFNTClassifierParameters,
    HFNTRegressorParameters,
)

__all__ = ["HFNTClassifier", "HFNTRegressor"]


class HFNTEstimator(GeneticEstimator):
    """Can predict with several trees of the final population."""

    trees_: list[NeuralTree]
    _holds_many_trees: ClassVar[bool] = True

    @property
    def _trees(self) -> list[NeuralTree]:
        return self.trees_

    def _set_trees(self, trees: Sequence[NeuralTree]) -> None:
        self.trees_, self.tree_ = list(trees), trees[0]

    def _keep(self, search: Any, rows: Rows, validation: Rows | None) -> None:
        super()._keep(search, rows, validation)
        others: list[NeuralTree] = []
        for i in np.argsort(search.errors, kind="stable").tolist():
            if len(others) == self.n_ensemble - 1:
                break
            tree = self._fold(search.population[i].trees()[0])
            if tree != self.tree_:
                others.append(tree)
        self._set_trees([self.tree_, *others])

    @property
    def n_parameters_(self) -> int:
        """Number of weights of all trees together."""
        return sum(tree.n_parameters for tree in self.trees_)


@partial(declared, parameters=GENETIC_PARAMETERS)
class HFNTClassifier(GeneticClassifierTask, HFNTEstimator, HFNTClassifierParameters):
    """A classifier that is a heterogeneous flexible neural tree (HFNT).

    Genetic programming searches for a structure, differential evolution for its weights. With
    ``objectives=("error",)`` it is HFNT-S of the paper, with ``("error", "size", "diversity")``,
    sorted by NSGA-II, HFNT-M. The paper's budget is ``n_generations=500, n_tuning=1000``.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen; it works on unscaled inputs.
    trees_ : list of NeuralTree
        The trees that predict, `n_ensemble` of them.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    classes_ : array of shape (n_classes,)
        The labels.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt_paper import HFNTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = HFNTClassifier(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """


@partial(declared, parameters=GENETIC_PARAMETERS)
class HFNTRegressor(RegressorTask, HFNTEstimator, HFNTRegressorParameters):
    """A regressor that is a heterogeneous flexible neural tree (HFNT).

    See `HFNTClassifier`.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen, from raw features to the target in its own units: a linear root
        above the tree of the search undoes the scaling of the target.
    trees_ : list of NeuralTree
        The trees that predict, `n_ensemble` of them.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt_paper import HFNTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = HFNTRegressor(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.3
    True
    """
