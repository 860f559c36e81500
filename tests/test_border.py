"""The border between Python and the compiled core: nothing that crosses it crashes the process."""

import gc

import numpy as np
import pytest
from fuzz_core import Fresh
from limits import complaints

from bneuralt import _core

SETTINGS = {"loss": "squared_error", "optimizer": "gd", "max_epochs": 3, "batch_size": 64}


def tree_of(n_outputs, n_inputs=2):
    nodes = np.arange(n_outputs, dtype=np.int32)
    structure = _core.Structure(
        n_inputs, n_outputs, np.full(n_outputs, -1, np.int32), np.zeros(n_outputs, np.uint8),
        np.repeat(nodes, 2).astype(np.int32), np.tile([0, 1], n_outputs).astype(np.int32),
        np.zeros(0), False,
    )  # fmt: skip
    return _core.WeightedTree(structure, np.zeros(structure.n_parameters))


def job_of(tree, **given):
    arguments = dict.fromkeys(
        ("rows", "weights", "val_rows", "val_weights", "input_offset", "input_factor",
         "target_offset", "target_factor", "state")
    )  # fmt: skip
    settings = _core.Settings(SETTINGS)
    return _core.Job(tree=tree, settings=settings, seed=0, step=0, **{**arguments, **given})


def test_no_call_crashes_hangs_or_fills_the_memory():
    assert complaints("fuzz_core", 0, 300) == []


def test_objects_that_were_never_initialised_are_refused():
    tree = tree_of(1)
    for refused in (
        lambda: _core.WeightedTree(_core.Structure.__new__(_core.Structure), np.zeros(3)),
        lambda: job_of(_core.WeightedTree.__new__(_core.WeightedTree)),
        lambda: _core.Job(tree, _core.Settings.__new__(_core.Settings), 0, *([None] * 9), 0),
    ):
        with pytest.raises(TypeError, match="must be a"):
            refused()


def test_arrays_that_exist_only_while_asked_for_are_kept():
    rng = np.random.default_rng(0)
    n = 50_000
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    rows, weights = np.arange(n, dtype=np.int32)[::-1].copy(), rng.uniform(0, 1, n)

    def trained(rows, weights):
        on_epoch = lambda *_: gc.collect() > -1 and np.full(n, 2**30, np.int32) is None  # noqa: E731
        job = job_of(tree_of(1), rows=rows, weights=weights)
        (result,), error = _core.train([job], 1, _core.Data(X, y), None, 1, on_epoch, None)
        assert error is None
        return result.parameters

    np.testing.assert_array_equal(trained(Fresh(rows), Fresh(weights)), trained(rows, weights))


def test_target_scaling_must_fit_the_validation_rows_too():
    X = np.ones((8, 2))
    labels, values = np.zeros(8, np.int32), np.zeros((8, 3))
    job = job_of(tree_of(3), target_offset=np.zeros(1), target_factor=np.ones(1))
    with pytest.raises(ValueError, match="one offset and one factor for each target"):
        _core.train([job], 1, _core.Data(X, labels), _core.Data(X, values), 1, None, None)
