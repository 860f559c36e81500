"""Multi-output neural trees (Ojha and Nicosia, 2020)."""

from __future__ import annotations

from functools import partial

from bneuralt.extending import Regressor, fit_by_search
from bneuralt_paper.estimators.genetic import GeneticClassifier, GeneticEstimator, GeneticMethod
from bneuralt_paper.estimators.genetic_parameters import (
    MONTClassifierParameters,
    MONTRegressorParameters,
    declared_genetic,
)

__all__ = ["MONTClassifier", "MONTRegressor"]


class MONTEstimator(GeneticEstimator):
    """Base class of MONT, which minimises error and size by NSGA-III."""

    _fit_problem = staticmethod(partial(fit_by_search, GeneticMethod("nsga3", ("error", "size"))))


@declared_genetic
class MONTClassifier(MONTEstimator, GeneticClassifier, MONTClassifierParameters):
    """A classifier that is a multi-output neural tree (MONT), searched for by NSGA-III.

    Error and size are minimised together, and `choose` selects the tree of the front. With the
    default, and ``n_generations=500, n_tuning=1000``, it is MONT-3 of the paper.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from bneuralt_paper import MONTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MONTClassifier(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """


@declared_genetic
class MONTRegressor(MONTEstimator, Regressor, MONTRegressorParameters):
    """A regressor that is a multi-output neural tree (MONT), searched for by NSGA-III.

    See `MONTClassifier`.

    {parameters}

    {attributes}

    Examples
    --------
    >>> from bneuralt_paper import MONTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = MONTRegressor(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.3
    True
    """
