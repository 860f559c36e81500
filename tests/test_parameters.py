"""What the parameters of estimators may be, and what they are by default."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
)
from bneuralt.estimators import single

WHOLE = ("max_depth", "max_children", "min_children", "max_size", "n_weights", "n_init",
         "max_weights", "leaf_moves", "n_iter_no_change", "n_estimators", "max_epochs",
         "batch_size", "min_size", "max_samples", "max_features")  # fmt: skip

# the least whole number that is allowed
LEAST = {"max_depth": 0, "max_children": 2, "n_weights": 3, "max_weights": 2, "leaf_moves": 0}

# the ends of the range of a number, and whether they belong to it
RANGES = {
    "leaf_probability": (0.0, True, 1.0, True),
    "min_size": (0.0, True, 1.0, True),
    "init_scale": (0.0, True, None, False),
    "label_smoothing": (0.0, True, 1.0, False),
    "learning_rate": (0.0, False, None, False),
    "weight_decay": (0.0, True, None, False),
    "clip_norm": (0.0, False, None, False),
    "validation_fraction": (0.0, False, 1.0, False),
    "max_samples": (0.0, False, 1.0, True),
    "max_features": (0.0, False, 1.0, True),
    "moving_share": (0.0, True, 1.0, True),
}
OPTIONAL = ("min_size", "max_size", "n_weights", "feature_sampling", "clip_norm", "batch_size",
            "max_epochs", "select", "scale", "class_weight", "random_state", "n_jobs",
            "max_samples", "max_features", "categorical_features", "leaf_probability", "max_depth",
            "monotonic_cst", "max_weights")  # fmt: skip


def is_allowed(name, value):
    try:
        BNeuralForestClassifier(**{name: value})._validate_params()
    except InvalidParameterError as error:
        assert name in str(error)
        return False
    return True


@pytest.mark.parametrize("name", WHOLE)
def test_the_least_whole_number(name):
    least = LEAST.get(name, 1)
    assert is_allowed(name, least) and is_allowed(name, np.int64(least + 5))
    assert not is_allowed(name, least - 1)
    assert not is_allowed(name, "many")


@pytest.mark.parametrize("name", RANGES)
def test_the_ends_of_ranges(name):
    low, has_low, high, has_high = RANGES[name]
    assert is_allowed(name, low) == has_low
    assert is_allowed(name, 1e-9) and not is_allowed(name, -1e-9)
    assert is_allowed(name, 0.999)
    if high is None:
        assert is_allowed(name, 1e9)
    else:
        assert is_allowed(name, high) == has_high and not is_allowed(name, high + 1e-9)


@pytest.mark.parametrize("name", [*BNeuralForestClassifier().get_params()])
def test_nothing_is_allowed_where_it_means_something(name):
    assert is_allowed(name, None) == (name in OPTIONAL)


def test_an_unfit_value_is_refused_by_fit():
    with pytest.raises(InvalidParameterError, match="max_depth"):
        BNeuralTRegressor(growth=Growth(max_depth=-1)).fit([[0.0], [1.0]], [0.0, 1.0])


def test_defaults():
    models = [
        kind()
        for kind in (
            BNeuralTClassifier,
            BNeuralTRegressor,
            BNeuralForestClassifier,
            BNeuralForestRegressor,
        )
    ]
    assert [model.n_init for model in models] == [1, 1, 1, 1]
    assert [model.n_estimators for model in models[2:]] == [10, 10]
    assert [model.loss for model in models] == ["cross_entropy", "squared_error"] * 2
    for model in models:
        assert model.verbose == 0 and model.n_jobs is None and model.random_state is None
        assert model.warm_start is False and model.early_stopping is False
        assert model.train_activations is False and model.min_children == 2
    for forest in models[2:]:
        assert forest.bootstrap is False and forest.max_samples is None
    assert models[0].label_smoothing == 0


def test_settings_of_the_paper_are_one_tree_trained_row_by_row():
    settings = single.PAPER_SETTINGS
    assert settings["n_init"] == settings["batch_size"] == 1
    assert settings["weight_decay"] == 0 and settings["min_size"] is None
    assert settings["optimizer"] == "rmsprop" and settings["learning_rate"] == 0.1
    for kind in (BNeuralTClassifier, BNeuralTRegressor):
        kind(**settings)._validate_params()
    with pytest.raises(TypeError):
        settings["n_init"] = 2


@pytest.mark.parametrize("kind", [BNeuralTClassifier, BNeuralForestRegressor])
def test_every_parameter_is_described_with_its_default(kind):
    for name, value in kind().get_params().items():
        assert f"{name} : " in kind.__doc__ and f"default={value!r}" in kind.__doc__
    assert "{parameters}" not in kind.__doc__
