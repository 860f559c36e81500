"""Trees to be read: their size, their digits, and what they can be combined with."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    TrainingSettings,
    load_model,
    plot_tree,
)
from bneuralt.drawing.view import TreeView
from bneuralt.fitting import readable
from bneuralt.fitting.readable import largest_size
from bneuralt.training.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES
from bneuralt.warnings import ReadableTreeWarning
from tests.helpers import quick
from tests.helpers.tables import DIABETES, IRIS

TREES = [BNeuralTClassifier, BNeuralTRegressor]
FORESTS = [BNeuralForestClassifier, BNeuralForestRegressor]
TABLE = {BNeuralTClassifier: IRIS, BNeuralTRegressor: DIABETES}
FAST = {"n_weights": "readable", "max_epochs": 10, "random_state": 0}

#: A value of each parameter that is not the default.
VALUES = {
    "n_weights": "readable",
    "max_weights": 12,
    "loss": "squared_error",
    "monotonic_cst": None,  # see the test of proofs
    "interaction_cst": "no_interactions",
    "learning_rate": 0.05,
    "weight_decay": 0.01,
    "output_factor": 0.9,
    "batch_size": 8,
    "max_epochs": 5,
    "early_stopping": True,
    "validation_fraction": 0.3,
    "growth": Growth(activation=("tanh", "gaussian"), train_activations=True, n_init=2),
    "training": TrainingSettings(optimizer="rmsprop"),
    "scale": "standard",
    "ramps": 3,
    "sentinels": None,
    "identifiers": "keep",
    "categorical_features": [0],
    "warm_start": True,
    "dtype": "float64",
    "random_state": np.random.RandomState(0),
    "n_jobs": 2,
    "verbose": 0,
    "class_weight": "balanced",
    "quantiles": (0.1, 0.9),
    "conformal": 0.2,
}
REFUSED = {"warm_start"}


def significant_digits(x):
    mantissa = f"{abs(x):.17g}".split("e")[0] if x != float(repr(x)) else repr(abs(x)).split("e")[0]
    return len(mantissa.replace(".", "").strip("0"))


def made_table(n_rows=400, seed=0):
    """Return three columns of few categories, and yes or no."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "cabin": rng.choice(["first", "second", "third"], n_rows),
            "sex": rng.choice(["male", "female"], n_rows),
            "age": rng.choice(["adult", "child"], n_rows, p=[0.9, 0.1]),
        }
    )
    score = 2.2 * (X.sex == "female") + (X.age == "child") - (X.cabin == "third") - 0.8
    return X, np.where(rng.random(n_rows) < 1 / (1 + np.exp(-score)), "yes", "no")


@pytest.mark.parametrize("kind", TREES)
def test_every_parameter_can_be_combined_or_is_refused(kind, monkeypatch):
    monkeypatch.setattr(readable, "FOLDS", 2)
    X, y = (np.asarray(part)[::3] for part in TABLE[kind])
    parameters = [name for name in inspect.signature(kind).parameters if name != "kwargs"]
    assert set(parameters) <= set(VALUES), "a value of each parameter"
    chosen = parameters[TREES.index(kind) :: 2] if quick.is_quick else parameters
    for name in chosen:
        model = kind(**{**FAST, name: VALUES[name]})
        if name in REFUSED:
            with pytest.raises(ValueError, match=f"n_weights='readable'.*{name}"):
                model.fit(X, y)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReadableTreeWarning)
            model.fit(X, y)
        assert model.n_parameters_ <= largest_size(model.tree_.n_outputs), name
        assert clone(model).get_params()["n_weights"] == "readable"


@pytest.mark.parametrize("loss", [*REGRESSION_LOSSES, "quantile"])
def test_all_losses_of_regressors(loss):
    X, y = DIABETES
    model = BNeuralTRegressor(**FAST, loss=loss).fit(X, y)
    assert TreeView.of(model).has_short_weights
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("loss", CLASSIFICATION_LOSSES)
@pytest.mark.parametrize("output", ["linear", "sigmoid"])
def test_all_losses_of_classifiers(loss, output):
    X, y = IRIS
    if loss == "cross_entropy" and output == "sigmoid":
        pytest.skip("refused by every classifier of several classes")
    growth = Growth(output_activation=output)
    model = BNeuralTClassifier(**FAST, loss=loss, growth=growth).fit(X, y)
    assert TreeView.of(model).has_short_weights


def test_several_columns_of_the_target():
    X, y = DIABETES
    model = BNeuralTRegressor(**FAST).fit(X, np.column_stack([y, -y]))
    assert model.predict(X).shape == (len(y), 2)
    labels = np.column_stack([y > 100, y > 200]).astype(int)
    assert BNeuralTClassifier(**FAST).fit(X, labels).predict(X).shape == (len(y), 2)


@pytest.mark.parametrize("kind", FORESTS)
def test_forests_refuse_it(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__} has several: use BNeuralT"):
        kind(n_weights="readable").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("kind", TREES)
def test_partial_fit_refuses_it(kind):
    options = {"classes": [0, 1]} if kind is BNeuralTClassifier else {}
    with pytest.raises(ValueError, match="n_weights='readable' chooses"):
        kind(n_weights="readable").partial_fit([[0.0], [1.0]], [0, 1], **options)


@pytest.mark.parametrize("kind", TREES)
def test_numbers_of_the_model_are_those_that_are_drawn(kind, tmp_path):
    X, y = made_table()
    y = y if kind is BNeuralTClassifier else (y == "yes") * 5.0
    model = kind(n_weights="readable", random_state=0).fit(X, y)
    weights = model.tree_.parameters
    assert weights.dtype == np.float64
    edges_and_leaves = weights[model.tree_.parent.size :]
    assert max(map(significant_digits, edges_and_leaves.tolist())) <= 3
    formula = model.to_formula()
    if kind is BNeuralTRegressor:  # that of two classes has differences of weights
        for weight in edges_and_leaves.tolist():
            assert f"{abs(weight):.15g}" in formula or abs(weight) == 1
    # a difference of two numbers of three digits may have an error in its 17th one
    assert formula == model.to_formula(digits=None if kind is BNeuralTRegressor else 15)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.n_weights == "readable"
    assert loaded.to_formula() == formula
    for method in {"predict", "predict_proba"} & set(dir(model)):
        assert np.array_equal(getattr(loaded, method)(X), getattr(model, method)(X))


@given(seed=st.integers(0, 1000), size=st.floats(1e-6, 1e6), shift=st.floats(-100, 100))
@settings(max_examples=6, deadline=None)
def test_rounding_hardly_changes_predictions(seed, size, shift):
    """Also where columns have large offsets or small units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3)) * size + shift * size
    y = (X[:, 0] - X[:, 1]) / size + 0.1 * rng.normal(size=150)
    exact, rounded = [], readable._rounded
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr(
            readable, "_rounded", lambda *given: exact.append(given[-1]) or rounded(*given)
        )
        model = BNeuralTRegressor(**FAST).fit(X, y)
    assert TreeView.of(model).has_short_weights
    (before,) = exact
    expected = before.predictions(before.outputs(before.encode(X)))[:, 0]
    assert np.abs(model.predict(X) - expected).mean() < 0.1 * y.std()


def test_ends_of_ramps_are_those_of_their_names():
    X, y = DIABETES
    model = BNeuralTRegressor(**FAST).fit(X, y)
    for feature in model.encoder_.features:
        for ramp in feature.ramps:
            assert max(significant_digits(ramp.start), significant_digits(ramp.end)) <= 6
    names = " ".join(entry.name for entry in model.model_.inputs)
    ramp = model.encoder_.features[2].ramps[0]
    assert f"from {ramp.start:.15g} to {ramp.end:.15g}" in names


def test_constraints_are_proved_after_rounding():
    X, y = DIABETES
    X = np.asarray(X)[:, [2, 3, 8]]
    model = BNeuralTRegressor(**FAST, monotonic_cst=[1, 1, 0]).fit(X, y)
    assert model.check_monotonic().holds
    model = BNeuralTRegressor(**FAST, interaction_cst="no_interactions").fit(X, y)
    assert model.check_interactions().is_additive


def test_the_same_seed_gives_the_same_tree_for_any_order_and_weights_that_repeat_rows():
    X, y = (np.asarray(part) for part in IRIS)
    order = np.random.default_rng(0).permutation(len(y))
    one = BNeuralTClassifier(**FAST).fit(X, y)
    other = BNeuralTClassifier(**FAST).fit(X[order], y[order])
    assert np.array_equal(one.tree_.parameters, other.tree_.parameters)
    twice = BNeuralTClassifier(**FAST).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = BNeuralTClassifier(**FAST).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert np.array_equal(twice.tree_.parameters, weighted.tree_.parameters)


def test_a_tree_that_is_too_small_warns_and_says_what_it_costs(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(400, 4))
    y = np.sin(X).sum(axis=1) + X[:, 0] * X[:, 1]
    monkeypatch.setattr(readable, "MAX_READABLE_WEIGHTS", 8)
    with pytest.warns(ReadableTreeWarning, match=r"a tree of \d weights scores 0\.\d+ less"):
        model = BNeuralTRegressor(n_weights="readable", random_state=0).fit(X, y)
    assert model.n_parameters_ <= 8


@pytest.mark.parametrize("n_rows", [2, 5, 21])
def test_few_rows(n_rows):
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    model = BNeuralTClassifier(**FAST).fit(X, np.arange(n_rows) % 2)
    assert model.predict(X).shape == (n_rows,)
    assert BNeuralTRegressor(**FAST).fit(X, X[:, 0]).predict(X).shape == (n_rows,)


def test_a_constant_target_and_constant_columns():
    X = np.ones((50, 2))
    assert np.allclose(BNeuralTRegressor(**FAST).fit(X, np.full(50, 0.1)).predict(X), 0.1)


def test_a_table_of_categories_is_drawn_on_one_screen():
    X, y = made_table(1500)
    model = BNeuralTClassifier(n_weights="readable", random_state=0).fit(X, y)
    usual = BNeuralTClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) > usual.score(X, y) - 0.03
    width, height = plot_tree(model).figure.get_size_inches()
    assert width <= 14
    assert height <= 9


def test_scores_of_sizes():
    X, y = IRIS
    model = BNeuralTClassifier(n_weights="readable", random_state=0).fit(X, y)
    scores = model.compaction_
    assert scores.n_weights == model.n_parameters_
    assert scores.size.size == scores.score.size == scores.standard_error.size > 2
    assert scores.chosen in scores.size
