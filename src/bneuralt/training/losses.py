"""Loss functions: their names, values, and derivatives.

A loss compares the K outputs of a tree with a row of K targets: the one-hot row of the class,
or the single number to predict. Its gradient is taken with respect to the outputs, so that
the error term of an output node is `gradient * phi'(output)` whatever its activation phi.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["LOSSES", "NAMES", "Loss", "check_loss", "one_hot", "softmax"]


def softmax(outputs: np.ndarray) -> np.ndarray:
    """Turn linear outputs into class probabilities along the last axis.

    Examples
    --------
    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    e = np.exp(outputs - np.max(outputs, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def _log_softmax(outputs: np.ndarray) -> np.ndarray:
    shifted = outputs - np.max(outputs, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def one_hot(y: np.ndarray, n_classes: int, label_smoothing: float = 0.0) -> np.ndarray:
    """Rows of targets for class indices: `(1 - s) * onehot + s / K`.

    Examples
    --------
    >>> one_hot(np.array([0, 2]), 3)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    exact = np.eye(n_classes)[np.asarray(y)]
    return (1.0 - label_smoothing) * exact + label_smoothing / n_classes


@dataclass(frozen=True)
class Loss:
    """One loss function.

    Attributes
    ----------
    name : str
        Its name, as users write it.
    value : callable
        (outputs, targets), both (..., K) -> loss of each row.
    gradient : callable
        (outputs, targets) -> derivative of the row's loss with respect to its outputs.

    Examples
    --------
    >>> LOSSES["squared_error"].gradient(np.array([0.75]), np.array([1.0]))
    array([-0.25])
    """

    name: str
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray, np.ndarray], np.ndarray]


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss(
            "squared_error",
            lambda outputs, targets: 0.5 * np.sum(np.square(outputs - targets), axis=-1),
            lambda outputs, targets: outputs - targets,
        ),
        Loss(
            "cross_entropy",
            lambda outputs, targets: -np.sum(targets * _log_softmax(outputs), axis=-1),
            lambda outputs, targets: softmax(outputs) - targets,
        ),
    )
}

NAMES: tuple[str, ...] = tuple(LOSSES)


def check_loss(
    name: str, n_outputs: int, output_activation: str, label_smoothing: float = 0.0
) -> Loss:
    """Return the loss called `name`, if it fits a tree with such outputs.

    Parameters
    ----------
    name : str
        "squared_error" or "cross_entropy".
    n_outputs : int
        Number of outputs of the tree; cross-entropy needs two or more.
    output_activation : str
        Activation of the output nodes; cross-entropy puts its own softmax on linear ones.
    label_smoothing : float
        Share of the target spread evenly over the classes, in [0, 1); cross-entropy only.

    Examples
    --------
    >>> check_loss("cross_entropy", 3, "linear").name
    'cross_entropy'
    """
    if name not in LOSSES:
        raise ValueError(f"loss={name!r} is not known: choose one of {', '.join(NAMES)}")
    if name == "cross_entropy" and n_outputs < 2:
        raise ValueError(
            "loss='cross_entropy' needs a classification tree (n_outputs >= 2), this one has "
            f"n_outputs={n_outputs}: use loss='squared_error'"
        )
    if name == "cross_entropy" and output_activation != "linear":
        raise ValueError(
            "loss='cross_entropy' needs linear output nodes, these are "
            f"{output_activation!r}: draw the tree with output_activation='linear', "
            "or use loss='squared_error'"
        )
    if not 0.0 <= label_smoothing < 1.0:
        raise ValueError(f"label_smoothing={label_smoothing!r} is not in [0, 1)")
    if label_smoothing and name != "cross_entropy":
        raise ValueError(
            f"label_smoothing={label_smoothing!r} goes with loss='cross_entropy' only, not with "
            f"loss={name!r}: use 0"
        )
    return LOSSES[name]
