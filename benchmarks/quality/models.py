"""The models that are compared, all with the defaults of their libraries and one thread each.

Libraries are imported when a model is made, so that a machine needs only those that it measures.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bneuralt import TrainingSettings

__all__ = ["CURVE_WEIGHTS", "MODELS", "curve_name", "make_model", "n_weights", "settings_of"]

#: Makes a model from a seed and the number of classes (0: regression).
Maker = Callable[[int, int], Any]


class Model(NamedTuple):
    """A classifier and a regressor.

    `most_rows` is the size of table above which the model takes too long; `package` is named, with
    its version, in the settings of a run.
    """

    classifier: Maker
    regressor: Maker
    most_rows: int | None = None
    package: str | None = None


def _made_by(module: str, name: str, *, is_random: bool = True, **parameters: Any) -> Maker:
    def make(seed: int, n_classes: int) -> Any:
        seeded = {"random_state": seed} if is_random else {}
        return getattr(import_module(module), name)(**parameters, **seeded)

    return make


def _scikit_learn(module: str, classifier: str, regressor: str) -> tuple[Maker, Maker]:
    module = f"sklearn.{module}"
    return _made_by(module, classifier), _made_by(module, regressor)


def _other_library(
    package: str, module: str, prefix: str, *, most_rows: int | None = None, **parameters: Any
) -> Model:
    def limited(make: Maker) -> Maker:  # some of these libraries read seeds as signed integers
        return lambda seed, n_classes: make(seed % 2**31, n_classes)

    return Model(
        limited(_made_by(module, f"{prefix}Classifier", **parameters)),
        limited(_made_by(module, f"{prefix}Regressor", **parameters)),
        most_rows,
        package,
    )


def _gaussian_process(name: str) -> Maker:
    """Use the kernels of the paper: scikit-learn's default regressor assumes data without noise."""

    def make(seed: int, n_classes: int) -> Any:
        from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel

        kernel = 1.0 * RBF(1.0) if n_classes else DotProduct() + WhiteKernel()
        return _made_by("sklearn.gaussian_process", name, kernel=kernel)(seed, n_classes)

    return make


def _tree_of(n_weights: int) -> Model:
    def maker(name: str) -> Maker:
        def make(seed: int, n_classes: int) -> Any:
            fewest = 3 * n_classes  # a node with two leaves for each class
            parameters = {"n_weights": max(n_weights, fewest)}
            return _made_by("bneuralt", name, **parameters)(seed, n_classes)

        return make

    return Model(maker("BNeuralTClassifier"), maker("BNeuralTRegressor"))


def curve_name(n_weights: int) -> str:
    """Return the name of a single tree of a given number of weights."""
    return f"tree of {n_weights} weights"


#: Leaves stay where they were drawn.
STILL = TrainingSettings(leaf_moves=0)

CURVE_WEIGHTS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)

MODELS = {
    "tree": Model(
        _made_by("bneuralt", "BNeuralTClassifier"), _made_by("bneuralt", "BNeuralTRegressor")
    ),
    "forest": Model(
        _made_by("bneuralt", "BNeuralForestClassifier"),
        _made_by("bneuralt", "BNeuralForestRegressor"),
    ),
    "readable tree": Model(
        _made_by("bneuralt", "BNeuralTClassifier", n_weights="readable"),
        _made_by("bneuralt", "BNeuralTRegressor", n_weights="readable"),
    ),
    "tree without moves": Model(
        _made_by("bneuralt", "BNeuralTClassifier", training=STILL),
        _made_by("bneuralt", "BNeuralTRegressor", training=STILL),
    ),
    "linear": Model(*_scikit_learn("linear_model", "LogisticRegression", "Ridge")),
    "random forest": Model(
        *_scikit_learn("ensemble", "RandomForestClassifier", "RandomForestRegressor")
    ),
    "boosting": Model(
        *_scikit_learn(
            "ensemble", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"
        )
    ),
    "LightGBM": _other_library("lightgbm", "lightgbm", "LGBM", n_jobs=1, verbosity=-1),
    "XGBoost": _other_library("xgboost", "xgboost", "XGB", n_jobs=1),
    "MLP": Model(*_scikit_learn("neural_network", "MLPClassifier", "MLPRegressor")),
    "SVM": Model(
        _made_by("sklearn.svm", "SVC"),
        _made_by("sklearn.svm", "SVR", is_random=False),
        most_rows=10_000,
    ),
    "GP": Model(
        _gaussian_process("GaussianProcessClassifier"),
        _gaussian_process("GaussianProcessRegressor"),
    ),
    "CatBoost": _other_library(
        "catboost", "catboost", "CatBoost", thread_count=1, verbose=False, allow_writing_files=False
    ),
    "EBM": _other_library(
        "interpret-core", "interpret.glassbox", "ExplainableBoosting", n_jobs=1, most_rows=2_000
    ),
    **{curve_name(n): _tree_of(n) for n in CURVE_WEIGHTS},
}


def make_model(name: str, task: str, seed: int, n_classes: int = 0) -> Any:
    """Return an unfitted model; those of other libraries with standardised features and target."""
    model = _bare_model(name, task, seed, n_classes)
    if type(model).__module__.startswith("bneuralt."):
        return model
    model = make_pipeline(StandardScaler(), model)
    if task == "regression":
        model = TransformedTargetRegressor(model, transformer=StandardScaler())
    return model


def _bare_model(name: str, task: str, seed: int, n_classes: int) -> Any:
    if task == "regression":
        return MODELS[name].regressor(seed, 0)
    return MODELS[name].classifier(seed, max(n_classes, 1))


def settings_of(name: str, task: str) -> dict[str, str]:
    """Return the settings of a run: the parameters, and the version of another library."""
    package = MODELS[name].package
    model = _bare_model(name, task, 0, 0) if package else make_model(name, task, 0)
    parameters = {
        key: value for key, value in model.get_params().items() if "random_state" not in key
    }
    settings = {key: repr(value) for key, value in parameters.items()}
    return settings | {"library": f"{package} {_version(package)}"} if package else settings


def _version(package: str) -> str:
    if package == "xgboost":
        return str(import_module("xgboost").__version__)  # xgboost-cpu provides it too
    return metadata.version(package)


def n_weights(model: Any) -> int | None:
    """Return the number of trained weights of trees, forests, perceptrons and linear models."""
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_)
    last = getattr(model, "regressor_", model)[-1]
    if hasattr(last, "coefs_"):
        return sum(part.size for part in [*last.coefs_, *last.intercepts_])
    if type(last).__name__ in ("LogisticRegression", "Ridge"):
        return int(np.size(last.coef_) + np.size(last.intercept_))
    return None
