"""A note on columns of whole numbers that are codes, and none on those that are numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralForestRegressor, BNeuralTClassifier, BNeuralTRegressor
from bneuralt.fitting.code_columns import CodeWarning

RNG = np.random.default_rng(0)
N_ROWS = 1500
EFFECTS = {
    "shop": (RNG.integers(1, 101, N_ROWS), lambda c: np.random.default_rng(1).normal(size=101)[c]),
    "age": (RNG.integers(18, 91, N_ROWS), lambda c: 1.5 * (c > 65) + 0.02 * c),
    "rooms": (1 + RNG.poisson(5, N_ROWS), lambda c: 1.5 * np.sqrt(c)),
    "year": (RNG.integers(1990, 2025, N_ROWS), lambda c: ((c - 2005) / 10) ** 2),
    "hour": (RNG.integers(24, size=N_ROWS), lambda c: 2 * np.exp(-((c - 8) ** 2) / 4)),
    "useless": (RNG.integers(50, size=N_ROWS), lambda c: 0.0 * c),
}


def table(name, noise=0.3):
    rng = np.random.default_rng(2)
    column, effect = EFFECTS[name]
    X = pd.DataFrame({"a": rng.normal(size=N_ROWS), name: column})
    return X, np.sin(X["a"]) + effect(column) + noise * rng.normal(size=N_ROWS)


def notes(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [w for w in caught if issubclass(w.category, CodeWarning)]


@pytest.mark.parametrize("kind", [BNeuralTRegressor, BNeuralTClassifier, BNeuralForestRegressor])
def test_codes_are_named(kind):
    X, y = table("shop")
    settings = {"n_estimators": 2} if kind is BNeuralForestRegressor else {}
    target = y > y.median() if kind is BNeuralTClassifier else y
    (note,) = notes(kind(random_state=0, **settings), X, target)
    assert note.filename == __file__
    text = str(note.message)
    assert "'shop' (100 values; they explain " in text
    assert text.endswith("name the column in categorical_features.")


@pytest.mark.parametrize("name", sorted(EFFECTS.keys() - {"shop"}))
@pytest.mark.parametrize("noise", [0.1, 1.5])
def test_numbers_are_not(name, noise):
    X, y = table(name, noise)
    assert not notes(BNeuralTRegressor(random_state=0), X, y)
    assert not notes(BNeuralTClassifier(random_state=0), X, y > y.median())


def test_the_advice_helps_and_ends_the_note():
    X, y = table("shop")
    number = BNeuralTRegressor(random_state=0)
    code = BNeuralTRegressor(categorical_features=["shop"], random_state=0)
    assert notes(number, X[:1000], y[:1000]) and not notes(code, X[:1000], y[:1000])
    assert code.score(X[1000:], y[1000:]) > 0.2 + number.score(X[1000:], y[1000:])


def test_gaps_weights_and_repeated_rows_do_not_hide_codes():
    X, y = table("shop")
    X.loc[::7, "shop"] = np.nan
    X.loc[::11, "a"] = np.nan
    assert notes(BNeuralTRegressor(random_state=0), X, y)
    again = pd.concat([X, X]), np.concatenate([y, y])
    assert notes(BNeuralTRegressor(random_state=0), *again)


@pytest.mark.parametrize("loss", ["poisson", "quantile"])
def test_other_losses_fit(loss):
    X, y = table("shop")
    model = BNeuralTRegressor(loss=loss, random_state=0, max_epochs=5)
    assert len(notes(model, X, y - y.min())) <= 1
    assert np.isfinite(model.predict(X)).all()


def test_several_targets_and_labels():
    X, y = table("shop")
    model = BNeuralTRegressor(random_state=0)
    assert notes(model, X, np.column_stack([y, -y]))
    labels = np.column_stack([y > 0, y > 1]).astype(int)
    assert notes(BNeuralTClassifier(random_state=0), X, labels)
