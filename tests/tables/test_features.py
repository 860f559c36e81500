"""Kinds of columns: what they encode, and how they are described."""

import json
import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bneuralt import (
    BNeuralTRegressor,
    load_model,
)
from bneuralt.expressions import NUMBER, evaluate, if_missing, maximum, sqrt
from bneuralt.tables import encoder as encoder_module
from bneuralt.tables import features
from bneuralt.tables.columns import Column, as_frame
from bneuralt.tables.value_warnings import (
    MissingValuesWarning,
)
from tests.helpers.flat import flat

SMALL = {"max_depth": 3, "max_epochs": 20, "random_state": 0}


WORDS = [*"abcdef", None, "1", "2.0"]


def described(name, n=300, seed=0):
    """Return features of a kind, each with columns to encode, some of which surprise it."""
    rng = np.random.default_rng(seed)
    gaps = rng.random(n) < 0.1
    numbers = np.where(gaps, np.nan, rng.normal(size=n))
    dates = np.where(gaps, "NaT", rng.integers(0, 10**9, n).astype("datetime64[s]").astype(str))
    columns = {
        "number": Column("number", numbers),
        "date": Column("date", dates.astype("datetime64[s]")),
        "category": as_frame(rng.choice(WORDS, (n, 1), p=[0.3, 0.3, *[0.05] * 6, 0.1])).columns[0],
    }
    later = columns[name]
    for least in (0, 30, 200):  # the more rows are left out, the more is new in later ones
        weight = np.where(np.arange(n) < n - least, 1.0, 0.0)
        for target in (None, gaps.astype(np.int32), rng.integers(0, 2, n).astype(np.int32)):
            for rows in (slice(None), ~gaps):
                some = None if target is None else target[rows]
                column = later.take(rows)
                column = Column(column.kind, column.values, column.texts, name == "category")
                yield features.learn_feature(column, weight[rows], some), later


@pytest.mark.parametrize("kind", features.KINDS, ids=lambda kind: kind.kind)
def test_columns_are_encoded_as_their_expressions_say(kind):
    for feature, column in described(kind.kind):
        assert type(feature) is kind
        entries = feature.inputs("x")
        assert len(entries) == feature.n_inputs
        out = np.empty((len(column), len(entries)))
        feature.encode(column, out, lambda *surprise: None)
        cell = feature.read(column)
        for i, entry in enumerate(entries):
            np.testing.assert_array_equal(out[:, i], evaluate(entry.expression, {}, cell))


@pytest.mark.parametrize("kind", features.KINDS, ids=lambda kind: kind.kind)
def test_descriptions_of_columns_are_plain_data(kind):
    for feature, column in described(kind.kind):
        plain = json.loads(json.dumps(feature.to_plain()))
        assert features.feature_from_plain(plain) == feature
        limits = feature.learn_range(column, np.ones(len(column)))
        assert limits is None or kind.is_range(*json.loads(json.dumps(limits)))
        assert pickle.loads(pickle.dumps(feature)) == feature


@dataclass(frozen=True)
class RootFeature(features.Feature):
    """Counts, of which the root is taken."""

    kind: ClassVar[str] = "root"
    has_gaps: bool = False

    @classmethod
    def learn(cls, column, weight, target=None, counts=None):
        is_count = column.kind == "number" and np.all(column.values == np.abs(column.values) // 1)
        return cls() if is_count and np.max(column.values) > 9 else None

    def read(self, column):
        return column

    def inputs(self, name, limits=None):
        root = sqrt(maximum(if_missing(NUMBER, 3), 0))
        return [features.Input("", f"root of {name}", root, 2.0, (0.0, 10.0))]

    @classmethod
    def checked(cls, entries):
        return entries


def test_a_kind_of_column_is_one_class(monkeypatch, tmp_path):
    for module in (features, encoder_module):
        monkeypatch.setattr(module, "KINDS", (RootFeature, *features.KINDS))
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 100, 200), rng.normal(size=200)])
    y = np.sqrt(X[:, 0]) + X[:, 1]
    model = flat(BNeuralTRegressor, **SMALL).fit(X, y)
    names = model.encoder_.input_names
    assert names[:2] == ["root of x0", "x1"]
    assert all(name.startswith("x1 from ") for name in names[2:]) and len(names) == 10
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(model.model_.encode(X)[:, 0], np.sqrt(X[:, 0]))
    with pytest.warns(MissingValuesWarning, match="1 value of column 0 of X"):
        gaps = model.predict(np.array([[np.nan, 1.0]]))
    np.testing.assert_array_equal(gaps, model.predict(np.array([[3.0, 1.0]])))
