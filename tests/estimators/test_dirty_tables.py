"""Tables as people have them: outliers, sentinels, heavy tails, thresholds; beside boosting."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)
from tests.helpers.quick import grid

#: Scores may be lower than those of boosting by this much.
TOLERANCE = 0.02

N_NEW = 2000


# -- clean functions of five columns ----------------------------------------------------------


def waves(X):
    return 2 * X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]


def hills(X):
    return 3 * np.exp(-(X[:, 0] ** 2)) + X[:, 1] + 0.5 * X[:, 2] * (X[:, 4] > 0)


def slopes(X):
    return X @ np.array([1.5, -1.0, 0.5, 0.25, 0.0]) + 0.5 * np.abs(X[:, 1])


FUNCTIONS = {"waves": waves, "hills": hills, "slopes": slopes}


def clean(function, n, seed):
    rng = np.random.default_rng([seed, 17])
    X = rng.normal(size=(n + N_NEW, 5))
    y = FUNCTIONS[function](X) + 0.3 * rng.normal(size=n + N_NEW)
    return X, y, rng


# -- what makes them dirty; the target is that of the clean table ------------------------------


def one_wrong_cell(X, n, rng):
    X[3, 0] = 1e6


def wrong_cells_everywhere(X, n, rng):
    rows = rng.integers(0, n, 5)
    X[rows, np.arange(5)] = rng.choice([-1.0, 1.0], 5) * 10.0 ** rng.uniform(4, 12, 5)


def sentinel(X, n, rng):
    X[rng.random(len(X)) < 0.1, 0] = -999.0


def two_sentinels(X, n, rng):
    X[rng.random(len(X)) < 0.06, 0] = 999999.0
    X[rng.random(len(X)) < 0.06, 1] = -1e9


def heavy_tails(X, n, rng):
    X[:] = np.sinh(2.5 * X)


def incomes(X, n, rng):
    X[:, :2] = np.exp(2.5 * X[:, :2] + 10)


def far_from_zero(X, n, rng):
    X[:, 0] += 1e5
    X[2, 1] = 1e15


def end_of_time(X, n, rng):
    """Days since 1970, with 9999-12-31 for what has not ended yet."""
    X[:, 1] = 18_000 + 1_000 * X[:, 1]
    X[rng.random(len(X)) < 0.08, 1] = 2_932_896


def mostly_zero(X, n, rng):
    """A cell says how far a number is above a limit, as rain or debts do."""
    X[:, 4] = np.maximum(0.0, X[:, 4])


DIRT = {
    function.__name__: function
    for function in (
        one_wrong_cell, wrong_cells_everywhere, sentinel, two_sentinels, heavy_tails, incomes,
        far_from_zero, mostly_zero, end_of_time,
    )
}  # fmt: skip


def dirty(function, dirt, n=1000, seed=0):
    X, y, rng = clean(function, n, seed)
    DIRT[dirt](X, n, rng)
    return X[:n], y[:n], X[n:], y[n:]


# -- thresholds -------------------------------------------------------------------------------


def retirement(rng, n):
    age, income = rng.uniform(18, 90, n), rng.lognormal(10, 1, n)
    return np.column_stack([age, income]), 2.0 * (age > 65) + 0.3 * np.log(income)


def tax(rng, n):
    income, children = rng.lognormal(10, 0.6, n), rng.integers(0, 5, n)
    rate = np.maximum(0.0, income - 30_000) / 20_000
    return np.column_stack([income, children]), rate - 0.3 * children


def fever(rng, n):
    temperature, pulse = rng.normal(37.5, 1.0, n), rng.normal(75, 12, n)
    y = 1.5 * (temperature > 38.5) - 1.0 * (temperature < 36) + 0.02 * pulse
    return np.column_stack([temperature, pulse, rng.normal(size=n)]), y


def speed_limit(rng, n):
    speed, load = rng.uniform(0, 200, n), rng.uniform(0, 40, n)
    return np.column_stack([speed, load]), 0.02 * np.maximum(0, speed - 120) + 0.5 * (load > 25)


THRESHOLDS = {f.__name__: f for f in (retirement, tax, fever, speed_limit)}


def threshold(name, n=1500, seed=0):
    rng = np.random.default_rng([seed, 23])
    X, y = THRESHOLDS[name](rng, n + N_NEW)
    y = y + 0.2 * rng.normal(size=y.size)
    return X[:n], y[:n], X[n:], y[n:]


# -- comparison -------------------------------------------------------------------------------

MODELS = {
    "tree": (BNeuralTRegressor, BNeuralTClassifier),
    "forest": (BNeuralForestRegressor, BNeuralForestClassifier),
}


BOOSTING = (HistGradientBoostingRegressor, HistGradientBoostingClassifier)


def tables(make, *arguments, task):
    """Training rows and new rows; classes are above and below the median."""
    X, y, X_new, y_new = make(*arguments)
    if task == "classes":
        middle = np.median(y)
        y, y_new = (y > middle).astype(int), (y_new > middle).astype(int)
    return X, y, X_new, y_new


@cache
def score_of_boosting(make, *arguments, task):
    X, y, X_new, y_new = tables(make, *arguments, task=task)
    return BOOSTING[task == "classes"](random_state=0).fit(X, y).score(X_new, y_new)


def score(model, make, *arguments, task):
    X, y, X_new, y_new = tables(make, *arguments, task=task)
    return MODELS[model][task == "classes"](random_state=0).fit(X, y).score(X_new, y_new)


@grid(model=MODELS, function=FUNCTIONS, dirt=DIRT, task=["numbers", "classes"])
def test_dirty_columns_do_no_harm(model, function, dirt, task):
    table = dirty, function, dirt
    assert score(model, *table, task=task) > score_of_boosting(*table, task=task) - TOLERANCE


@grid(model=MODELS, name=THRESHOLDS, task=["numbers", "classes"])
def test_effects_that_begin_somewhere(model, name, task):
    table = threshold, name
    assert score(model, *table, task=task) > score_of_boosting(*table, task=task) - TOLERANCE


@pytest.mark.parametrize("model", MODELS)
def test_one_wrong_cell_changes_no_prediction_much(model):
    X, y, X_new, _ = dirty("waves", "mostly_zero")
    before = MODELS[model][0](random_state=0).fit(X, y).predict(X_new)
    X = X.copy()
    X[7, 2] = 1e12
    after = MODELS[model][0](random_state=0).fit(X, y).predict(X_new)
    assert np.corrcoef(before, after)[0, 1] > 0.97
