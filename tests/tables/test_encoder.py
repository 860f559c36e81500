"""The table encoder: what columns of every kind become."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bneuralt import (
    BNeuralTClassifier,
    BNeuralTRegressor,
)
from bneuralt.tables.columns import as_frame
from bneuralt.tables.encoder import TableEncoder, learn_encoder
from bneuralt.tables.reader import TableReader
from bneuralt.tables.value_warnings import (
    MissingValuesWarning,
    RareValuesWarning,
    UnseenValuesWarning,
)
from tests.helpers.flat import flat
from tests.helpers.tables import people

SMALL = {"max_depth": 3, "max_epochs": 20, "random_state": 0}


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
        *("year of when", "month of when", "day of when", "weekday of when", "when in days"),
        "when is missing",
        *("member", "visits", "visits is missing", "stay", "city=Rome"),
    ]
    inputs = pd.DataFrame(encoder.encode(as_frame(frame)), columns=encoder.input_names)
    gaps = frame["height"].isna()
    assert inputs["height"][gaps].nunique() == 1
    assert abs(inputs["height"][gaps].iloc[0] - frame["height"].mean()) < 1e-4
    assert (inputs["height is missing"] == gaps).all()
    assert (inputs["colour=red"] == (frame["colour"] == "red")).all()
    present = frame["when"].notna()
    assert (inputs["weekday of when"][present] == frame["when"].dt.day_of_week[present]).all()
    assert (inputs["stay"] == frame["stay"].dt.total_seconds()).all()
    assert TableEncoder.from_plain(encoder.to_plain(), encoder.names) == encoder


def test_pandas_polars_and_arrays_of_objects_are_read_alike():
    pl = pytest.importorskip("polars")
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
    assert encoder.features[2].parts == ("hour", "elapsed")


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
    day = np.where(gaps, np.datetime64("NaT", "s"), np.datetime64("2024-01-01") + np.arange(400))
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


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("has_text", [False, True])
def test_a_fitted_encoder_takes_data_frames(library, has_text):
    make = pytest.importorskip(library).DataFrame
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=60), "b": rng.normal(size=60)}
    if has_text:
        table["c"] = ["red", "green", "blue"] * 20
    model = BNeuralTRegressor(max_epochs=2, random_state=0).fit(pd.DataFrame(table), table["a"])
    in_other_order = make(dict(reversed(table.items())))
    outputs = model.tree_.forward(model.encoder_.encode(in_other_order))[:, 0]
    np.testing.assert_allclose(outputs, model.predict(pd.DataFrame(table)), rtol=1e-5)


@pytest.mark.parametrize(("n_odd", "is_said"), [(5, False), (6, True)])
def test_a_handful_of_odd_values_in_a_thousand_rows_is_not_said(n_odd, is_said):
    X = pd.DataFrame({"a": np.arange(1000.0), "c": ["x", "y"] * 500})
    table = TableReader().read(X)
    encoder = learn_encoder(table.cells, names=table.names)
    X.loc[: n_odd - 1, "a"] = np.nan
    X.loc[: n_odd - 1, "c"] = "z"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoder.encode(X)
    assert len(caught) == 2 * is_said
