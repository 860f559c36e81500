"""Columns of dates: cells of later tables."""

import numpy as np
import pytest

from bneuralt.tables.columns import Column
from bneuralt.tables.features import ColumnError, DateFeature


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
