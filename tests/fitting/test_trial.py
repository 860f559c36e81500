"""Shares of trees and linear part, and the use of ramps, are chosen by cross-validation."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)
from bneuralt.fitting import recipe as recipes
from bneuralt.fitting.row_losses import RowLoss
from bneuralt.fitting.trial import HeldOut, best_shares
from bneuralt.warnings import RelativeWeightWarning

MODELS = (BNeuralTRegressor, BNeuralForestRegressor, BNeuralTClassifier, BNeuralForestClassifier)
FORESTS = (BNeuralForestRegressor, BNeuralForestClassifier)


def make(cls, **parameters):
    if cls in FORESTS:
        parameters = {"n_estimators": 2, **parameters}
    return cls(random_state=0, **parameters)


def choice_of(model):
    recipe = model.recipe_
    growth = recipe.growth
    return (
        recipe.output_factor,
        growth.linear_share,
        growth.linear_penalty,
        growth.plain_fraction,
        growth.ramp_fraction,
    )


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
def test_what_trees_alone_can_learn_is_left_to_them(cls):
    for seed in range(2):
        X, y = wavy(0.02, seed)
        clean = make(cls).fit(X, target_of(cls, y)).recipe_
        assert clean.output_factor > 0.7
        X, y = wavy(8.0, seed)
        noisy = make(cls).fit(X, target_of(cls, y)).recipe_
        assert noisy.output_factor < min(0.9, clean.output_factor)


@pytest.mark.parametrize("cls", MODELS)
def test_what_is_linear_is_left_to_the_linear_part(cls):
    X, y = table(3.0)
    model = make(cls).fit(X, target_of(cls, y))
    assert model.recipe_.growth.linear_share > model.recipe_.output_factor
    assert "linear model is as good" in model.recipe_.reasons["linear_share"]


@pytest.mark.parametrize("cls", MODELS)
def test_where_there_is_nothing_to_learn_the_model_is_a_constant(cls):
    n_constant = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(1300, 8)), rng.normal(size=1300)
        y = target_of(cls, y)
        model = make(cls).fit(X[:300], y[:300])
        if "Classifier" in cls.__name__:
            predicted = model.predict_proba(X[300:])
            of_class = predicted[np.arange(1000), y[300:]]
            assert -np.log(of_class).mean() < np.log(2) + 0.03
            frequency = np.bincount(y[:300]) / 300
        else:
            predicted = model.predict(X[300:])
            assert model.score(X[300:], y[300:]) > -0.1
            frequency = y[:300].mean()
        if model.recipe_.growth.linear_penalty is None:
            n_constant += 1
            assert np.ptp(predicted, axis=0).max() < 1e-6
            np.testing.assert_allclose(predicted[0], frequency, atol=0.01)
            assert "constant is as good" in model.recipe_.reasons["output_factor"]
    assert n_constant >= 3  # noise can look like an effect on held-out rows, too


@pytest.mark.parametrize("cls", MODELS)
@pytest.mark.parametrize("parameters", [{"early_stopping": True}, {"max_epochs": 5}])
def test_there_is_no_trial_where_it_is_switched_off(cls, parameters):
    X, y = table(8.0)
    model = make(cls, **{"max_epochs": 20, **parameters}).fit(X, target_of(cls, y))
    assert choice_of(model)[:2] == (1.0, 0.0)


@pytest.mark.parametrize("cls", MODELS)
def test_there_is_no_trial_for_many_or_few_rows(cls, monkeypatch):
    X, y = table(8.0, n=12)
    assert choice_of(make(cls, max_epochs=20).fit(X, target_of(cls, y)))[:2] == (1.0, 0.0)
    monkeypatch.setattr(recipes, "MAX_ROWS_FOR_TRIAL", 399)
    X, y = table(8.0)
    assert choice_of(make(cls, max_epochs=20).fit(X, target_of(cls, y)))[:2] == (1.0, 0.0)


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
    y = (answers[:, 0] == "yes") * 2.0 + rng.normal(size=300)
    X = pd.DataFrame(answers).add_prefix("question ")
    model = make(cls, max_epochs=20).fit(X, target_of(cls, y))
    assert model.recipe_.growth.linear_share > 0.0
    assert model.recipe_.growth.ramp_fraction == 0.0


@pytest.mark.parametrize("cls", [BNeuralTRegressor, BNeuralTClassifier])
def test_a_tree_that_is_trained_further_is_not_multiplied_again(cls):
    X, y = table(8.0)
    y = target_of(cls, y)
    model = make(cls, max_epochs=60).fit(X, y)
    assert model.recipe_.output_factor < 0.9
    (before,) = model.model_.trees
    model.set_params(warm_start=True, max_epochs=0).fit(X, y)
    (after,) = model.model_.trees
    np.testing.assert_allclose(after.parameters, before.parameters, rtol=1e-6)


def test_a_trial_that_diverges_changes_nothing():
    X, y = table(1.0)
    y[:5] = 1e30
    model = BNeuralTRegressor(random_state=0, max_epochs=20, learning_rate=1e3)
    with np.errstate(all="ignore"), pytest.warns(Warning):
        model.fit(X, y)
    assert np.isfinite(choice_of(model)[:2]).all()


def held_out(trees, linear, y):
    n = y.size
    loss = RowLoss("numbers", y[np.newaxis])
    return HeldOut(loss, trees[np.newaxis, np.newaxis], linear[np.newaxis], np.ones(n) / n, [0], n)


def test_shares_are_those_of_least_squares_for_many_rows_and_the_expected_ones_for_few():
    rng = np.random.default_rng(0)
    trees, linear = rng.normal(size=(2, 20_000))
    y = 0.9 * trees + 0.2 * linear + 0.1 * rng.normal(size=20_000)
    many = held_out(trees, linear, y)
    shares = best_shares(many, many.trees[0], (0.5, 0.5))
    np.testing.assert_allclose([shares.trees, shares.linear], [0.9, 0.2], atol=0.01)
    few = held_out(trees[:2], linear[:2], 5 * rng.normal(size=2))
    shares = best_shares(few, few.trees[0], (0.5, 0.5))
    assert 0.0 <= shares.trees <= 1.5 and abs(shares.linear - 0.5) < 0.5


@pytest.mark.parametrize("cls", MODELS)
def test_rows_that_are_held_out_count_by_their_weights(cls):
    """Most rows contradict the others, but weigh next to nothing."""
    X, signal = table(0.1)
    contradicts = np.arange(len(X)) % 4 > 0
    y = target_of(cls, np.where(contradicts, -signal, signal))
    weight = np.where(contradicts, 0.001, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelativeWeightWarning)
        model = make(cls, max_epochs=20).fit(X, y, sample_weight=weight)
    assert "constant" not in model.recipe_.reasons["output_factor"]
    assert model.score(X[~contradicts], y[~contradicts]) > 0.9
