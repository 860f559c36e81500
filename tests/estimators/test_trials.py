"""Decay, factor of outputs and ramps of trees are chosen by cross-validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    TrainingSettings,
)
from bneuralt.estimators import single, trials
from bneuralt.estimators.capacity import SINGLE_TREE
from bneuralt.estimators.trials import USUAL, Choice

MODELS = (BNeuralTRegressor, BNeuralForestRegressor, BNeuralTClassifier, BNeuralForestClassifier)
FORESTS = (BNeuralForestRegressor, BNeuralForestClassifier)


def make(cls, **parameters):
    if cls in FORESTS:
        parameters = {"n_estimators": 2, **parameters}
    return cls(random_state=0, **parameters)


def choice_of(model):
    """What was chosen for the tree, or for all trees of a forest."""
    choices = {tree._choice for tree in getattr(model, "estimators_", [model])}
    assert len(choices) == 1
    return choices.pop()


def table(noise, seed=0, n=400, n_columns=10):
    """A linear function of some columns, as a number and as two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    signal = X[:, :4].sum(axis=1)
    return X, signal + noise * rng.normal(size=n)


def target_of(cls, y):
    return (y > 0).astype(int) if "Classifier" in cls.__name__ else y


def wavy(noise, seed, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + noise * rng.normal(size=n)


@pytest.mark.parametrize("cls", MODELS)
def test_the_effects_of_a_noisy_target_are_smaller(cls):
    for seed in range(3):
        clean, noisy = (
            choice_of(make(cls).fit(X, target_of(cls, y)))
            for X, y in (wavy(0.02, seed), wavy(8.0, seed))
        )
        assert clean.output_factor > 0.7 and clean.decay_factor <= 1.0
        assert noisy.output_factor < min(0.9, clean.output_factor) or noisy.decay_factor > 1.0


@pytest.mark.parametrize("cls", MODELS)
def test_little_is_predicted_where_there_is_nothing_to_learn(cls):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(1300, 8)), rng.normal(size=1300)
    y = target_of(cls, y)
    model = make(cls).fit(X[:300], y[:300])
    if "Classifier" in cls.__name__:
        shares = model.predict_proba(X[300:])[np.arange(1000), y[300:]]
        assert -np.log(shares).mean() < np.log(2) + 0.03
    else:
        assert model.score(X[300:], y[300:]) > -0.15


@pytest.mark.parametrize("cls", [BNeuralTRegressor, BNeuralForestRegressor])
def test_a_clean_linear_target_gets_no_more_decay_than_usual(cls):
    for seed in range(4):
        X, y = table(0.01, seed)
        choice = choice_of(make(cls).fit(X, y))
        assert choice.decay_factor <= 1.0 and choice.output_factor > 0.95


@pytest.mark.parametrize("cls", [BNeuralTRegressor, BNeuralTClassifier])
def test_a_tree_that_is_trained_further_is_not_multiplied_again(cls):
    X, y = table(8.0)
    y = target_of(cls, y)
    model = make(cls, max_epochs=60).fit(X, y)
    assert choice_of(model).output_factor < 0.9
    before = model._trained_tree
    model.set_params(warm_start=True, max_epochs=0).fit(X, y)
    np.testing.assert_array_equal(model._trained_tree.parameters, before.parameters)


def test_trees_are_trained_with_what_was_chosen(monkeypatch):
    X, y = table(4.0)
    monkeypatch.setattr(single, "choose", lambda *_: Choice(4.0, output_factor=0.5))
    chosen = make(BNeuralTRegressor, max_epochs=60).fit(X, y).predict(X)
    monkeypatch.undo()
    decay = 4.0 * SINGLE_TREE.weight_decay(len(X))
    same = make(BNeuralTRegressor, max_epochs=60, weight_decay=decay).fit(X, y).predict(X)
    np.testing.assert_allclose(chosen, 0.5 * (same + y.mean()), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize(
    "parameters",
    [
        {"weight_decay": 0.1, "ramps": 4},
        {"weight_decay": 0.1, "ramps": 0},
        {"early_stopping": True},
        {"max_epochs": 5},
        {"training": TrainingSettings(weight_decay=0.1), "ramps": 0},
    ],
)
def test_there_is_no_trial_where_it_is_switched_off(cls, parameters, monkeypatch):
    monkeypatch.setattr(trials, "_try", None)  # raises an error if it is called
    X, y = table(8.0)
    model = make(cls, **{"max_epochs": 20, **parameters}).fit(X, target_of(cls, y))
    assert choice_of(model) == USUAL


@pytest.mark.parametrize("cls", MODELS)
def test_there_is_no_trial_for_many_rows(cls, monkeypatch):
    monkeypatch.setattr(trials, "_try", None)
    monkeypatch.setattr(trials, "MOST_ROWS", 399)
    X, y = table(8.0)
    assert choice_of(make(cls, max_epochs=20).fit(X, target_of(cls, y))) == USUAL


@pytest.mark.parametrize("cls", MODELS)
def test_there_is_no_trial_for_few_rows(cls, monkeypatch):
    monkeypatch.setattr(trials, "_try", None)
    X, y = table(8.0, n=12)
    assert choice_of(make(cls, max_epochs=20).fit(X, target_of(cls, y))) == USUAL


@pytest.mark.parametrize("cls", MODELS)
def test_a_seed_gives_the_same_choice_and_the_same_trees(cls):
    X, y = table(2.0)
    y = target_of(cls, y)
    one, other = (make(cls, max_epochs=20).fit(X, y) for _ in range(2))
    assert choice_of(one) == choice_of(other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("cls", MODELS)
def test_the_choice_does_not_depend_on_threads(cls):
    X, y = table(2.0)
    y = target_of(cls, y)
    one, other = (make(cls, max_epochs=20, n_jobs=n).fit(X, y) for n in (1, 2))
    assert choice_of(one) == choice_of(other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("cls", MODELS)
def test_repeated_rows_are_rows_of_weight_2(cls):
    X, y = table(4.0, n=150)
    y = target_of(cls, y)
    times = np.random.default_rng(1).integers(0, 4, 150)
    weighted = make(cls, max_epochs=20).fit(X, y, sample_weight=times)
    repeated = make(cls, max_epochs=20).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert choice_of(weighted) == choice_of(repeated)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    order = np.random.default_rng(2).permutation(150)
    shuffled = make(cls, max_epochs=20).fit(X[order], y[order], sample_weight=times[order])
    assert choice_of(shuffled) == choice_of(weighted)
    np.testing.assert_array_equal(shuffled.predict(X), weighted.predict(X))


@pytest.mark.parametrize("cls", MODELS)
def test_all_columns_may_be_categories(cls):
    rng = np.random.default_rng(3)
    answers = rng.choice(["yes", "no", "maybe"], (300, 3))
    y = (answers[:, 0] == "yes") * 0.5 + rng.normal(size=300)
    X = pd.DataFrame(answers).add_prefix("question ")
    choice = choice_of(make(cls, max_epochs=20).fit(X, target_of(cls, y)))
    assert choice.decay_factor in (0.25, 1.0, 4.0) and choice.ramp_share == 0.0


def test_trees_begin_with_ramps_where_effects_change_their_direction():
    rng = np.random.default_rng(4)
    X = rng.uniform(-3, 3, size=(1200, 3))
    wave = np.sin(4 * X[:, 0]) + np.sign(np.sin(3 * X[:, 1]))
    wavy = make(BNeuralTRegressor, weight_decay=1e-4).fit(X, wave)
    straight = make(BNeuralTRegressor, weight_decay=1e-4).fit(X, X @ [1.0, -2.0, 0.5])
    assert choice_of(straight) == USUAL
    assert choice_of(wavy) in (USUAL, Choice(ramp_share=0.8))


def test_a_trial_that_diverges_changes_nothing():
    X, y = table(1.0)
    y[:5] = 1e30
    model = BNeuralTRegressor(random_state=0, max_epochs=20, learning_rate=1e3)
    with np.errstate(all="ignore"), pytest.warns(Warning):
        model.fit(X, y)
    assert choice_of(model).decay_factor in (0.25, 1.0, 4.0)
