"""Estimators whose structure is searched; `bneuralt.fitting.evolved` fits evolved trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.classification import Classifier
from bneuralt.estimators.evolution_parameters import (
    SEARCH_PARAMETERS,
    EvolvedParameters,
)
from bneuralt.estimators.parameters import declared
from bneuralt.estimators.regression import Regressor
from bneuralt.fitting.evolved import EvolvedSearch
from bneuralt.fitting.search import fit_by_search
from bneuralt.training.losses import Loss
from bneuralt.tree.growing import EVOLVED_GROWTH, Growth

__all__ = ["EvolvedTreeClassifier", "EvolvedTreeRegressor", "FrontModel", "SearchedTree"]


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
    model: NeuralTreeEstimator

    def __repr__(self) -> str:
        return (
            f"FrontModel(n_weights={self.n_weights}, size={self.size}, score={self.score:.4f}, "
            f"standard_error={self.standard_error:.4f})"
        )


class SearchedTree(NeuralTreeEstimator):
    """Base class of estimators that search for a structure."""

    _can_learn: ClassVar[bool] = False

    @property
    def pareto_front_(self) -> list[FrontModel]:
        """The best tree of each number of weights, by size."""
        front = self._attribute("pareto_front_", self._model_or_error.front or None)
        return [
            FrontModel(
                entry.n_weights,
                entry.size,
                entry.score,
                entry.standard_error,
                self._with_model(entry.model),
            )
            for entry in front
        ]


class EvolvedTree(SearchedTree):
    """Base class of trees that are evolved and trained."""

    _fit_problem = staticmethod(partial(fit_by_search, EvolvedSearch()))
    _growth_values: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {**EVOLVED_GROWTH, "output_activation": "linear", "feature_sampling": None}
    )
    _unused: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType(
        {
            "growth": tuple(name for name in Growth.names if name not in EVOLVED_GROWTH),
            "training": ("select", "monitor", "patience"),
        }
    )


@partial(declared, parameters=SEARCH_PARAMETERS)
@dataclass(kw_only=True, eq=False, repr=False)
class EvolvedTreeClassifier(EvolvedTree, Classifier, EvolvedParameters):
    """Classify with a very small tree, whose structure is evolved and trained.

    Structures evolve by crossover and mutation. Every child inherits the weights of its parents and
    is trained briefly, during which leaves move to the features that lower the loss most. Trees are
    scored by cross-validation, and the best trees of each size survive.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that predicts; it works on unscaled inputs.
    {front}
    {classes}
    n_parameters_ : int
        Number of weights.
    {columns}
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import EvolvedTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = EvolvedTreeClassifier(n_generations=3, random_state=0).fit(X, y)
    >>> clf.n_parameters_ <= 48, clf.score(X, y) > 0.9
    (True, True)
    >>> clf.predict(X[::60])
    array([0, 1, 2])
    """

    loss: str | Loss = "auto"
    class_weight: Mapping[Any, float] | str | None = None


@partial(declared, parameters=SEARCH_PARAMETERS)
@dataclass(kw_only=True, eq=False, repr=False)
class EvolvedTreeRegressor(EvolvedTree, Regressor, EvolvedParameters):
    """Predict numbers with a very small tree, whose structure is evolved and trained.

    See `EvolvedTreeClassifier`.

    {parameters}

    Attributes
    ----------
    tree_ : NeuralTree
        The tree that predicts, from raw features to the unscaled target.
    {front}
    n_outputs_ : int
        Number of columns of y.
    n_parameters_ : int
        Number of weights.
    {columns}
    n_iter_ : int
        Number of generations.

    Examples
    --------
    >>> from bneuralt import EvolvedTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = EvolvedTreeRegressor(n_generations=3, random_state=0).fit(X, y)
    >>> reg.n_parameters_ <= 40, reg.score(X, y) > 0.4
    (True, True)
    >>> reg.predict(X[:2]).round(-2)
    array([200., 100.])
    """
