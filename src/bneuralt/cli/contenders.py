"""The models that `bneuralt demo` compares: trees, and what scikit-learn users would try first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Contender:
    """A model by name: how to make it, and how many numbers it keeps once fitted."""

    name: str
    make: Callable[[int], Any]  # from a seed
    count_weights: Callable[[Any], int]


def contenders(task: str) -> list[Contender]:
    """One tree, a forest of trees, and four models of scikit-learn, all with default settings.

    Neural trees scale features and target by themselves. So that all are treated alike, the models
    of scikit-learn that need it get scalers.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.svm import SVC, SVR

    import bneuralt

    if task == "classification":
        return [
            Contender("neural tree", _seeded(bneuralt.BNeuralTClassifier), _own_weights),
            Contender("neural forest", _seeded(bneuralt.BNeuralForestClassifier), _own_weights),
            Contender("logistic regression", _scaled(LogisticRegression), _linear_weights),
            Contender("SVM (rbf)", _scaled(SVC), _svm_weights),
            Contender("random forest (100)", _seeded(RandomForestClassifier), _forest_numbers),
            Contender("MLP (100)", _scaled(MLPClassifier), _mlp_weights),
        ]
    return [
        Contender("neural tree", _seeded(bneuralt.BNeuralTRegressor), _own_weights),
        Contender("neural forest", _seeded(bneuralt.BNeuralForestRegressor), _own_weights),
        Contender("ridge regression", _scaled(Ridge), _linear_weights),
        Contender("SVM (rbf)", _scaled(SVR), _svm_weights),
        Contender("random forest (100)", _seeded(RandomForestRegressor), _forest_numbers),
        Contender("MLP (100)", _scaled(MLPRegressor), _mlp_weights),
    ]


def _seeded(estimator: Any) -> Callable[[int], Any]:
    return lambda seed: estimator(random_state=seed)


def _scaled(estimator: Any) -> Callable[[int], Any]:
    from sklearn.base import is_regressor
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def make(seed: int) -> Any:
        takes_seed = "random_state" in estimator().get_params()
        model = estimator(random_state=seed) if takes_seed else estimator()
        pipeline = make_pipeline(StandardScaler(), model)
        if is_regressor(model):
            return TransformedTargetRegressor(pipeline, transformer=StandardScaler())
        return pipeline

    return make


def _last_step(model: Any) -> Any:
    return getattr(model, "regressor_", model)[-1]


def _own_weights(model: Any) -> int:
    return model.n_parameters_


def _linear_weights(fitted: Any) -> int:
    model = _last_step(fitted)
    return model.coef_.size + _size(model.intercept_)


def _svm_weights(fitted: Any) -> int:
    model = _last_step(fitted)
    return model.support_vectors_.size + model.dual_coef_.size + model.intercept_.size


def _mlp_weights(fitted: Any) -> int:
    model = _last_step(fitted)
    return sum(w.size for w in [*model.coefs_, *model.intercepts_])


def _forest_numbers(model: Any) -> int:
    """A feature and a threshold per split; a number per class, or one, per leaf."""
    per_leaf = len(getattr(model, "classes_", [0]))
    trees = [estimator.tree_ for estimator in model.estimators_]
    leaves = sum(tree.n_leaves for tree in trees)
    splits = sum(tree.node_count for tree in trees) - leaves
    return 2 * splits + per_leaf * leaves


def _size(value: Any) -> int:
    return getattr(value, "size", 1)
