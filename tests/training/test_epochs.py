"""What training computes in an epoch: order, weighted figures, selection, divergence."""

import warnings

import numpy as np
import pytest

from bneuralt import (
    NeuralTree,
    TrainingSettings,
    train,
)
from bneuralt.training import TrainingJob, train_many
from bneuralt.training.losses import CrossEntropy
from bneuralt.training.trainer import TrainingDiverged, epoch_order, gradient
from tests import reference
from tests.helpers.strategies import draw_rows, draw_tree


def worse_with_every_epoch(n_outputs=2):
    """A training whose first epoch is the best: it unlearns what it starts with."""
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, n_outputs, n_inputs=3)
    X = rng.normal(size=(40, 3))
    y = tree.forward(X).argmax(axis=1)
    return tree, X, (y + 1) % n_outputs, X, y


def test_the_first_epoch_may_be_the_best():
    tree, X, y, X_val, y_val = worse_with_every_epoch()
    how = TrainingSettings(select="epoch", max_epochs=5, schedule="constant")
    result = train(tree, X, y, settings=how, validation=(X_val, y_val))
    assert result.best_epoch == 0 and result.best_epoch is not None
    once = TrainingSettings(max_epochs=1, schedule="constant")
    assert result.tree == train(tree, X, y, settings=once).tree


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("part", [0, 1])
def test_scaling_must_be_finite(part, bad):
    tree = draw_tree(np.random.default_rng(0), 2, n_inputs=3)
    scaling = [np.zeros(3), np.ones(3)]
    scaling[part][1] = bad
    with pytest.raises(ValueError, match="not finite"):
        train(tree, np.ones((4, 3)), [0, 1, 0, 1], settings=TrainingSettings(),
              input_scaling=tuple(scaling))  # fmt: skip


def log_probabilities(out):
    shifted = out - out.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_the_value_of_the_smoothed_loss(smoothing):
    rng = np.random.default_rng(1)
    tree = draw_tree(rng, 4)
    X, y = draw_rows(rng, tree, 37)
    shares = (1 - smoothing) * np.eye(4)[y] + smoothing / 4
    expected = -(shares * log_probabilities(tree.forward(X))).sum(axis=1).mean()
    assert gradient(tree, X, y, loss=CrossEntropy(smoothing))[0] == pytest.approx(expected)


@pytest.mark.parametrize("batch_size", [1, 7, None])
def test_losses_and_errors_are_weighted_means(batch_size):
    rng = np.random.default_rng(3)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 70)
    weight, val_weight = rng.uniform(0.1, 5, 70), rng.uniform(0.1, 5, 70)
    # a rate so small that the weights stay as they are
    how = TrainingSettings(max_epochs=1, learning_rate=1e-13, optimizer="gd", batch_size=batch_size)
    history = train(tree, X, y, settings=how, sample_weight=weight,
                    validation=(X, y, val_weight)).history  # fmt: skip
    out = tree.forward(X)
    losses = -log_probabilities(out)[np.arange(70), y]
    errors = out.argmax(axis=1) != y
    for kind, weights in (("train", weight), ("val", val_weight)):
        for name, figures in (("loss", losses), ("error", errors)):
            figure, expected = history[f"{kind}_{name}"][0], np.average(figures, weights=weights)
            assert figure == pytest.approx(expected, rel=1e-6), (kind, name)
            assert abs(expected - figures.mean()) > 1e-4


def test_validation_rows_are_those_that_were_chosen():
    rng = np.random.default_rng(3)
    tree = draw_tree(rng, 3)
    X, y = draw_rows(rng, tree, 70)
    chosen, weight = np.array([3, 60, 8, 9, 33]), np.array([1.0, 2.0, 5.0, 1.0, 0.5])
    how = TrainingSettings(max_epochs=1)
    job = TrainingJob(tree, how, 0, rows=np.arange(20, 50), validation_rows=chosen,
                      validation_weight=weight)  # fmt: skip
    (result,) = train_many([job], X, y)
    out = result.tree.forward(X[chosen])
    losses = -log_probabilities(out)[np.arange(5), y[chosen]]
    wrong = out.argmax(axis=1) != y[chosen]
    assert result.history["val_loss"][0] == pytest.approx(np.average(losses, weights=weight))
    assert result.history["val_error"][0] == pytest.approx(np.average(wrong, weights=weight))


@pytest.mark.parametrize("monitor", ["loss", "error"])
def test_the_monitored_figure_selects_and_the_first_of_equals_wins(monitor):
    n_differ = n_ties = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        tree = draw_tree(rng, 2, n_inputs=4)
        X, y = draw_rows(rng, tree, 40)
        X_val, y_val = draw_rows(rng, tree, 30)
        how = TrainingSettings(select="epoch", monitor=monitor, max_epochs=12)
        result = train(tree, X, y, settings=how, validation=(X_val, y_val))
        loss, error = result.history["val_loss"], result.history["val_error"]
        watched = loss if monitor == "loss" else error
        assert result.best_epoch == watched.argmin()
        out = result.tree.forward(X_val)
        assert (out.argmax(axis=1) != y_val).mean() == pytest.approx(error[result.best_epoch])
        n_differ += loss.argmin() != error.argmin()
        n_ties += np.count_nonzero(watched == watched.min()) > 1
    assert n_differ > 3
    if monitor == "error":
        assert n_ties > 3


@pytest.mark.parametrize("batch_size", [1, 5])
def test_the_repeated_first_row_counts_in_the_schedule_but_not_in_the_score(batch_size):
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 2)
    X, y = draw_rows(rng, tree, 10)
    common = {"optimizer": "rmsprop", "learning_rate": 0.02, "schedule": "cosine",
              "batch_size": batch_size}  # fmt: skip
    how = TrainingSettings(**common, max_epochs=3, repeat_first_row=True)
    result = train(tree, X, y, settings=how, seed=9)
    n = 10 // batch_size + 1
    done = np.arange(1, 4) * n
    np.testing.assert_allclose(
        result.history["learning_rate"], 0.01 * (1 + np.cos(np.pi * done / (3 * n))), atol=1e-15
    )
    if batch_size == 1:
        order = [[*epoch_order(9, e, 10).tolist(), 0] for e in range(3)]
        expected = reference.train(tree, X, y, order=order, loss="cross_entropy", **common)
        np.testing.assert_allclose(result.tree.parameters, expected.parameters, atol=1e-10)
    # the first row is by far the worst: counted once more, it would be seen
    still = TrainingSettings(optimizer="gd", learning_rate=1e-13, batch_size=batch_size,
                             max_epochs=1, repeat_first_row=True)  # fmt: skip
    X[0] *= 50
    losses = -log_probabilities(tree.forward(X))[np.arange(10), y]
    train_loss = train(tree, X, y, settings=still, seed=9).history["train_loss"][0]
    assert train_loss == pytest.approx(losses.mean(), rel=1e-6)


def test_after_a_divergence_the_weights_are_those_of_the_last_good_epoch():
    rng = np.random.default_rng(0)
    tree = NeuralTree.random(4, 1, activation="relu", output_activation="linear", random_state=3)
    X, y = draw_rows(rng, tree, 60)
    common = {"loss": "squared_error", "optimizer": "gd", "schedule": "constant"}
    for rate in np.geomspace(1e-3, 1, 30):
        how = TrainingSettings(**common, learning_rate=rate, batch_size=None, max_epochs=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingDiverged)
            result = train(tree, X * 10, y, settings=how)
        if result.status == "diverged" and result.n_epochs > 1:
            break
    assert result.status == "diverged" and result.n_epochs > 1
    fewer = TrainingSettings(**common, learning_rate=rate, batch_size=None,
                             max_epochs=result.n_epochs)  # fmt: skip
    until_then = train(tree, X * 10, y, settings=fewer)
    assert until_then.status == "completed"
    assert result.tree == until_then.tree and result.tree != tree
