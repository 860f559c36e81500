"""The border between Python and the compiled core: nothing that crosses it crashes the process."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bneuralt import _core
from tests.helpers.limits import complaints
from tests.tools.fuzz_core import Fresh

SETTINGS = {"loss": ("squared_error", []), "optimizer": ("gd", []), "max_epochs": 3,
            "batch_size": 64}  # fmt: skip


def tree_of(n_outputs, n_inputs=2):
    nodes = np.arange(n_outputs, dtype=np.int32)
    structure = _core.Structure(
        n_inputs, n_outputs, np.full(n_outputs, -1, np.int32), np.zeros(n_outputs, np.uint8),
        np.repeat(nodes, 2).astype(np.int32), np.tile([0, 1], n_outputs).astype(np.int32),
        np.zeros(0), False,
    )  # fmt: skip
    return _core.WeightedTree(structure, np.zeros(structure.n_parameters))


def job_of(tree, **given):
    return _core.Job(**{"tree": tree, "settings": _core.Settings(SETTINGS), "seed": 0, **given})


def test_no_call_crashes_hangs_or_fills_the_memory():
    assert complaints("tests.tools.fuzz_core", 0, 300) == []


def test_objects_that_were_never_initialised_are_refused():
    tree = tree_of(1)
    for refused in (
        lambda: _core.WeightedTree(_core.Structure.__new__(_core.Structure), np.zeros(3)),
        lambda: job_of(_core.WeightedTree.__new__(_core.WeightedTree)),
        lambda: job_of(tree, settings=_core.Settings.__new__(_core.Settings)),
        lambda: _core.Job(settings=_core.Settings(SETTINGS), seed=0),
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
        job = job_of(tree_of(1), rows=rows, sample_weight=weights)
        (result,), error = _core.train([job], 1, _core.Data(X, y), None, 1, on_epoch, None)
        assert error is None
        return result.parameters

    np.testing.assert_array_equal(trained(Fresh(rows), Fresh(weights)), trained(rows, weights))


def test_target_scaling_must_fit_the_validation_rows_too():
    X = np.ones((8, 2))
    labels, values = np.zeros(8, np.int32), np.zeros((8, 3))
    job = job_of(tree_of(3), target_scaling=(np.zeros(1), np.ones(1)))
    data, validation = _core.Data(X, labels), _core.Data(X, values)
    results, error = _core.train([job], 1, data, validation, 1, None, None)
    assert not results and isinstance(error, ValueError)
    assert "one offset and one factor for each target" in str(error)


@pytest.mark.parametrize("batch_size", [1, 64])
def test_indices_that_change_after_their_check_are_those_that_were_checked(batch_size):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(300, 2)), rng.integers(0, 3, 300).astype(np.int32)
    rows, val_rows = np.arange(200, dtype=np.int32), np.arange(200, 300, dtype=np.int32)
    how = {"loss": ("cross_entropy", [0.0]), "optimizer": ("gd", []),
           "max_epochs": 3, "batch_size": batch_size, "select": "update"}  # fmt: skip

    def trained(spoil):
        copies = [array.copy() for array in (labels, rows, val_rows)]
        job = job_of(
            tree_of(3), settings=_core.Settings(how), rows=copies[1], validation_rows=copies[2]
        )

        def on_epoch(*_):
            for array in copies if spoil else []:
                array[:] = 2**30
            return False

        (result,), error = _core.train([job], 1, _core.Data(X, copies[0]), None, 1, on_epoch, None)
        assert error is None
        return result.parameters

    np.testing.assert_array_equal(trained(spoil=True), trained(spoil=False))


def test_calls_side_by_side_may_share_a_job():
    rng = np.random.default_rng(0)
    tables = [_core.Data(rng.normal(size=(n, 2)), rng.normal(size=n)) for n in (100, 20_000)]
    job = job_of(tree_of(1))

    def trained(data):
        (result,), error = _core.train([job], 1, data, None, 1, None, None)
        assert error is None
        return result.parameters.copy()

    alone = [trained(data) for data in tables]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(trained, tables * 100))
    for one, expected in zip(results, alone * 100, strict=True):
        np.testing.assert_array_equal(one, expected)
