"""Forests that are trained on a table that comes in parts."""

import warnings
from copy import copy

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    TrainingSettings,
    load_model,
)
from bneuralt.fitting.forest import draw_rows
from tests.helpers.tables import DIABETES

X, Y = load_breast_cancer(return_X_y=True)
PARTS = np.array_split(np.random.default_rng(0).permutation(len(X)), 6)
KINDS = [BNeuralForestClassifier, BNeuralForestRegressor]
SMALL = {"n_estimators": 3, "n_weights": 60, "random_state": 0}

both = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def fit_parts(model, n_times=1):
    """Train a model on all parts."""
    options = {"classes": [0, 1]} if hasattr(model, "class_weight") else {}
    for _ in range(n_times):
        for part in PARTS:
            model.partial_fit(X[part], Y[part], **options)
    return model


@both
def test_trees_of_a_forest_continue(kind):
    model = fit_parts(kind(**SMALL))
    structures = [member.tree_.parent.tolist() for member in model.estimators_]
    assert [member.n_iter_ for member in model.estimators_] == [6, 6, 6]
    assert model.history_["epoch"].tolist() == [*range(6)] * 3
    first = model.score(X, Y)
    fit_parts(model, n_times=4)
    assert [member.tree_.parent.tolist() for member in model.estimators_] == structures
    assert len({str(structure) for structure in structures}) == 3
    assert model.score(X, Y) > max(first, 0.9 if kind is BNeuralForestClassifier else 0.6)


@both
def test_each_tree_of_a_forest_is_trained_like_a_single_one(kind):
    forest = fit_parts(kind(**SMALL))
    single = BNeuralTClassifier if kind is BNeuralForestClassifier else BNeuralTRegressor
    for member in forest.estimators_:
        tree = single(**{name: getattr(member, name) for name in single().get_params(deep=False)})
        tree.set_params(weight_decay=forest.recipe_.weight_decay)  # less than that of one tree
        np.testing.assert_array_equal(fit_parts(tree).predict(X), member.predict(X))


@both
@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_and_workers_do_not_change_the_result(kind, n_jobs):
    expected = fit_parts(kind(**SMALL)).predict(X)
    with parallel_config("loky"):
        np.testing.assert_array_equal(fit_parts(kind(**SMALL, n_jobs=n_jobs)).predict(X), expected)


@both
def test_a_fitted_forest_is_trained_further(kind):
    model = kind(**SMALL, max_epochs=3).fit(X, Y)
    before = model.predict(X)
    assert model.feature_importances_.size == X.shape[1]
    fit_parts(model)
    assert [member.n_iter_ for member in model.estimators_] == [9, 9, 9]
    assert not np.array_equal(model.predict(X), before)
    with pytest.raises(AttributeError, match=r"use explain\(X\).importances"):
        model.feature_importances_  # noqa: B018


@both
def test_results_of_held_out_rows_are_not_kept(kind):
    model = kind(**SMALL, max_epochs=3, bootstrap=True).fit(X, Y)
    assert np.isfinite(model.oob_score_)
    assert not hasattr(fit_parts(model), "oob_score_")
    if kind is BNeuralForestRegressor:
        with pytest.raises(ValueError, match="predict_interval needs rows"):
            model.predict_interval(X)


@both
@pytest.mark.parametrize(
    "parameters",
    [
        {"bootstrap": True},
        {"max_samples": 0.5},
        {"max_features": 4},
        {"n_weights": "auto", "training": TrainingSettings(weight_decay=0.01)},
        {"growth": Growth(max_depth=2)},
        {"monotonic_cst": [1] * 2 + [0] * 28},
        {"warm_start": True},
    ],
    ids=str,
)
def test_parameters_of_forests_are_used(kind, parameters):
    model = fit_parts(kind(**{**SMALL, **parameters}), n_times=2)
    members = model.estimators_
    assert len(members) == 3 and np.isfinite(model.predict(X)).all()
    if "max_features" in parameters:
        assert all(np.unique(member.tree_.leaf_input).size <= 4 for member in members)
    if "training" in parameters:
        assert model.recipe_.weight_decay == 0.01
    if "monotonic_cst" in parameters:
        assert model.check_monotonic()


def test_rows_are_drawn_anew_for_each_part():
    model = BNeuralForestRegressor(**SMALL, max_samples=1)
    rows = np.arange(40.0)[:, None]
    model.partial_fit(rows, rows[:, 0])
    options = model._options()
    drawn = {int(np.argmax(draw_rows(options, 40, 1, n_before))) for n_before in range(20)}
    assert len(drawn) > 5


def test_what_needs_the_whole_table_is_refused():
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        BNeuralForestClassifier(**SMALL).partial_fit(X, Y)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        fit_parts(BNeuralForestClassifier(**SMALL, class_weight="balanced"))
    with pytest.raises(ValueError, match=r"conformal=0.2 holds out rows of the whole table"):
        fit_parts(BNeuralForestRegressor(**SMALL, conformal=0.2))
    model = fit_parts(BNeuralForestClassifier(**SMALL))
    with pytest.raises(ValueError, match="are not those of the first call"):
        model.partial_fit(X, Y, classes=[0, 2])


def test_a_first_part_of_one_class_and_one_row():
    model = BNeuralForestClassifier(**{**SMALL, "n_weights": "auto"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X[:1], Y[:1], classes=[0, 1])
    assert fit_parts(model, n_times=5).score(X, Y) > 0.85


def test_forests_from_files_are_trained_further(tmp_path):
    model = fit_parts(BNeuralForestRegressor(**SMALL))
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    before = loaded.score(X, Y)
    for _ in range(5):
        loaded.partial_fit(X, Y)
    assert loaded.n_iter_ == 6 + 5 and loaded.score(X, Y) > before
    assert [member.tree_.parent.tolist() for member in loaded.estimators_] == [
        member.tree_.parent.tolist() for member in model.estimators_
    ]


def test_an_error_leaves_the_forest_as_it_was():
    model = BNeuralForestRegressor(**SMALL).partial_fit(*DIABETES)
    before = model.predict(DIABETES[0])
    with pytest.raises(ValueError, match="not finite"):
        model.partial_fit(*DIABETES, sample_weight=np.full(len(DIABETES[1]), 1e100))
    np.testing.assert_array_equal(model.predict(DIABETES[0]), before)
    assert model.n_iter_ == 1


SINGLE = [BNeuralTClassifier, BNeuralTRegressor]


@pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.__name__)
def test_small_parts_are_trained_with_the_decay_of_the_first_rows(kind):
    options = {"classes": [0, 1]} if kind is BNeuralTClassifier else {}
    automatic = kind(n_weights=60, random_state=0)
    automatic.partial_fit(X, Y, **options)
    decay = automatic.recipe_.weight_decay
    same = kind(n_weights=60, random_state=0, weight_decay=decay)
    same.partial_fit(X, Y, **options)
    for part in PARTS:
        automatic.partial_fit(X[part[:20]], Y[part[:20]])
        same.partial_fit(X[part[:20]], Y[part[:20]])
    np.testing.assert_array_equal(automatic.predict(X), same.predict(X))


@pytest.mark.parametrize("kind", SINGLE, ids=lambda kind: kind.__name__)
def test_a_copy_of_a_model_that_is_trained_in_parts_has_a_history_of_its_own(kind):
    model = fit_parts(kind(n_weights=60, random_state=0))
    other = copy(model)
    losses = model.history_["train_loss"].copy()
    model.partial_fit(X[:50], Y[:50])
    other.partial_fit(X[50:90], Y[50:90])
    for each in (model, other):
        np.testing.assert_array_equal(each.history_["train_loss"][:-1], losses)
        assert len(each.history_["train_loss"]) == each.n_iter_ == 7
    assert model.history_["train_loss"][-1] != other.history_["train_loss"][-1]


@pytest.mark.parametrize("kind", [BNeuralTClassifier, BNeuralForestClassifier])
def test_one_pass_reaches_what_one_epoch_reaches(kind):
    losses = []
    for seed in range(4):
        train, test = train_test_split(np.arange(len(X)), random_state=seed, stratify=Y)
        in_parts, whole = kind(random_state=seed), kind(random_state=seed, max_epochs=1)
        for part in np.array_split(train, 8):
            in_parts.partial_fit(X[part], Y[part], classes=[0, 1])
        whole.fit(X[train], Y[train])
        models = (in_parts, whole)
        losses.append([log_loss(Y[test], model.predict_proba(X[test])) for model in models])
    of_parts, of_epoch = np.mean(losses, axis=0)
    assert of_parts <= of_epoch


@pytest.mark.parametrize("constraints", [None, [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]])
@pytest.mark.parametrize(
    "smaller",
    [lambda model, X, y: model.simplify(), lambda model, X, y: model.compact(X, y, 30, cv=2)],
    ids=["simplify", "compact"],
)
def test_a_model_of_parts_that_was_made_smaller_goes_on_learning(smaller, constraints):
    """Without the state of the optimizer and the signs of nodes that it no longer has."""
    X, y = DIABETES
    model = BNeuralTRegressor(n_weights=60, monotonic_cst=constraints, random_state=0)
    model = smaller(model.partial_fit(X, y).partial_fit(X, y), X, y)
    n_weights, shifted = model.n_parameters_, y + 200.0
    before = model.score(X, shifted)
    for _ in range(5):
        model.partial_fit(X, shifted)
    assert model.score(X, shifted) > before + 0.5 and model.n_parameters_ == n_weights
    assert constraints is None or model.check_monotonic().holds
