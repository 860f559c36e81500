"""Multi-output neural trees (Ojha and Nicosia, 2020)."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from bneuralt.estimators.parameters import declared
from bneuralt.estimators.regression import RegressorTask
from bneuralt_paper.estimators.genetic import GeneticClassifierTask, GeneticEstimator
from bneuralt_paper.estimators.parameters import (
    GENETIC_PARAMETERS,
    MONTClassifierParameters,
    MONTRegressorParameters,
)

__all__ = ["MONTClassifier", "MONTRegressor"]


class MONTEstimator(GeneticEstimator):
    """Minimises error and size, sorted by NSGA-III."""

    objectives = ("error", "size")
    _selection: ClassVar[str] = "nsga3"


@partial(declared, parameters=GENETIC_PARAMETERS)
class MONTClassifier(GeneticClassifierTask, MONTEstimator, MONTClassifierParameters):
    """A classifier that is a multi-output neural tree (MONT), searched for by NSGA-III.

    Error and size are minimised together, and `choose` says which tree of the front is used. With
    the default, and ``n_generations=500, n_tuning=1000``, it is MONT-3 of the paper.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen; it works on unscaled inputs.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    classes_ : array of shape (n_classes,)
        The labels.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt_paper import MONTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MONTClassifier(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.9
    True
    """


@partial(declared, parameters=GENETIC_PARAMETERS)
class MONTRegressor(RegressorTask, MONTEstimator, MONTRegressorParameters):
    """A regressor that is a multi-output neural tree (MONT), searched for by NSGA-III.

    See `MONTClassifier`.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that was chosen, from raw features to the target in its own units: a linear root
        above the tree of the search undoes the scaling of the target.
    pareto_front_ : list of FrontModel
        The trees of the last population to which no other one is superior in error and size, by
        their size; `pareto_front_[0].model` is a fitted estimator.
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt_paper import MONTRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = MONTRegressor(n_generations=20, n_tuning=40, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.3
    True
    """
