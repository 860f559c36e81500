"""Rows of sizes are scored on folds of rows that were held out."""

import numpy as np
import pytest

from bneuralt.shrinking.compaction import held_out_folds


def test_every_row_is_held_out_once():
    folds = held_out_folds(np.arange(23.0), 5, has_classes=False)
    assert len(folds) == 5
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(23))
    for training, held in folds:
        assert sorted([*training, *held]) == list(range(23))


@pytest.mark.parametrize("n_members", [4, 5, 11])
def test_classes_with_a_row_for_each_fold_are_in_all_of_them(n_members):
    y = np.repeat([0, 1], n_members)
    folds = held_out_folds(y, 4, has_classes=True)
    least = n_members // 4
    assert all(np.bincount(y[held], minlength=2).min() >= least for _, held in folds)


def test_classes_of_few_rows_are_divided_all_the_same():
    y = np.arange(9) // 3  # no class has a row for each of four folds
    folds = held_out_folds(y, 4, has_classes=True)
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(9))


def test_there_are_at_most_as_many_folds_as_rows():
    assert len(held_out_folds(np.arange(3.0), 10, has_classes=False)) == 3
    assert len(held_out_folds(np.arange(2.0), 10, has_classes=False)) == 2
    with pytest.raises(ValueError, match="only one row"):
        held_out_folds(np.arange(1.0), 10, has_classes=False)
