"""Lookups of texts in pages are short: only what differs from most categories is written."""

from bneuralt.drawing.page_data import _lookup
from bneuralt.expressions.operations import Lookup


def test_the_input_of_one_category_has_five_entries_whatever_their_number():
    categories = tuple(f"c{i}" for i in range(50))
    table = Lookup(categories, tuple(float(i == 7) for i in range(50)), 0.02, 0.25)
    assert _lookup(table, categories, 0.02) == ["mean", 0.25, 0, 7, 1]


def test_a_column_without_categories_has_the_number_of_unknown_texts_only():
    assert _lookup(Lookup((), (), 0.5, 1.0), (), None) == [0.5, 1, 0.5]
