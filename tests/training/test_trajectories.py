"""Training as users meet it, against the reference: float32 trees on float32 and uint8 tables.

The reference computes in float64 with the same numbers, so that what differs is the rounding of
float32 alone. Bounds are a few times what was measured, and far below what a wrong term makes.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bneuralt import (
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    TrainingSettings,
    train,
)
from bneuralt.fitting import train as fitting
from bneuralt.model.scaling import learn_scaling
from bneuralt.tables.moments import ColumnMoments
from bneuralt.training.losses import CrossEntropy, get_loss
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt.training.trainer import epoch_order, gradient, train_many
from bneuralt.tree.neural_tree import grown
from tests import reference
from tests.helpers.quick import grid

N_ROWS, N_INPUTS = 45, 5  # no multiple of any vector's width

# loss, number of outputs
TASKS = (("cross_entropy", 3), (CrossEntropy(0.1), 2), ("squared_error", 1), ("squared_error", 2))
DTYPES = (np.float32, np.uint8)


class Setting:
    """A float32 tree, a table of some dtype, and what the reference makes of them."""

    def __init__(self, dtype, loss, n_outputs, seed=0):
        rng = np.random.default_rng([seed, n_outputs])
        self.loss = loss
        self.tree = NeuralTree.random(
            N_INPUTS, n_outputs, max_depth=3, max_children=4, activation="tanh",
            output_activation="linear", dtype="float32", random_state=rng,
        )  # fmt: skip
        if dtype == np.uint8:
            self.X = rng.integers(0, 256, (N_ROWS, N_INPUTS)).astype(np.uint8)
            self.scaling = rng.uniform(100, 150, N_INPUTS), rng.uniform(0.005, 0.02, N_INPUTS)
        else:
            self.X = rng.normal(3, 2, (N_ROWS, N_INPUTS)).astype(np.float32)
            self.scaling = rng.uniform(2, 4, N_INPUTS), rng.uniform(0.3, 0.8, N_INPUTS)
        if get_loss(loss).compares == "labels":
            self.y = rng.integers(0, n_outputs, N_ROWS)
        else:
            self.y = np.squeeze(rng.normal(size=(N_ROWS, n_outputs)))
        self.weight = rng.uniform(0.5, 1.5, N_ROWS)
        self.scaled = (self.X.astype(np.float64) - self.scaling[0]) * self.scaling[1]

    def train(self, n_epochs, batch_size, **more):
        how = TrainingSettings(loss=self.loss, max_epochs=n_epochs, batch_size=batch_size, **more)
        return train(self.tree, self.X, self.y, settings=how, seed=4, sample_weight=self.weight,
                     input_scaling=self.scaling)  # fmt: skip


@cache  # the same for all instruction sets
def trained_by_the_reference(dtype, loss, n_outputs, n_epochs, batch_size, **more):
    case = Setting(dtype, loss, n_outputs)
    order = [epoch_order(4, epoch, N_ROWS).tolist() for epoch in range(n_epochs)]
    return reference.train(
        case.tree.astype(np.float64), case.scaled, case.y, order=order, loss=loss,
        batch_size=batch_size, sample_weight=case.weight, **more,
    )  # fmt: skip


def distance(values, expected):
    return np.linalg.norm(values - expected) / np.linalg.norm(expected)


by_dtype = pytest.mark.parametrize("dtype", DTYPES)
by_task = pytest.mark.parametrize(("loss", "n_outputs"), TASKS)
RATES = {"gd": 0.1, "momentum": 0.02, "nesterov": 0.02, "adagrad": 0.1}


@by_dtype
@by_task
def test_gradients_of_single_precision(dtype, loss, n_outputs, engine):
    for seed in range(5):
        case = Setting(dtype, loss, n_outputs, seed)
        rows = case.X, case.y, loss
        expected = reference.batch_gradient(case.tree, *rows, sample_weight=case.weight)
        cost, slopes = gradient(*(case.tree, *rows[:2]), loss=loss, sample_weight=case.weight)
        # measured: up to 3.2e-7 for float32; 4.6e-6 for uint8, whose raw values saturate nodes
        assert distance(slopes, expected) < (1e-6 if dtype == np.float32 else 1.5e-5)
        # measured: up to 1.1e-7
        expected_loss = reference.batch_loss(case.tree, *rows, sample_weight=case.weight)
        assert cost == pytest.approx(expected_loss, rel=5e-7)


@grid(name=sorted(OPTIMIZERS), batch_size=[1, 8], dtype=DTYPES, task=TASKS)
def test_trajectories_of_single_precision(name, batch_size, dtype, task, engine):
    loss, n_outputs = task
    case = Setting(dtype, loss, n_outputs)
    for more in (
        {"schedule": "constant"},
        {"schedule": "cosine", "weight_decay": 0.05, "clip_norm": 0.5},
    ):
        how = {"optimizer": name, "learning_rate": RATES.get(name, 0.01), **more}
        parameters = case.train(3, batch_size, **how).tree.parameters
        expected = trained_by_the_reference(dtype, loss, n_outputs, 3, batch_size, **how).parameters
        # How far apart the weights end, as a share of the way they went. Measured: up to 2.8e-5;
        # 1.1e-4 for Adagrad, whose first steps divide by the gradient itself.
        way = np.linalg.norm(expected - case.tree.parameters)
        bound = 4e-4 if name == "adagrad" else 1e-4
        assert np.linalg.norm(parameters - expected) < bound * way


@grid(dtype=DTYPES, task=TASKS, monitor=["loss", "error"])
def test_the_selected_epoch_is_the_best_of_the_reference(dtype, task, monitor, engine):
    loss, n_outputs = task
    case = Setting(dtype, loss, n_outputs)
    rng = np.random.default_rng(1)
    chosen = rng.permutation(N_ROWS)[:30]
    X_val, scaled, weight = case.X[chosen], case.scaled[chosen], rng.uniform(0.5, 1.5, 30)
    y_val = rng.permutation(case.y[chosen])  # there is nothing to learn for these rows
    more = {"optimizer": "adam", "learning_rate": 0.03, "schedule": "constant"}
    how = TrainingSettings(loss=loss, max_epochs=8, batch_size=8, select="epoch", monitor=monitor,
                           **more)  # fmt: skip
    result = train(case.tree, case.X, case.y, settings=how, seed=4, sample_weight=case.weight,
                   input_scaling=case.scaling, validation=(X_val, y_val, weight))  # fmt: skip
    after = [trained_by_the_reference(dtype, loss, n_outputs, n, 8, **more) for n in range(1, 9)]
    mean_one = weight / weight.mean()
    losses = [reference.batch_loss(tree, scaled, y_val, loss, sample_weight=mean_one)
              for tree in after]  # fmt: skip
    outputs = [np.array([reference.forward(tree, x) for x in scaled]) for tree in after]
    if get_loss(loss).compares == "labels":
        wrong = [out.argmax(axis=1) != y_val for out in outputs]
    else:
        wrong = [np.square(out - y_val.reshape(out.shape)).mean(axis=1) for out in outputs]
    errors = [np.average(figures, weights=weight) for figures in wrong]
    # measured: up to 1.4e-7
    np.testing.assert_allclose(result.history["val_loss"], losses, rtol=1e-6)
    np.testing.assert_allclose(result.history["val_error"], errors, rtol=1e-6)
    best = int(np.argmin(np.round(losses if monitor == "loss" else errors, 9)))
    assert result.best_epoch == best
    way = np.linalg.norm(after[best].parameters - case.tree.parameters)
    assert np.linalg.norm(result.tree.parameters - after[best].parameters) < 1e-4 * way


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
@pytest.mark.parametrize("kind", ["standard", "minmax"])
def test_scaling_is_learnt_in_double_precision(kind, dtype):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal([100, 20, 200], [30, 5, 0.7], (1000, 3)).clip(0, 255)).astype(dtype)
    weight = rng.uniform(0, 3, 1000)
    numbers = X.astype(np.float64)
    offset, deviation = numbers.min(axis=0), np.ptp(numbers, axis=0)
    if kind == "standard":
        offset = np.average(numbers, axis=0, weights=weight)
        deviation = np.sqrt(np.average((numbers - offset) ** 2, axis=0, weights=weight))
    scaling = learn_scaling(kind, ColumnMoments(X, weight))
    np.testing.assert_allclose(scaling.offset, offset, rtol=1e-13)
    np.testing.assert_allclose(scaling.factor, 1 / deviation, rtol=1e-12)


@by_dtype
@pytest.mark.parametrize("kind", ["standard", "minmax"])
@pytest.mark.parametrize("model_type", [BNeuralTClassifier, BNeuralTRegressor])
def test_a_fitted_tree_predicts_what_the_reference_trains(dtype, kind, model_type, monkeypatch):
    calls = []

    def record(jobs, X, y, *arguments, **more):
        calls.append((list(jobs), X, y))
        return train_many(calls[-1][0], X, y, *arguments, **more)

    monkeypatch.setattr(fitting, "train_many", record)
    case = Setting(dtype, "cross_entropy", 3)
    y = case.y if model_type is BNeuralTClassifier else 50 + 9 * case.weight
    model = model_type(
        scale=kind,
        max_epochs=3,
        batch_size=8,
        random_state=0,
        growth=Growth(n_joined=1),
        training=TrainingSettings(leaf_moves=0),
    )
    model.fit(case.X, y)
    ((job,), X, target) = calls[0]
    X, target = np.asarray(getattr(X, "X", X), dtype=np.float64), np.asarray(target)
    assert job.tree.dtype == np.float32
    learnt = learn_scaling(kind, ColumnMoments(case.X, np.ones(N_ROWS)))
    chosen = np.arange(N_ROWS) if job.rows is None else np.asarray(job.rows)
    order = [chosen[epoch_order(job.seed, e, len(chosen))].tolist() for e in range(3)]
    if model_type is BNeuralTRegressor:
        offset, factor = y.mean(), 1 / y.std()
        target = (target - offset) * factor
    how = job.settings
    expected = reference.train(
        grown(job.tree).astype(np.float64), learnt.apply(X), target, order=order, loss=how.loss,
        optimizer=how.optimizer, learning_rate=how.learning_rate, schedule=how.schedule,
        batch_size=8, weight_decay=how.weight_decay, clip_norm=how.clip_norm,
    )  # fmt: skip
    outputs = np.array([reference.forward(expected, x) for x in learnt.apply(case.X)])
    if model_type is BNeuralTRegressor:
        outputs = outputs / factor + offset
    values = model.tree_.forward(case.X)
    # measured: up to 2.3e-6
    assert np.abs(values - outputs).max() < 1e-5 * np.ptp(outputs)
