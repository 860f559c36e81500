"""Texts by which other programs know the same category."""

from bneuralt.export.spellings import spellings


def test_digits_behind_the_point_stay_in_every_spelling_of_a_power():
    assert spellings("1.25e-07") == ["1.25e-07", "0.000000125", "1.25e-7"]
    assert spellings("-3e+20") == ["-3e+20", "-300000000000000000000", "-3.0e+20"]


def test_a_spelling_that_is_another_category_is_left_out():
    assert spellings("3", {"3.0"}) == ["3"]
    assert spellings("3", {"3"}) == ["3", "3.0"]
