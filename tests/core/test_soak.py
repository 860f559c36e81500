"""Many threads at once, for a few seconds; `make soak` takes longer."""

from tests.tools.soak import soak


def test_fits_and_predictions_side_by_side_are_those_made_alone():
    n_calls, wrong = soak(3.0)
    assert not wrong, wrong
    assert n_calls > 20
