"""Heterogeneous flexible neural trees (Ojha, Abraham and Snasel, 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bneuralt.estimators.regression import RegressorTask
from bneuralt.estimators.rows import Rows
from bneuralt.tree import NeuralTree
from bneuralt_paper.estimators.genetic import GeneticClassifierTask, GeneticEstimator
from bneuralt_paper.estimators.genetic_parameters import (
    HFNTClassifierParameters,
    HFNTRegressorParameters,
    declared_genetic,
)

__all__ = ["HFNTClassifier", "HFNTRegressor"]


class HFNTEstimator(GeneticEstimator):
    """Base class of HFNT, which can predict with several trees of the final population."""

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


@declared_genetic
class HFNTClassifier(GeneticClassifierTask, HFNTEstimator, HFNTClassifierParameters):
    """A classifier that is a heterogeneous flexible neural tree (HFNT).

    Genetic programming searches for a structure, differential evolution for its weights. With
    ``objectives=("error",)`` it is HFNT-S of the paper, with ``("error", "size", "diversity")``,
    sorted by NSGA-II, HFNT-M. The paper's budget is ``n_generations=500, n_tuning=1000``.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from bneuralt_paper import HFNTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = HFNTClassifier(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """


@declared_genetic
class HFNTRegressor(RegressorTask, HFNTEstimator, HFNTRegressorParameters):
    """A regressor that is a heterogeneous flexible neural tree (HFNT).

    See `HFNTClassifier`.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from bneuralt_paper import HFNTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = HFNTRegressor(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.3
    True
    """
