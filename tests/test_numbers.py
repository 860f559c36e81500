"""Numbers at the ends of their range: full precision, and the right argument in messages."""

from __future__ import annotations

import platform
import shutil
import subprocess

import numpy as np
import pytest

from bneuralt import (
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    TrainingSettings,
    _core,
    train,
)
from bneuralt.training import TrainingDiverged, TrainingJob, train_many
from bneuralt.tree.activations import activation_code

X = np.random.default_rng(0).normal(size=(80, 3))
LABELS = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("value", [123456789.0, 0.1, 1e39, -1e300, 5.0])
@pytest.mark.parametrize("activation", ["linear", "sigmoid"])
def test_constant_targets_are_predicted_exactly(value: float, activation: str) -> None:
    model = BNeuralTRegressor(
        max_epochs=2, random_state=0, growth=Growth(output_activation=activation)
    )
    np.testing.assert_array_equal(model.fit(X, np.full(80, value)).predict(X), value)


def test_forests_predict_constant_targets_exactly() -> None:
    forest = BNeuralForestRegressor(n_estimators=2, max_epochs=2, random_state=0)
    np.testing.assert_array_equal(forest.fit(X, np.full(80, 123456789.0)).predict(X), 123456789.0)


@pytest.mark.parametrize("scale", [1e39, 1e-39, 1e150])
def test_targets_beyond_the_range_of_float32(scale: float) -> None:
    y = X[:, 0]
    model = BNeuralTRegressor(max_epochs=100, random_state=0).fit(X, scale * y)
    assert np.mean(np.square(model.predict(X) / scale - y)) < 0.05


def test_a_target_whose_span_overflows_is_called_y() -> None:
    y = np.where(LABELS, 1e308, -1e308)
    with pytest.raises(ValueError, match="smallest value of y overflows"):
        BNeuralTRegressor().fit(X, y)


def test_sample_weights_whose_sum_overflows_are_named() -> None:
    with pytest.raises(ValueError, match=r"^sample_weight is as large as 1e\+308"):
        BNeuralTClassifier().fit(X, LABELS, sample_weight=np.full(80, 1e308))


@pytest.mark.parametrize("weight", [np.inf, np.nan, 1e308])
def test_class_weights_that_are_not_finite_are_named(weight: float) -> None:
    model = BNeuralTClassifier(class_weight={0: 1.0, 1: weight})
    with pytest.raises(ValueError, match=r"^class_weight="):
        model.fit(X, LABELS)


def test_weights_beyond_float32_are_refused_with_scaled_targets_too() -> None:
    model = BNeuralTRegressor(dtype="float32")
    with pytest.raises(ValueError, match=r"sample_weight.*not finite in float32"):
        model.partial_fit(X, X[:, 0], sample_weight=np.full(80, 1e100))


# -- validation scores ---------------------------------------------------------------------

SETTINGS = TrainingSettings(loss="squared_error", max_epochs=3, select="epoch")


def linear_tree(dtype: str = "float64") -> NeuralTree:
    return NeuralTree(1, 1, [-1], [0], [0], [0], np.array([0.0, 1.0], dtype=dtype))


def test_validation_weights_that_are_all_zero_are_refused() -> None:
    rows, y = X[:, :1], X[:, 0]
    with pytest.raises(ValueError, match=r"^w_val is zero for all rows"):
        train(linear_tree(), rows, y, settings=SETTINGS, validation=(rows, y, np.zeros(80)))
    job = TrainingJob(linear_tree(), SETTINGS, validation_rows=[0, 1], validation_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match=r"^validation_weight is zero for all rows"):
        train_many([job], rows, y)


@pytest.mark.parametrize("select", ["epoch", "update"])
@pytest.mark.parametrize("batch_size", [1, 16])
def test_scores_that_are_never_finite_are_no_selection(select: str, batch_size: int) -> None:
    settings = TrainingSettings(
        loss="squared_error", max_epochs=3, select=select, batch_size=batch_size
    )
    tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], np.array([0, 1, -1], dtype="float32"))
    rows = X[:, :2]
    large = np.full((4, 2), 3e38)
    tree = tree.with_parameters(np.array([0, 4, -4], dtype="float32"))  # infinity - infinity
    with pytest.warns(TrainingDiverged, match="no score on the validation rows was finite"):
        result = train(tree, rows, X[:, 0], settings=settings, validation=(large, np.zeros(4)))
    assert result.status == "diverged"
    assert result.best_epoch is None
    np.testing.assert_array_equal(result.tree.parameters, tree.parameters)


# -- instruction sets ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "activation", "optimizer", "batch_size", "rate"),
    [
        (0, "linear", "rmsprop", 1, 60.0),
        (1, "linear", "adam", 40, 90.0),
        (2, "leaky_relu", "rmsprop", 16, 90.0),
        (3, "relu", "gd", 1, 10.0),
        (4, "relu", "momentum", 16, 30.0),
        (5, "tanh", "gd", 4, 50.0),
    ],
)
def test_overflowing_runs_end_alike_with_every_instruction_set(
    seed: int, activation: str, optimizer: str, batch_size: int, rate: float
) -> None:
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    tree = NeuralTree.random(
        3,
        1,
        max_depth=4,
        activation=activation,
        output_activation="linear",
        dtype="float32",
        random_state=seed,
    )
    settings = TrainingSettings(
        loss="squared_error",
        optimizer=optimizer,
        learning_rate=rate,
        schedule="constant",
        batch_size=batch_size,
        max_epochs=30,
    )
    used, ends = _core.engine(), {}
    try:
        for name in _core.engines():
            _core.use_engine(name)
            (result,) = train_many([TrainingJob(tree, settings)], rows, y)
            ends[name] = result.status
    finally:
        _core.use_engine(used)
    assert set(ends.values()) == {"diverged"}, ends


@pytest.mark.parametrize("n_rows", [1, 2, 40])
def test_neurons_that_are_off_do_not_overflow_with_any_instruction_set(n_rows: int) -> None:
    relu = activation_code("relu")
    parameters = np.array([0.0, -1.0, 3e38, 0.0], dtype="float32")  # the child is off
    tree = NeuralTree(1, 1, [-1, 0], [0, relu], [1], [0], parameters)
    settings = TrainingSettings(
        loss="squared_error", optimizer="gd", learning_rate=0.1, batch_size=n_rows, max_epochs=2
    )
    used, ends = _core.engine(), {}
    try:
        for name in _core.engines():
            _core.use_engine(name)
            (result,) = train_many(
                [TrainingJob(tree, settings)], np.ones((n_rows, 1)), [100.0] * n_rows
            )
            ends[name] = result.status
    finally:
        _core.use_engine(used)
    assert set(ends.values()) == {"completed"}, ends


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_saturated_neurons_are_one_to_the_last_digit(activation: str) -> None:
    parameters = np.array([0.0, 1.0], dtype="float32")
    tree = NeuralTree(1, 1, [-1], [activation_code(activation)], [0], [0], parameters)
    used = _core.engine()
    try:
        for name in _core.engines():
            _core.use_engine(name)
            for n_rows in (1, 5, 200):
                rows = np.full((n_rows, 1), 60.0)
                np.testing.assert_allclose(tree.forward(rows), 1.0, rtol=6e-8, err_msg=name)
    finally:
        _core.use_engine(used)


def test_only_the_kernels_of_wide_sets_hold_wide_instructions() -> None:
    objdump = shutil.which("objdump")
    if objdump is None:
        pytest.skip("objdump is not installed")
    if "x86" not in platform.machine():
        pytest.skip("there is one instruction set on this processor")
    command = [objdump, "-d", "-C", "--no-show-raw-insn", _core.__file__]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    function, n_functions, wide = "", 0, set()
    for line in lines:
        if line.endswith(">:"):
            function = line
            n_functions += 1
        elif "%ymm" in line or "%zmm" in line:
            wide.add(function)
    if not any("bnt::avx2::" in name or "bnt::avx512::" in name for name in wide):
        pytest.skip("the core was stripped of its symbols, or built without wide sets")
    known = ("bnt::avx2::", "bnt::avx512::", "bnt::engine_avx2", "bnt::engine_avx512")
    assert n_functions > 100
    assert {name for name in wide if not any(part in name for part in known)} == set()
