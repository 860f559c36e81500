"""Activations in estimators: mixtures, parameters, parameters that are trained."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    TrainingSettings,
    load_model,
    train,
)
from bneuralt.tree.activations import NAMES, Gaussian, LeakyReLU, LinearTanh, get_activation
from tests.helpers.flat import flat
from tests.helpers.tables import DIABETES, IRIS

SMALL = {"max_epochs": 30, "random_state": 0}

CHOICES = [
    LeakyReLU(slope=0.2),
    ["tanh", "sigmoid"],
    ("tanh", LinearTanh(scale=0.5)),
    {"tanh": 3, Gaussian(width=2.0): 1},
    {"tanh": 0.5, "relu": 0.0},
]


def drawn(tree):
    """The activations of the inner nodes, with their parameters."""
    start, phi = tree.activation_parameter_start, tree.activation_parameters
    return [
        (NAMES[tree.activation[i]], tuple(phi[start[i] : start[i + 1]].tolist()))
        for i in range(tree.n_outputs, tree.parent.size)
    ]


@pytest.mark.parametrize("activation", CHOICES, ids=str)
@pytest.mark.parametrize(
    ("make", "data"), [(BNeuralTClassifier, IRIS), (BNeuralTRegressor, DIABETES)]
)
def test_nodes_have_the_activations_that_were_asked_for(make, data, activation):
    model = flat(make, activation=activation, **SMALL).fit(*data)
    options = activation if isinstance(activation, list | tuple | dict) else [activation]
    if isinstance(activation, dict):
        options = [name for name, chance in activation.items() if chance > 0]
    allowed = {(a.name, a.values) for a in map(get_activation, options)}
    assert set(drawn(model.tree_)) == allowed
    assert model.score(*data) > (0.9 if data is IRIS else 0.4)


@pytest.mark.parametrize("activation", CHOICES, ids=str)
def test_clones_and_copies_are_the_same(activation, tmp_path):
    clf = flat(BNeuralTClassifier, **SMALL, activation=activation, train_activations=True)
    assert clf.get_params()["growth__activation"] is activation
    twin = clone(clf)
    assert twin.get_params() == clf.get_params()
    assert repr(clf) == repr(twin)
    with pytest.raises(NotFittedError):
        twin.predict(IRIS[0])
    expected = clf.fit(*IRIS).predict_proba(IRIS[0])
    clf.save(tmp_path / "model.json")
    for other in (
        twin.fit(*IRIS),
        BNeuralTClassifier().set_params(**clf.get_params()).fit(*IRIS),
        pickle.loads(pickle.dumps(clf)),
        load_model(tmp_path / "model.json"),
    ):
        np.testing.assert_array_equal(other.predict_proba(IRIS[0]), expected)
        assert other.tree_ == clf.tree_


def test_activations_can_be_searched():
    grid = {"growth__activation": ["tanh", CHOICES[0], CHOICES[3]],
            "growth__train_activations": [False, True]}  # fmt: skip
    search = GridSearchCV(BNeuralTClassifier(max_epochs=10, random_state=0), grid, cv=2)
    search.fit(*IRIS)
    assert len(search.cv_results_["params"]) == 6
    assert search.best_params_["growth__activation"] in grid["growth__activation"]
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training_changes_parameters_only_if_asked_to(dtype):
    settings = {"activation": [Gaussian(), LinearTanh()], "dtype": dtype, "n_init": 1, **SMALL}
    fixed = flat(BNeuralTRegressor, **settings).fit(*DIABETES)
    trained = flat(BNeuralTRegressor, **settings, train_activations=True).fit(*DIABETES)
    before = {value for _, values in drawn(fixed.tree_) for value in values}
    assert before == {0.0, 1.0} and not fixed.tree_.trains_activations
    assert trained.tree_.trains_activations
    after = np.array([value for _, values in drawn(trained.tree_) for value in values])
    assert (np.abs(after[:, None] - [0.0, 1.0]).min(axis=1) > 1e-6).mean() > 0.9
    assert trained.n_parameters_ == fixed.n_parameters_ + after.size


def test_trained_parameters_fit_what_fixed_ones_cannot():
    X = np.linspace(-2, 2, 101)[:, np.newaxis]
    y = np.where(X[:, 0] > 0, X[:, 0], -0.5 * X[:, 0])  # one node of slope -0.5
    leaky = NAMES.index("leaky_relu")
    how = TrainingSettings(loss="squared_error", learning_rate=0.05, max_epochs=100)
    parameters = np.array([0.0, 0.0, 1.0, 1.0])
    fixed = NeuralTree(1, 1, [-1, 0], [0, leaky], [1], [0], parameters)
    free = NeuralTree(
        1, 1, [-1, 0], [0, leaky], [1], [0], np.append(parameters, 0.01), [0.01], True
    )
    errors = [train(t, X, y, settings=how).history["train_error"][-1] for t in (fixed, free)]
    assert errors[0] > 0.05 and errors[1] < 1e-6
    assert train(free, X, y, settings=how).tree.activation_parameters == pytest.approx(-0.5, 1e-3)


@pytest.mark.parametrize(
    ("make", "data"), [(BNeuralForestClassifier, IRIS), (BNeuralForestRegressor, DIABETES)]
)
def test_forests_have_mixtures_too(make, data, tmp_path):
    forest = flat(
        make,
        n_estimators=4,
        activation=CHOICES[3],
        train_activations=True,
        max_epochs=10,
        random_state=0,
    ).fit(*data)
    names = {name for member in forest.estimators_ for name, _ in drawn(member.tree_)}
    assert names == {"tanh", "gaussian"}
    assert all(member.tree_.trains_activations for member in forest.estimators_)
    forest.save(tmp_path / "model.json")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model.json").predict(data[0]), forest.predict(data[0])
    )


def test_partial_fit_goes_on_with_trained_parameters():
    model = BNeuralTRegressor(
        random_state=0, growth=Growth(activation=Gaussian(), train_activations=True)
    )
    model.partial_fit(*DIABETES)
    first = model.tree_.activation_parameters.copy()
    model.partial_fit(*DIABETES)
    assert (model.tree_.activation_parameters != first).mean() > 0.9


@pytest.mark.parametrize(
    ("activation", "message"),
    [
        ("swish", "activation"),
        (["tanh", "swish"], "activation='swish' is not known"),
        ([], "must have at least one activation"),
        ({}, "must have at least one activation"),
        ({"tanh": -1.0}, "probabilities that are not negative"),
        ({"tanh": 0.0}, "not all 0"),
        (None, "activation"),
        (3, "activation"),
    ],
)
def test_wrong_activations_are_refused(activation, message):
    with pytest.raises(ValueError, match=message):
        BNeuralTClassifier(growth=Growth(activation=activation)).fit(*IRIS)
