"""Default trees: the mean of two that are trained apart."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, BNeuralTRegressor, Growth
from bneuralt.fitting.capacity import MAX_ROWS_JOINED, N_JOINED, n_epochs_joined
from bneuralt.fitting.plan import plan_tree
from bneuralt.fitting.problem import read_problem
from bneuralt.fitting.recipe import resolve
from bneuralt.fitting.train import train_fits
from bneuralt.tree.neural_tree import grown


def table(n_rows=120, seed=0):
    return make_classification(n_rows, 5, n_informative=4, n_redundant=0, random_state=seed)


def planned(model, X, y):
    problem = read_problem(model._options(), X, y)
    return plan_tree(problem, resolve(problem), problem.options.seed)


def trained(model, X, y):
    fit = planned(model, X, y)
    train_fits([fit], fit.rows, 1)
    return fit


def diverged(result):
    return SimpleNamespace(status="diverged", history=result.history, n_epochs=result.n_epochs)


def test_the_tree_is_the_mean_of_trees_trained_apart():
    X, y = table()
    fit = trained(BNeuralTClassifier(random_state=0), X, y)
    assert len(fit.starts) == N_JOINED and fit.is_mean
    inputs = np.random.default_rng(1).normal(size=(9, fit.tree.n_inputs))
    outputs = [result.tree.forward(inputs) for result in fit.results]
    assert np.abs(outputs[0] - outputs[1]).max() > 0.1  # they differ
    np.testing.assert_allclose(fit.tree.forward(inputs), np.mean(outputs, axis=0), atol=1e-5)
    loss = np.mean([result.history["train_loss"] for result in fit.results], axis=0)
    np.testing.assert_allclose(fit.history(lambda *_: 1.0)["train_loss"], loss)


def test_epochs_are_those_of_the_trial_and_of_the_training_after_it():
    X, y = table()
    n_in_trial, n_after = 100, n_epochs_joined(250, has_trial=True)
    for options in ({}, {"max_epochs": 250}, {"weight_decay": 0.1}):
        model = BNeuralTClassifier(random_state=0, **options).fit(X, y)
        assert model.recipe_.max_epochs == 250 and model.recipe_.growth.n_joined == N_JOINED
        assert model.n_iter_ == n_in_trial + n_after
        assert {len(curve) for curve in model.history_.values()} == {model.n_iter_}
    few = BNeuralTClassifier(random_state=0, max_epochs=10).fit(X, y)
    assert few.n_iter_ == n_epochs_joined(10, has_trial=False)


@pytest.mark.parametrize(
    "options",
    [
        {"n_weights": 79},  # too few for two
        {"n_weights": "readable"},
        {"early_stopping": True},
        {"growth": Growth(n_joined=1)},
        {"growth": Growth(n_init=3)},
        {"growth": Growth(max_size=50)},
        {"growth": Growth(max_depth=3)},
        {"growth": Growth(max_children=6)},
    ],
)
def test_other_settings_train_one_tree_or_keep_the_best(options):
    fit = planned(BNeuralTClassifier(random_state=0, **options), *table())
    assert not fit.is_mean
    assert len(fit.starts) == (3 if options.get("growth") == Growth(n_init=3) else 1)


@pytest.mark.parametrize(
    "options",
    [{"n_weights": 80}, {"max_epochs": 7}, {"weight_decay": 0.1}, {"growth": Growth(n_joined=3)}],
)
def test_settings_that_leave_trees_joined(options):
    fit = planned(BNeuralTClassifier(random_state=0, **options), *table())
    assert fit.is_mean and len(fit.starts) == (3 if "growth" in options else N_JOINED)


def test_large_tables_and_trees_of_forests_are_trained_alone():
    X, y = table(MAX_ROWS_JOINED + 1)
    assert not planned(BNeuralTClassifier(random_state=0), X, y).is_mean
    forest = BNeuralForestClassifier(n_estimators=2, random_state=0).fit(*table())
    assert forest.recipe_.growth.n_joined == 1
    assert {tree.n_iter_ for tree in forest.estimators_} == {250}


def test_trees_share_the_weights():
    X, y = make_regression(300, 3, random_state=0)
    problem = read_problem(BNeuralTRegressor(random_state=0)._options(), X, y)
    recipe = resolve(problem)
    fit, n_weights = plan_tree(problem, recipe, 0), recipe.n_weights
    assert 0.9 * n_weights < sum(grown(start).n_parameters for start in fit.starts) <= n_weights


def test_a_tree_whose_weights_overflow_is_left_out():
    X, y = table()
    fit = trained(BNeuralTClassifier(random_state=0), X, y)
    fit.results[0] = diverged(fit.results[0])
    assert fit.kept == [1]
    fit.results[1] = diverged(fit.results[1])
    assert fit.kept == [fit.best]


def test_a_training_that_is_stopped_keeps_the_trees_that_were_trained():
    X, y = table()
    n_seen = []

    def stop(state):
        n_seen.append(state.epoch)
        return len(n_seen) == 3

    model = BNeuralTClassifier(random_state=0).fit(X, y, callback=stop)
    assert n_seen == [0, 1, 2]
    assert model.n_iter_ == 100 + 3  # those of the trial too
    whole = BNeuralTClassifier(random_state=0).fit(X, y)
    assert model.n_parameters_ < 0.6 * whole.n_parameters_


def test_a_joined_tree_is_trained_further():
    X, y = table()
    model = BNeuralTClassifier(random_state=0, warm_start=True, monotonic_cst=[1, 0, 0, 0, 0])
    first = model.fit(X, y).tree_
    second = model.fit(X, y).tree_
    np.testing.assert_array_equal(first.parent, second.parent)
    assert (first.parameters != second.parameters).any()
    low, high = X.copy(), X.copy()
    high[:, 0] += 1.0
    chance = model.predict_proba
    assert (chance(high)[:, 1] - chance(low)[:, 1] > -1e-6).all()
