"""Inputs that are limited lines of columns: `bneuralt.lines`, its naive twin, and the core."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bneuralt import NeuralTree, TrainingSettings, _core, train
from bneuralt.arrays import CheckedTable, NotFiniteError
from bneuralt.lines import IDENTITY, ClampedLine, InputLines
from bneuralt.training import TrainingJob, train_many
from bneuralt.tree.forward import mean_forward
from tests import reference
from tests.helpers.strategies import seeds

pytestmark = pytest.mark.usefixtures("engine")  # every test with each instruction set

TABLE_DTYPES = (np.float64, np.float32, np.uint8)

numbers = st.floats(allow_nan=False, allow_infinity=False)
limits = st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)).map(sorted)


@st.composite
def line(draw):
    return ClampedLine(draw(numbers), draw(numbers), *draw(limits))


def random_lines(rng, n_columns, with_identity=True):
    """Lines of columns of numbers of about 100: the number itself, limited, ramps, and sums."""

    def one():
        kind = rng.integers(4)
        if kind == 0 and with_identity:
            return IDENTITY
        if kind == 3:
            parts = random_lines(rng, 1, with_identity=False)
            return tuple(ClampedLine(*line) for line in parts.lines.T.tolist())
        if kind == 1:
            return ClampedLine(0.0, 1.0, *np.sort(rng.uniform(0, 250, 2)))
        start, width = rng.uniform(0, 200), rng.uniform(1, 100)
        return ClampedLine.ramp(start, start + width)

    return InputLines.of([[one() for _ in range(rng.integers(1, 5))] for _ in range(n_columns)])


def random_table(rng, n_rows, n_columns, dtype):
    return rng.integers(0, 256, (n_rows, n_columns)).astype(dtype)


def random_tree(rng, lines, n_outputs=1, dtype=np.float64):
    """A tree that has some of the inputs only."""
    return NeuralTree.random(
        lines.n_inputs, n_outputs, max_depth=3, leaf_probability=0.7, output_activation="linear",
        dtype=dtype, random_state=rng,
    )  # fmt: skip


# -- the formula ------------------------------------------------------------------------------


@given(
    lines=st.lists(st.lists(line(), min_size=1, max_size=3), min_size=1, max_size=3), data=st.data()
)
def test_inputs_are_those_of_the_formula(lines, data):
    cell = st.floats(allow_infinity=False)  # NaN stays NaN
    rows = data.draw(st.lists(st.lists(cell, min_size=len(lines), max_size=len(lines)), min_size=1))
    inputs = InputLines.of(lines)
    X = np.array(rows)
    np.testing.assert_array_equal(inputs.apply(X), reference.inputs_of_rows(inputs, X))
    assert inputs.n_inputs == sum(len(of_column) for of_column in lines)
    expected = [c for c, of_column in enumerate(lines) for _ in of_column]
    assert inputs.column_of_input.tolist() == expected


@pytest.mark.parametrize("dtype", TABLE_DTYPES)
def test_inputs_are_of_the_type_of_the_table_or_float64(dtype):
    rng = np.random.default_rng(0)
    lines, X = random_lines(rng, 3), random_table(rng, 20, 3, dtype)
    inputs = lines.apply(X)
    assert inputs.dtype == (np.float32 if dtype == np.float32 else np.float64)
    exact = reference.inputs_of_rows(lines, X)
    np.testing.assert_array_equal(inputs, exact.astype(inputs.dtype))


def test_a_ramp_is_constant_outside_of_its_ends():
    ramp = ClampedLine.ramp(-2.0, 6.0)
    assert ramp(np.array([-1e308, -2.0, 0.0, 6.0, 1e308])).tolist() == [0.0, 0.0, 0.25, 1.0, 1.0]
    assert np.isnan(ramp(nan))


def test_inputs_that_are_columns_are_found():
    lines = InputLines.of(
        [[IDENTITY, ClampedLine.ramp(0, 1)], [ClampedLine(0, 1, -1, 1)], [IDENTITY]]
    )
    assert lines.unchanged_columns.tolist() == [0, -1, -1, 2]
    lines = InputLines.of([[(IDENTITY, ClampedLine.ramp(0, 1)), IDENTITY], [IDENTITY]])
    assert lines.unchanged_columns.tolist() == [-1, 0, 1]


@given(seed=seeds)
def test_sums_of_lines_are_those_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    lines, X = random_lines(rng, 3), random_table(rng, 20, 3, np.float64)
    inputs = lines.apply(X)
    np.testing.assert_array_equal(inputs, reference.inputs_of_rows(lines, X))


# -- forward ----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    seed=seeds,
    n_rows=st.sampled_from([1, 2, 17, 100]),
    n_columns=st.sampled_from([1, 2, 5, 19]),
    dtypes=st.tuples(st.sampled_from([np.float32, np.float64]), st.sampled_from(TABLE_DTYPES)),
    softmax=st.booleans(),
)
def test_forward_with_lines_is_forward_of_the_inputs(seed, n_rows, n_columns, dtypes, softmax):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng, n_columns)
    X = random_table(rng, n_rows, n_columns, dtypes[1])
    trees = [random_tree(rng, lines, 2, dtypes[0]) for _ in range(3)]
    outputs = mean_forward(trees, X, softmax=softmax, lines=lines)
    inputs = lines.apply(X.astype(np.float64))
    np.testing.assert_array_equal(outputs, mean_forward(trees, inputs, softmax=softmax))
    np.testing.assert_array_equal(
        outputs, mean_forward(trees, X, n_threads=3, softmax=softmax, lines=lines)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forward_is_that_of_the_reference(dtype):
    rng = np.random.default_rng(1)
    lines, X = random_lines(rng, 4), random_table(rng, 40, 4, np.float64)
    tree = random_tree(rng, lines, 2, dtype)
    inputs = reference.inputs_of_rows(lines, X)
    expected = np.array([reference.forward(tree.astype(np.float64), x) for x in inputs])
    outputs = mean_forward([tree], X, lines=lines)
    tolerance = 1e-12 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(
        outputs, expected, rtol=tolerance, atol=tolerance * abs(expected).max()
    )


@pytest.mark.parametrize("n_rows", [1, 2, 17, 100, 3000])
@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("is_used", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_that_is_not_finite_is_named_though_it_is_limited(n_rows, value, is_used, dtype):
    rng = np.random.default_rng(n_rows)
    limited = [ClampedLine(0.0, 1.0, 0.0, 50.0), ClampedLine.ramp(0.0, 50.0)]
    lines = InputLines.of([limited, limited, limited])
    used = [0, 1, 2, 3, 4, 5] if is_used else [0, 1, 4, 5]
    tree = NeuralTree(
        6, 1, [-1], [0], [0] * len(used), used, rng.normal(size=1 + len(used)).astype(dtype)
    )
    X = rng.uniform(0, 100, (n_rows, 3)).astype(dtype)
    row = n_rows - 1 - n_rows // 3
    X[row, 1] = value
    with pytest.raises(NotFiniteError) as error:
        mean_forward([tree], X, n_threads=2, lines=lines)
    assert (error.value.row, error.value.column) == (row, 1)


def test_a_number_too_large_for_float32_is_used_where_it_is_limited():
    lines = InputLines.of([[ClampedLine(0.0, 1.0, -1.0, 1.0)]])
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], np.array([0.5, 2.0], dtype=np.float32))
    X = np.array([[1e300], [-1e300], [0.25]])
    assert mean_forward([tree], X, lines=lines)[:, 0].tolist() == [2.5, -1.5, 1.0]


# -- training ---------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=seeds,
    n_rows=st.sampled_from([1, 2, 17, 100]),
    dtypes=st.tuples(st.sampled_from([np.float32, np.float64]), st.sampled_from(TABLE_DTYPES)),
    batch_size=st.sampled_from([1, 16, None]),
    is_scaled=st.booleans(),
    n_threads=st.sampled_from([1, 3]),
)
def test_training_with_lines_is_training_on_the_inputs(
    seed, n_rows, dtypes, batch_size, is_scaled, n_threads
):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng, 3)
    X = random_table(rng, n_rows, 3, dtypes[1])
    inputs = lines.apply(X.astype(np.float64))
    y = rng.normal(size=n_rows)
    job = TrainingJob(
        random_tree(rng, lines, 1, dtypes[0]),
        TrainingSettings(
            loss="squared_error", max_epochs=4, batch_size=batch_size, leaf_moves=2,
            moving_share=0.5, learning_rate=0.01,
        ),
        seed=3,
        input_scaling=(inputs.mean(axis=0), rng.uniform(0.01, 0.1, lines.n_inputs))
        if is_scaled
        else None,
    )  # fmt: skip
    validation = [(CheckedTable(X, lines), y), (inputs, y)]
    with_lines, plain = (
        train_many([job], table, y, validation=held_out, n_threads=n)[0]
        for table, held_out, n in (
            (CheckedTable(X, lines), validation[0], n_threads),
            (inputs, validation[1], 1),
        )
    )
    np.testing.assert_array_equal(with_lines.tree.leaf_input, plain.tree.leaf_input)
    np.testing.assert_array_equal(with_lines.tree.parameters, plain.tree.parameters)
    for name, values in plain.history.items():
        np.testing.assert_array_equal(with_lines.history[name], values)


@pytest.mark.parametrize("dtype", TABLE_DTYPES)
@pytest.mark.parametrize("is_scaled", [True, False])
def test_training_on_a_table_too_wide_for_a_copy_is_training_on_the_inputs(dtype, is_scaled):
    rng = np.random.default_rng(4)
    n_rows, n_columns = 24, 15_001  # above 2 MiB, kernels read inputs of leaves only
    lines = InputLines.of(
        [[ClampedLine(0.0, 1.0, 9.0, 222.0), ClampedLine.ramp(50, 90)]] * n_columns
    )
    X = random_table(rng, n_rows, n_columns, dtype)
    inputs, y = lines.apply(X.astype(np.float64)), rng.normal(size=n_rows)
    job = TrainingJob(
        random_tree(rng, lines, 1, np.float32),
        TrainingSettings(
            loss="squared_error", max_epochs=4, batch_size=8, leaf_moves=2, moving_share=0.5,
            learning_rate=0.01,
        ),
        seed=3,
        input_scaling=(inputs.mean(axis=0), rng.uniform(0.01, 0.1, lines.n_inputs))
        if is_scaled
        else None,
    )  # fmt: skip
    with_lines, plain = (
        train_many([job], table, y)[0] for table in (CheckedTable(X, lines), inputs)
    )
    np.testing.assert_array_equal(with_lines.tree.leaf_input, plain.tree.leaf_input)
    np.testing.assert_array_equal(with_lines.tree.parameters, plain.tree.parameters)


def test_training_is_that_of_the_reference():
    rng = np.random.default_rng(2)
    lines, X = random_lines(rng, 3, with_identity=False), random_table(rng, 20, 3, np.float64)
    y = rng.normal(size=20)
    tree = random_tree(rng, lines)
    common = {
        "learning_rate": 1e-3, "loss": "squared_error", "batch_size": 5, "optimizer": "adam",
        "schedule": "constant",
    }  # fmt: skip
    result = train(
        tree, CheckedTable(X, lines), y, settings=TrainingSettings(max_epochs=3, **common), seed=1
    )
    order = [_core.epoch_order(1, epoch, 20) for epoch in range(3)]
    expected = reference.train(
        tree, reference.inputs_of_rows(lines, X), y, order=order, seed=1, **common
    )
    np.testing.assert_allclose(result.tree.parameters, expected.parameters, rtol=1e-6, atol=1e-9)


# -- what the core refuses --------------------------------------------------------------------


def arguments(**changes):
    one = np.ones(2)
    return {
        "first": np.array([0, 1, 2], dtype=np.int32), "offset": 0 * one, "factor": one,
        "low": -one, "high": one, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("first", np.array([], dtype=np.int32), "start with 0"),
        ("first", np.array([1, 2], dtype=np.int32), "start with 0"),
        ("first", np.array([0, 2, 1], dtype=np.int32), "not decrease"),
        ("offset", np.array([0.0, nan]), "finite"),
        ("factor", np.array([0.0, inf]), "finite"),
        ("low", np.array([0.0, nan]), "low must not be above high"),
        ("low", np.array([0.0, 2.0]), "low must not be above high"),
        ("high", np.ones(3), "high"),
        ("first_line", np.array([1, 2, 3], dtype=np.int32), "first_line must start with 0"),
        ("first_line", np.array([0, 2, 1], dtype=np.int32), "first_line must not decrease"),
        ("first_line", np.array([0, 2], dtype=np.int32), "first_line must have 3 entries"),
        ("first_line", np.array([0, 2, 2], dtype=np.int32), "every input must have a line"),
        ("first_line", np.array([0, 2, 3], dtype=np.int32), "offset"),
    ],
)
def test_lines_that_are_not_right_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        _core.InputLines(**arguments(**{name: value}))


def test_a_table_of_other_columns_is_refused():
    lines = InputLines.of([[IDENTITY], [IDENTITY, ClampedLine.ramp(0, 1)]])
    tree = random_tree(np.random.default_rng(0), lines)
    with pytest.raises(ValueError, match="X has 3 columns, lines has 2"):
        mean_forward([tree], np.ones((2, 3)), lines=lines)
    with pytest.raises(ValueError, match="X has 3 columns, lines has 2"):
        _core.Data(np.ones((2, 3)), np.ones(2), lines.core)
    other = NeuralTree.random(2, 1, random_state=0)
    with pytest.raises(ValueError, match="X has 3 inputs, but the tree has 2"):
        mean_forward([other], np.ones((2, 2)), lines=lines)
