"""The table encoder: what columns of every kind become, and what estimators make of it."""

import datetime as dt
import json
import pickle
import warnings
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from flat import flat
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    load_model,
)
from bneuralt.expressions import NUMBER, evaluate, if_missing, maximum, sqrt
from bneuralt.tables import encoder as encoder_module
from bneuralt.tables import features
from bneuralt.tables.columns import Column, as_frame
from bneuralt.tables.encoder import TableEncoder, learn_encoder
from bneuralt.tables.value_warnings import (
    MissingValuesWarning,
    RareValuesWarning,
    UnseenValuesWarning,
)

SMALL = {"max_depth": 3, "max_epochs": 20, "random_state": 0}


def people(n=200, seed=0):
    """Return a table with gaps, text, dates, booleans and durations, and two targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170, 10, n),
            "colour": rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2]),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D"),
            "member": rng.random(n) < 0.5,
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "stay": pd.to_timedelta(rng.integers(1, 90, n), "min"),
            "city": pd.Categorical(rng.choice(["Köln", "Rome"], n)),
        }
    )
    y = (frame["height"] > 170) ^ (frame["colour"] == "red")
    frame.loc[rng.random(n) < 0.2, "height"] = np.nan
    frame.loc[rng.random(n) < 0.2, "colour"] = None
    frame.loc[rng.random(n) < 0.1, "visits"] = pd.NA
    frame.loc[rng.random(n) < 0.1, "when"] = pd.NaT
    return frame, np.where(y, "yes", "no")


def encoder_of(X, **options):
    frame = as_frame(X)
    names = getattr(frame, "names", None)
    return learn_encoder(X if frame is None else frame, names=names, **options)


def test_columns_of_every_kind_become_inputs():
    frame, _ = people()
    encoder = encoder_of(frame)
    assert encoder.input_names == [
        *("height", "height is missing"),
        *("colour=blue", "colour=green", "colour=red", "colour is missing"),
        *("year of when", "month of when", "weekday of when", "when is missing"),
        *("member", "visits", "visits is missing", "stay", "city=Rome"),
    ]
    inputs = pd.DataFrame(encoder.encode(as_frame(frame)), columns=encoder.input_names)
    gaps = frame["height"].isna()
    assert inputs["height"][gaps].nunique() == 1
    assert abs(inputs["height"][gaps].iloc[0] - frame["height"].mean()) < 1e-4
    assert (inputs["height is missing"] == gaps).all()
    assert (inputs["colour=red"] == (frame["colour"] == "red")).all()
    known = frame["when"].notna()
    assert (inputs["weekday of when"][known] == frame["when"].dt.day_of_week[known]).all()
    assert (inputs["stay"] == frame["stay"].dt.total_seconds()).all()
    assert TableEncoder.from_plain(encoder.to_plain(), encoder.names) == encoder


def test_pandas_polars_and_arrays_of_objects_are_read_alike():
    frame, _ = people()
    frame = frame.drop(columns="stay")
    expected = encoder_of(frame).encode(as_frame(frame))
    plain = {name: [None if pd.isna(v) else v for v in frame[name]] for name in frame}
    rows = list(zip(*plain.values(), strict=True))
    for other in (pl.DataFrame(plain, strict=False), np.array(rows, dtype=object)):
        encoder = encoder_of(other)
        np.testing.assert_array_equal(encoder.encode(as_frame(other)), expected)


def test_values_of_other_types():
    table = pd.DataFrame(
        {
            "price": [Decimal("1.5"), None, Decimal("2")],
            "day": [dt.date(2024, 1, 1), dt.date(2024, 2, 1), None],
            "at": ["2024-01-01 10:00", "2024-01-01 12:00", None],
            "flag": [True, None, False],
        }
    )
    encoder = encoder_of(table)
    assert [feature.kind for feature in encoder.features] == ["number", "date", "date", "number"]
    assert encoder.encode(as_frame(table))[:, 0].tolist() == [1.5, 1.75, 2.0]
    assert encoder.features[2].parts == ("hour",)


def test_rare_values_share_an_entry_and_unseen_ones_join_them():
    column = ["a"] * 10 + ["b"] * 10 + ["c", "d"]
    encoder = encoder_of(pd.DataFrame({"x": column}))
    assert encoder.input_names == ["x=a", "x=b", "x is rare"]
    later = as_frame(pd.DataFrame({"x": ["c", "new", "new", "a"]}))
    with pytest.warns(UnseenValuesWarning, match=r"2 values of column 'x' of X, such as 'new'"):
        inputs = encoder.encode(later)
    assert inputs.tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 0]]


def test_surprises_become_the_mean_with_one_warning_each():
    frame = pd.DataFrame({"x": list("aabbbbbb"), "y": ["u", "u", "v", "v", "w", "w", "w", "w"]})
    encoder = encoder_of(frame)
    later = as_frame(pd.DataFrame({"x": ["z", None], "y": ["z", "u"]}))
    with pytest.warns() as caught:
        inputs = encoder.encode(later)
    assert {w.category for w in caught} == {UnseenValuesWarning, MissingValuesWarning}
    assert len(caught) == 2
    assert inputs.tolist() == [[0.75, 0.25, 0.25, 0.5], [0.75, 1, 0, 0]]


def test_there_are_never_more_than_255_entries():
    many = [f"v{i}" for i in range(10_000)]
    with pytest.warns(RareValuesWarning, match="all values are rare.*column 'x' of X"):
        encoder = encoder_of(pd.DataFrame({"x": many * 3 + [None]}))
    assert encoder.n_inputs == 1 and len(str(encoder.to_plain())) < 200
    some = [f"v{i:03}" for i in range(300) for _ in range(1 + i)]
    encoder = encoder_of(pd.DataFrame({"x": [*some, None]}))
    assert encoder.n_inputs <= 255
    assert encoder.input_names[-3:] == ["x=v299", "x is rare", "x is missing"]


def test_categorical_features_are_spelt_as_in_scikit_learn():
    X = np.array([[0, 1.5], [1, 2.5], [2, 0.5]] * 5)
    expected = ["x0=0", "x0=1", "x0=2", "x1"]
    for listed in ([0], [True, False], np.array([True, False])):
        assert encoder_of(X, categorical_features=listed).input_names == expected
    named = as_frame(pd.DataFrame({"a": X[:, 0], "b": list("uvu") * 5}))
    encoder = learn_encoder(named, categorical_features=["a"], names=["a", "b"])
    assert encoder.input_names == ["a=0", "a=1", "a=2", "b=v"]
    for listed, message in (
        (["c"], "no such column"),
        ([2], "indices must be in 0 to 1"),
        ([True], r"mask of shape \(1,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            learn_encoder(named, categorical_features=listed, names=["a", "b"])


@pytest.mark.parametrize("kind", ["classes", "labels", "number", "numbers"])
def test_gaps_get_an_input_only_if_they_say_something_of_the_target(kind):
    rng = np.random.default_rng(0)
    gaps = rng.random(400) < 0.3
    X = rng.normal(size=(400, 2))
    related = gaps ^ (rng.random(400) < 0.1)
    X[gaps, 0] = X[rng.random(400) < 0.3, 1] = np.nan
    day = np.where(gaps, np.datetime64("NaT"), np.datetime64("2024-01-01") + np.arange(400))
    frame = pd.DataFrame(X, columns=["related", "random"]).assign(day=day)
    estimator, y = {
        "classes": (BNeuralTClassifier, np.where(related, "a", "b")),
        "labels": (BNeuralTClassifier, np.c_[related, rng.random(400) < 0.5].astype(int)),
        "number": (BNeuralTRegressor, related * 3.0 + rng.normal(size=400)),
        "numbers": (BNeuralTRegressor, np.c_[rng.normal(size=400), related * 3.0]),
    }[kind]
    model = flat(estimator, **SMALL).fit(frame, y)
    names = model.encoder_.input_names
    assert {"related is missing", "day is missing"} < set(names)
    assert "random is missing" not in names
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # gaps are no surprise
        model.predict(frame)
    weight = rng.integers(0, 3, 400)
    weighted = flat(estimator, **SMALL).fit(frame, y, sample_weight=weight).encoder_
    several = np.repeat(np.arange(400), weight)
    repeated = flat(estimator, **SMALL).fit(frame.iloc[several], y[several]).encoder_
    assert weighted.input_names == repeated.input_names
    plain = model.encoder_.to_plain()
    assert TableEncoder.from_plain(plain, model.encoder_.names) == model.encoder_


def test_ranges_are_those_of_the_rows_that_count():
    table = pd.DataFrame(
        {
            "size": [3.0, None, -1.0, 99.0],
            "colour": ["red", "blue", "blue", "red"],
            "day": ["31/1/2024", None, "1/2/2023", "1/1/1900"],
            "at": pd.to_datetime(["2024-05-31 14:30", "2024-05-30 00:00", None, None]),
            "empty": [None, None, None, 5.0],
        }
    )
    with pytest.warns(MissingValuesWarning):
        encoder = encoder_of(table, weight=np.array([1.0, 1.0, 1.0, 0.0]))
    assert encoder.ranges == (
        (-1.0, 3.0),
        None,
        ("2023-02-01T00:00:00", "2024-01-31T00:00:00"),
        ("2024-05-30T00:00:00", "2024-05-31T14:30:00"),
        None,
    )
    numbers = np.array([[1, 2], [3, -4], [5, 6]], dtype=np.float32)
    assert encoder_of(numbers).ranges == ((1.0, 5.0), (-4.0, 6.0))


def test_the_word_missing_is_a_category_like_any_other():
    encoder = encoder_of(pd.DataFrame({"x": ["__missing__", "__missing__", "a", "a", None, None]}))
    assert encoder.input_names == ["x=__missing__", "x=a", "x is missing"]


# -- trees over groups of inputs ----------------------------------------------------------


def test_leaves_are_drawn_per_feature():
    groups = np.repeat(np.arange(3), [1, 50, 1])
    tree = NeuralTree.random(52, 3, max_depth=7, groups=groups, random_state=0)
    counts = tree.input_counts
    assert len(set(counts[1:51])) == 1  # a leaf has an edge to each input of the feature
    drawn = counts[[0, 1, 51]]
    assert drawn.max() < 2 * drawn.min()
    assert np.all(np.diff(tree.leaf_parent) >= 0)


def test_the_edges_of_a_group_start_with_the_spread_of_one():
    groups = np.repeat(np.arange(2), [1, 100])
    tree = NeuralTree.random(101, 1, max_depth=8, groups=groups, random_state=0)
    drawn = tree.leaf_parent[tree.leaf_input < 2]  # one edge of each leaf
    children = np.bincount(np.concatenate([tree.parent[1:], drawn]))
    unit = tree.leaf_weight * np.sqrt(children[tree.leaf_parent])
    assert unit[tree.leaf_input == 0].std() == pytest.approx(1.5, rel=0.2)
    assert unit[tree.leaf_input > 0].std() == pytest.approx(0.15, rel=0.1)


def test_a_number_of_weights_counts_all_edges():
    groups = np.repeat(np.arange(4), [1, 5, 1, 3])
    for seed in range(5):
        tree = NeuralTree.random(10, 2, n_weights=500, groups=groups, random_state=seed)
        assert 450 <= tree.n_parameters <= 500
    with pytest.raises(ValueError, match="groups must be"):
        NeuralTree.random(3, groups=[0, 1], random_state=0)


# -- estimators ---------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [BNeuralTClassifier, BNeuralForestClassifier])
def test_a_raw_frame_is_learnt_saved_and_predicted(estimator, tmp_path):
    frame, y = people(400)
    clf = flat(estimator, **SMALL | {"max_epochs": 60, "max_depth": 5}).fit(frame, y)
    assert clf.n_features_in_ == 7 and clf.feature_names_in_.tolist() == list(frame)
    assert clf.score(frame, y) > 0.8
    clf.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    expected = clf.predict_proba(frame)
    np.testing.assert_array_equal(loaded.predict_proba(frame), expected)
    shuffled = frame[frame.columns[::-1]].assign(target=y)
    np.testing.assert_array_equal(loaded.predict_proba(shuffled), expected)
    polars = pl.DataFrame({c: [None if pd.isna(v) else v for v in frame[c]] for c in frame})
    np.testing.assert_array_equal(loaded.predict_proba(polars), expected)
    again = clone(clf).fit(frame, y)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)


def test_order_and_weights_of_rows_do_not_matter():
    frame, y = people()
    order = np.random.default_rng(1).permutation(len(y))
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    reg = flat(BNeuralTRegressor, **SMALL)
    target = (y == "yes") * 1.5
    expected = reg.fit(frame, target, sample_weight=weight).predict(frame)
    repeated = np.repeat(order, weight[order])
    again = reg.fit(frame.iloc[repeated], target[repeated]).predict(frame)
    np.testing.assert_allclose(again, expected)


def test_gaps_at_prediction_only_become_the_mean():
    X, y = load_iris(return_X_y=True)
    gappy, filled = X.copy(), X.copy()
    gappy[5, 2], filled[5, 2] = np.nan, round(X[:, 2].mean(), 6)
    for output in ({}, {"output_activation": "sigmoid", "loss": "squared_error"}):
        for estimator in (BNeuralTClassifier, BNeuralForestClassifier):
            clf = flat(estimator, **SMALL, **output).fit(X, y)
            with pytest.warns(MissingValuesWarning, match="1 value of column 2 of X") as caught:
                predicted = clf.predict_proba(gappy)
            assert len(caught) == 1
            np.testing.assert_allclose(predicted, clf.predict_proba(filled), rtol=1e-4)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_matrices_give_what_dense_ones_give(make):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((5000, 6)) < 0.2, rng.normal(size=(5000, 6)), 0.0)
    y = X @ [1, 2, 3, 0, 0, 1]
    reg = flat(BNeuralForestRegressor, **SMALL | {"max_epochs": 2}, n_estimators=2).fit(make(X), y)
    again = flat(BNeuralForestRegressor, **SMALL | {"max_epochs": 2}, n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(reg.predict(make(X)), again.predict(X))


@pytest.mark.parametrize(("values", "dtype"), [([1, 200], "uint8"), ([0.5, -3], "float32")])
def test_sparse_tables_are_stored_in_the_smallest_type(values, dtype):
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 40), density=0.1, rng=rng, format="csr")
    X.data = rng.choice(np.array(values, dtype=float), X.nnz)
    y = np.asarray(X[:, :4].sum(axis=1)).ravel()
    model = flat(BNeuralTRegressor, **SMALL)
    rows = model._read_rows(X, y, None, reset=True)
    assert rows.table.dtype == dtype
    np.testing.assert_allclose(rows.table[:, :4].sum(axis=1, dtype=float), rows.y)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), model.predict(X.toarray()))


def test_sparse_tables_with_copies_gaps_and_weights_are_learnt_like_dense_ones():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((400, 5)) < 0.3, rng.normal(size=(400, 5)), 0.0)
    X = X[rng.integers(0, 300, 400)]
    y, weight = X[:, 0] - X[:, 1], rng.integers(0, 3, 400)
    gappy = X.copy()
    gappy[::7, 2] = np.nan
    for table in (X, gappy):
        expected = flat(BNeuralTRegressor, **SMALL).fit(table, y, sample_weight=weight)
        found = flat(BNeuralTRegressor, **SMALL).fit(
            sparse.csr_array(table), y, sample_weight=weight
        )
        np.testing.assert_array_equal(found.predict(table), expected.predict(table))
    summed = sparse.csr_array((np.ones(6), [0, 0, 1, 0, 1, 1], [0, 3, 6]), shape=(2, 2))
    assert not summed.has_canonical_format
    reg = flat(BNeuralTRegressor, **SMALL).fit(summed, [0.0, 1.0])
    np.testing.assert_array_equal(reg.predict(summed), reg.predict([[2.0, 1.0], [1.0, 2.0]]))
    with pytest.raises(ValueError, match="contains infinity: row 0, column 1"):
        reg.fit(sparse.csr_array([[0.0, np.inf], [1.0, 0.0]]), [0.0, 1.0])


def test_partial_fit_and_warm_start_keep_the_encoder():
    frame, y = people()
    clf = flat(BNeuralTClassifier, **SMALL)
    clf.partial_fit(frame[:100], y[:100], classes=["no", "yes"])
    encoder = clf.encoder_
    clf.partial_fit(frame[100:], y[100:])
    assert clf.encoder_ is encoder
    clf = flat(BNeuralTClassifier, **SMALL, warm_start=True).fit(frame, y)
    clf.fit(frame, y)
    assert clf.predict(frame).shape == (200,)


def test_validation_rows_and_feature_sampling_are_about_columns():
    frame, y = people()
    sampling = [0, 1, 0, 0, 0, 0, 0]
    clf = flat(BNeuralTClassifier, **SMALL, early_stopping=True, feature_sampling=sampling)
    clf.fit(frame, y, X_val=frame[:50], y_val=y[:50])
    used = set(np.flatnonzero(clf.tree_.input_counts).tolist())
    assert used == set(clf.encoder_.inputs_of(1)) and len(used) == 4
    forest = flat(BNeuralForestClassifier, **SMALL, n_estimators=3, max_features=1).fit(frame, y)
    for member in forest.estimators_:
        used = set(forest.encoder_.groups[np.flatnonzero(member.tree_.input_counts)].tolist())
        assert len(used) == 1


# -- bad input ----------------------------------------------------------------------------


def test_a_column_without_values_is_named():
    frame, y = people()
    with pytest.warns(MissingValuesWarning, match="no values at all: column 'empty' of X"):
        clf = flat(BNeuralTClassifier, **SMALL).fit(frame.assign(empty=np.nan), y)
    assert clf.predict(frame.assign(empty=np.nan)).shape == (200,)


def test_columns_that_change_their_kind_are_named():
    frame, y = people()
    clf = flat(BNeuralTClassifier, **SMALL).fit(frame, y)
    for change, message in (
        ({"height": "tall"}, "'height' of X had numbers in training and has the text 'tall'"),
        ({"colour": 5}, "column 'colour' of X had categories in training, such as 'blue', and has"),
        ({"when": 5.0}, "column 'when' of X had dates in training and has numbers now"),
        ({"when": "soon"}, "column 'when' of X had dates in training and has the text 'soon'"),
        ({"height": pd.Timestamp("2024-01-01")}, "numbers in training and has dates now"),
    ):
        with pytest.raises(ValueError, match=message):
            clf.predict(frame.assign(**change))


def test_unusable_values_are_named():
    with pytest.raises(TypeError, match="column 'x' of X has a list in row 1: argument must be"):
        BNeuralTClassifier().fit(pd.DataFrame({"x": [1, [2], 3]}), [0, 1, 0])
    with pytest.raises(ValueError, match="no column of X varies"):
        BNeuralTClassifier().fit(pd.DataFrame({"x": ["a", "a"]}), [0, 1])


@pytest.mark.parametrize("n_weights", [9, 60, 3000])
def test_trees_of_features_with_many_inputs_can_always_be_drawn(n_weights):
    groups = np.repeat([0, 1, 2], [1, 200, 2])
    least = 0
    for seed in range(20):
        tree = NeuralTree.random(203, 3, n_weights=n_weights, groups=groups, random_state=seed)
        n_leaves = sum(np.count_nonzero(tree.leaf_input == first) for first in (0, 1, 201))
        # only the smallest trees have more weights: two leaves for each output
        assert tree.n_parameters <= n_weights or n_leaves == 6
        least = max(least, min(tree.n_parameters, n_weights))
    assert least > 0.8 * n_weights


def test_categories_have_weights_enough_by_default():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(60, size=1500), rng.integers(3, size=1500)].astype(float)
    y = rng.integers(4, size=1500)
    model = BNeuralTClassifier(categorical_features=[0, 1], max_epochs=1, random_state=0).fit(X, y)
    assert 0.8 * 10 * 31.5 * 4 < model.n_parameters_ <= 10 * 31.5 * 4


@pytest.mark.parametrize("several", [False, True])
def test_probabilities_of_sigmoid_outputs_and_of_labels(several):
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(4, size=200), rng.normal(size=200)]
    X[::9, 1] = np.nan
    y = (X[:, 0] > 1).astype(int)
    y = np.c_[y, 1 - y] if several else y
    options = {"categorical_features": [0], "output_activation": "sigmoid", "random_state": 0}
    model = flat(BNeuralTClassifier, loss="squared_error", **options).fit(X, y)
    for table in (X, sparse.csr_array(np.nan_to_num(X))):
        assert model.predict_proba(table).shape == (200, 2)
    assert model.score(X, y) > 0.9


def test_leaves_move_only_to_inputs_of_features_that_may_be_drawn():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(4, size=300), rng.normal(size=300), rng.integers(3, size=300)]
    model = BNeuralTClassifier(
        categorical_features=[0, 2],
        max_epochs=20,
        random_state=0,
        growth=Growth(feature_sampling=[1, 1, 0]),
    ).fit(X, X[:, 2] > 0)
    assert set(model.encoder_.groups[model.tree_.leaf_input]) == {0, 1}


# -- kinds of columns ---------------------------------------------------------------------

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
        assert len(entries) == feature.n_columns
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
    def learn(cls, column, weight, target=None):
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
    assert model.encoder_.input_names == ["root of x0", "x1"]
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(model.model_.encode(X)[:, 0], np.sqrt(X[:, 0]))
    with pytest.warns(MissingValuesWarning, match="1 value of column 0 of X"):
        gaps = model.predict(np.array([[np.nan, 1.0]]))
    np.testing.assert_array_equal(gaps, model.predict(np.array([[3.0, 1.0]])))
