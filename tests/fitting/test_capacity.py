"""Automatic sizes and epochs, from few rows to very many."""

from hypothesis import given
from hypothesis import strategies as st

from bneuralt.fitting.capacity import (
    IN_FOREST,
    MIN_EPOCHS_OF_MANY,
    SINGLE_TREE,
    SUFFICIENT_EXAMPLES,
    n_epochs,
)

rows = st.floats(0, 9).map(lambda power: int(10**power))
outputs = st.integers(1, 60)


@given(rows, outputs, st.floats(1, 50), st.floats(0.01, 1))
def test_a_tree_of_a_forest_is_not_smaller_than_a_single_tree(n, n_outputs, per_leaf, share):
    sizes = [rule.n_weights(n, n_outputs, per_leaf, share) for rule in (IN_FOREST, SINGLE_TREE)]
    assert sizes[0] >= sizes[1]


@given(rows, outputs)
def test_many_rows_do_not_make_a_single_tree_smaller(n, n_outputs):
    assert SINGLE_TREE.n_weights(2 * n, n_outputs) >= SINGLE_TREE.n_weights(n, n_outputs)


@given(rows, st.sampled_from([50, 100]), st.integers(1, 20))
def test_more_rows_are_seen_less_often_but_not_fewer_of_them(n, fewest, n_classes):
    epochs = n_epochs(n, fewest, n_classes)
    assert epochs >= 1
    assert n * epochs >= min(MIN_EPOCHS_OF_MANY * n, SUFFICIENT_EXAMPLES) * 0.7
    assert n_epochs(2 * n, fewest, n_classes) <= 2 * epochs
