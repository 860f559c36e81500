"""Kernels where it is easy to be wrong by one: ties, full blocks, many rows, the first epoch."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest

from bneuralt import NeuralTree, TrainingSettings, _core, train
from bneuralt.training import TrainingDiverged, gradient
from bneuralt.training.losses import CrossEntropy, Pinball, get_loss
from tests import reference
from tests.helpers.strategies import draw_rows, draw_tree

pytestmark = pytest.mark.usefixtures("engine")  # every test with each instruction set


def outputs_as_inputs(n_outputs: int) -> NeuralTree:
    """A tree whose outputs are its inputs: rows can be any outputs."""
    k = n_outputs
    parameters = np.concatenate([np.zeros(k), np.ones(k)])
    return NeuralTree(k, k, [-1] * k, [0] * k, np.arange(k), np.arange(k), parameters)


def history(outputs, y, loss, batch_size=None, **more):
    """What a training that moves nothing reports."""
    how = TrainingSettings(loss=loss, optimizer="gd", learning_rate=1e-300, max_epochs=1,
                           batch_size=batch_size)  # fmt: skip
    tree = outputs_as_inputs(outputs.shape[1])
    return train(tree, outputs, y, settings=how, validation=(outputs, y), **more).history


# -- what is registered ----------------------------------------------------------------------


def test_losses_are_registered_as_they_are_documented():
    entries = {
        loss.name: (
            loss.compares, loss.needs_linear_outputs, (loss.lowest_target, loss.highest_target),
            [(p.name, p.default, p.range, p.is_list) for p in loss.parameters],
        )
        for loss in _core.losses()
    }  # fmt: skip
    any_target = (-np.inf, np.inf)
    smoothing = ("label_smoothing", 0.0, "fraction", False)
    assert entries == {
        "squared_error": ("either", False, any_target, []),
        "cross_entropy": ("labels", True, any_target, [smoothing]),
        "absolute_error": ("values", False, any_target, []),
        "huber": ("values", False, any_target, [("delta", 1.0, "positive", False)]),
        "pinball": ("shared", False, any_target, [("quantiles", 0.5, "probability", True)]),
        "poisson": ("values", True, (0.0, np.inf), []),
        "binary_cross_entropy": ("values", True, (0.0, 1.0), [smoothing]),
    }


def test_optimizers_are_registered_as_they_are_documented():
    entries = {
        optimizer.name: (
            optimizer.n_state, [(p.name, p.default, p.range) for p in optimizer.parameters]
        )
        for optimizer in _core.optimizers()
    }  # fmt: skip
    epsilon, beta1 = ("epsilon", 1e-8, "positive"), ("beta1", 0.9, "fraction")
    assert entries == {
        "gd": (0, []),
        "momentum": (1, [("gamma", 0.9, "fraction")]),
        "nesterov": (1, [("gamma", 0.9, "fraction")]),
        "adagrad": (1, [epsilon]),
        "rmsprop": (1, [("beta", 0.9, "fraction"), epsilon]),
        "adam": (2, [beta1, ("beta2", 0.999, "fraction"), epsilon]),
        "adam_paper": (2, [beta1, ("beta2", 0.9, "fraction"), epsilon]),
    }


# -- ties and extremes -----------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error"])
@pytest.mark.parametrize("batch_size", [1, 4, None])
def test_the_first_of_equal_outputs_is_the_prediction(loss, batch_size):
    outputs = np.array([[1.0, 1, 0], [0, 1, 1], [2, 2, 2], [1, 0, 1], [1, 1, 0], [0, 1, 1]] * 7)
    first, last = [0, 1, 0, 0, 0, 1] * 7, [1, 2, 2, 2, 1, 2] * 7
    for y, error in ((first, 0.0), (last, 1.0)):
        figures = history(outputs, np.array(y), loss, batch_size)
        assert figures["train_error"] == figures["val_error"] == [error]


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error"])
@pytest.mark.parametrize("select", ["epoch", "update"])
def test_outputs_that_are_not_finite_are_never_right(loss, select):
    # outputs are infinity - infinity, and the label is the first class
    tree = NeuralTree(1, 2, [-1, -1, 0, 0, 1, 1], [0] * 6, [2, 3, 4, 5], [0] * 4,
                      [*[0.0] * 6, *[1.0] * 4, 4.0, -4.0, 4.0, -4.0])  # fmt: skip
    X, large = np.ones((4, 1)), np.full((5, 1), 1e308)
    y = np.zeros(4, int)
    how = TrainingSettings(loss=loss, max_epochs=1, select=select, monitor="error",
                           optimizer="gd", learning_rate=1e-9)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingDiverged)
        result = train(tree, X, y, settings=how, validation=(large, np.zeros(5, int)))
    assert result.history["val_error"] == [1.0]


@pytest.mark.parametrize("loss", ["absolute_error", Pinball([0.2, 0.7])], ids=str)
@pytest.mark.parametrize("n_rows", [1, 5, 40])
def test_a_perfect_output_is_left_where_it_is(loss, n_rows):
    outputs = np.repeat(np.arange(n_rows, dtype=float)[:, None], 2, axis=1)
    y = outputs if loss == "absolute_error" else outputs[:, 0]
    value, slopes = gradient(outputs_as_inputs(2), outputs, y, loss=loss)
    assert value == 0
    np.testing.assert_array_equal(slopes, 0)


@pytest.mark.parametrize("largest", range(4))
@pytest.mark.parametrize("n_rows", [1, 5, 40])
def test_large_outputs_do_not_overflow(largest, n_rows):
    outputs = np.random.default_rng(0).normal(size=(n_rows, 4))
    outputs[:, largest] += 2000.0
    y = np.arange(n_rows) % 4
    tree, loss = outputs_as_inputs(4), CrossEntropy(0.1)
    value, slopes = gradient(tree, outputs, y, loss=loss)
    assert value == pytest.approx(reference.batch_loss(tree, outputs, y, loss))
    np.testing.assert_allclose(slopes, reference.batch_gradient(tree, outputs, y, loss), atol=1e-10)
    expected = np.tile(np.arange(4) == largest, (n_rows, 1))
    np.testing.assert_allclose(tree.probabilities(outputs), expected, atol=1e-300)


# -- shapes ----------------------------------------------------------------------------------


@cache  # the same for all instruction sets
def gradients_of_the_reference(n_rows, n_outputs):
    rng = np.random.default_rng(n_rows + n_outputs)
    tree = NeuralTree.random(3, n_outputs, 2, 3, 0.3, activation="tanh",
                             output_activation="linear", max_size=99, random_state=rng)  # fmt: skip
    X, y = draw_rows(rng, tree, n_rows)
    weight = rng.uniform(0, 2, n_rows)
    rest = (tree, X, y, get_loss("cross_entropy"), weight)
    return rest, reference.batch_loss(*rest), reference.batch_gradient(*rest)


@pytest.mark.parametrize("n_rows", [512, 545, 1100])
@pytest.mark.parametrize("n_outputs", [4, 6, 9])
def test_gradients_of_many_rows_and_outputs_are_those_of_the_reference(n_rows, n_outputs):
    (tree, X, y, loss, weight), *expected = gradients_of_the_reference(n_rows, n_outputs)
    value, slopes = gradient(tree, X, y, loss=loss, sample_weight=weight, n_threads=2)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(slopes, expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, 15, 16, 17, 31, 32, 33, 64, 96, 1000])
def test_scores_of_blocks_of_any_size(n_rows):
    rng = np.random.default_rng(n_rows)
    outputs, y = rng.normal(size=(n_rows, 3)), rng.integers(0, 3, n_rows)
    figures = history(outputs, y, "cross_entropy")
    loss = reference.batch_loss(outputs_as_inputs(3), outputs, y, "cross_entropy")
    error = np.mean(outputs.argmax(axis=1) != y)
    for name in ("train", "val"):
        assert figures[f"{name}_loss"] == pytest.approx([loss], rel=1e-12)
        assert figures[f"{name}_error"] == pytest.approx([error], rel=1e-12, abs=0)


# -- selection -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_val", [1, 15, 16, 17, 32, 75])
@pytest.mark.parametrize("monitor", ["loss", "error"])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_one_update_per_epoch_both_kinds_of_selection_agree(
    n_val, monitor, n_outputs, weighted
):
    n_chosen = set()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        loss = "cross_entropy" if n_outputs > 1 else "squared_error"
        tree = draw_tree(rng, n_outputs, n_inputs=3)
        X, y = draw_rows(rng, tree, 30)
        validation = (*draw_rows(rng, tree, n_val), rng.uniform(0, 3, n_val) + 0.01)
        results = [
            train(tree, X, y, validation=validation if weighted else validation[:2],
                  settings=TrainingSettings(
                      loss=loss, optimizer="rmsprop", learning_rate=0.05, batch_size=None,
                      max_epochs=25, select=select, monitor=monitor, schedule="constant"))
            for select in ("epoch", "update")
        ]  # fmt: skip
        assert results[0].best_epoch == results[1].best_epoch
        assert results[0].tree == results[1].tree
        n_chosen.add(results[0].best_epoch)
        watched = results[0].history[f"val_{monitor}"]
        assert watched[results[0].best_epoch] == watched.min()
    assert len(n_chosen) > 1 or n_val == 1


def test_the_smallest_improvement_is_an_improvement():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 1, n_inputs=3)
    X, y = draw_rows(rng, tree, 40)
    how = TrainingSettings(loss="squared_error", optimizer="gd", learning_rate=1e-11, max_epochs=9,
                           schedule="constant", batch_size=None, select="update")  # fmt: skip
    assert train(tree, X, y, settings=how, validation=(X, y)).best_epoch == 8


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_counts_from_the_best_epoch_also_if_it_is_the_first(patience):
    # the validation rows are what the tree knew before it unlearned it
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 2, n_inputs=3)
    X = rng.normal(size=(40, 3))
    y = tree.forward(X).argmax(axis=1)
    how = TrainingSettings(select="epoch", max_epochs=20, patience=patience, schedule="constant")
    result = train(tree, X, 1 - y, settings=how, validation=(X, y))
    assert (result.status, result.best_epoch) == ("early_stopped", 0)
    assert result.n_epochs == 1 + patience


@pytest.mark.parametrize("select", [None, "epoch", "update"])
@pytest.mark.parametrize("batch_size", [1, 16, None])
def test_no_epoch_is_a_completed_training(select, batch_size):
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 2, n_inputs=3)
    X, y = draw_rows(rng, tree, 20)
    how = TrainingSettings(select=select, max_epochs=0, batch_size=batch_size)
    result = train(tree, X, y, settings=how, validation=(X, y))
    assert (result.status, result.n_epochs, result.best_epoch) == ("completed", 0, None)
    assert result.tree == tree


@pytest.mark.parametrize("select", [None, "epoch", "update"])
def test_one_epoch_is_a_completed_training(select):
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 2, n_inputs=3)
    X, y = draw_rows(rng, tree, 20)
    how = TrainingSettings(select=select, max_epochs=1)
    result = train(tree, X, y, settings=how, validation=(X, y))
    assert (result.status, result.n_epochs) == ("completed", 1)
    assert result.best_epoch == (None if select is None else 0)
