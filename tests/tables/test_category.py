"""Columns of categories: which values are frequent, and their shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.tables.columns import Column
from bneuralt.tables.features import CategoryFeature
from bneuralt.tables.features import category as module


def _learn(counts, weight=1.0):
    """Learn a column of values 'v00', 'v01', ... with these counts; None stands for gaps."""
    texts = tuple(f"v{i:02}" for i in range(len(counts) - 1))
    codes = np.repeat(np.arange(-1, len(texts)), counts).astype(np.int32)
    column = Column("text", codes, texts)
    return CategoryFeature.learn(column, np.full(codes.size, weight))


@given(counts=st.lists(st.integers(0, 60), min_size=2, max_size=8))
def test_shares_are_those_of_the_rows_and_add_up_to_one(counts):
    if sum(counts[1:]) == 0:
        return
    feature = _learn(counts)
    n = sum(counts)
    assert sum(feature.shares) == pytest.approx(1.0)
    assert feature.has_gaps == (counts[0] > 0)
    if feature.has_gaps:
        assert feature.shares[-1] == pytest.approx(counts[0] / n)
    for text, share in zip(feature.categories, feature.shares, strict=False):
        assert share == pytest.approx(counts[1 + int(text[1:])] / n)


def test_a_value_is_frequent_from_the_fewest_rows_on():
    few = module.FEWEST_ROWS
    assert _learn([0, 30, few]).categories == ("v00", "v01")
    feature = _learn([0, 30, few - 1])
    assert feature.categories == ("v00",) and feature.rare == ("v01",)


def test_gaps_take_the_place_of_a_category():
    most = module.MOST_CATEGORIES
    assert len(_learn([0] + [30] * most).categories) == most
    with_gaps = _learn([30] + [30] * most)
    assert len(with_gaps.categories) == most - 2  # one for gaps, one for the rest
    assert len(_learn([30] + [30] * (most - 1)).categories) == most - 1


@pytest.mark.parametrize(("n_rows", "fewest"), [(100, 2), (5_000, 10), (10_000, 20), (50_000, 20)])
def test_rare_values_are_those_of_less_than_a_share_of_2_to_20_rows(n_rows, fewest):
    """0.2 % of the rows; v01 is just frequent enough, v02 is not."""
    feature = _learn([0, n_rows - 2 * fewest + 1, fewest, fewest - 1])
    assert feature.categories == ("v00", "v01") and feature.rare == ("v02",)
    # a weight of 2 is two rows
    feature = _learn([0, n_rows - 2 * fewest + 1, fewest, fewest - 1], weight=2.0)
    share = max(2, min(0.002 * 2 * n_rows, 20))
    assert feature.categories == tuple(
        text
        for text, n in (("v00", n_rows), ("v01", 2 * fewest), ("v02", 2 * fewest - 2))
        if n >= share
    )
