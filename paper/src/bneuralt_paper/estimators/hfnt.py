"""Heterogeneous flexible neural trees (Ojha, Abraham and Snasel, 2017)."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from bneuralt.extending import Regressor, fit_by_search
from bneuralt.tree import NeuralTree
from bneuralt_paper.estimators.genetic import GeneticClassifier, GeneticEstimator, GeneticMethod
from bneuralt_paper.estimators.genetic_parameters import (
    HFNTClassifierParameters,
    HFNTRegressorParameters,
    declared_genetic,
)

__all__ = ["HFNTClassifier", "HFNTRegressor"]


class HFNTEstimator(GeneticEstimator):
    """Base class of HFNT, which can predict with several trees of the final population."""

    _fit_problem = staticmethod(partial(fit_by_search, GeneticMethod("nsga2")))
    _holds_many_trees: ClassVar[bool] = True

    @property
    def trees_(self) -> list[NeuralTree]:
        """The trees that predict."""
        return list(self._model_or_error.in_raw_units().trees)

    @property
    def tree_(self) -> NeuralTree:
        """The best of them."""
        return self.trees_[0]


@declared_genetic
class HFNTClassifier(HFNTEstimator, GeneticClassifier, HFNTClassifierParameters):
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
class HFNTRegressor(HFNTEstimator, Regressor, HFNTRegressorParameters):
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
