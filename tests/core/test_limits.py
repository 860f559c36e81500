"""Arguments of the core at the ends of their ranges: the last allowed value and the first other."""

import math

import numpy as np
import pytest

from bneuralt import NeuralTree, TrainingSettings, _core
from bneuralt.training import TrainingJob, epoch_order, gradient, train_many
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt.tree.contributions import jacobian
from tests import reference
from tests.core.test_border import job_of, tree_of

TREE = NeuralTree.random(2, 3, output_activation="linear", random_state=0)
X = np.random.default_rng(0).normal(size=(6, 2))
NUMBERS = [s for s in _core.settings() if s.kind in ("number", "whole")]


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.name)
def test_settings_are_allowed_from_end_to_end(setting):
    is_whole = setting.kind == "whole"
    kind = int if is_whole else float
    low, high = setting.low, setting.high
    inside = kind(low + 1) if is_whole else math.nextafter(low, math.inf)
    below = kind(low - 1) if is_whole else math.nextafter(low, -math.inf)
    assert setting.checked(inside) == inside
    refused = [below]
    if setting.is_above_low:
        refused.append(kind(low))
    else:
        assert setting.checked(kind(low)) == low
    if math.isfinite(high):
        assert setting.checked(kind(high)) == high
        refused.append(kind(high + 1) if is_whole else math.nextafter(high, math.inf))
    for value in refused:
        with pytest.raises(ValueError, match=f"{setting.name} is .*, it must be"):
            setting.checked(value)


@pytest.mark.parametrize("label", [-1, 3, 4])
def test_labels_are_those_of_outputs(label):
    y = np.array([0, 1, 2, 2, 1, 0], dtype=np.int32)
    _core.gradient(TREE.core, _core.Data(X, y), None, "cross_entropy", [0.0], 1)
    y[4] = label
    with pytest.raises(ValueError, match=f"y has the label {label}, but classes run from 0 to 2"):
        _core.gradient(TREE.core, _core.Data(X, y), None, "cross_entropy", [0.0], 1)


def shares(cells, n_cells):
    nothing = np.zeros(0)
    return _core.attributions(TREE.core, X, np.zeros(2), cells, n_cells, nothing, nothing, 1)


def test_shares_are_summed_in_the_cells_that_there_are():
    cells = np.zeros(TREE.n_leaves, dtype=np.int32)
    total, problem = shares(cells, 1)
    assert problem is None
    cells[-1] = 1
    parts, _ = shares(cells, 2)
    np.testing.assert_allclose(parts.sum(axis=1).ravel(), total.ravel(), atol=1e-12)
    for cell in (-1, 2):
        cells[-1] = cell
        with pytest.raises(ValueError, match=f"cell has the entry {cell}"):
            shares(cells, 2)
    with pytest.raises(ValueError, match="one entry for each leaf"):
        shares(cells[1:], 2)


def test_no_jobs_have_no_results():
    assert train_many([], X, np.zeros(6)) == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [1, 4096, 5000])
def test_the_first_number_that_is_not_finite_is_found(dtype, n_rows):
    table = np.ones((n_rows, 3), dtype=dtype)
    assert _core.first_not_finite(table) is None
    for row, column in ((n_rows - 1, 2), (n_rows // 2, 1), (0, 0)):
        table[row, column] = np.inf if row else np.nan
        assert _core.first_not_finite(table) == (row, column)
    assert _core.first_not_finite(np.array([1.0, np.nan])) == (1, 0)


@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17])
def test_tables_of_any_number_of_rows_have_jacobians_and_outputs(n_rows):
    rows = np.random.default_rng(0).normal(size=(n_rows, 2))
    assert jacobian(TREE, rows).shape == (n_rows, TREE.n_parameters)
    one_by_one = [TREE.forward(row[np.newaxis])[0] for row in rows]
    np.testing.assert_allclose(TREE.forward(rows), np.reshape(one_by_one, (n_rows, 3)), rtol=1e-12)


def trained(**fields):
    """Train a tree of two leaves, and return the results and the error."""
    data = _core.Data(X, X[:, 0].copy())
    return _core.train([job_of(tree_of(1), **fields)], 1, data, None, 1, None, None)


def test_rows_of_jobs_are_those_of_the_table():
    for last in (0, 5):
        (result,), error = trained(rows=np.array([0, last], dtype=np.int32))
        assert error is None and result.n_epochs == 3
    for wrong in (-1, 6):
        results, error = trained(rows=np.array([0, wrong], dtype=np.int32))
        assert not results and "must lie between 0 and 5" in str(error)
    results, error = trained(rows=np.zeros(0, dtype=np.int32))
    assert not results and "rows is empty" in str(error)


def test_pairs_of_jobs_are_tuples_of_two():
    nothing = np.zeros(0)
    (result,), error = trained(optimizer_state=(nothing, 0))  # gradient descent has no state
    assert error is None and result.step == 6 // 6 * 3
    for wrong in ([nothing, 0], (nothing,), (nothing, 0, 0), 3):
        with pytest.raises(TypeError, match="optimizer_state must be a tuple of two"):
            job_of(tree_of(1), optimizer_state=wrong)
    with pytest.raises((TypeError, ValueError), match="the step of optimizer_state"):
        job_of(tree_of(1), optimizer_state=(nothing, -1))


def test_gradients_where_activations_bend_are_those_of_the_reference():
    rows, target = np.zeros((1, 2)), np.ones(1)
    for entry in _core.activations():
        name = entry.name
        tree = NeuralTree.random(
            2, 1, n_weights=12, activation=name, output_activation="linear", random_state=0
        )
        is_bias = np.arange(tree.n_parameters) < tree.parent.size
        tree = tree.with_parameters(np.where(is_bias, 0.0, tree.parameters))  # all sums are 0
        _, of_core = gradient(tree, rows, target, loss="squared_error")
        expected = reference.gradient(tree, rows[0], target[0], "squared_error")
        np.testing.assert_allclose(of_core, expected, rtol=1e-12, atol=1e-15, err_msg=name)


def test_the_core_takes_an_expected_number_of_jobs_from_0_on():
    data = _core.Data(X, np.zeros(6))
    assert _core.train([], 0, data, None, 1, None, None, None)[0] == []
    with pytest.raises(ValueError, match="n_expected is -1"):
        _core.train([], -1, data, None, 1, None, None, None)


def test_defaults_of_the_core_are_those_that_are_documented():
    defaults = {setting.name: setting.default for setting in _core.settings()}
    assert {name: defaults[name] for name in ("max_epochs", "batch_size", "patience")} == {
        "max_epochs": 100, "batch_size": 16, "patience": None,
    }  # fmt: skip
    assert (defaults["learning_rate"], defaults["moving_share"]) == (0.02, 0.3)
    assert (
        train_many([TrainingJob(TREE, TrainingSettings())], X, np.arange(6) % 3)[0].n_epochs == 100
    )


@pytest.mark.parametrize("n_threads", [2, 3, 5])
def test_more_threads_than_processors_train_the_same_trees(n_threads):
    settings = TrainingSettings(max_epochs=2)
    jobs = [TrainingJob(TREE, settings, seed=seed) for seed in range(12)]
    y = np.arange(6) % 3
    alone = train_many(jobs, X, y, n_threads=1)
    together = train_many(jobs, X, y, n_threads=n_threads)
    assert [result.tree for result in together] == [result.tree for result in alone]


@pytest.mark.parametrize(
    ("n_outputs", "dtype"), [(3, "float64"), (9, "float64"), (5, "float32"), (9, "float32")]
)
def test_outputs_may_have_different_activations(n_outputs, dtype):
    names = [("tanh", "sigmoid", "linear", "relu")[i % 4] for i in range(n_outputs)]
    same = NeuralTree.random(3, n_outputs, activation="tanh", dtype=dtype, random_state=0)
    tree = NeuralTree.from_dict({**same.to_dict(), "output_activation": names})
    rng = np.random.default_rng(2)
    rows, y = rng.normal(size=(9, 3)), rng.random((9, n_outputs))
    how = {"loss": "squared_error", "batch_size": 1, "optimizer": "gd", "learning_rate": 0.1,
           "schedule": "constant"}  # fmt: skip
    order = [epoch_order(0, epoch, 9).tolist() for epoch in range(3)]
    job = TrainingJob(tree, TrainingSettings(max_epochs=3, **how), seed=0)
    ours = train_many([job], rows, y)[0].tree.parameters
    theirs = reference.train(tree.astype(np.float64), rows, y, order=order, **how).parameters
    np.testing.assert_allclose(ours, theirs, atol=1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_weights_without_a_slope_stay_exactly_where_they_are(dtype, batch_size):
    tree = NeuralTree.random(2, 3, output_activation="linear", dtype=dtype, random_state=0)
    is_second = tree.leaf_input == 1
    parameters = tree.parameters.copy()
    parameters[-tree.n_leaves :][is_second] = 0.0
    rows = np.c_[np.linspace(-1, 1, 8), np.zeros(8)]  # the second input is 0 in all rows
    assert is_second.any() and tree.parameters.size == parameters.size
    for optimizer in OPTIMIZERS:
        settings = TrainingSettings(optimizer=optimizer, batch_size=batch_size, max_epochs=2)
        job = TrainingJob(tree.with_parameters(parameters), settings, seed=0)
        trained = train_many([job], rows, np.arange(8) % 3)[0].tree.parameters
        assert not trained[-tree.n_leaves :][is_second].any(), optimizer
        assert (trained != parameters).any()
