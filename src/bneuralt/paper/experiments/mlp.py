"""The paper's multilayer perceptron, trained as in Keras, several runs at a time.

The network has one hidden layer and either a softmax output with cross-entropy or a sigmoid output
with the squared error. Each update uses one example. Runs are trained in blocks of
`MLPExperiment.block`, as lanes of one compiled program, so that they share the overhead of the
training loop. A run always occupies the same lane, and the number of lanes is fixed (the results of
spare lanes are discarded): the compiler rounds differently for other shapes, so this is what makes
the result of a run independent of the runs beside it.

Where Keras (as of TensorFlow 2) and optax differ, this module follows Keras: Adam adds epsilon to
the uncorrected root, RMSprop adds it outside the root.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

# The arrays are tiny, so that more than one thread per operation is slower, and there is one worker
# process per core anyway. The flags must be set before jax is imported.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax
import jax.numpy as jnp
import optax

from bneuralt._typing import Array, FloatArray
from bneuralt.paper.experiments.definitions import MLPExperiment
from bneuralt.paper.experiments.protocols import Outcome, Partition, derive_seed

__all__ = ["initial_parameters", "make_optimizer", "predict", "run_mlp"]

_EPOCHS_PER_CALL = 25
_CURVES = ("train_loss", "train_error", "val_loss", "val_error")

Parameters = dict[str, Any]


class _Lane(NamedTuple):
    """The state of one run between epochs."""

    parameters: Parameters
    optimizer_state: Any
    best: Parameters
    best_value: jax.Array
    waited: jax.Array
    epoch: jax.Array
    stopped: jax.Array


class _Rows(NamedTuple):
    """Training and monitored rows; classes are one-hot rows, targets form one column."""

    X: jax.Array
    Y: jax.Array
    X_monitored: jax.Array
    Y_monitored: jax.Array


def run_mlp(
    experiment: MLPExperiment, partitions: Sequence[Partition], runs: Sequence[int]
) -> list[Outcome]:
    """Train one network for each run, all at the same time, and score them.

    Parameters
    ----------
    experiment : MLPExperiment
    partitions : sequence of Partition
        The rows of each run, all of the same problem and protocol.
    runs : sequence of int
        The numbers of the runs, all of the same block: ``run // MLPExperiment.block`` is equal.
    """
    n_lanes = MLPExperiment.block
    if len({run // n_lanes for run in runs}) != 1 or len(set(runs)) != len(runs):
        raise ValueError(f"runs={list(runs)} must be different runs of one block of {n_lanes}")
    selects = experiment.stopping != "never"
    classify = partitions[0].task == "classification"
    name = partitions[0].name
    seeds = [derive_seed(run, "training", name) for run in runs]
    start = time.perf_counter()
    lane_of = [run % n_lanes for run in runs]
    occupant = [lane_of.index(lane) if lane in lane_of else 0 for lane in range(n_lanes)]
    with jax.default_device(jax.devices("cpu")[0]):
        rows = _stack_rows([partitions[i] for i in occupant], selects)
        parameters, epochs, curves = _train(
            experiment, rows, classify, [seeds[i] for i in occupant]
        )
    seconds = (time.perf_counter() - start) / len(runs)
    outcomes = []
    for i, (partition, lane) in enumerate(zip(partitions, lane_of, strict=True)):
        own = {name: values[lane] for name, values in parameters.items()}

        def forward(X: FloatArray, own: Parameters = own) -> Array:
            return predict(own, X, experiment.activation, classify)

        outcomes.append(
            Outcome(
                seeds[i],
                partition.score(forward, selects),
                seconds,
                weights=sum(values.size for values in own.values()),
                epochs=int(epochs[lane]),
                curves=_own_curves(curves[: epochs[lane], :, lane]),
            )
        )
    return outcomes


def _own_curves(curves: FloatArray) -> dict[str, list[float]]:
    """Return the columns by name; those of monitored rows are omitted if there are none."""
    named = zip(_CURVES, curves.T.tolist(), strict=True)
    return {name: values for name, values in named if not np.all(np.isnan(values))}


def predict(
    parameters: Parameters, X: FloatArray, activation: str = "sigmoid", classify: bool = True
) -> Array:
    """Return the predicted class indices, or values in (0, 1), of rows (with NumPy only).

    Examples
    --------
    >>> zeros = {"W1": np.zeros((2, 3)), "b1": np.zeros(3), "W2": np.zeros((1, 3)),
    ...          "b2": np.zeros(1)}
    >>> predict(zeros, np.ones((1, 2)), classify=False)
    array([0.5])
    """
    X = np.asarray(X, dtype=parameters["W1"].dtype)
    hidden = X @ parameters["W1"] + parameters["b1"]
    hidden = _numpy_sigmoid(hidden) if activation == "sigmoid" else np.maximum(hidden, 0)
    output = hidden @ parameters["W2"].T + parameters["b2"]
    return np.argmax(output, axis=1) if classify else _numpy_sigmoid(output[:, 0])


def initial_parameters(key: jax.Array, inputs: int, hidden: int, outputs: int) -> Parameters:
    """Draw initial weights as Keras does: Glorot uniform, with biases of 0."""
    first, second = jax.random.split(key)

    def glorot(key: jax.Array, shape: tuple[int, int]) -> jax.Array:
        limit = (6.0 / sum(shape)) ** 0.5
        return jax.random.uniform(key, shape, minval=-limit, maxval=limit)

    return {
        "W1": glorot(first, (inputs, hidden)),
        "b1": jnp.zeros(hidden),
        "W2": glorot(second, (outputs, hidden)),
        "b2": jnp.zeros(outputs),
    }


def make_optimizer(name: str, learning_rate: float) -> optax.GradientTransformation:
    """Return one of the six optimizers, with Keras' formulas and constants."""
    if name == "gd":
        return optax.sgd(learning_rate)
    if name in ("momentum", "nesterov"):
        return optax.sgd(learning_rate, momentum=0.9, nesterov=name == "nesterov")
    if name == "adagrad":
        return optax.adagrad(learning_rate, initial_accumulator_value=0.1, eps=1e-7)
    if name == "rmsprop":
        return optax.rmsprop(learning_rate, decay=0.9, eps=1e-7, eps_in_sqrt=False)
    if name == "adam":
        return _keras_adam(learning_rate)
    raise ValueError(f"optimizer={name!r} is not one of the paper's six optimizers")


class _AdamState(NamedTuple):
    step: jax.Array
    mean: Any
    square: Any


def _keras_adam(
    rate: float, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-7
) -> optax.GradientTransformation:
    """Return Adam with "epsilon hat", which is added to the root before the bias correction."""

    def init(parameters: Any) -> _AdamState:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return _AdamState(jnp.zeros([], jnp.int32), zeros, zeros)

    def update(gradient: Any, state: _AdamState, parameters: Any = None) -> Any:
        step = state.step + 1
        t = step.astype(jnp.float32)
        corrected = rate * jnp.sqrt(1.0 - beta2**t) / (1.0 - beta1**t)
        mean = jax.tree.map(lambda m, g: m + (1.0 - beta1) * (g - m), state.mean, gradient)
        square = jax.tree.map(lambda v, g: v + (1.0 - beta2) * (g * g - v), state.square, gradient)
        change = jax.tree.map(lambda m, v: -corrected * m / (jnp.sqrt(v) + epsilon), mean, square)
        return change, _AdamState(step, mean, square)

    return optax.GradientTransformation(init, update)


def _numpy_sigmoid(z: FloatArray) -> FloatArray:
    result: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return result


class _Program:
    """The training program of one experiment: an update, an epoch, many epochs of all lanes."""

    def __init__(self, experiment: MLPExperiment, classify: bool) -> None:
        self.experiment = experiment
        self.classify = classify
        self.optimizer = make_optimizer(experiment.optimizer, experiment.learning_rate)
        self.epochs = jax.jit(self._epochs)

    def start(self, key: jax.Array, rows: _Rows) -> _Lane:
        """Return the state of a lane before its first epoch."""
        parameters = initial_parameters(
            key, rows.X.shape[1], self.experiment.hidden, rows.Y.shape[1]
        )
        return _Lane(
            parameters=parameters,
            optimizer_state=self.optimizer.init(parameters),
            best=parameters,
            best_value=jnp.array(jnp.inf),
            waited=jnp.array(0),
            epoch=jnp.array(0),
            stopped=jnp.array(False),
        )

    def _epochs(
        self, lanes: _Lane, keys: jax.Array, rows: _Rows
    ) -> tuple[_Lane, tuple[jax.Array, ...]]:
        scanned: tuple[_Lane, tuple[jax.Array, ...]] = jax.lax.scan(
            lambda lanes, _: jax.vmap(self._epoch)(lanes, keys, rows),
            lanes,
            length=_EPOCHS_PER_CALL,
        )
        return scanned

    def _epoch(
        self, lane: _Lane, key: jax.Array, rows: _Rows
    ) -> tuple[_Lane, tuple[jax.Array, ...]]:
        experiment = self.experiment
        shuffling, dropping = jax.random.split(jax.random.fold_in(key, lane.epoch))
        order = jax.random.permutation(shuffling, rows.X.shape[0])
        kept = None
        if experiment.dropout:
            share = 1.0 - experiment.dropout_rate
            kept = jax.random.bernoulli(dropping, share, (len(order), experiment.hidden)) / share
        after, _ = jax.lax.scan(
            lambda state, example: (self._update(state, example[0], example[1], rows), None),
            lane,
            (order, kept),
        )
        train = self._measure(after.parameters, rows.X, rows.Y)
        monitored = self._measure(after.parameters, rows.X_monitored, rows.Y_monitored)
        stopped = after.epoch + 1 >= experiment.max_epochs
        if experiment.stopping in ("patience", "epoch"):
            after = _keep_better(after, monitored[0 if experiment.stopping == "patience" else 1])
        if experiment.stopping == "patience":
            stopped |= after.waited >= experiment.patience
        after = after._replace(epoch=after.epoch + 1, stopped=stopped)
        # A lane that has stopped is computed along with the others, but keeps its state.
        after = jax.tree.map(lambda old, new: jnp.where(lane.stopped, old, new), lane, after)
        return after, (*train, *monitored)

    def _update(self, lane: _Lane, row: jax.Array, kept: jax.Array | None, rows: _Rows) -> _Lane:
        gradient = jax.grad(self._example_loss)(lane.parameters, rows.X[row], rows.Y[row], kept)
        change, state = self.optimizer.update(gradient, lane.optimizer_state, lane.parameters)
        parameters: Any = optax.apply_updates(lane.parameters, change)
        lane = lane._replace(parameters=parameters, optimizer_state=state)
        if self.experiment.stopping == "update":
            lane = _keep_better(lane, self._measure(parameters, *rows[2:])[1])
        return lane

    def _example_loss(
        self, parameters: Parameters, x: jax.Array, y: jax.Array, kept: jax.Array | None
    ) -> jax.Array:
        """Return the loss of one example.

        Written with sums of products instead of dot(), which XLA fuses with other operations.
        """
        hidden = jnp.sum(x[:, None] * parameters["W1"], axis=0) + parameters["b1"]
        hidden = self._activate(hidden)
        if kept is not None:
            hidden = hidden * kept
        output = jnp.sum(parameters["W2"] * hidden, axis=1) + parameters["b2"]
        if self.classify:
            loss = -jnp.sum(y * jax.nn.log_softmax(output))
        else:
            loss = jnp.sum((jax.nn.sigmoid(output) - y) ** 2)
        return loss + self._penalty(parameters)

    def _measure(
        self, parameters: Parameters, X: jax.Array, Y: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return the mean loss and the error rate or mean squared error of many rows."""
        hidden = self._activate(X @ parameters["W1"] + parameters["b1"])
        output = hidden @ parameters["W2"].T + parameters["b2"]
        if self.classify:
            loss = -jnp.mean(jnp.sum(Y * jax.nn.log_softmax(output), axis=1))
            error = jnp.mean(jnp.argmax(output, axis=1) != jnp.argmax(Y, axis=1))
        else:
            loss = error = jnp.mean((jax.nn.sigmoid(output) - Y) ** 2)
        return loss + self._penalty(parameters), error

    def _activate(self, z: jax.Array) -> jax.Array:
        activate = jax.nn.sigmoid if self.experiment.activation == "sigmoid" else jax.nn.relu
        result: jax.Array = activate(z)
        return result

    def _penalty(self, parameters: Parameters) -> jax.Array | float:
        """Return the L1 and L2 penalties on the hidden layer's weights.

        The paper does not say which layers were penalised. With penalties on both layers nothing is
        learned on any classification problem, while its tables show a mean accuracy of up to .743.
        """
        if not self.experiment.regularised:
            return 0.0
        W = parameters["W1"]
        return self.experiment.penalty * jnp.sum(jnp.abs(W) + W * W)


def _keep_better(lane: _Lane, value: jax.Array) -> _Lane:
    """Store the weights of a lane if their value is the lowest so far."""
    better = value < lane.best_value
    return lane._replace(
        best=jax.tree.map(lambda new, old: jnp.where(better, new, old), lane.parameters, lane.best),
        best_value=jnp.where(better, value, lane.best_value),
        waited=jnp.where(better, 0, lane.waited + 1),
    )


@lru_cache(maxsize=256)
def _program(experiment: MLPExperiment, classify: bool) -> _Program:
    """Return the program of an experiment; cached, so that it is compiled once for each shape."""
    return _Program(experiment, classify)


def _train(
    experiment: MLPExperiment, rows: _Rows, classify: bool, seeds: Sequence[int]
) -> tuple[Parameters, Array, FloatArray]:
    """Train all lanes until they have stopped.

    Returns
    -------
    parameters : dict of str to array
        The selected weights of each lane.
    epochs : array of shape (n_lanes,)
    curves : array of shape (n_epochs, 4, n_lanes)
    """
    program = _program(experiment, classify)
    keys = jnp.stack([jax.random.key(seed) for seed in seeds])
    lanes = jax.vmap(program.start)(keys, rows)
    curves = []
    while not np.all(lanes.stopped):
        lanes, measured = program.epochs(lanes, keys, rows)
        curves.append(np.stack(measured, axis=1))
    selected = lanes.parameters if experiment.stopping == "never" else lanes.best
    parameters = {name: np.asarray(values) for name, values in selected.items()}
    return parameters, np.asarray(lanes.epoch), np.concatenate(curves)


def _stack_rows(partitions: Sequence[Partition], selects: bool) -> _Rows:
    """Return the rows of all runs, stacked along the first axis."""
    columns: list[list[FloatArray]] = [[], [], [], []]
    for partition in partitions:
        X, y = partition.training_rows(selects)
        X_monitored, y_monitored = partition.monitored_rows(selects) or (X[:0], y[:0])
        K = partition.n_classes
        parts = (X, _targets(y, K), X_monitored, _targets(y_monitored, K))
        for column, part in zip(columns, parts, strict=True):
            column.append(part)
    return _Rows(*(jnp.asarray(np.stack(column), jnp.float32) for column in columns))


def _targets(y: Array, n_classes: int) -> FloatArray:
    """Return class indices as one-hot rows, and other targets as a column."""
    return np.eye(n_classes)[y] if n_classes else y[:, None]
