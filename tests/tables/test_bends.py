"""Limits and ramps that are learnt from columns of numbers."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bneuralt.expressions import evaluate
from bneuralt.tables.bends import LIMIT, STRAIGHT, Bending, Bends, Ramp
from bneuralt.tables.columns import Column, Frame
from bneuralt.tables.encoder import TableEncoder, learn_encoder
from bneuralt.tables.features import NumberFeature

RULE = Bending(4, is_limited=True)

numbers = st.floats(allow_nan=False, allow_infinity=False)
#: Many equal values, and values of any size.
columns = st.lists(numbers, min_size=1, max_size=30) | st.lists(
    st.sampled_from([-999.0, 0.0, 1.0, 2.0, 2.5, 7.0]), min_size=1, max_size=30
)


def columns_of(n):
    """Columns of n numbers."""
    few = st.sampled_from([-999.0, 0.0, 1.0, 2.0, 2.5, 7.0])
    return st.lists(numbers, min_size=n, max_size=n) | st.lists(few, min_size=n, max_size=n)


rules = st.builds(Bending, st.sampled_from([0, 1, 2, 4, 9]), st.booleans())


def learnt(values, weight=None, rule=RULE):
    values = np.asarray(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no overflow in silence, and none aloud
        weight = np.ones(values.size) if weight is None else np.asarray(weight)
        (bends,) = rule.learn(values[np.newaxis].astype(np.float64), weight)
        return bends


def ramp_means(values, weight, ramps):
    """The means by their definition."""
    heights = [
        np.clip((values - ramp.start) * (1 / (ramp.end - ramp.start)), 0, 1) for ramp in ramps
    ]
    return [float(np.average(height, weights=weight)) for height in heights]


# -- properties -------------------------------------------------------------------------------


@given(columns, rules)
def test_bends_are_valid_for_any_column(values, rule):
    limits, ramps = learnt(values, rule=rule)
    assert limits is None or (rule.is_limited and np.isfinite(limits).all())
    if limits is not None:
        low, high = limits
        assert low < high and low <= np.median(values) <= high
        middle = np.sort(values)[(len(values) - 1) // 4 : -(-3 * len(values) // 4)]
        assert low <= middle[0] and middle[-1] <= high  # the quartiles are inside
    assert len(ramps) <= rule.n_ramps and len(ramps) != 1
    for ramp in ramps:
        assert ramp.is_valid and (rule.is_rounded or {ramp.start, ramp.end} <= set(values))
        assert -1e-9 <= ramp.mean <= 1 + 1e-9
    for one, other in itertools.pairwise(ramps):
        assert one.end <= other.start


@given(st.integers(1, 25).flatmap(lambda n: st.lists(columns_of(n), min_size=1, max_size=4)), rules)
def test_many_columns_at_once_are_as_one_by_one(values, rule):
    table = np.array(values, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = rule.learn(table, np.ones(table.shape[1]))
    for bends, column in zip(together, table, strict=True):
        alone = learnt(column, rule=rule)
        assert bends.limits == alone.limits
        assert [ramp[:2] for ramp in bends.ramps] == [ramp[:2] for ramp in alone.ramps]
        np.testing.assert_allclose(
            [ramp.mean for ramp in bends.ramps], [ramp.mean for ramp in alone.ramps], atol=1e-9
        )


@given(columns, rules, st.randoms())
def test_the_order_of_the_rows_does_not_matter(values, rule, random):
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert learnt(values, rule=rule) == learnt(shuffled, rule=rule)


@given(columns, rules, st.data())
def test_a_number_of_weight_2_is_two_equal_numbers(values, rule, data):
    times = data.draw(
        st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values)), label="times"
    )
    weighted = learnt(values, np.array(times, dtype=float), rule)
    repeated = learnt(np.repeat(values, times), rule=rule)
    assert weighted.limits == repeated.limits
    assert [ramp[:2] for ramp in weighted.ramps] == [ramp[:2] for ramp in repeated.ramps]
    means = [[ramp.mean for ramp in bends.ramps] for bends in (weighted, repeated)]
    np.testing.assert_allclose(*means, rtol=1e-9, atol=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=40), rules, st.data())
def test_means_of_ramps_are_those_over_the_rows(values, rule, data):
    weight = np.array(
        data.draw(st.lists(st.floats(0.1, 10), min_size=len(values), max_size=len(values)))
    )
    ramps = learnt(values, weight, rule).ramps
    assume(all(ramp.end - ramp.start > 1e-6 for ramp in ramps))
    means = [ramp.mean for ramp in ramps]
    np.testing.assert_allclose(means, ramp_means(np.array(values), weight, ramps), atol=1e-3)


@given(st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=1, max_size=40), rules)
def test_bends_follow_a_change_of_the_unit(values, rule):
    values, rule = np.array(values), rule._replace(is_rounded=False)
    bends, other = learnt(values, rule=rule), learnt(values * 4.0, rule=rule)
    expected = None if bends.limits is None else tuple(4.0 * np.array(bends.limits))
    assert other.limits == expected
    assert [ramp[:2] for ramp in other.ramps] == [
        (4 * ramp.start, 4 * ramp.end) for ramp in bends.ramps
    ]


@given(columns, rules)
def test_rounded_bends_are_near_the_others(values, rule):
    exact, rounded = (learnt(values, rule=rule._replace(is_rounded=is_r)) for is_r in (False, True))
    assert len(exact.ramps) == len(rounded.ramps)
    for one, other in zip(exact.ramps, rounded.ramps, strict=True):
        width = one.end - one.start
        assert abs(one.start - other.start) <= 0.01 * width
        assert abs(one.end - other.end) <= 0.01 * width
    if exact.limits is not None:
        tolerance = 0.01 * (exact.limits[1] - exact.limits[0])
        assert np.abs(np.subtract(exact.limits, rounded.limits)).max() <= tolerance


def test_one_number_far_away_changes_little():
    values = np.random.default_rng(0).normal(size=1000)
    bends, other = learnt(values), learnt(np.append(values, 1e9))
    np.testing.assert_allclose(other.limits, bends.limits, atol=0.05)
    inner = [[ramp.start for ramp in each.ramps] for each in (bends, other)]
    np.testing.assert_allclose(*inner, atol=0.05)


# -- columns of every kind --------------------------------------------------------------------


def test_limits_are_three_quartile_distances_from_the_median():
    limits, ramps = learnt(np.arange(101.0))
    low, middle, high = 25.0, 50.0, 75.0
    assert limits == (middle - LIMIT * (high - low), middle + LIMIT * (high - low))
    assert [ramp[:2] for ramp in ramps] == [(0, 25), (25, 50), (50, 75), (75, 100)]


@pytest.mark.parametrize("values", [[3.0], [3.0, 3.0], [0.0, 1.0], [5.0, 5.0, 1e300]])
def test_columns_of_at_most_two_different_numbers_stay_as_they_are(values):
    assert learnt(values) == Bends()


def test_quartiles_that_coincide():
    """Most numbers are 0: the spread is that of the others."""
    values = np.array([0.0] * 90 + [1.0, 2.0, 3.0, 4.0, 5.0] + [1000.0])
    limits, ramps = learnt(values)
    away = np.median([1.0, 2.0, 3.0, 4.0, 5.0, 1000.0])
    assert limits == (-LIMIT * away, LIMIT * away)
    assert [ramp[:2] for ramp in ramps] in ([], [(0.0, 1000.0)])  # one is the number itself


def test_few_different_numbers_have_a_ramp_between_each_two():
    ramps = learnt([1.0, 2.0, 2.0, 4.0, 8.0]).ramps
    assert [ramp[:2] for ramp in ramps] == [(1, 2), (2, 4), (4, 8)]


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1.0, 1e150, 1e300, 5e-324])
def test_units_of_any_size(unit):
    values = np.arange(1.0, 101.0) * unit
    limits, ramps = learnt(values)
    for ramp in ramps:
        assert ramp.is_valid
        assert 0.0 <= ramp.mean <= 1.0
    if unit in (1e-150, 1.0, 1e150):
        assert limits is not None and len(ramps) == 4
    if limits is not None:
        assert limits[0] < values[50] < limits[1]


def test_thirty_decades():
    values = 10.0 ** np.linspace(-15, 15, 601)
    limits, ramps = learnt(values)
    assert limits is not None and limits[1] < 1e9
    assert [ramp.start for ramp in ramps] == sorted(ramp.start for ramp in ramps)
    np.testing.assert_allclose(
        [ramp.mean for ramp in ramps], ramp_means(values, np.ones(601), ramps), atol=1e-6
    )


def test_numbers_whose_span_overflows():
    values = np.linspace(-1.0, 1.0, 50) * 1.7e308
    limits, ramps = learnt(values)
    assert limits is None
    assert all(ramp.is_valid and 0 <= ramp.mean <= 1 for ramp in ramps)


def test_whole_numbers_beyond_2_to_the_53rd():
    values = 2**60 + np.arange(0, 400_000, 1000)
    limits, ramps = learnt(values)
    assert limits is not None and limits[0] < 2**60 < limits[1]
    assert len(ramps) == 4
    np.testing.assert_allclose(
        [ramp.mean for ramp in ramps], [0.875, 0.625, 0.375, 0.125], atol=0.01
    )


def test_no_rule_bends_nothing():
    assert learnt(np.arange(50.0), rule=STRAIGHT) == Bends()
    assert learnt(np.arange(50.0), rule=Bending(0, is_limited=True)).ramps == ()
    assert learnt(np.arange(50.0), rule=Bending(4)).limits is None
    assert learnt(np.arange(50.0), rule=Bending(1)).ramps == ()  # the number itself


# -- columns of tables ------------------------------------------------------------------------


def frame(rng, n=60):
    columns = [
        Column("number", rng.normal(size=n)),
        Column("number", np.where(rng.random(n) < 0.3, np.nan, rng.lognormal(size=n))),
        Column("text", rng.integers(0, 3, n).astype(np.int32), ("a", "b", "c")),
        Column("number", rng.integers(0, 2, n).astype(float)),
    ]
    return Frame(columns, ["u", "v", "w", "x"])


def test_inputs_are_the_expressions_of_their_columns():
    rng = np.random.default_rng(0)
    table = frame(rng)
    target = np.isnan(table.columns[1].values).astype(float) + rng.normal(0, 0.1, 60)
    encoder = learn_encoder(table, None, "from_dtype", table.names, target, RULE)
    assert encoder.lines is not None
    inputs = encoder.encode(table)
    assert inputs.shape == (60, encoder.n_inputs) == (60, len(encoder.inputs))
    assert [entry.is_drawn for entry in encoder.inputs] == (encoder.drawn_groups >= 0).tolist()
    assert encoder.has_ramps
    for i, feature in enumerate(encoder.features):
        assert feature.n_inputs == np.count_nonzero(encoder.groups == i)
        assert feature.n_inputs == sum(len(lines) for lines in feature.lines)
        assert feature.n_inputs == len(feature.drawn) == len(feature.input_means)
    means = [mean for feature in encoder.features for mean in feature.input_means]
    numbers_of = [i for i, entry in enumerate(encoder.inputs) if means[i] is not None]
    # gaps are filled by the mean, which for ramps is not exactly the mean of the ramp
    plain = [i for i in numbers_of if encoder.groups[i] == 0]
    np.testing.assert_allclose(inputs[:, plain].mean(axis=0), np.array(means)[plain], atol=1e-5)


def test_rows_of_weight_0_have_no_influence():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(40, 2)), np.arange(40) % 2.0
    wild = np.where(weight[:, np.newaxis] > 0, X, 1e6 * X)
    one, other = (learn_encoder(table, weight, names=None, bending=RULE) for table in (X, wild))
    assert one.features == other.features


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_stay_as_they_are_and_inputs_are_their_lines(dtype):
    X = np.random.default_rng(2).standard_cauchy((50, 3)).astype(dtype)
    encoder = learn_encoder(X, bending=RULE)
    assert encoder.numbers(X) is X
    inputs = encoder.encode(X)
    assert inputs.dtype == dtype
    np.testing.assert_array_equal(inputs, encoder.lines.apply(X))
    assert np.ptp(inputs, axis=0).max() < np.ptp(X)


@given(
    st.floats(-1e3, 1e3),
    st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)).filter(lambda pair: pair[0] < pair[1]),
    st.lists(st.floats(-1e3, 1e3), max_size=5, unique=True).map(sorted),
    st.booleans(),
    st.none() | st.tuples(st.floats(-1e3, 0), st.floats(1, 1e3)),
)
def test_descriptions_are_stored_and_read(mean, limits, knots, has_gaps, bounds):
    ramps = tuple(Ramp(a, b, 0.5) for a, b in itertools.pairwise(knots))
    assume(all(ramp.is_valid for ramp in ramps))
    feature = NumberFeature(mean, has_gaps=has_gaps, limits=limits, ramps=ramps, bounds=bounds)
    encoder = TableEncoder((feature,))
    assert TableEncoder.from_plain(encoder.to_plain()).features == (feature,)


@given(
    st.lists(st.floats(-50, 50) | st.just(np.nan), min_size=1, max_size=20),
    st.tuples(st.floats(-30, 30), st.floats(0.01, 30)).map(lambda pair: (pair[0], sum(pair))),
    st.sampled_from([None, (-20.0, 20.0), (0.0, 1.0)]),
    st.booleans(),
)
def test_bounds_limit_a_column_before_all_its_inputs(values, bounds, limits, has_gaps):
    ramps = (Ramp(-15.0, 0.0, 0.5), Ramp(0.0, 2.5, 0.5), Ramp(2.5, 40.0, 0.5))
    feature = NumberFeature(3.0, has_gaps, not has_gaps, limits=limits, ramps=ramps)
    bounded = replace(feature, bounds=bounds)
    column = Column("number", np.array(values))
    filled = np.where(np.isnan(values), 3.0, values).clip(*bounds)
    expected = TableEncoder((feature,)).encode(Frame((Column("number", filled),), ("x",)))
    if has_gaps:
        expected[:, -1] = np.isnan(values)
    inputs = TableEncoder((bounded,)).encode(Frame((column,), ("x",)))
    np.testing.assert_allclose(inputs, expected, rtol=1e-12, atol=1e-12)
    entries = bounded.inputs("x", (-50.0, 50.0))
    computed = [np.broadcast_to(evaluate(e.expression, {}, column), len(values)) for e in entries]
    np.testing.assert_allclose(np.column_stack(computed), expected, rtol=1e-12, atol=1e-12)
    assert bounds[0] <= entries[0].range[0] or limits is not None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"limits": [1.0, 1.0]}, "must be below the second"),
        ({"limits": [1.0]}, "instead of 2 numbers"),
        ({"limits": [1.0, "2"]}, "limits"),
        ({"limits": [1.0, float("inf")]}, "limits"),
        ({"bounds": [2.0, 1.0]}, "must be below the second"),
        ({"bounds": 5}, "instead of 2 numbers"),
        ({"ramps": [[0.0, 1.0]]}, "instead of 3 numbers"),
        ({"ramps": [[1.0, 0.0, 0.5]]}, "not a rise"),
        ({"ramps": [[0.0, 1e-320, 0.5]]}, "not a rise"),
        ({"ramps": 3}, "not a list"),
    ],
)
def test_damaged_descriptions_are_refused(entry, message):
    bent = NumberFeature(0.0, limits=(-1.0, 1.0), ramps=(Ramp(0.0, 1.0, 0.5),))
    (plain,) = TableEncoder((bent,)).to_plain()
    with pytest.raises(ValueError, match=message):
        TableEncoder.from_plain([plain | entry])


@given(columns, st.sampled_from([2, 4, 9]))
@example([0.0, 1.797693134860759e308, 1.7976931348623155e308], 2)  # 15 digits are infinity
def test_names_of_ramps_are_different_and_nearly_exact(values, n_ramps):
    ramps = learnt(values, rule=Bending(n_ramps)).ramps
    entries = [entry.entry for entry in NumberFeature(0.0, ramps=ramps).inputs("x")[1:]]
    assert len(set(entries)) == len(ramps)
    for ramp, entry in zip(ramps, entries, strict=True):
        start, end = map(float, entry.split(" to "))
        width = ramp.end - ramp.start
        assert abs(start - ramp.start) <= 0.01 * width and abs(end - ramp.end) <= 0.01 * width


def test_names_of_ramps_are_short():
    ramps = (Ramp(-0.657501, -0.112506, 0.5), Ramp(-0.112506, 37123.4, 0.1))
    names = [entry.name for entry in NumberFeature(0.0, ramps=ramps).inputs("age")]
    assert names == ["age", "age from -0.66 to -0.11", "age from -0.11 to 37000"]


@given(st.integers(3, 20), rules, st.data())
def test_many_columns_get_the_means_of_their_limited_numbers(n_rows, rule, data):
    X = np.array([data.draw(columns_of(n_rows)) for _ in range(3)]).T
    X = np.clip(X, -1e100, 1e100)
    encoder, weight = learn_encoder(X), np.ones(n_rows)
    one_by_one = [
        feature.bent(Column("number", X[:, i]), weight, rule)
        for i, feature in enumerate(encoder.features)
    ]
    together = encoder.bent(X, weight, rule).features
    for one, other in zip(one_by_one, together, strict=True):
        assert (one.limits, len(one.ramps)) == (other.limits, len(other.ramps))
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-5, atol=1e-6 * np.ptp(X))
