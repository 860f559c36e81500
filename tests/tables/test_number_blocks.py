"""A table whose numbers are stored as one array is read as any other table."""

from __future__ import annotations

import numpy as np
import pytest

from bneuralt.tables.columns import Column, Frame, NumberBlockFrame
from bneuralt.tables.encoder import learn_encoder

N_ROWS = 30


def both_frames():
    """Return the same table twice: with its numbers in one array, and column by column."""
    rng = np.random.default_rng(0)
    numbers = np.asfortranarray(rng.normal(size=(N_ROWS, 3)))
    numbers[::7, 1] = np.nan
    text = Column("text", rng.integers(-1, 3, N_ROWS).astype(np.int32), ("a", "b", "c"))
    block = NumberBlockFrame(numbers, [None, text, None, None], ["u", "v", "w", "x"])
    return block, Frame([block.columns[j] for j in range(4)], block.names)


@pytest.mark.parametrize("weight", [np.ones(N_ROWS), np.arange(N_ROWS) % 3.0])
@pytest.mark.parametrize("categorical", ["from_dtype", ["x"]])
def test_an_encoder_does_not_depend_on_how_numbers_are_stored(weight, categorical):
    block, plain = both_frames()
    encoders = [learn_encoder(X, weight, categorical, X.names) for X in (block, plain)]
    assert encoders[0] == encoders[1] and encoders[0].ranges == encoders[1].ranges
    np.testing.assert_array_equal(*(encoders[0].encode(X) for X in (block, plain)))
    rows = np.arange(0, N_ROWS, 4)
    np.testing.assert_array_equal(*(encoders[0].encode(X.take(rows)) for X in (block, plain)))


def test_new_gaps_and_infinite_numbers_are_reported_in_a_block_too():
    block, _ = both_frames()
    encoder = learn_encoder(block, names=block.names)
    block.number_block[1][4, 0] = np.nan
    with pytest.warns(UserWarning, match="1 value of column 'u'"):
        encoder.encode(block)
    block.number_block[1][4, 0] = np.inf
    with pytest.raises(ValueError, match="column 'u' of X has infinity in row 4"):
        encoder.encode(block)


def test_columns_are_selected_and_sliced_by_name_and_position():
    block, _ = both_frames()
    assert block.select(block.names) is block
    chosen = block.select(["x", "v"])
    assert [column.kind for column in chosen.columns] == ["number", "text"]
    assert [column.kind for column in block.columns[1:3]] == ["text", "number"]
    assert block.shape == (N_ROWS, 4)
