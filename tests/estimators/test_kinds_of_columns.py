"""Estimators on tables of columns of every kind."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    load_model,
)
from bneuralt.fitting.problem import read_problem
from bneuralt.warnings import (
    IdentifierWarning,
    MissingValuesWarning,
    SentinelWarning,
    TextValuesWarning,
)
from tests.helpers.flat import flat
from tests.helpers.tables import IRIS, people

SMALL = {"max_depth": 3, "max_epochs": 20, "random_state": 0}


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
    again = clone(clf).fit(frame, y)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    pl = pytest.importorskip("polars")
    polars = pl.DataFrame({c: [None if pd.isna(v) else v for v in frame[c]] for c in frame})
    np.testing.assert_array_equal(loaded.predict_proba(polars), expected)


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
    X, y = IRIS
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


@pytest.mark.parametrize(
    ("values", "given", "stored"),
    [
        ([1, 200], "uint8", "uint8"),
        ([1, 200], "float64", "float32"),
        ([0.5, -3], "float64", "float32"),
        ([0.1, -3], "float64", "float64"),
    ],
)
def test_large_sparse_tables_are_stored_in_the_smallest_type(values, given, stored, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 40), density=0.1, rng=rng, format="csr")
    X.data = rng.choice(np.array(values, dtype=given), X.nnz)
    y = np.asarray(X[:, :4].sum(axis=1)).ravel()
    model = flat(BNeuralTRegressor, **SMALL)
    rows = read_problem(model._options(), X, y).rows
    assert rows.table.dtype == ("uint8" if stored == "uint8" else "float64")
    monkeypatch.setattr("bneuralt.fitting.canonical.MAX_WIDENED_BYTES", 0)
    rows = read_problem(model._options(), X, y).rows
    assert rows.table.dtype == stored
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
        model = flat(BNeuralTRegressor, **SMALL).fit(
            sparse.csr_array(table), y, sample_weight=weight
        )
        np.testing.assert_array_equal(model.predict(table), expected.predict(table))
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
    ).fit(X, X[:, 0] + X[:, 1] + X[:, 2] > 2.5)
    assert set(model.encoder_.groups[model.tree_.leaf_input]) == {0, 1}


def test_a_stacking_says_each_thing_once():
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame(
        {
            "id": np.arange(n),
            "price": [f"{x:,.2f} EUR" for x in 2000 * rng.random(n)],
            "size": np.where(rng.random(n) < 0.1, -999, rng.normal(size=n)),
        }
    )
    y = rng.integers(0, 2, n)
    tree = BNeuralTClassifier(max_epochs=2, n_weights=8, random_state=0)
    stacking = StackingClassifier([("a", tree), ("b", tree)], LogisticRegression(), cv=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stacking.fit(X, y)
        stacking.fit(X, y)
    found = Counter(warning.category for warning in caught)
    assert found == dict.fromkeys((IdentifierWarning, TextValuesWarning, SentinelWarning), 2)
