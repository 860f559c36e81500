"""Naive twin of the compiled training of multilayer perceptrons with one hidden layer.

    h = phi(x W1 + b1),   o = W2 h + b2,   and either the cross-entropy of softmax(o) for a class
    or (sigmoid(o) - y)^2 for a number, plus a penalty on W1

Every update takes the gradient of one example. Optimizers have the formulas of Keras, which differ
from those of `tests.reference.optimizers` in the place of epsilon and in Nesterov's rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bneuralt_paper._typing import FloatArray

__all__ = ["MLP", "MLPOptimizer", "train_mlp"]

MLPParameters = dict[str, FloatArray]


class MLP:
    """A network: its forward pass, loss and gradient.

    Parameters
    ----------
    parameters : dict of str to array
        ``W1`` (inputs, hidden), ``b1``, ``W2`` (outputs, hidden) and ``b2``.
    activation : {"sigmoid", "relu"}
        That of the hidden units.
    classify : bool
        Whether targets are class indices.
    penalty : float
        The factor of the sum of ``|w| + w**2`` over ``W1``.
    """

    def __init__(
        self, parameters: MLPParameters, activation: str, classify: bool, penalty: float
    ) -> None:
        self.parameters: MLPParameters = {
            name: np.array(values, dtype=np.float64) for name, values in parameters.items()
        }
        self.activation, self.classify, self.penalty = activation, classify, penalty

    def hidden(self, x: FloatArray) -> FloatArray:
        """Return the values of the hidden units."""
        z = x @ self.parameters["W1"] + self.parameters["b1"]
        return _sigmoid(z) if self.activation == "sigmoid" else np.maximum(z, 0.0)

    def outputs(self, h: FloatArray) -> FloatArray:
        """Return the outputs before softmax or sigmoid."""
        result: FloatArray = self.parameters["W2"] @ h + self.parameters["b2"]
        return result

    def loss_and_error(self, x: FloatArray, y: float) -> tuple[float, float]:
        """Return the loss of an example without the penalty, and its error."""
        o = self.outputs(self.hidden(x))
        if self.classify:
            return -float(np.log(_softmax(o)[int(y)])), float(np.argmax(o) != y)
        squared = float((_sigmoid(o)[0] - y) ** 2)
        return squared, squared

    def penalty_term(self) -> float:
        """Return the penalty on the weights of the hidden layer."""
        W1 = self.parameters["W1"]
        return self.penalty * float(np.sum(np.abs(W1) + W1**2))

    def mean_loss_and_error(self, X: FloatArray, y: FloatArray) -> tuple[float, float]:
        """Return the mean loss with the penalty, and the mean error; NaN without rows."""
        if len(X) == 0:
            return math.nan, math.nan
        pairs = [self.loss_and_error(*row) for row in zip(X, y, strict=True)]
        loss, error = np.mean(pairs, axis=0)
        return float(loss) + self.penalty_term(), float(error)

    def gradient(self, x: FloatArray, y: float, kept: FloatArray) -> MLPParameters:
        """Return the gradient of one example.

        `kept` are the factors of the hidden units: 1, or those of dropout.
        """
        W1, W2 = self.parameters["W1"], self.parameters["W2"]
        h = self.hidden(x)
        slope = h * (1 - h) if self.activation == "sigmoid" else (h > 0).astype(np.float64)
        o = self.outputs(h * kept)
        if self.classify:
            delta = _softmax(o) - np.eye(len(o))[int(y)]
        else:
            s = _sigmoid(o)
            delta = 2 * (s - y) * s * (1 - s)
        back = (W2.T @ delta) * kept * slope
        return {
            "W1": np.outer(x, back) + self.penalty * (np.sign(W1) + 2 * W1),
            "b1": back,
            "W2": np.outer(delta, h * kept),
            "b2": delta,
        }


class MLPOptimizer:
    """One of the six optimizers, with Keras' formulas and constants; it changes parameters."""

    def __init__(self, name: str, learning_rate: float, parameters: MLPParameters) -> None:
        self.name, self.rate, self.t = name, learning_rate, 0
        start = 0.1 if name == "adagrad" else 0.0
        self.m = {name: np.zeros_like(values) for name, values in parameters.items()}
        self.v = {name: np.full_like(values, start) for name, values in parameters.items()}

    def update(self, parameters: MLPParameters, gradient: MLPParameters) -> None:
        """Move the parameters by one step."""
        self.t += 1
        for name, g in gradient.items():
            parameters[name] += self._step(g, self.m[name], self.v[name])

    def _step(self, g: FloatArray, m: FloatArray, v: FloatArray) -> Any:
        rate, epsilon = self.rate, 1e-7
        match self.name:
            case "gd":
                return -rate * g
            case "momentum":
                m[:] = 0.9 * m - rate * g
                return m
            case "nesterov":
                m[:] = 0.9 * m - rate * g
                return 0.9 * m - rate * g
            case "adagrad":
                v += g**2
                return -rate * g / np.sqrt(v + epsilon)
            case "rmsprop":
                v[:] = 0.9 * v + 0.1 * g**2
                return -rate * g / (np.sqrt(v) + epsilon)
            case "adam":
                m[:] = 0.9 * m + 0.1 * g
                v[:] = 0.999 * v + 0.001 * g**2
                corrected = rate * math.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
                return -corrected * m / (np.sqrt(v) + epsilon)
        raise ValueError(f"optimizer={self.name!r} is not one of the paper's six optimizers")


def train_mlp(
    parameters: MLPParameters,
    X: ArrayLike,
    y: ArrayLike,
    X_monitored: ArrayLike,
    y_monitored: ArrayLike,
    *,
    order: Sequence[Sequence[int]],
    activation: str,
    classify: bool,
    optimizer: str,
    learning_rate: float,
    penalty: float = 0.0,
    kept: FloatArray | None = None,
    stopping: str = "never",
    patience: int = 50,
) -> tuple[MLPParameters, FloatArray]:
    """Train a network, one example per update.

    Parameters
    ----------
    parameters : dict of str to array
        The start, see `MLP`.
    X, y, X_monitored, y_monitored : arrays
        Rows to train on, and rows to measure only.
    order : sequence of sequences of int
        For every epoch, the rows in the order in which they are used.
    activation, classify, penalty
        See `MLP`.
    optimizer : {"gd", "momentum", "nesterov", "adagrad", "rmsprop", "adam"}
    learning_rate : float
    kept : array of shape (n_updates, hidden), optional
        The factors of the hidden units in each update: 0 where dropout drops them.
    stopping : {"never", "patience", "epoch", "update"}
        "never" returns the weights of the last epoch; "patience" stops when the monitored loss has
        not improved for `patience` epochs, and returns the best ones; "epoch" and "update" return
        those with the lowest monitored error after an epoch or an update.
    patience : int

    Returns
    -------
    parameters : dict of str to array
    curves : array of shape (n_epochs, 4)
        Loss and error of the training rows, and of the monitored rows, after each epoch.

    Examples
    --------
    >>> zeros = {"W1": np.zeros((1, 1)), "b1": np.zeros(1), "W2": np.zeros((1, 1)),
    ...          "b2": np.zeros(1)}
    >>> rows = np.ones((1, 1)), np.ones(1)
    >>> trained, curves = train_mlp(zeros, *rows, *rows, order=[[0]], activation="sigmoid",
    ...                             classify=False, optimizer="gd", learning_rate=0.4)
    >>> trained["b2"], trained["W2"]
    (array([0.1]), array([[0.05]]))
    """
    rows = np.asarray(X, np.float64), np.asarray(y, np.float64)
    monitored = np.asarray(X_monitored, np.float64), np.asarray(y_monitored, np.float64)
    net = MLP(parameters, activation, classify, penalty)
    rule = MLPOptimizer(optimizer, learning_rate, net.parameters)
    everything = np.ones(len(net.parameters["b1"]))
    best_value, best, waited, curves = math.inf, _copy(net.parameters), 0, []
    for epoch in order:
        for i in epoch:
            factors = everything if kept is None else kept[rule.t]
            rule.update(net.parameters, net.gradient(rows[0][i], rows[1][i], factors))
            if stopping == "update":
                _, value = net.mean_loss_and_error(*monitored)
                if value < best_value:
                    best_value, best = value, _copy(net.parameters)
        curves.append((*net.mean_loss_and_error(*rows), *net.mean_loss_and_error(*monitored)))
        if stopping in ("patience", "epoch"):
            value = curves[-1][2 if stopping == "patience" else 3]
            waited += 1
            if value < best_value:
                best_value, best, waited = value, _copy(net.parameters), 0
        if stopping == "patience" and waited >= patience:
            break
    return net.parameters if stopping == "never" else best, np.array(curves)


def _copy(parameters: MLPParameters) -> MLPParameters:
    return {name: values.copy() for name, values in parameters.items()}


def _sigmoid(z: FloatArray) -> FloatArray:
    result: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * z))
    return result


def _softmax(o: FloatArray) -> FloatArray:
    powers = np.exp(o - o.max())
    result: FloatArray = powers / powers.sum()
    return result
