"""The recipe of a fit: every automatic value can be read, and passed back without an effect."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_friedman1

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
)
from tests.helpers import quick

RUNNING = {"random_state", "n_jobs", "verbose", "warm_start"}


def messy_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with text, gaps and a sentinel."""
    rng, n = np.random.default_rng(0), 150
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, -999.0, rng.normal(40, 10, n).round()),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], n),
            "size": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    y = (frame["city"] == "Rome") + rng.normal(size=n) / 2 + frame["size"].fillna(0.5)
    return frame, y.to_numpy()


def waves() -> tuple[np.ndarray, np.ndarray]:
    """Return an effect that changes its direction many times, for which ramps are chosen."""
    X = np.random.default_rng(0).uniform(size=(1_000, 3))
    return X, np.sin(80 * X[:, 0])


def shops() -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with a category of many values, which has means of the target."""
    rng, n = np.random.default_rng(2), 2_000
    shop = rng.integers(0, 400, n)
    frame = pd.DataFrame({"shop": [f"s{i}" for i in shop], "size": rng.normal(size=n)})
    return frame, rng.normal(size=400)[shop] + frame["size"].to_numpy() + rng.normal(size=n)


def noise() -> tuple[np.ndarray, np.ndarray]:
    """Return a table with nothing to learn, for which more decay is chosen."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(400, 5)), rng.normal(size=400)


FRAME, TARGET = messy_table()
CASES = {
    "tree classifier": (BNeuralTClassifier, load_iris(return_X_y=True)),
    "tree regressor": (BNeuralTRegressor, load_diabetes(return_X_y=True)),
    "forest classifier": (BNeuralForestClassifier, load_iris(return_X_y=True)),
    "forest regressor": (BNeuralForestRegressor, (FRAME, TARGET)),
    "tree of text": (BNeuralTClassifier, (FRAME, np.where(TARGET > 0.5, "yes", "no"))),
    "tree of noise": (BNeuralTRegressor, noise()),
    "tree of waves": (BNeuralTRegressor, waves()),
    "forest of shops": (BNeuralForestRegressor, shops()),
}


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    """A fitted default model, with its table."""
    cls, (X, y) = CASES[request.param]
    small = {"n_estimators": 2} if "forest" in request.param else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(random_state=0, **small).fit(X, y), X, y


def outputs(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def settable(model):
    """Return all parameters and nested fields, with the value that the recipe shows."""
    recipe, found = model.recipe_, {}
    for name in model.get_params():
        owner, _, field = name.partition("__")
        if owner not in RUNNING:
            found[name] = getattr(getattr(recipe, owner), field) if field else getattr(recipe, name)
    return found


def test_explicit_equals_automatic(fitted, request):
    model, X, y = fitted
    expected, values = outputs(model, X), settable(model)
    assert {"n_weights", "weight_decay", "growth__n_joined", "training__leaf_moves"} <= set(values)
    every = 10 if quick.is_quick else 1  # others for each model
    first = list(CASES).index(request.node.callspec.params["fitted"]) % every
    for name, value in list(values.items())[first::every]:
        owner = name.partition("__")[0]
        twin = clone(model).set_params(**{name: value})
        if owner in ("growth", "training") and name == owner:  # one of them at the top would clash
            twin.set_params(**dict.fromkeys(("loss", "max_epochs"), "auto"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twin.fit(X, y)
        np.testing.assert_array_equal(outputs(twin, X), expected, err_msg=name)
        assert twin.n_parameters_ == model.n_parameters_, name


def test_all_values_together_are_the_same_model(fitted):
    model, X, y = fitted
    values = {
        name: value
        for name, value in settable(model).items()
        if "__" not in name and name not in ("training", "loss")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin = clone(model).set_params(**values).fit(X, y)
    np.testing.assert_array_equal(outputs(twin, X), outputs(model, X))


def test_what_was_chosen_is_named(fitted):
    model, _, _ = fitted
    recipe = model.recipe_
    assert recipe.reasons["n_weights"].startswith("rows")
    assert recipe.reasons["output_factor"].startswith("trial")
    text = repr(recipe)
    assert "n_weights" in text and "weight_decay" in text and "trial" in text
    assert "<td>weight_decay</td>" in recipe._repr_html_()
    with pytest.raises(AttributeError, match="has no 'colour'"):
        _ = recipe.colour


def test_the_cases_have_what_a_trial_can_choose():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_noise = BNeuralTRegressor(random_state=0).fit(*noise()).recipe_
        by_waves = BNeuralTRegressor(random_state=0).fit(*waves()).recipe_
        by_frame = BNeuralTRegressor(random_state=0).fit(FRAME, TARGET).recipe_
    assert by_noise.output_factor < 0.5
    assert by_waves.ramp_fraction == 0.8 and "trial" in by_waves.reasons["ramp_fraction"]
    assert by_frame.sentinels == {"age": (-999.0,)}


def test_a_set_value_replaces_one_field_only():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    usual = BNeuralTRegressor(random_state=0).fit(X, y).recipe_
    decayed = BNeuralTRegressor(random_state=0, weight_decay=0.3).fit(X, y).recipe_
    assert decayed.weight_decay == 0.3 and decayed.reasons["weight_decay"] == "set"
    assert decayed.growth.n_joined == usual.growth.n_joined == 2
    assert decayed.reasons["output_factor"].startswith("trial")
    small = BNeuralTRegressor(random_state=0, n_weights=20).fit(X, y)
    assert small.recipe_.growth.n_joined == 1 and small.n_parameters_ <= 22


def test_epochs_of_the_trial_are_counted():
    X, y = load_iris(return_X_y=True)
    model = BNeuralTClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ == len(model.history_["train_loss"])
    assert 0.8 * model.recipe_.max_epochs < model.n_iter_ <= model.recipe_.max_epochs


def test_files_hold_the_recipe(fitted, tmp_path):
    model, X, _ = fitted
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert repr(loaded.recipe_) == repr(model.recipe_)
    assert loaded.recipe_.training == model.recipe_.training
    np.testing.assert_array_equal(outputs(loaded, X), outputs(model, X))


@pytest.mark.parametrize(
    ("sentinels", "message"),
    [
        ({"height": [-1]}, "sentinels has the column 'height', which X does not have"),
        ({"age": "many"}, r"sentinels\['age'\]='many' must be a number"),
        ({7: -999}, "sentinels has the column 7"),
    ],
)
def test_wrong_sentinels_are_refused(sentinels, message):
    with pytest.raises(ValueError, match=message):
        BNeuralTRegressor(sentinels=sentinels).fit(FRAME, TARGET)


def test_sentinels_that_are_set_are_not_warned_of():
    model = BNeuralTRegressor(sentinels={"age": -999}, max_epochs=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(FRAME, TARGET)
    assert model.encoder_.sentinels == {0: (-999.0,)}


@pytest.mark.parametrize("growth", [{"growth__n_joined": 2}])
def test_trees_of_forests_are_not_joined(growth):
    forest = BNeuralForestRegressor(n_estimators=2).set_params(**growth)
    with pytest.raises(ValueError, match="n_joined=2 of growth is for single trees"):
        forest.fit(*load_diabetes(return_X_y=True))


def test_joined_trees_need_linear_outputs():
    model = BNeuralTRegressor().set_params(growth__n_joined=2, growth__output_activation="sigmoid")
    with pytest.raises(ValueError, match="needs output_activation='linear'"):
        model.fit(*load_diabetes(return_X_y=True))
