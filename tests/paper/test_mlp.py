"""The MLP compared with a simple implementation, and its scores with the paper's."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jax", reason="the MLP experiments need jax and optax")

import jax
import jax.numpy as jnp

from bneuralt.datasets import load_dataset
from bneuralt.paper.experiments import mlp
from bneuralt.paper.experiments.definitions import OPTIMIZERS, MLPExperiment, parse_experiment
from bneuralt.paper.experiments.mlp import make_optimizer, predict, run_mlp
from bneuralt.paper.experiments.protocols import Problem, derive_seed, get_protocol


class NaiveMLP:
    """A simple implementation in float64, with the update rules of Keras."""

    def __init__(self, parameters, experiment: MLPExperiment, classify: bool) -> None:
        self.p = {name: np.array(values, dtype=np.float64) for name, values in parameters.items()}
        self.e, self.classify, self.t = experiment, classify, 0
        start = 0.1 if experiment.optimizer == "adagrad" else 0.0
        self.m = {name: np.zeros_like(values) for name, values in self.p.items()}
        self.v = {name: np.full_like(values, start) for name, values in self.p.items()}

    def gradient(self, x, y):
        p, e = self.p, self.e
        z = x @ p["W1"] + p["b1"]
        h = 1 / (1 + np.exp(-z)) if e.activation == "sigmoid" else np.maximum(z, 0)
        slope = h * (1 - h) if e.activation == "sigmoid" else (z > 0).astype(float)
        o = p["W2"] @ h + p["b2"]
        if self.classify:
            delta = np.exp(o) / np.exp(o).sum() - y
        else:
            o = 1 / (1 + np.exp(-o))
            delta = 2 * (o - y) * o * (1 - o)
        back = (p["W2"].T @ delta) * slope
        g = {"W1": np.outer(x, back), "b1": back, "W2": np.outer(delta, h), "b2": delta}
        g["W1"] += e.penalty * (np.sign(p["W1"]) + 2 * p["W1"])
        return g

    def update(self, x, y):
        self.t += 1
        rate = self.e.learning_rate
        for name, g in self.gradient(x, y).items():
            p, m, v = self.p[name], self.m[name], self.v[name]
            match self.e.optimizer:
                case "gd":
                    p -= rate * g
                case "momentum":
                    m[:] = 0.9 * m - rate * g
                    p += m
                case "nesterov":
                    m[:] = 0.9 * m - rate * g
                    p += 0.9 * m - rate * g
                case "adagrad":
                    v += g**2
                    p -= rate * g / np.sqrt(v + 1e-7)
                case "rmsprop":
                    v[:] = 0.9 * v + 0.1 * g**2
                    p -= rate * g / (np.sqrt(v) + 1e-7)
                case "adam":
                    m[:] = 0.9 * m + 0.1 * g
                    v[:] = 0.999 * v + 0.001 * g**2
                    corrected = rate * np.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
                    p -= corrected * m / (np.sqrt(v) + 1e-7)


@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS.values()))
def test_updates_equal_those_of_a_simple_implementation(optimizer: str, classify: bool) -> None:
    rng = np.random.default_rng(1)
    inputs, n = 5, 40
    X = rng.random((n, inputs))
    Y = np.eye(3)[rng.integers(3, size=n)] if classify else rng.random((n, 1))
    for activation, regularised in (("sigmoid", False), ("relu", True)):
        experiment = MLPExperiment(
            optimizer, activation=activation, regularised=regularised, default_rate=True, hidden=7
        )
        program = mlp._Program(experiment, classify)
        rows = mlp._Rows(*(jnp.asarray(a, jnp.float32) for a in (X, Y, X, Y)))
        lane = program.start(jax.random.key(0), rows)
        naive = NaiveMLP(lane.parameters, experiment, classify)
        update = jax.jit(program._update)
        for i in range(n):
            lane = update(lane, i, None, rows)
            naive.update(X[i], Y[i])
        for name, values in naive.p.items():
            np.testing.assert_allclose(lane.parameters[name], values, rtol=2e-3, atol=2e-5)


def test_measured_loss_and_error_and_numpy_prediction_agree() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    program = mlp._Program(MLPExperiment("gd", hidden=6), True)
    rows = mlp._Rows(*(jnp.asarray(a, jnp.float32) for a in (X, np.eye(3)[y], X, np.eye(3)[y])))
    parameters = program.start(jax.random.key(3), rows).parameters
    loss, error = program._measure(parameters, rows.X, rows.Y)
    one_by_one = [
        program._example_loss(parameters, *row, None) for row in zip(*rows[:2], strict=True)
    ]
    assert float(loss) == pytest.approx(np.mean(one_by_one), rel=1e-5)
    in_numpy = {name: np.asarray(values) for name, values in parameters.items()}
    assert float(error) == pytest.approx(np.mean(predict(in_numpy, X) != y))


def test_initial_weights_are_glorot_uniform() -> None:
    start = mlp.initial_parameters(jax.random.key(0), 20, 100, 3)
    limit = np.sqrt(6 / 120)
    assert np.abs(start["W1"]).max() <= limit
    assert np.std(start["W1"]) == pytest.approx(limit / np.sqrt(3), rel=0.05)
    assert not np.any(start["b1"]) and not np.any(start["b2"])


def test_unknown_optimizer_is_refused() -> None:
    with pytest.raises(ValueError, match="'lion'"):
        make_optimizer("lion", 0.1)


def short(name: str, **changes) -> MLPExperiment:
    experiment = parse_experiment(name)
    assert isinstance(experiment, MLPExperiment)
    return replace(experiment, **changes)


def block(experiment, problem, runs, protocol="paper"):
    partitions = [get_protocol(protocol).partition(problem, run) for run in runs]
    return run_mlp(experiment, partitions, runs)


@pytest.fixture(scope="module")
def iris() -> Problem:
    return Problem.from_dataset(load_dataset("iris"))


@pytest.mark.parametrize("name", ["M-S-ESy-Rn-L-D", "M-S-ESn-Rn-L-Dr-D", "M-S-ESu-Rn-L-N"])
def test_a_run_does_not_depend_on_the_runs_beside_it(iris: Problem, name: str) -> None:
    experiment = short(name, max_epochs=10)
    together = block(experiment, iris, [0, 1, 2, 3, 4])
    for runs in ([3], [4, 1]):
        for run, outcome in zip(runs, block(experiment, iris, runs), strict=True):
            assert outcome.curves == together[run].curves
            assert outcome.scores.test == together[run].scores.test
            assert outcome.seed == derive_seed(run, "training", "iris")


def test_runs_of_different_blocks_are_refused(iris: Problem) -> None:
    with pytest.raises(ValueError, match="one block"):
        block(MLPExperiment("gd"), iris, [0, MLPExperiment.block])


def test_patience_stops_each_run_by_its_own_curve(iris: Problem) -> None:
    experiment = short("M-S-ESy-Rn-M", patience=5, max_epochs=60)
    outcomes = block(experiment, iris, range(5))
    assert len({o.epochs for o in outcomes}) > 1
    for outcome in outcomes:
        monitored = np.array(outcome.curves["val_loss"])
        assert len(monitored) == outcome.epochs
        best = int(np.argmin(monitored))
        assert outcome.epochs == min(best + 1 + experiment.patience, experiment.max_epochs)
        # The weights of the best epoch are scored.
        assert outcome.scores.test == pytest.approx(1 - outcome.curves["val_error"][best])


def test_selection_by_error_keeps_the_best_weights(iris: Problem) -> None:
    by_epoch = block(short("M-S-ESe-Rn-L-D", max_epochs=30), iris, range(5))
    by_update = block(short("M-S-ESu-Rn-L-D", max_epochs=30), iris, range(5))
    for epoch, update in zip(by_epoch, by_update, strict=True):
        assert epoch.epochs == 30
        assert epoch.curves == update.curves
        assert epoch.scores.test == pytest.approx(1 - min(epoch.curves["val_error"]))
        assert update.scores.test >= epoch.scores.test


def test_honest_runs_without_selection_monitor_nothing(iris: Problem) -> None:
    (outcome,) = block(short("M-S-ESn-Rn-L-D", max_epochs=3), iris, [0], "honest")
    assert set(outcome.curves) == {"train_loss", "train_error"}
    (outcome,) = block(short("M-S-ESy-Rn-L-D", max_epochs=3), iris, [0], "honest")
    assert set(outcome.curves) == {"train_loss", "train_error", "val_loss", "val_error"}
    assert outcome.weights == 803
    assert outcome.scores.validation == pytest.approx(
        1 - outcome.curves["val_error"][int(np.argmin(outcome.curves["val_loss"]))]
    )


@pytest.mark.parametrize(("dataset", "published"), [("iris", 0.977), ("wine", 0.985)])
def test_scores_are_near_those_of_table_2(dataset: str, published: float) -> None:
    problem = Problem.from_dataset(load_dataset(dataset))
    outcomes = block(parse_experiment("M-S-ESy-Rn-L-M"), problem, range(5))
    assert np.mean([o.scores.test for o in outcomes]) == pytest.approx(published, abs=0.03)
