"""The weight decay, and whether trees begin with ramps, are chosen by cross-validation."""

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
from bneuralt.estimators import trials
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


@pytest.mark.parametrize("cls", MODELS)
def test_a_noisy_target_gets_at_least_as_much_decay_as_a_clean_one(cls):
    factors = {0.02: [], 8.0: []}
    for noise, chosen in factors.items():
        for seed in range(3):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(400, 6))
            y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + noise * rng.normal(size=400)
            model = make(cls).fit(X, target_of(cls, y))
            chosen.append(choice_of(model).decay_factor)
    clean, noisy = factors.values()
    assert max(clean) <= 1.0
    assert min(noisy) >= 1.0 and sum(factor > 1.0 for factor in noisy) >= 2


def test_trees_are_trained_with_the_chosen_decay():
    X, y = table(8.0)
    chosen = make(BNeuralTRegressor, max_epochs=60).fit(X, y)
    assert choice_of(chosen).decay_factor == 4.0
    decay = 4.0 * SINGLE_TREE.weight_decay(len(X))
    same = make(BNeuralTRegressor, max_epochs=60, weight_decay=decay).fit(X, y)
    np.testing.assert_array_equal(chosen.predict(X), same.predict(X))


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize(
    "parameters",
    [
        {"weight_decay": 0.1, "ramps": 4},
        {"weight_decay": 0.1, "ramps": 0},
        {"early_stopping": True},
        {"training": TrainingSettings(weight_decay=0.1), "ramps": 0},
    ],
)
def test_there_is_no_trial_where_it_is_switched_off(cls, parameters, monkeypatch):
    monkeypatch.setattr(trials, "_losses", None)  # raises an error if it is called
    X, y = table(8.0)
    model = make(cls, max_epochs=3, **parameters).fit(X, target_of(cls, y))
    assert choice_of(model) == USUAL


@pytest.mark.parametrize("cls", MODELS)
def test_there_is_no_trial_for_many_rows(cls, monkeypatch):
    monkeypatch.setattr(trials, "_losses", None)
    monkeypatch.setattr(trials, "MOST_ROWS", 399)
    X, y = table(8.0)
    assert choice_of(make(cls, max_epochs=3).fit(X, target_of(cls, y))) == USUAL


@pytest.mark.parametrize("cls", MODELS)
def test_there_is_no_trial_for_few_rows(cls, monkeypatch):
    monkeypatch.setattr(trials, "_losses", None)
    X, y = table(8.0, n=12)
    assert choice_of(make(cls, max_epochs=3).fit(X, target_of(cls, y))) == USUAL


@pytest.mark.parametrize("cls", MODELS)
def test_a_seed_gives_the_same_choice_and_the_same_trees(cls):
    X, y = table(2.0)
    y = target_of(cls, y)
    one, other = (make(cls, max_epochs=10).fit(X, y) for _ in range(2))
    assert choice_of(one) == choice_of(other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("cls", MODELS)
def test_the_choice_does_not_depend_on_threads(cls):
    X, y = table(2.0)
    y = target_of(cls, y)
    one, other = (make(cls, max_epochs=10, n_jobs=n).fit(X, y) for n in (1, 2))
    assert choice_of(one) == choice_of(other)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize("cls", MODELS)
def test_repeated_rows_are_rows_of_weight_2(cls):
    X, y = table(4.0, n=150)
    y = target_of(cls, y)
    times = np.random.default_rng(1).integers(0, 4, 150)
    weighted = make(cls, max_epochs=10).fit(X, y, sample_weight=times)
    repeated = make(cls, max_epochs=10).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert choice_of(weighted) == choice_of(repeated)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    order = np.random.default_rng(2).permutation(150)
    shuffled = make(cls, max_epochs=10).fit(X[order], y[order], sample_weight=times[order])
    assert choice_of(shuffled) == choice_of(weighted)
    np.testing.assert_array_equal(shuffled.predict(X), weighted.predict(X))


@pytest.mark.parametrize("cls", MODELS)
def test_all_columns_may_be_categories(cls):
    rng = np.random.default_rng(3)
    answers = rng.choice(["yes", "no", "maybe"], (300, 3))
    y = (answers[:, 0] == "yes") * 0.5 + rng.normal(size=300)
    X = pd.DataFrame(answers).add_prefix("question ")
    choice = choice_of(make(cls, max_epochs=10).fit(X, target_of(cls, y)))
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
    model = BNeuralTRegressor(random_state=0, max_epochs=5, learning_rate=1e3)
    with np.errstate(all="ignore"), pytest.warns(Warning):
        model.fit(X, y)
    assert choice_of(model).decay_factor in (0.25, 1.0, 4.0)
