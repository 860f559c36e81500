"""Monotonic constraints of estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_model,
)
from bneuralt.tree.activations import LeakyReLU, LinearTanh
from tests.helpers.flat import flat
from tests.helpers.monotonic import X, rises, y
from tests.helpers.tables import IRIS

FAST = {"max_epochs": 15, "random_state": 0}


CONSTRAINTS = [1, -1, 0, 0]


MODELS = [
    flat(BNeuralTRegressor, **FAST, n_init=2),
    BNeuralForestRegressor(n_estimators=3, **FAST),
    flat(BNeuralTRegressor, early_stopping="refit", **FAST, output_activation="sigmoid"),
    BNeuralTRegressor(loss="quantile", **FAST),
    BNeuralTRegressor(loss="poisson", **FAST),
    BNeuralForestRegressor(n_estimators=2, bootstrap=True, loss="huber", dtype="float64", **FAST),
    BNeuralTClassifier(**FAST),
    BNeuralForestClassifier(n_estimators=3, **FAST),
    flat(
        BNeuralTClassifier,
        loss="squared_error",
        scale="minmax",
        **FAST,
        output_activation="sigmoid",
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_estimators_keep_their_promise(model, tmp_path):
    is_classifier = hasattr(model, "predict_proba")
    target = y > np.median(y) if is_classifier else np.maximum(y, 0)
    model = clone(model).set_params(monotonic_cst=CONSTRAINTS).fit(X, target)
    proof = model.check_monotonic()
    assert proof.holds and [f.constraint for f in proof.features] == CONSTRAINTS
    assert [f.direction for f in proof.constrained] == [1, -1]

    def predict(rows):
        if is_classifier:
            return model.predict_proba(rows)[:, 1]
        return model.predict(rows).T

    assert rises(predict, CONSTRAINTS, 0, n_rows=500, spread=0.7) >= -1e-5 * np.ptp(target * 1.0)
    assert model.score(X, target) > (0.7 if is_classifier else 0.3)
    model.save(tmp_path / "model.json")
    assert str(load_model(tmp_path / "model.json").check_monotonic()) == str(proof)


def test_names_of_features():
    table = pd.DataFrame(X, columns=["up", "down", "wave", "noise"])
    by_name = BNeuralTRegressor(monotonic_cst={"up": 1, "down": -1}, **FAST).fit(table, y)
    by_place = BNeuralTRegressor(monotonic_cst=np.array(CONSTRAINTS), **FAST).fit(table, y)
    np.testing.assert_array_equal(by_name.predict(table), by_place.predict(table))
    assert by_name.check_monotonic()["down"].direction == -1
    with pytest.raises(KeyError, match="'sideways' is not a feature; they are up, down"):
        by_name.check_monotonic()["sideways"]


def test_no_constraint_changes_nothing():
    free = BNeuralTRegressor(**FAST).fit(X, y)
    zero = BNeuralTRegressor(monotonic_cst=[0, 0, 0, 0], **FAST).fit(X, y)
    np.testing.assert_array_equal(free.predict(X), zero.predict(X))


@pytest.mark.parametrize("how", ["warm_start", "partial_fit"])
def test_training_further_keeps_the_promise(how):
    model = BNeuralTRegressor(monotonic_cst=CONSTRAINTS, warm_start=True, **FAST)
    scores = []
    for _ in range(4):
        model = model.fit(X, y) if how == "warm_start" else model.partial_fit(X, y)
        assert model.check_monotonic().holds
        scores.append(model.score(X, y))
    assert scores[-1] > scores[0]


def test_a_constraint_against_the_data_leaves_no_effect():
    model = BNeuralTRegressor(monotonic_cst=[-1, 0, 0, 0], random_state=0).fit(X, y)
    assert model.check_monotonic().holds
    low, high = X.copy(), X.copy()
    low[:, 0], high[:, 0] = -1, 1
    assert np.abs(model.predict(high) - model.predict(low)).max() < 0.3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"activation": "gaussian"}, "activation='gaussian' may decrease: use one of linear, sig"),
        (
            {"activation": LeakyReLU(slope=-0.1)},
            "'leaky_relu' may decrease with parameters such as it has",
        ),
        (
            {"activation": LinearTanh(), "train_activations": True},
            "such as train_activations=True changes",
        ),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\) but .* 4 features"),
        ({"monotonic_cst": [2, 0, 0, 0]}, r"-1, 0 or 1. Observed values: \[2\]"),
        ({"monotonic_cst": {"up": 1}}, "was not fitted on data with feature names"),
        ({"monotonic_cst": [[1, 0, 0, 0]] * 4}, "monotonic_cst must have one dimension"),
    ],
)
def test_constraints_that_cannot_be_met(parameters, message):
    model = flat(BNeuralTRegressor, **{**FAST, "monotonic_cst": CONSTRAINTS, **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_targets_without_a_direction():
    with pytest.raises(ValueError, match="monotonic_cst needs two classes, y has 3 classes"):
        BNeuralTClassifier(monotonic_cst=CONSTRAINTS).fit(*IRIS)
    with pytest.raises(ValueError, match="monotonic_cst needs a single target, y has 2 columns"):
        BNeuralTRegressor(monotonic_cst=CONSTRAINTS).fit(X, np.c_[y, y])
    three = BNeuralTClassifier(**FAST).fit(*IRIS)
    with pytest.raises(ValueError, match="needs two classes, y has 3"):
        three.check_monotonic()
    table = load_diabetes(as_frame=True).data.assign(text="a")
    with pytest.raises(ValueError, match="column 'text', which is a category: only numbers"):
        BNeuralTRegressor(monotonic_cst={"text": 1}).fit(table, load_diabetes().target)
