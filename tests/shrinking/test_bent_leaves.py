"""Merging of leaves of one column to bent leaves."""

import numpy as np
import pytest
from hypothesis import given, settings

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeRegressor,
    load_model,
)
from bneuralt.shrinking import bend_leaves
from tests.helpers.random_models import random_model, rows_to_predict
from tests.helpers.strategies import seeds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) * [1.0, 20.0, 0.1]
Y = np.abs(X[:, 0]) + np.minimum(X[:, 1], 5.0) / 20 + X[:, 2]
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
MODELS = [
    BNeuralTRegressor(dtype="float64", random_state=0),
    BNeuralTRegressor(random_state=0),
    BNeuralTClassifier(dtype="float64", random_state=0),
    BNeuralTRegressor(loss="quantile", quantiles=(0.1, 0.9), dtype="float64", random_state=0),
    BNeuralTRegressor(loss="poisson", dtype="float64", random_state=0),
    BNeuralForestRegressor(n_estimators=3, dtype="float64", random_state=0),
    BNeuralForestClassifier(n_estimators=3, dtype="float64", random_state=0),
]


def target(model):
    if "Classifier" in type(model).__name__:
        return np.digitize(Y, [0.5, 1.5])
    return Y - Y.min() if model.loss == "poisson" else Y


def fitted(model, table=X):
    return type(model)(**model.get_params(deep=False)).fit(table, target(model))


def outputs(model, table):
    return model.predict_proba(table) if hasattr(model, "predict_proba") else model.predict(table)


def leaves_of_columns(model):
    """For each node and column of numbers, the number of leaves, gaps not counted."""
    counts = {}
    described = model.model_
    for k, tree in enumerate(described.trees):
        for node, i in zip(tree.leaf_parent.tolist(), tree.leaf_input.tolist(), strict=True):
            if described.inputs[i].entry != "(missing)":
                key = (k, node, int(described.column_of_input[i]))
                counts[key] = counts.get(key, 0) + 1
    return counts


@pytest.mark.parametrize("table", [X, GAPS], ids=["numbers", "gaps"])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__ + m.loss + m.dtype)
def test_predictions_stay_and_each_column_is_one_leaf(model, table):
    model = fitted(model, table)
    bent = model.simplify()
    assert max(leaves_of_columns(model).values()) > 1
    assert set(leaves_of_columns(bent).values()) == {1}
    assert bent.n_parameters_ < model.n_parameters_
    rows = np.vstack([table, table * 3.0, table - 100.0])
    tolerance = 1e-4 if model.dtype == "float32" else 1e-11
    np.testing.assert_allclose(
        outputs(bent, rows), outputs(model, rows), rtol=tolerance, atol=tolerance
    )
    assert bent.simplify().n_parameters_ == bent.n_parameters_


@pytest.mark.parametrize("model", [MODELS[0], MODELS[-1]], ids=["tree", "forest"])
def test_what_is_explained_stays(model):
    model = fitted(model)
    bent = model.simplify()
    np.testing.assert_array_equal(bent.feature_importances_, model.feature_importances_)
    np.testing.assert_allclose(
        bent.explain(X[:20]).values, model.explain(X[:20]).values, rtol=1e-7, atol=1e-9
    )
    at = [-3.0, -0.2, 0.7, 2.0]
    for rows in (X, None):  # without rows, over the reference rows
        expected = model.effect(0, rows, at=at).y
        np.testing.assert_allclose(bent.effect(0, rows, at=at).y, expected, atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__ + m.loss + m.dtype)
def test_a_file_keeps_bent_leaves(model, tmp_path):
    bent = fitted(model, GAPS).simplify()
    bent.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.encoder_ == bent.encoder_
    np.testing.assert_array_equal(outputs(loaded, GAPS), outputs(bent, GAPS))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__ + m.loss + m.dtype)
def test_training_goes_on_from_bent_leaves(model):
    model = fitted(model)
    bent = model.simplify()
    before = outputs(bent, X)
    for one in (model, bent):
        one.partial_fit(X, target(one))
    assert set(leaves_of_columns(bent).values()) == {1}
    usual, change = (np.abs(outputs(one, X) - before).mean() for one in (model, bent))
    assert 0.0 < change < 3.0 * usual


def test_a_warm_start_goes_on_from_bent_leaves():
    model = fitted(MODELS[0]).simplify().set_params(warm_start=True, max_epochs=1)
    n_weights, score = model.n_parameters_, model.score(X, Y)
    model.fit(X, Y)
    assert model.n_parameters_ == n_weights
    assert model.score(X, Y) > score - 0.1


def test_bent_leaves_can_be_pruned():
    bent = fitted(MODELS[0]).simplify()
    small = bent.compact(X, Y, max_weights=40, cv=None)
    assert small.n_parameters_ <= 40
    assert small.score(X, Y) > 0.8


def test_a_new_fit_has_no_bent_leaves():
    bent = fitted(MODELS[0]).simplify()
    fresh = fitted(MODELS[0])
    np.testing.assert_array_equal(bent.fit(X, Y).predict(X), fresh.predict(X))
    assert bent.encoder_ == fresh.encoder_


def test_columns_of_monotone_constraints_keep_their_leaves():
    model = BNeuralTRegressor(monotonic_cst=[0, 1, 0], dtype="float64", random_state=0).fit(X, Y)
    bent = model.simplify()
    by_column = leaves_of_columns(bent)
    assert max(n for (_, _, column), n in by_column.items() if column == 1) > 1
    assert {n for (_, _, column), n in by_column.items() if column != 1} == {1}
    np.testing.assert_allclose(bent.predict(X), model.predict(X), rtol=1e-10)
    bent.partial_fit(X, Y)
    x = np.zeros((50, 3))
    x[:, 1] = np.linspace(-60, 60, 50)
    assert (np.diff(bent.predict(x)) >= -1e-9).all()


def test_numbers_without_limits_keep_a_leaf_beside_the_bent_one():
    model = BNeuralTRegressor(scale="standard", ramps=8, dtype="float64", random_state=0).fit(X, Y)
    bent = model.simplify()
    assert max(leaves_of_columns(model).values()) > 2
    assert max(leaves_of_columns(bent).values()) == 2
    far = np.vstack([X, 100 * X])
    np.testing.assert_allclose(bent.predict(far), model.predict(far), rtol=1e-9)


def test_nothing_to_merge():
    model = BNeuralTRegressor(ramps=0, random_state=0).fit(X, Y)
    assert bend_leaves(model.model_.simplified()) is None
    assert model.simplify().encoder_ is model.encoder_


def test_evolved_trees_get_bent_leaves():
    model = EvolvedTreeRegressor(population_size=6, n_generations=2, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.simplify().predict(X), model.predict(X), rtol=1e-4, atol=1e-4)


def test_drawings_name_a_bent_leaf_once():
    bent = BNeuralTRegressor(n_weights="readable", random_state=0).fit(X, Y).simplify()
    names = [bent.encoder_.inputs[i].name for i in bent.tree_.leaf_input.tolist()]
    formula = bent.to_formula()
    assert any(": 0 up to" in name for name in names)
    for name in names:
        assert formula.count(name) >= 1


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_random_models_keep_their_outputs(seed):
    model, table, later = random_model(seed)
    rows = rows_to_predict(seed, table, later, 50, inside=True)
    described = model.model_.simplified()
    bent = bend_leaves(described)
    if bent is None:
        return
    expected = described.outputs(described.encode(rows).astype(np.float64))
    np.testing.assert_allclose(
        bent.model.outputs(bent.model.encode(rows).astype(np.float64)),
        expected,
        rtol=1e-7,
        atol=1e-7 * max(1.0, np.abs(expected).max()),
    )
