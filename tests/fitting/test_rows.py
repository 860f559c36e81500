"""Rows in canonical form, validation splits, and scaling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bneuralt import BNeuralTClassifier, NeuralTree
from bneuralt.fitting.canonical import canonical_rows
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import hold_out
from bneuralt.fitting.weights import RowWeights, class_weights
from bneuralt.lines import IDENTITY, ClampedLine, InputLines
from bneuralt.model.scaling import fold, learn_scaling
from bneuralt.tables.moments import ColumnMoments
from bneuralt.tables.row_hashes import _folded, hash_rows, mixed
from bneuralt.warnings import TinyDataWarning

DTYPES = st.sampled_from([np.float64, np.float32, np.uint8])


@st.composite
def tables(draw):
    """A table with few different values, so that rows are often the same, and its target."""
    n_rows, n_columns = draw(st.integers(1, 30)), draw(st.integers(1, 11))
    X = draw(arrays(draw(DTYPES), (n_rows, n_columns), elements=st.integers(0, 2)))
    y = draw(
        arrays(draw(st.sampled_from([np.int32, np.float64])), n_rows, elements=st.integers(0, 2))
    )
    return X, y


def as_set(rows):
    return {
        (*x, target): weight
        for x, target, weight in zip(
            rows.X.tolist(), rows.y.tolist(), rows.weight.tolist(), strict=True
        )
    }


def assert_same(first, second):
    for name in ("X", "y", "weight", "times"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@given(tables(), st.randoms(use_true_random=False))
def test_rows_are_merged_and_their_order_does_not_matter(table, random):
    X, y = table
    rows = canonical_rows(X, y, RowWeights.ones(len(y)))
    counts = {}
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        counts[(*x, target)] = counts.get((*x, target), 0) + 1
    assert as_set(rows) == counts
    kept = np.uint8 if X.dtype == np.uint8 else np.float64  # small tables are widened
    assert rows.X.dtype == kept and rows.X.flags.c_contiguous

    order = list(range(len(y)))
    random.shuffle(order)
    assert_same(rows, canonical_rows(X[order], y[order], RowWeights.ones(len(y))))


@given(tables(), st.data())
def test_weights_are_repetitions(table, data):
    X, y = table
    times = data.draw(arrays(np.int64, len(y), elements=st.integers(0, 3)))
    times[0] += 1
    weighted = canonical_rows(X, y, RowWeights.of(times.astype(float)))
    equal = RowWeights.ones(times.sum())
    repeated = canonical_rows(X.repeat(times, axis=0), y.repeat(times), equal)
    assert_same(weighted, repeated)


@given(tables(), st.data())
def test_unequal_weights_of_copies_add_up_alike_in_any_order(table, data):
    X, y = table
    weight = data.draw(arrays(float, len(y), elements=st.floats(0.01, 10)))
    order = data.draw(st.permutations(range(len(y))))
    one, other = (RowWeights(part, np.ones(len(y))) for part in (weight, weight[order]))
    assert_same(canonical_rows(X, y, one), canonical_rows(X[order], y[order], other))


def test_different_rows_of_one_hash_stay_apart():
    y = np.zeros(3, dtype=np.int32)
    key = mixed(np.arange(1, 3, dtype=np.uint64)) | np.uint64(1)
    first = np.array([123456789, 987654321], dtype=np.uint64)
    # Times the keys, the two words add up to the same.
    second = np.concatenate([first[:1] + key[1:], first[1:] - key[:1]])
    X = _folded(np.stack([first, second, first])).view(np.uint8)  # folding twice changes nothing
    assert len(set(hash_rows(X, y).tolist())) == 1
    rows = canonical_rows(X, y, RowWeights.ones(3))
    assert as_set(rows) == {(*X[0].tolist(), 0): 2.0, (*X[1].tolist(), 0): 1.0}
    assert_same(rows, canonical_rows(X[::-1].copy(), y, RowWeights.ones(3)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_round_numbers_get_different_hashes(dtype):
    values = np.arange(200)
    X = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2).astype(dtype)
    assert len(np.unique(hash_rows(X, np.zeros(len(X))))) == len(X)


# -- validation rows ----------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=6), st.floats(0.05, 0.9), st.integers(0, 99)
)
def test_every_class_gives_its_share(sizes, fraction, seed):
    y = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    rows = Rows(np.arange(y.size, dtype=float)[:, None], y, np.ones(y.size))
    if y.size < 60 or 1 in sizes:
        with pytest.warns(TinyDataWarning):
            training, validation = hold_out(rows, fraction, np.random.default_rng(seed))
    else:
        training, validation = hold_out(rows, fraction, np.random.default_rng(seed))
    if y.size < 60:
        assert training is rows and validation is None
        return
    both = np.concatenate([training.X[:, 0], validation.X[:, 0]])
    assert sorted(both.tolist()) == list(range(y.size))
    assert set(training.y) == set(y)
    for k, size in enumerate(sizes):
        if size > 1:
            assert abs(np.sum(validation.y == k) - fraction * size) <= 2


def test_every_range_of_a_numeric_target_gives_its_share():
    y = np.random.default_rng(0).exponential(size=1000)
    rows = Rows(y[:, None], y, np.ones(1000))
    _, validation = hold_out(rows, 0.1, np.random.default_rng(0))
    shares = [np.mean(validation.y < np.quantile(y, q)) for q in (0.1, 0.5, 0.9)]
    np.testing.assert_allclose(shares, [0.1, 0.5, 0.9], atol=0.011)


def test_balanced_class_weights_count_weights_not_rows():
    classes = np.array(["a", "b"])
    rows = Rows(np.zeros((3, 1)), np.array([0, 0, 1]), np.array([1.0, 2.0, 1.0]))
    balanced = rows.weighed(class_weights("balanced", classes, rows))
    np.testing.assert_allclose(np.bincount(rows.y, balanced.weight), [2.0, 2.0])
    given = rows.weighed(class_weights({"a": 3.0}, classes, rows))
    np.testing.assert_allclose(given.weight, [3.0, 6.0, 1.0])
    dropped = rows.weighed(class_weights({"a": 1.0, "b": 0.0}, classes, rows))
    assert dropped.y.tolist() == [0, 0]


@given(st.integers(1, 40), st.integers(1, 200))
def test_an_epoch_is_as_long_as_the_rows_were_many(n_kinds, n_copies):
    X = np.arange(n_kinds, dtype=float)[:, None].repeat(n_copies, axis=0)
    once = canonical_rows(X, np.zeros(len(X)), RowWeights.ones(len(X))).one_epoch()
    n_rows = min(len(X), 4096 // n_kinds * n_kinds)
    assert len(once) == n_rows and once.weight.sum() == pytest.approx(len(X))
    assert np.ptp(np.unique(once.X, return_counts=True)[1]) == 0


# -- scaling ------------------------------------------------------------------------------


@given(
    arrays(np.float64, (7, 3), elements=st.floats(-1e3, 1e3)),
    arrays(np.float64, 7, elements=st.integers(1, 3)),
)
def test_standard_scaling_is_that_of_repeated_rows(X, times):
    X[0] = X[1] + 1.0  # every column varies
    scaling = learn_scaling("standard", ColumnMoments(X, times))
    scaled = scaling.apply(X.repeat(times.astype(int), axis=0))
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-6)


@pytest.mark.parametrize("kind", ["standard", "minmax"])
@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_scaling_has_no_trouble_with_units(kind, unit):
    X = np.random.default_rng(0).normal(size=(50, 2))
    expected = learn_scaling(kind, ColumnMoments(X, np.ones(50))).apply(X)
    np.testing.assert_allclose(
        learn_scaling(kind, ColumnMoments(X * unit, np.ones(50))).apply(X * unit), expected
    )


def test_columns_that_do_not_vary_are_switched_off():
    X = np.array([[1.0, 0.1, 1e9], [2.0, 0.1, 1e9 * (1 + 1e-16)]])
    for kind in ("standard", "minmax"):
        assert (learn_scaling(kind, ColumnMoments(X, np.ones(2))).factor[1:] == 0).all()
    assert learn_scaling(None, ColumnMoments(X, np.ones(2))) is None


def test_columns_too_wide_to_scale_are_refused():
    with pytest.raises(ValueError, match="smallest value of column 1 of X overflows"):
        learn_scaling(
            "standard", ColumnMoments(np.array([[0.0, -1.5e308], [1.0, 1.5e308]]), np.ones(2))
        )


@given(st.integers(0, 10**6), st.sampled_from(["standard", "minmax"]))
def test_folded_trees_do_on_raw_rows_what_they_did_on_scaled_ones(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3)) * [1e-3, 1.0, 1e3] + [1.0, -2.0, 5e3]
    y = rng.normal(size=(20, 1)) * 7 - 3
    inputs, target = (
        learn_scaling(kind, ColumnMoments(X, np.ones(20))),
        learn_scaling(kind, ColumnMoments(y, np.ones(20))),
    )
    for output in ("linear", "sigmoid"):
        tree = NeuralTree.random(3, 1, output_activation=output, random_state=seed)
        expected = tree.forward(inputs.apply(X)) / target.factor + target.offset
        folded = fold(tree, inputs, target)
        np.testing.assert_allclose(folded.forward(X), expected, rtol=1e-7)
    classifier = NeuralTree.random(3, 4, output_activation="linear", random_state=seed)
    np.testing.assert_allclose(
        fold(classifier, inputs, None).forward(X), classifier.forward(inputs.apply(X)), atol=1e-6
    )


@pytest.mark.parametrize(
    ("mean", "dtype"), [(0.0, "float32"), (100.0, "float32"), (1e4, "float64")]
)
def test_folding_keeps_float32_only_where_digits_suffice(mean, dtype):
    X = np.random.default_rng(0).normal(size=(100, 2)) + mean
    scaling = learn_scaling("standard", ColumnMoments(X, np.ones(100)))
    tree = NeuralTree.random(2, 2, output_activation="linear", dtype="float32", random_state=0)
    folded = fold(tree, scaling, None)
    assert folded.dtype == dtype
    np.testing.assert_allclose(folded.forward(X), tree.forward(scaling.apply(X)), atol=1e-4)


@given(
    arrays(np.float64, (9, 3), elements=st.floats(-1e6, 1e6)),
    arrays(np.float64, 9, elements=st.integers(0, 3)),
)
def test_statistics_are_those_of_numpy(X, weight):
    weight[0] += 1
    moments = ColumnMoments(X, weight)
    used = X[weight > 0]
    np.testing.assert_array_equal(moments.low, used.min(axis=0))
    np.testing.assert_array_equal(moments.high, used.max(axis=0))
    mean = np.average(X, axis=0, weights=weight)
    tolerance = 1e-6 * (moments.high - moments.low) + 1e-15 * np.abs(mean)
    tolerance += 1e-300
    assert (np.abs(moments.rounded_means - mean) <= tolerance).all()
    assert (np.abs(moments.low + moments.unit * moments.mean - mean) <= tolerance).all()
    some = np.flatnonzero(weight)
    again = ColumnMoments(X, weight[some], some)
    np.testing.assert_array_equal(again.rounded_means, moments.rounded_means)


@pytest.mark.parametrize(
    ("how", "n_times"),
    [
        ({"scale": "standard"}, 2),  # for extremes and for sums
        ({"scale": "robust"}, 4),  # of columns, and of the inputs that they become
    ],
)
def test_a_fit_goes_through_the_columns_once(how, n_times, monkeypatch):
    n_blocks = []
    blocks = ColumnMoments._blocks

    def counted(self, *lines):
        n_blocks.append(1)
        return blocks(self, *lines)

    monkeypatch.setattr(ColumnMoments, "_blocks", counted)
    X = np.random.default_rng(0).normal(size=(100, 3))
    BNeuralTClassifier(max_epochs=1, weight_decay=0.1, **how).fit(X, X[:, 0] > 0)
    assert len(n_blocks) == n_times


def test_some_blocks_have_the_statistics_of_all_rows_and_parts_of_them_their_own():
    X = np.random.default_rng(0).normal(size=(10_000, 2))
    lines = InputLines.of([[IDENTITY, ClampedLine.ramp(0.0, 1.0)], [IDENTITY]])
    rows = Rows(X, X[:, 0], np.ones(len(X))).with_lines(lines)
    some = rows.some_blocks(4096, np.random.default_rng(1))
    assert len(some) < len(rows)
    assert some.moments is rows.moments and some.input_moments is rows.input_moments
    part = some.take(np.arange(100))
    np.testing.assert_array_equal(part.moments.high, some.X[:100].max(axis=0))
    bare = some.with_lines(None)
    assert bare.moments is rows.moments and bare.input_moments is rows.moments
