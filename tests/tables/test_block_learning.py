"""What is learnt of a table in blocks: the same for any blocks, and close to the whole table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.tables.bends import Bending
from bneuralt.tables.block_learning import TableSummary, joined
from bneuralt.tables.columns import Column, Frame, as_frame
from bneuralt.tables.csv_files import TableError
from bneuralt.tables.encoder import learn_encoder
from tests.helpers.block_tables import sales

NAMES = ["size", "age", "shop", "sold", "rooms"]


def summary_of(frame, ends, n_rows=1000, weight=None):
    """Return the summary of a table that is divided at some rows."""
    summary = TableSummary(NAMES, [False] * 4 + [True], n_rows)
    cells, target = as_frame(frame[NAMES]), frame["price"].to_numpy()
    weight = np.ones(len(frame)) if weight is None else weight
    for start, stop in zip([0, *ends], [*ends, len(frame)], strict=True):
        rows = slice(start, stop)
        summary.add(cells.take(rows), target[rows], weight[rows], start)
    return summary


def plain(summary):
    """Return the rows of a summary as lists."""
    frame, target, weight, _ = summary.learning_rows()
    columns = [column.as_text() for column in frame.columns]
    texts = [[(*c.texts, None)[code] for code in c.values.tolist()] for c in columns]
    return texts, target.tolist(), np.round(weight, 6).tolist()


@given(st.lists(st.integers(0, 600), max_size=8).map(sorted), st.integers(0, 3))
def test_rows_depend_neither_on_blocks_nor_on_the_order_of_merging(ends, seed):
    frame = sales(600, seed)
    expected = plain(summary_of(frame, [], 200))
    assert plain(summary_of(frame, ends, 200)) == expected
    cut = (ends or [300])[0]
    first, second = (TableSummary(NAMES, [False] * 4 + [True], 200) for _ in range(2))
    cells, target = as_frame(frame[NAMES]), frame["price"].to_numpy()
    first.add(cells.take(slice(0, cut)), target[:cut], np.ones(cut), 0)
    second.add(cells.take(slice(cut, None)), target[cut:], np.ones(600 - cut), cut)
    assert plain(second.merge(first)) == expected


def test_a_table_that_is_not_larger_than_the_sample_is_learnt_exactly():
    frame = sales(3000)
    rows, target, weight, _ = summary_of(frame, [1000, 1001], n_rows=5000).learning_rows()
    assert len(rows) == 3000 and (weight == 1.0).all()
    options = {"names": NAMES, "bending": Bending(8, True), "categorical_features": ["rooms"]}
    from_blocks = learn_encoder(rows, weight, target=target, **options)
    at_once = learn_encoder(as_frame(frame[NAMES]), target=frame["price"].to_numpy(), **options)
    assert from_blocks.to_plain() == at_once.to_plain()
    assert from_blocks.ranges == at_once.ranges


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_shows_ends_gaps_and_rare_texts_of_the_table(seed):
    frame = sales(20_000, seed).drop(columns="kind")
    frame.loc[7, "size"], frame.loc[11_111, "size"] = 1e4, -1e4
    frame.loc[19_999, ["shop", "sold"]] = "late", np.datetime64("NaT", "s")
    frame.loc[19_998, "rooms"] = 77
    rows, target, weight, _ = summary_of(frame, [9000]).learning_rows()
    assert 1000 < len(rows) < 1020
    assert weight.sum() == pytest.approx(len(frame), rel=0.001)
    encoder = learn_encoder(rows, weight, ["rooms"], NAMES, target, Bending(8, True))
    assert encoder.ranges[0] == (-1e4, 1e4)
    assert encoder.ranges[3] == learn_encoder(as_frame(frame[NAMES]), names=NAMES).ranges[3]
    shop, rooms = encoder.features[2], encoder.features[4]
    assert shop.categories == ("north", "south", "west") and shop.rare == ("late",)
    assert "77" in rooms.rare and encoder.features[3].ignores_gaps
    assert encoder.features[1].has_gaps or encoder.features[1].ignores_gaps


def test_quantiles_of_the_sample_are_as_close_as_stated():
    n, k = 200_000, 20_000
    values = np.random.default_rng(0).permutation(n).astype(float)
    summary = TableSummary(["x"], [False], k)
    for start in range(0, n, 30_000):
        part = values[start : start + 30_000]
        summary.add(Frame([Column("number", part)], ["x"]), part, np.ones(len(part)), start)
    rows, _, weight, _ = summary.learning_rows()
    order = np.argsort(rows.columns[0].values)
    share = np.cumsum(weight[order]) / weight.sum()
    error = np.abs(share - rows.columns[0].values[order] / n).max()
    assert error < np.sqrt(np.log(2 / 0.001) / (2 * k))


def test_rows_of_weight_0_are_not_in_the_sample():
    frame, weight = sales(2000), np.ones(2000)
    weight[frame["rooms"].to_numpy() == 8] = 0
    rows, _, weights, _ = summary_of(frame, [900], 500, weight).learning_rows()
    assert "8" not in rows.columns[4].texts
    assert weights.sum() == pytest.approx(weight.sum(), rel=0.01)


def test_kinds_that_differ_and_infinity_are_named():
    summary = TableSummary(["x"], [False])
    numbers, text = Column("number", np.array([1.0])), Column("text", np.array([0]), ("a",))
    empty = Column("text", np.array([-1]), ())
    for column in (empty, numbers, empty):
        summary.add(Frame([column], ["x"]), np.zeros(1), np.ones(1), 0, "one.csv")
    with pytest.raises(TableError, match=r"two.csv: column 'x' has text, and numbers in one.csv"):
        summary.add(Frame([text], ["x"]), np.zeros(1), np.ones(1), 0, "two.csv")
    other = TableSummary(["x"], [False])
    other.add(Frame([text], ["x"]), np.zeros(1), np.ones(1), 0, "two.csv")
    with pytest.raises(TableError, match=r"two.csv: column 'x' has text"):
        summary.merge(other)
    infinite = Column("number", np.array([1.0, -np.inf]))
    with pytest.raises(TableError, match=r"one.csv: column 'x' has infinity in row 12"):
        summary.add(Frame([infinite], ["x"]), np.zeros(2), np.ones(2), 0, "one.csv", 10)


def test_columns_without_values_are_joined_to_any_kind():
    gap, date = Column("number", np.array([np.nan])), np.array(["2024-01-01"], "datetime64[s]")
    assert joined([gap, Column("date", date)], "date").values.tolist()[0] is None
    assert joined([gap, gap]).values.shape == (2,)
