"""Whole numbers whose order means nothing are read as codes, and no others."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from bneuralt import BNeuralForestRegressor, BNeuralTClassifier, BNeuralTRegressor, open_table
from bneuralt.tables.codes import code_evidence
from bneuralt.warnings import CodeWarning
from tests.helpers.messy_tables import FAST

RNG = np.random.default_rng(0)
N_ROWS = 1500
SHOPS = np.random.default_rng(1).normal(size=101)
NUMBERS = {
    "age": (RNG.integers(18, 91, N_ROWS), lambda c: 1.5 * (c > 65) + 0.02 * c),
    "rooms": (1 + RNG.poisson(5, N_ROWS), lambda c: 1.5 * np.sqrt(c)),
    "year": (RNG.integers(1990, 2025, N_ROWS), lambda c: ((c - 2005) / 10) ** 2),
    "hour": (RNG.integers(24, size=N_ROWS), lambda c: 2 * np.exp(-((c - 8) ** 2) / 4)),
    "useless": (RNG.integers(50, size=N_ROWS), lambda c: 0.0 * c),
    "gain": (np.maximum(RNG.integers(-200, 50, N_ROWS), 0), lambda c: 3.0 * (c == 0)),
}
COLUMNS = {"shop": (RNG.integers(1, 101, N_ROWS), lambda c: SHOPS[c]), **NUMBERS}


def table(name, noise=0.3):
    rng = np.random.default_rng(2)
    column, effect = COLUMNS[name]
    X = pd.DataFrame({"a": rng.normal(size=N_ROWS), name: column})
    return X, np.sin(X["a"]) + effect(column) + noise * rng.normal(size=N_ROWS)


def fitted(model, X, y, **arguments):
    """Return a fitted model, and its warnings on codes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **arguments)
    return model, [w for w in caught if issubclass(w.category, CodeWarning)]


def kind_of(X, y, kind=BNeuralTRegressor, **settings):
    model, notes = fitted(kind(random_state=0, **FAST, **settings), X, y)
    feature = model.encoder_.features[1]
    assert bool(notes) == (feature.kind == "category" and not settings)
    return feature.kind


@pytest.mark.parametrize("kind", [BNeuralTRegressor, BNeuralTClassifier, BNeuralForestRegressor])
def test_codes_are_categories_and_named_once(kind):
    X, y = table("shop")
    settings = {"n_estimators": 2} if kind is BNeuralForestRegressor else {}
    target = y > y.median() if kind is BNeuralTClassifier else y
    model, (note,) = fitted(kind(random_state=0, **settings, **FAST), X, target)
    assert model.encoder_.features[1].kind == "category"
    assert note.filename == __file__
    text = str(note.message)
    assert "column 'shop' of X (100 values; they explain " in text
    assert "name the column in categorical_features" in text
    assert "set categorical_features={column: 'number'}" in text
    assert model.recipe_.categorical_features == {"shop": "values"}
    assert model.recipe_.reasons["categorical_features"] == "rows: codes"


@pytest.mark.parametrize("name", sorted(NUMBERS))
@pytest.mark.parametrize("noise", [0.1, 1.5])
def test_numbers_are_numbers(name, noise):
    X, y = table(name, noise)
    assert kind_of(X, y) == "number"
    assert kind_of(X, y > y.median(), BNeuralTClassifier) == "number"


@given(seed=st.integers(0, 2**32 - 1))
def test_skewed_amounts_are_numbers(seed):
    rng = np.random.default_rng(seed)
    amount = np.round(np.exp(rng.normal(7.5, 0.4, 5000)), -1)
    target = amount**1.5 * np.exp(rng.normal(0, 0.4, 5000))
    assert code_evidence(amount, np.ones(5000), target).share == 0


def test_codes_predict_better_than_their_numbers():
    X, y = table("shop")
    rows = slice(0, 1000), slice(1000, None)
    code, number = (
        BNeuralTRegressor(categorical_features=listed, random_state=0)
        .fit(X[rows[0]], y[rows[0]])
        .score(X[rows[1]], y[rows[1]])
        for listed in ("from_dtype", [])
    )
    assert code > 0.2 + number


def test_the_user_decides():
    X, y = table("shop")
    assert kind_of(X, y, categorical_features={"shop": "number"}) == "number"
    assert kind_of(X, y, categorical_features=[]) == "number"
    assert kind_of(X, y, monotonic_cst={"shop": 1}) == "number"
    assert kind_of(X, y, scale="standard") == "number"
    found, _ = fitted(BNeuralTRegressor(random_state=0, **FAST), X, y)
    for form in ("category", "values"):
        model = BNeuralTRegressor(categorical_features={"shop": form}, random_state=0, **FAST)
        model, notes = fitted(model, X, y)
        assert not notes and np.array_equal(model.predict(X), found.predict(X))
    with pytest.raises(ValueError, match="'number' for column 'shop' of X, which is a category"):
        model.set_params(categorical_features={"shop": "number"})
        model.fit(X.assign(shop="s" + X["shop"].astype(str)), y)


def test_every_form_of_a_table_and_every_order_gives_the_same_codes():
    X, y = table("shop")
    X["b"] = X["shop"] % 3
    expected, _ = fitted(BNeuralTRegressor(random_state=0, **FAST), X.to_numpy(), y)
    assert expected.encoder_.features[1].kind == "category"
    order = np.random.default_rng(0).permutation(N_ROWS)
    forms = [(csr_matrix(X.to_numpy()), slice(None)), (X.to_numpy()[order], order)]
    for form, rows in forms:
        model, _ = fitted(BNeuralTRegressor(random_state=0, **FAST), form, y.to_numpy()[rows])
        assert model.encoder_ == expected.encoder_
        assert np.array_equal(model.predict(X.to_numpy()), expected.predict(X.to_numpy()))


def test_tables_in_blocks_have_the_same_codes():
    X, y = table("shop")
    frame = X.assign(y=y, age=COLUMNS["age"][0])
    parts = [frame[i * 500 : i * 500 + 500] for i in range(3)]
    blocks = replace(open_table(parts, "y"), max_memory=600_000)
    assert blocks.whole() is None
    in_blocks, _ = fitted(BNeuralTRegressor(random_state=0, **FAST), blocks, None)
    whole, _ = fitted(BNeuralTRegressor(random_state=0, **FAST), frame.drop(columns="y"), y)
    assert in_blocks.encoder_.features[1] == whole.encoder_.features[1]
    assert in_blocks.encoder_.features[1].kind == "category"
    assert in_blocks.encoder_.features[2].kind == "number"


def test_gaps_weights_and_repeated_rows_do_not_hide_codes():
    X, y = table("shop")
    X.loc[::7, "shop"] = np.nan
    X.loc[::11, "a"] = np.nan
    assert kind_of(X, y) == "category"
    assert kind_of(pd.concat([X, X]), np.concatenate([y, y])) == "category"


@given(seed=st.integers(0, 2**32 - 1), n_values=st.integers(12, 40), n_outputs=st.integers(1, 3))
def test_counts_are_repeated_rows(seed, n_values, n_outputs):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 300))
    values, target = rng.integers(n_values, size=n) * 1.0, rng.normal(size=(n, n_outputs))
    target += rng.normal(size=n_values)[values.astype(int), np.newaxis]
    counts = rng.integers(0, 4, n)
    one = code_evidence(values, counts.astype(float), target)
    rows = np.repeat(np.arange(n), counts)
    other = code_evidence(values[rows], np.ones(len(rows)), target[rows])
    assert one.n_values == other.n_values and one.share == pytest.approx(other.share)


@given(seed=st.integers(0, 2**32 - 1))
def test_classes_are_indicators(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(20, size=400) * 1.0
    target = (rng.random((20, 3))[values.astype(int)] * rng.random((400, 3))).argmax(axis=1)
    numbers = (target[:, np.newaxis] == np.arange(3)).astype(float)
    one, other = (code_evidence(values, np.ones(400), y) for y in (target, numbers))
    assert one.share == pytest.approx(other.share)


@given(seed=st.integers(0, 2**32 - 1), n_values=st.sampled_from([12, 30, 200]))
def test_columns_without_an_effect_are_numbers(seed, n_values):
    rng = np.random.default_rng(seed)
    values = rng.integers(n_values, size=1000) * 1.0
    assert code_evidence(values, np.ones(1000), rng.standard_t(3, size=1000)).share == 0


@pytest.mark.parametrize("loss", ["poisson", "quantile", "huber"])
def test_other_losses(loss):
    X, y = table("shop")
    assert kind_of(X, y - y.min()) == "category"
    model, notes = fitted(BNeuralTRegressor(loss=loss, random_state=0, **FAST), X, y - y.min())
    assert len(notes) == 1 and np.isfinite(model.predict(X)).all()


def test_several_targets_and_labels():
    X, y = table("shop")
    assert kind_of(X, np.column_stack([y, -y])) == "category"
    labels = np.column_stack([y > 0, y > 1]).astype(int)
    assert kind_of(X, labels, BNeuralTClassifier) == "category"
