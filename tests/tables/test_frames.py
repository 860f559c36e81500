"""Data frames of other packages: what pandas gives, all of them give."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, BNeuralTRegressor, load_model

pl = pytest.importorskip("polars")  # there are no wheels for free-threaded Pythons

SMALL = {"max_epochs": 3, "random_state": 0}


class Stream:
    """A table of a package that we do not know, which offers Arrow's stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Interchanged:
    """A table of a package that we do not know, which offers the interchange protocol."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, *args, **options):
        return self.table.__dataframe__(*args, **options)


FORMS = {
    "arrow": lambda table: table,
    "chunks": lambda table: pa.concat_tables([table.slice(0, 7), table.slice(7)]),
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "polars": pl.from_arrow,
    "stream": Stream,
    "interchange": Interchanged,
}


def mixed(n=60):
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "h")
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "text": rng.choice(list("abc"), n),
            "count": rng.integers(0, 5, n),
            "day": day,
            "local": day.tz_localize("UTC").tz_convert("Asia/Tokyo"),
            "flag": rng.random(n) < 0.5,
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
            "stay": day - day.min(),
        }
    )
    frame.loc[::7, "x"] = np.nan
    frame.loc[::9, "text"] = None
    frame.loc[::11, "day"] = pd.NaT
    return frame


def numbers(dtype, gaps=False):
    values = np.random.default_rng(1).normal(size=(60, 3)) * 5
    frame = pd.DataFrame(values.astype(dtype), columns=list("uvw"))
    return frame.where(values < 6) if gaps else frame


TABLES = {
    "mixed": mixed(),
    "float64": numbers("float64"),
    "float32": numbers("float32"),
    "gaps": numbers("float32", gaps=True),
    "integers": numbers("int64"),
    "bytes": numbers("int64").abs().astype("uint8"),
}
LABELS = np.where(np.arange(60) % 3 == 0, "yes", "no")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TABLES)
def test_predictions_are_those_of_pandas(name, form, tmp_path):
    frame = TABLES[name]
    if form == "interchange":  # the protocol has no durations, and Arrow reads no dates by it
        frame = frame.drop(columns=["day", "local", "stay"], errors="ignore")
    model = BNeuralTClassifier(**SMALL).fit(frame, LABELS)
    expected = model.predict_proba(frame)
    other = FORMS[form](pa.Table.from_pandas(frame, preserve_index=False))
    again = BNeuralTClassifier(**SMALL).fit(other, LABELS)
    assert again.feature_names_in_.tolist() == list(frame)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    np.testing.assert_array_equal(model.predict_proba(other), expected)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(other), expected)


@pytest.mark.parametrize(
    ("name", "nullable", "of_arrow"),
    [
        ("float32", "Float32", "float[pyarrow]"),
        ("gaps", "Float32", "float[pyarrow]"),
        ("bytes", "UInt8", "uint8[pyarrow]"),
        ("integers", "Int64", "int64[pyarrow]"),
    ],
)
def test_nullable_columns_are_read_as_those_of_numpy(name, nullable, of_arrow):
    frame = TABLES[name]
    model = BNeuralTClassifier(**SMALL).fit(frame, LABELS)
    expected = model.predict_proba(frame)
    some = {"u": nullable, "w": of_arrow}
    for other in (frame.astype(nullable), frame.astype(of_arrow), frame.astype(some)):
        again = BNeuralTClassifier(**SMALL).fit(other, LABELS)
        np.testing.assert_array_equal(again.predict_proba(other), expected)
        np.testing.assert_array_equal(model.predict_proba(other), expected)


def test_nullable_integers_may_have_gaps():
    frame = TABLES["integers"].astype("Int64")
    frame.loc[::5, "u"] = pd.NA
    as_floats = frame.astype(float)
    model = BNeuralTClassifier(**SMALL).fit(frame, LABELS)
    again = BNeuralTClassifier(**SMALL).fit(as_floats, LABELS)
    np.testing.assert_array_equal(model.predict_proba(frame), again.predict_proba(as_floats))


def test_a_stream_that_can_be_read_only_once():
    table = pa.Table.from_pandas(mixed(), preserve_index=False)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    forest = BNeuralForestClassifier(**SMALL, n_estimators=2).fit(reader, LABELS)
    assert forest.n_features_in_ == 8


def test_loaded_models_find_columns_of_arrow_tables_by_name(tmp_path):
    frame = mixed()
    model = BNeuralTClassifier(**SMALL).fit(frame, LABELS)
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    table = pa.Table.from_pandas(frame[frame.columns[::-1]].assign(other=1))
    np.testing.assert_array_equal(loaded.predict(table), model.predict(frame))
    with pytest.raises(ValueError, match="X has no column 'x', which the model needs"):
        loaded.predict(table.drop_columns("x"))
    with pytest.raises(ValueError, match="in the same order"):
        model.predict(pa.Table.from_pandas(frame[frame.columns[::-1]]))


@pytest.mark.parametrize(
    "make", [pd.Series, pl.Series, pa.array, lambda y: pa.chunked_array([y[:9], y[9:]])]
)
def test_targets_may_be_series_of_any_package(make):
    frame = TABLES["float64"]
    for estimator, y in (
        (BNeuralTClassifier, LABELS),
        (BNeuralTClassifier, (LABELS == "yes")),
        (BNeuralTRegressor, np.arange(60) / 7),
    ):
        expected = estimator(**SMALL).fit(frame, y).predict(frame)
        model = estimator(**SMALL).fit(frame, make(y), sample_weight=make(np.ones(60)))
        np.testing.assert_array_equal(model.predict(frame), expected)
        assert model.score(frame, make(y)) == model.score(frame, y)


def test_several_targets_may_be_a_table_of_arrow():
    frame, y = TABLES["float64"], np.c_[np.arange(60), np.arange(60)[::-1] / 3.0]
    expected = BNeuralTRegressor(**SMALL).fit(frame, y).predict(frame)
    table = pa.table({"a": y[:, 0], "b": y[:, 1]})
    for other in (table, pl.from_arrow(table), table.to_batches()[0]):
        model = BNeuralTRegressor(**SMALL).fit(frame, other)
        np.testing.assert_array_equal(model.predict(frame), expected)


def test_tables_that_cannot_be_read_are_named(monkeypatch):
    frame = pl.from_pandas(TABLES["float64"])
    with pytest.raises(TypeError, match=r"X is a LazyFrame, .* use X.collect\(\)"):
        BNeuralTClassifier().fit(frame.lazy(), LABELS)
    twice = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"])
    with pytest.raises(ValueError, match="several columns with the same name: 'a'"):
        BNeuralTClassifier().fit(twice, [0, 1])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"X is a .*Stream: to read it, install pyarrow"):
        BNeuralTClassifier().fit(Stream(frame), LABELS)


@pytest.mark.parametrize("estimator", [BNeuralTClassifier, BNeuralForestClassifier])
def test_what_can_be_read_only_once_is_refused(estimator):
    frame = pd.DataFrame({"a": np.arange(20.0)})
    y = np.arange(20) % 2
    with pytest.raises(TypeError, match=r"rows of a generator can be read only once.*open_table"):
        estimator(**SMALL).fit((part for part in [frame]), y)
    fitted = estimator(**SMALL).fit(frame, y)
    with pytest.raises(TypeError, match=r"rows of a list_iterator can be read only once"):
        fitted.predict(iter([frame]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["mixed", "float32", "gaps", "integers"])
def test_the_description_of_a_model_finds_columns_by_name(name, form):
    frame = TABLES[name]
    if form == "interchange":
        frame = frame.drop(columns=["day", "local", "stay"], errors="ignore")
    model = BNeuralTClassifier(**SMALL).fit(frame, LABELS).model_
    expected = model.encode(frame)
    shuffled = frame[frame.columns[::-1]].assign(other=1)
    other = FORMS[form](pa.Table.from_pandas(shuffled, preserve_index=False))
    np.testing.assert_array_equal(model.encode(other), expected)
    with pytest.raises(ValueError, match=f"X has no column '{frame.columns[0]}'"):
        model.encode(shuffled.drop(columns=frame.columns[0]))


def test_tables_without_names_are_read_by_position():
    frame = numbers("float64", gaps=True)
    model = BNeuralTClassifier(**SMALL).fit(frame, LABELS).model_
    expected = model.encode(frame)
    values = frame.to_numpy()
    for other in (values, values.tolist(), values.astype(object), sparse.csr_matrix(values)):
        np.testing.assert_array_equal(model.encode(other), expected)
    with pytest.raises(ValueError, match="X has 2 columns, the model has 3 features"):
        model.encode(values[:, :2])
