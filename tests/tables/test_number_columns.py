"""Columns of numbers are encoded all at once as they are one by one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import BNeuralTRegressor
from bneuralt.tables import number_columns
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.encoder import TableEncoder, learn_encoder
from bneuralt.tables.features import CategoryFeature, NumberFeature

SENTINELS = [-999.0, 99999.0, 0.1]
CATEGORY = learn_encoder(np.array([[0.0], [1.0]] * 9), categorical_features=[0]).features[0]


def random_feature(rng, may_fail):
    """Return the description of a column; those that may fail have no mean, or no gaps."""
    if rng.random() < 0.1:
        return CATEGORY
    mean = None if may_fail and rng.random() < 0.2 else float(rng.choice([0.3, 7.0, 1e300]))
    has_gaps, ignores_gaps = (bool(rng.integers(2)) for _ in range(2))
    sentinels = tuple(rng.permutation(SENTINELS)[: rng.integers(4)].tolist())
    return NumberFeature(mean, has_gaps, ignores_gaps or not may_fail, sentinels=sentinels)


def outcome(encoder, X):
    """Return the numbers, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(over="ignore"):
        warnings.simplefilter("always")
        try:
            numbers = encoder.numbers(X)
        except ValueError as error:
            numbers = str(error)
    return numbers, [str(warning.message) for warning in caught]


class SeparateColumns(Frame):
    """A table whose columns are not all in memory, so that they are encoded one by one."""

    def take(self, rows):
        return SeparateColumns(tuple(column.take(rows) for column in self.columns), self.names)


def columns_of(X):
    return [Column("number", X[:, j].astype(np.float64)) for j in range(X.shape[1])]


def one_by_one(X):
    """Return the table as separate columns."""
    return SeparateColumns(tuple(columns_of(X)))


@given(
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from([np.float64, np.float32, np.uint8]),
    n_rows=st.sampled_from([1, 2, 50]),
    may_fail=st.booleans(),
    rare=st.lists(st.sampled_from([np.nan, np.inf, -np.inf, *SENTINELS]), max_size=4),
    block_numbers=st.sampled_from([1, 20, 2**16]),
)
def test_all_columns_at_once_are_as_one_by_one(seed, dtype, n_rows, may_fail, rare, block_numbers):
    rng = np.random.default_rng(seed)
    described = [random_feature(rng, may_fail) for _ in range(rng.integers(1, 6))]
    encoder = TableEncoder(tuple(described))
    X = rng.choice([0.0, 1.0, 0.1], (n_rows, len(described)))
    if dtype != np.uint8 and rare:
        X = np.where(rng.random(X.shape) < 0.2, rng.choice(rare, X.shape), X)
    X = X.astype(dtype)
    before = X.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_columns, "BLOCK_NUMBERS", block_numbers)
        numbers, messages = outcome(encoder, X)
    np.testing.assert_array_equal(X, before)
    if numbers is X:  # then kernels refuse infinite numbers
        assert encoder.is_plain and not np.isnan(X).any()
        return
    expected, expected_messages = outcome(encoder, one_by_one(X))
    assert messages == expected_messages
    if isinstance(expected, str):
        assert isinstance(numbers, str) and numbers == expected
    else:
        with np.errstate(over="ignore"):
            expected = expected.astype(np.float32 if dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(numbers, expected, strict=True)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.sampled_from([1, 2, 50]),
    may_fail=st.booleans(),
    rare=st.lists(st.sampled_from([np.nan, np.inf, *SENTINELS]), max_size=4),
)
def test_numbers_of_frames_at_once_are_as_one_by_one(seed, n_rows, may_fail, rare):
    """Also beside columns of text."""
    rng = np.random.default_rng(seed)
    texts = CategoryFeature(("a", "b"), (0.5, 0.5), has_gaps=True)
    described = [
        texts if rng.random() < 0.3 else random_feature(rng, may_fail)
        for _ in range(rng.integers(1, 6))
    ]
    encoder = TableEncoder(tuple(described))
    X = rng.choice([0.0, 1.0, 0.1], (n_rows, len(described)))
    if rare:
        X = np.where(rng.random(X.shape) < 0.2, rng.choice(rare, X.shape), X)
    columns = [
        Column("text", rng.integers(-1, 2, n_rows).astype(np.int32), ("a", "b"))
        if feature is texts
        else column
        for feature, column in zip(described, columns_of(X), strict=True)
    ]
    numbers, messages = outcome(encoder, Frame(columns))
    expected, expected_messages = outcome(encoder, SeparateColumns(tuple(columns)))
    assert messages == expected_messages
    if isinstance(expected, str):
        assert isinstance(numbers, str) and numbers == expected
    else:
        np.testing.assert_array_equal(numbers, expected, strict=True)


def test_predictions_with_sentinels_are_those_with_gaps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[rng.random(200) < 0.2, 1] = -999.0
    y = X[:, 0] + (X[:, 1] == -999.0)
    with pytest.warns(UserWarning, match="treated as missing"):
        model = BNeuralTRegressor(max_epochs=2, random_state=0).fit(X, y)
    assert model.encoder_.features[1].sentinels == (-999.0,)
    gaps = np.where(X == -999.0, np.nan, X)
    np.testing.assert_array_equal(model.predict(X), model.predict(gaps))
    np.testing.assert_array_equal(
        model.predict(X), np.concatenate([model.predict(row[np.newaxis]) for row in X])
    )
