"""Numbers at the ends of their range in the kernels of every instruction set."""

from __future__ import annotations

import platform
import shutil
import subprocess

import numpy as np
import pytest

from bneuralt import (
    NeuralTree,
    TrainingSettings,
    _core,
)
from bneuralt.training import TrainingJob, train_many
from bneuralt.tree.activations import activation_code


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
    prefixes = ("bnt::avx2::", "bnt::avx512::", "bnt::engine_avx2", "bnt::engine_avx512")
    assert n_functions > 100
    assert {name for name in wide if not any(part in name for part in prefixes)} == set()
