"""Numbers that stand for missing values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bneuralt.lines import IDENTITY, ClampedLine, InputLines
from bneuralt.tables.moments import ColumnMoments
from bneuralt.tables.sentinels import find_sentinels, have_repeated_ends

cells = st.sampled_from([-999.0, 0.0, 1.0, 2.5, 3.0, 4.0, 9999.0])


@given(st.lists(st.tuples(cells, st.integers(1, 3)), min_size=1, max_size=40))
def test_only_columns_whose_ends_repeat_have_sentinels(rows):
    values, weight = (np.array(part, dtype=np.float64) for part in zip(*rows, strict=True))
    (repeats,) = have_repeated_ends(values[:, np.newaxis], weight)
    ends = [weight[values == end].sum() for end in (values.min(), values.max())]
    assert repeats == (max(ends) >= 3)
    if find_sentinels(values, weight):
        assert repeats


def test_a_table_without_rows_has_none():
    assert not have_repeated_ends(np.empty((0, 2)), np.empty(0)).any()


@given(st.integers(0, 100), st.sampled_from([np.float32, np.float64]))
def test_statistics_of_lines_are_those_of_the_inputs(seed, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)).astype(dtype)
    lines = InputLines.of(
        [[IDENTITY, ClampedLine.ramp(-0.5, 0.5)], [ClampedLine(0.1, -2.0, -1.0, 1.0)]]
    )
    weight = rng.uniform(0.5, 2.0, size=30)
    of_lines, of_inputs = (
        ColumnMoments(X, weight, None, lines),
        ColumnMoments(lines.apply(X), weight),
    )
    for name in ("low", "high", "mean", "variance"):
        np.testing.assert_allclose(getattr(of_lines, name), getattr(of_inputs, name), rtol=1e-9)
