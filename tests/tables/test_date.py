"""Columns of dates: cells of later tables."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralTRegressor, load_model
from bneuralt.expressions import evaluate
from bneuralt.tables.columns import Column
from bneuralt.tables.features import ColumnError, DateFeature
from bneuralt.tables.value_warnings import SentinelWarning


@pytest.fixture
def feature():
    dates = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]").astype("datetime64[s]")
    return DateFeature.learn(Column("date", dates), np.ones(dates.size))


def test_a_column_without_any_text_is_all_gaps(feature):
    dates, n_unread, word = feature.parse(Column("text", np.full(3, -1, np.int32), ()))
    assert dates.is_missing.all() and len(dates) == 3
    assert (n_unread, word) == (0, "")


def test_texts_are_read_as_dates_and_other_words_are_counted(feature):
    column = Column("text", np.array([0, 1, 1, -1], np.int32), ("2020-02-29", "soon"))
    dates, n_unread, word = feature.parse(column)
    assert dates.is_missing.tolist() == [False, True, True, True]
    assert (n_unread > 0, word) == (True, "soon")


def test_ranges_of_files_may_have_one_digit_for_the_month_or_the_day(feature):
    low, high = "2020-04-1T19:00:00", "2021-1-2"
    assert feature.is_range(low, high)
    ranges = {entry.entry: entry.range for entry in feature.inputs("day", (low, high))}
    full = feature.inputs("day", ("2020-04-01T19:00:00", "2021-01-02T00:00:00"))
    assert ranges == {entry.entry: entry.range for entry in full}


def contracts(n=300, as_text=True):
    """Ends of contracts; what has not ended yet ends at 9999-12-31."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2018-01-01") + rng.integers(0, 2000, n).astype("timedelta64[D]")
    is_open = rng.random(n) < 0.1
    dates = np.where(is_open, np.datetime64("9999-12-31"), days)
    target = np.where(is_open, 3.0, (days - np.datetime64("2018-01-01")).astype(float) / 1000)
    text = dates.astype(str).astype(object)
    column = pd.Series(text) if as_text else pd.Series(dates.astype("datetime64[s]"))
    return pd.DataFrame({"end": column, "x": rng.normal(size=n)}), target, is_open


@pytest.mark.parametrize("as_text", [True, False])
def test_the_end_of_time_is_a_missing_date(as_text, tmp_path):
    X, y, is_open = contracts(as_text=as_text)
    model = BNeuralTRegressor(random_state=0, max_epochs=60)
    with pytest.warns(SentinelWarning, match=rf"'end' of X \(9999-12-31 in {is_open.sum()} rows\)"):
        model.fit(X, y)
    assert model.score(X, y) > 0.95
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(X), model.predict(X))
    gaps = X.assign(end=X["end"].where(~is_open))
    np.testing.assert_array_equal(model.predict(gaps), model.predict(X))
    feature = model.encoder_.features[0]  # expressions read the date itself, not a gap
    dates = Column("date", X["end"].to_numpy().astype("datetime64[s]"))
    gaps = Column("date", np.where(is_open, np.datetime64("NaT", "s"), dates.values))
    for entry in feature.inputs("end"):
        read, of_gaps = (evaluate(entry.expression, {}, column) for column in (dates, gaps))
        np.testing.assert_array_equal(read, of_gaps)


def test_dates_are_not_replaced_if_sentinels_is_none():
    X, y, _ = contracts()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BNeuralTRegressor(random_state=0, max_epochs=5, sentinels=None).fit(X, y)
    assert model.encoder_.features[0].sentinels == ()


def test_numbers_are_no_dates_but_an_empty_column_may_be_of_any_kind(feature):
    dates, *unread = feature.parse(Column("number", np.full(3, np.nan)))
    assert dates.kind == "date" and dates.is_missing.all() and unread == [0, ""]
    for values in ([1.0, 2.0], [np.nan, 2.0]):
        with pytest.raises(ColumnError, match="had dates in training and has numbers now"):
            feature.parse(Column("number", np.array(values)))


def test_texts_have_the_month_first_unless_training_showed_the_day(feature):
    column = Column("text", np.array([0], np.int32), ("3/4/2020",))
    month_first = np.datetime64("2020-03-04", "s")
    assert feature.parse(column)[0].values.tolist() == [month_first.item()]
    of_texts = Column("text", np.arange(2, dtype=np.int32), ("13/4/2020", "3/4/2020"))
    day_first = DateFeature.learn(of_texts, np.ones(2))
    assert day_first.parse(column)[0].values.tolist() == [np.datetime64("2020-04-03", "s").item()]


def test_a_year_that_other_dates_have_is_no_end_of_time():
    """A date far outside that repeats, and one more day of the same year."""
    X, y, is_open = contracts()
    other = X.copy()
    other.loc[np.flatnonzero(~is_open)[0], "end"] = "9999-01-01"
    with warnings.catch_warnings():
        warnings.simplefilter("error", SentinelWarning)
        model = BNeuralTRegressor(random_state=0, max_epochs=2).fit(other, y)
    assert model.encoder_.features[0].sentinels == ()


@pytest.mark.parametrize(("year", "is_sentinel"), [("2020", False), ("1900", True)])
def test_a_date_of_a_year_that_has_others_is_no_sentinel(year, is_sentinel):
    """Later dates of that year would be missing, too."""
    days = np.datetime64("2020-06-10") + (np.arange(40) % 20).astype("timedelta64[D]")
    dates = np.append(days, [np.datetime64(f"{year}-01-01")] * 5).astype("datetime64[s]")
    weight, target = np.ones(dates.size), np.arange(dates.size) * 1.0
    column = Column("date", dates)
    feature = DateFeature.learn(column, weight, target)
    _, found = feature.without_sentinels(column, weight, target, weight)
    assert found == (f"{year}-01-01 in 5 rows" if is_sentinel else "")
