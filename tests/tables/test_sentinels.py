"""Numbers that stand for missing values."""

from __future__ import annotations

import numpy as np
import pytest
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


def test_values_are_no_sentinels():
    rng = np.random.default_rng(0)
    few = rng.choice([0.0, 1.0, 2.0, 3.0, 50.0], 300, p=[0.4, 0.3, 0.2, 0.06, 0.04])
    codes = np.where(rng.random(300) < 0.2, 94110.0, rng.integers(0, 40, 300))
    frequent = np.where(rng.random(325) < 0.7, -0.383, rng.uniform(3.0, 3.2, 325).round(3))
    for values in (few, codes, frequent):
        assert find_sentinels(values, np.ones(values.size)) == ()


@pytest.mark.parametrize("code", [-999.0, 999.0, 9999.0, -99.9, 65535.0, 12345.0])
@pytest.mark.parametrize("share", [0.02, 0.4])
def test_usual_codes_may_be_frequent_and_others_rare(code, share):
    rng = np.random.default_rng(1)
    values = np.where(rng.random(500) < share, code, rng.integers(0, 30, 500))
    is_found = code != 12345 or share < 0.05
    assert find_sentinels(values, np.ones(500)) == ((code,) if is_found else ())


@pytest.mark.parametrize(
    ("code", "spans"), [(65535.0, 5.0), (-32768.0, 5.0), (9999.0, 1.0), (-99.0, 1.0)]
)
@pytest.mark.parametrize("factor", [0.98, 1.02])
def test_a_code_is_far_from_the_span_of_the_others(code, spans, factor):
    """Five times their span, or once for a number of nines."""
    span = abs(code) / (factor * spans)
    others = np.linspace(0.0, span, 50) * -np.sign(code)  # the nearest one is 0
    values = np.concatenate([others, np.full(4, code)])
    assert find_sentinels(values, np.ones(values.size)) == ((code,) if factor > 1 else ())


@pytest.mark.parametrize(("n_rows", "n_codes", "is_found"), [(50, 2, False), (50, 3, True)])
def test_a_code_is_in_three_rows_or_more(n_rows, n_codes, is_found):
    values = np.concatenate([np.arange(float(n_rows)), np.full(n_codes, -999.0)])
    assert find_sentinels(values, np.ones(values.size)) == ((-999.0,) if is_found else ())


@pytest.mark.parametrize(("n_codes", "is_found"), [(9, False), (11, True)])
def test_a_code_is_in_a_five_hundredth_of_many_rows(n_codes, is_found):
    values = np.concatenate([np.arange(5000.0 - n_codes) % 90, np.full(n_codes, -999.0)])
    assert find_sentinels(values, np.ones(5000)) == ((-999.0,) if is_found else ())
