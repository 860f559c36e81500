"""Columns without values, flags, identifiers, and categories that share an entry."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, load_model
from bneuralt.tables.value_warnings import IdentifierWarning, RareValuesWarning

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["str", object, "category"])
@pytest.mark.parametrize("later", ["x", 3.0, None])
def test_a_column_without_values_in_training_carries_nothing(tmp_path, dtype, later):
    X = pd.DataFrame({"a": [1.0, 2.0] * 20, "c": pd.Series([None] * 40, dtype=dtype)})
    with pytest.warns(UserWarning, match="no values at all: column 'c'"):
        model = BNeuralTClassifier(random_state=0).fit(X, X["a"] > 1)
    model.save(tmp_path / "m.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in (model, load_model(tmp_path / "m.json")):
            assert (each.predict(X.assign(c=later)) == (X["a"] > 1)).all()


def rare_warnings(estimator, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator(random_state=0, n_weights=20).fit(X, np.arange(len(X)) % 2)
    return [
        str(w.message)
        for w in caught
        if issubclass(w.category, (IdentifierWarning, RareValuesWarning))
    ]


@pytest.mark.parametrize("estimator", [BNeuralTClassifier, BNeuralForestClassifier])
def test_flags_identify_no_rows(estimator):
    flags = {f"flag{i}": ["t"] + [None] * 99 for i in range(5)}
    assert rare_warnings(estimator, pd.DataFrame({**flags, "x": RNG.normal(size=100)})) == []


@pytest.mark.parametrize("estimator", [BNeuralTClassifier, BNeuralForestClassifier])
def test_identifiers_are_named_once_for_all_columns(estimator):
    names = {f"name{i}": [f"n{i}-{k}x{k}" for k in range(100)] for i in range(3)}
    messages = rare_warnings(estimator, pd.DataFrame({**names, "x": RNG.normal(size=100)}))
    assert len(messages) == 1
    assert all(f"column 'name{i}' of X" in messages[0] for i in range(3))
    assert "identifiers='keep'" in messages[0]


@pytest.mark.parametrize("estimator", [BNeuralTClassifier, BNeuralForestClassifier])
@pytest.mark.filterwarnings("ignore")
def test_identifiers_are_dropped_kept_or_named(estimator):
    X = pd.DataFrame({"customer_id": np.arange(100) * 3, "x": RNG.normal(size=100)})
    y = np.arange(100) % 2

    def kinds(X=X, **options):
        model = estimator(random_state=0, n_weights=20, **options).fit(X, y)
        model.predict(X)
        return [feature.kind for feature in model.encoder_.features]

    assert kinds() == kinds(identifiers=["customer_id"]) == ["unused", "number"]
    assert kinds(identifiers=[0]) == ["unused", "number"]
    assert kinds(identifiers="keep") == ["number", "number"]
    assert kinds(identifiers=["x"]) == ["number", "unused"]
    assert kinds(X[["customer_id"]]) == ["number"]  # a single column may well count its rows
    assert kinds(X.to_numpy()) == ["number", "number"]  # without names
    with pytest.raises(ValueError, match="identifiers has 'z', but X has no such column"):
        kinds(identifiers=["z"])


@pytest.mark.parametrize(("n_rare", "is_said"), [(422, True), (20, True), (19, False)])
def test_many_pooled_categories_are_said(n_rare, is_said):
    frequent = np.repeat(np.arange(10), 100)
    rare = np.arange(n_rare) + 10
    X = pd.DataFrame({"city": [f"c{i}x" for i in [*frequent, *rare]]})
    messages = rare_warnings(BNeuralTClassifier, X.assign(x=RNG.normal(size=len(X))))
    assert bool(messages) == is_said
    if is_said:
        assert f"column 'city' of X ({n_rare} of {n_rare + 10} values" in messages[0]


def test_periods_are_dates():
    periods = pd.period_range("2020-01", periods=40, freq="M")
    X = pd.DataFrame({"typed": periods, "objects": pd.Series(list(periods), dtype=object)})
    model = BNeuralTClassifier(random_state=0).fit(X, np.arange(40) % 2)
    assert [feature.kind for feature in model.encoder_.features] == ["date", "date"]
    dates = X.apply(lambda column: pd.Series([period.to_timestamp() for period in column]))
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(dates))
