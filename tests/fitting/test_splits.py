"""How rows are divided into those of training and those that are held out."""

import warnings

import numpy as np
import pytest

from bneuralt import BNeuralTClassifier
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import (
    MIN_ROWS_TO_SPLIT,
    TinyDataWarning,
    hold_out,
    hold_out_for_calibration,
)


def some_rows(y):
    y = np.asarray(y)
    return Rows(np.arange(float(len(y)))[:, np.newaxis], y, np.ones(len(y)))


def test_the_fewest_rows_that_are_split():
    y = np.arange(MIN_ROWS_TO_SPLIT) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        training, held_out = hold_out(some_rows(y), 0.25, np.random.default_rng(0))
    assert len(training) + len(held_out) == MIN_ROWS_TO_SPLIT
    with pytest.warns(TinyDataWarning, match=f"{MIN_ROWS_TO_SPLIT - 1} rows are too few"):
        training, held_out = hold_out(some_rows(y[1:]), 0.25, np.random.default_rng(0))
    assert held_out is None and len(training) == MIN_ROWS_TO_SPLIT - 1


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_classes_of_few_rows_keep_a_row_to_learn_from(fraction):
    y = np.repeat(np.arange(5, dtype=np.int32), [40, 30, 3, 2, 1])
    with pytest.warns(TinyDataWarning, match="1 such class"):
        training, held_out = hold_out(some_rows(y), fraction, np.random.default_rng(0))
    assert set(training.y.tolist()) == set(range(5))
    assert 4 not in held_out.y
    assert len(held_out) == pytest.approx(fraction * len(y), abs=3)


@pytest.mark.parametrize("share", [1, 9, 0.1, 0.5])
def test_so_many_rows_calibrate_intervals(share):
    training, held_out = hold_out_for_calibration(some_rows(np.arange(10.0)), share, 0)
    n_held = share if isinstance(share, int) else round(10 * share)
    assert (len(training), len(held_out)) == (10 - n_held, n_held)
    assert sorted([*training.y, *held_out.y]) == list(range(10))


@pytest.mark.parametrize("share", [10, 11, 0.01, 0.999])
def test_calibration_leaves_rows_on_both_sides(share):
    with pytest.raises(ValueError, match="both need at least one"):
        hold_out_for_calibration(some_rows(np.arange(10.0)), share, 0)


def test_only_early_stopping_and_selection_hold_rows_out():
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 2
    settings = {"max_epochs": 2, "n_weights": 20, "random_state": 0}
    plain = BNeuralTClassifier(**settings).fit(X, y)
    stopping = BNeuralTClassifier(**settings, early_stopping=True).fit(X, y)
    assert "val_loss" not in plain.history_ and "val_loss" in stopping.history_
