"""The description of a fitted model predicts what the estimator predicts."""

import numpy as np
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
SETTINGS = {"max_epochs": 4, "n_weights": 30, "random_state": 0}
FOREST = {**SETTINGS, "n_estimators": 3}
TARGETS = {
    "classes": np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3]),
    "two classes": (X[:, 0] > 0).astype(int),
    "labels": (X[:, :2] > 0).astype(int),
    "counts": RNG.poisson(np.exp(X[:, 0])),
    "numbers": X[:, :2] ** 2,
}


@pytest.mark.parametrize("target", ["classes", "two classes", "labels"])
@pytest.mark.parametrize(
    "model",
    [
        BNeuralTClassifier(**SETTINGS),
        BNeuralForestClassifier(**FOREST),
        BNeuralForestClassifier(**FOREST, interaction_cst="no_interactions"),  # averages outputs
    ],
    ids=["tree", "forest", "additive"],
)
def test_classifiers(model, target):
    model.fit(X, TARGETS[target])
    outputs = model.model_.outputs(model.model_.encode(X))
    predictions = model.model_.predictions(outputs)
    np.testing.assert_allclose(predictions, model.predict_proba(X), rtol=1e-5, atol=1e-7)
    decisions = model.model_.decisions(outputs)
    if target == "labels":
        np.testing.assert_array_equal(decisions, model.predict(X))
    else:
        np.testing.assert_array_equal(model.classes_[decisions], model.predict(X))


@pytest.mark.parametrize("target", ["counts", "numbers"])
@pytest.mark.parametrize(
    "model",
    [BNeuralTRegressor(**SETTINGS), BNeuralForestRegressor(**FOREST)],
    ids=["tree", "forest"],
)
def test_regressors(model, target):
    model.set_params(loss="poisson" if target == "counts" else "squared_error")
    model.fit(X, TARGETS[target])
    predictions = model.model_.predictions(model.model_.outputs(model.model_.encode(X)))
    expected = model.predict(X).reshape(len(X), -1)
    np.testing.assert_allclose(predictions, expected, rtol=1e-5, atol=1e-7)


def test_outputs_decide_where_probabilities_round_to_the_same():
    tree = BNeuralTClassifier(**SETTINGS).fit(X, TARGETS["two classes"]).model_
    forest = BNeuralForestClassifier(**FOREST).fit(X, TARGETS["two classes"]).model_
    labels = BNeuralTClassifier(**SETTINGS).fit(X, TARGETS["labels"]).model_
    assert tree.decides_by_outputs
    assert not forest.decides_by_outputs and not labels.decides_by_outputs
    close = np.array([[[0.0, 1e-20], [1e-20, 0.0]]])
    np.testing.assert_array_equal(*tree.predictions(close[0]))
    np.testing.assert_array_equal(tree.decisions(close), [1, 0])
