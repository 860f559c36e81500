"""The paper's multilayer perceptron, trained as in Keras.

The network has one hidden layer and either a softmax output with cross-entropy or a sigmoid output
with the squared error. Each update uses one example. A compiled kernel does the work;
`bneuralt_paper.reference.train_mlp` is the same in plain Python.

The paper does not say which layers were penalised. With penalties on both layers nothing is learned
on any classification problem, while its tables show a mean accuracy of up to .743: here they apply
to the weights of the hidden layer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from bneuralt_paper import _mlp
from bneuralt_paper._typing import Array, FloatArray
from bneuralt_paper.experiments.definitions import MLPExperiment
from bneuralt_paper.experiments.protocols import Outcome, Partition, derive_seed

__all__ = ["initial_parameters", "predict", "run_mlp"]

_CURVES = ("train_loss", "train_error", "val_loss", "val_error")

Parameters = dict[str, FloatArray]


def run_mlp(
    experiment: MLPExperiment, partitions: Sequence[Partition], runs: Sequence[int]
) -> list[Outcome]:
    """Train one network for each run, and score them.

    Parameters
    ----------
    experiment : MLPExperiment
    partitions : sequence of Partition
        The rows of each run, all of the same problem and protocol.
    runs : sequence of int
        The numbers of the runs.
    """
    pairs = zip(partitions, runs, strict=True)
    return [_run(experiment, partition, run) for partition, run in pairs]


def _run(experiment: MLPExperiment, partition: Partition, run: int) -> Outcome:
    selects = experiment.stopping != "never"
    classify = partition.task == "classification"
    seed = derive_seed(run, "training", partition.name)
    start = time.perf_counter()
    parameters, curves = _train(experiment, partition, seed)
    seconds = time.perf_counter() - start

    def forward(X: FloatArray) -> Array:
        return predict(parameters, X, experiment.activation, classify)

    return Outcome(
        seed,
        partition.score(forward, selects),
        seconds,
        weights=sum(values.size for values in parameters.values()),
        epochs=len(curves),
        curves=_named(curves),
    )


def _named(curves: FloatArray) -> dict[str, list[float]]:
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
    rows: FloatArray = np.asarray(X, dtype=parameters["W1"].dtype)
    hidden: FloatArray = rows @ parameters["W1"] + parameters["b1"]
    hidden = _sigmoid(hidden) if activation == "sigmoid" else np.maximum(hidden, 0)
    output = hidden @ parameters["W2"].T + parameters["b2"]
    return np.argmax(output, axis=1) if classify else _sigmoid(output[:, 0])


def _sigmoid(z: FloatArray) -> FloatArray:
    result: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return result


def initial_parameters(seed: int, inputs: int, hidden: int, outputs: int) -> Parameters:
    """Draw initial weights as Keras does: Glorot uniform, with biases of 0.

    Examples
    --------
    >>> {name: values.shape for name, values in initial_parameters(0, 4, 100, 3).items()}
    {'W1': (4, 100), 'b1': (100,), 'W2': (3, 100), 'b2': (3,)}
    """
    rng = np.random.default_rng(seed)

    def glorot(shape: tuple[int, int]) -> FloatArray:
        limit = (6.0 / sum(shape)) ** 0.5
        return rng.uniform(-limit, limit, shape).astype(np.float32)

    return {
        "W1": glorot((inputs, hidden)),
        "b1": np.zeros(hidden, np.float32),
        "W2": glorot((outputs, hidden)),
        "b2": np.zeros(outputs, np.float32),
    }


def _train(
    experiment: MLPExperiment, partition: Partition, seed: int
) -> tuple[Parameters, FloatArray]:
    """Return the selected weights, and the curves: one row for each epoch."""
    selects = experiment.stopping != "never"
    X, y = partition.training_rows(selects)
    X_monitored, y_monitored = partition.monitored_rows(selects) or (X[:0], y[:0])
    target_type = np.int32 if partition.n_classes else np.float32
    start = initial_parameters(seed, X.shape[1], experiment.hidden, partition.n_classes or 1)
    *parameters, curves = _mlp.train_mlp(
        **start,
        X=np.ascontiguousarray(X, np.float32),
        y=np.ascontiguousarray(y, target_type),
        X_monitored=np.ascontiguousarray(X_monitored, np.float32),
        y_monitored=np.ascontiguousarray(y_monitored, target_type),
        activation=experiment.activation,
        optimizer=experiment.optimizer,
        learning_rate=experiment.learning_rate,
        penalty=experiment.penalty,
        dropout=experiment.dropout_rate,
        stopping=experiment.stopping,
        patience=experiment.patience,
        max_epochs=experiment.max_epochs,
        seed=seed,
    )
    return dict(zip(start, parameters, strict=True)), curves
