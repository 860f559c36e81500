"""The models that `bneuralt demo` compares: neural trees and common models of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from bneuralt.estimators import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)

__all__ = ["Contender", "contenders"]


@dataclass(frozen=True)
class Contender:
    """A model to compare.

    Attributes
    ----------
    name : str
        Its name in the tables.
    make : callable
        Returns an unfitted model, given a seed.
    count_weights : callable
        Returns how many numbers a fitted model stores.
    """

    name: str
    make: Callable[[int], Any]
    count_weights: Callable[[Any], int]


def contenders(task: str) -> list[Contender]:
    """Return a neural tree, a neural forest and four models of scikit-learn.

    All have their default settings. Neural trees scale features and target themselves; the models
    of scikit-learn that need scaling get scalers.

    Parameters
    ----------
    task : {"classification", "regression"}
        The task.

    Returns
    -------
    list of Contender
        The models.
    """
    neural: tuple[Any, Any] = (BNeuralTRegressor, BNeuralForestRegressor)
    others: tuple[Any, Any, Any, Any] = (Ridge, SVR, RandomForestRegressor, MLPRegressor)
    linear_name = "ridge regression"
    if task == "classification":
        neural = (BNeuralTClassifier, BNeuralForestClassifier)
        others = (LogisticRegression, SVC, RandomForestClassifier, MLPClassifier)
        linear_name = "logistic regression"
    tree, forest = neural
    linear, svm, random_forest, mlp = others
    return [
        Contender("neural tree", _seeded(tree), _neural_weights),
        Contender("neural forest", _seeded(forest), _neural_weights),
        Contender(linear_name, _scaled(linear), _linear_weights),
        Contender("SVM (rbf)", _scaled(svm), _svm_weights),
        Contender("random forest (100)", _seeded(random_forest), _forest_numbers),
        Contender("MLP (100)", _scaled(mlp), _mlp_weights),
    ]


def _seeded(estimator: type[BaseEstimator]) -> Callable[[int], Any]:
    return lambda seed: estimator(random_state=seed)


def _scaled(estimator: type[BaseEstimator]) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        takes_seed = "random_state" in estimator().get_params()
        model = estimator(random_state=seed) if takes_seed else estimator()
        pipeline = make_pipeline(StandardScaler(), model)
        if is_regressor(model):
            return TransformedTargetRegressor(pipeline, transformer=StandardScaler())
        return pipeline

    return make


def _last_step(model: BaseEstimator) -> Any:
    return getattr(model, "regressor_", model)[-1]


def _neural_weights(model: BaseEstimator) -> int:
    return int(model.n_parameters_)


def _linear_weights(fitted: Any) -> int:
    model = _last_step(fitted)
    return _size(model.coef_) + _size(model.intercept_)


def _svm_weights(fitted: Any) -> int:
    model = _last_step(fitted)
    return _size(model.support_vectors_) + _size(model.dual_coef_) + _size(model.intercept_)


def _mlp_weights(fitted: Any) -> int:
    model = _last_step(fitted)
    return sum(_size(weights) for weights in [*model.coefs_, *model.intercepts_])


def _forest_numbers(model: BaseEstimator) -> int:
    """Count a feature and a threshold per split, and a number per class (or one) per leaf."""
    per_leaf = len(getattr(model, "classes_", [0]))
    trees = [estimator.tree_ for estimator in model.estimators_]
    leaves = sum(int(tree.n_leaves) for tree in trees)
    splits = sum(int(tree.node_count) for tree in trees) - leaves
    return 2 * splits + per_leaf * leaves


def _size(value: Any) -> int:
    return int(getattr(value, "size", 1))
