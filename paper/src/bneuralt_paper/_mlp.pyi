"""Training of the paper's multilayer perceptrons."""

from typing import Any

import numpy
import numpy.typing


def engines() -> list[str]:
    """Return the instruction sets that this processor runs, widest first."""

def use_engine(name: str) -> None:
    """Use another instruction set; 'auto' is the widest."""

def train_mlp(W1: numpy.typing.NDArray[numpy.float32], b1: numpy.typing.NDArray[numpy.float32], W2: numpy.typing.NDArray[numpy.float32], b2: numpy.typing.NDArray[numpy.float32], X: numpy.typing.NDArray[numpy.float32], y: numpy.typing.NDArray[Any], X_monitored: numpy.typing.NDArray[numpy.float32], y_monitored: numpy.typing.NDArray[Any], activation: str, optimizer: str, learning_rate: float, penalty: float, dropout: float, stopping: str, patience: int, max_epochs: int, seed: int) -> tuple[numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.float64]]:
    """
    Train a perceptron with one hidden layer; return W1, b1, W2, b2 and the curves.

    Targets are class labels or values. The columns of the curves are the loss and the error of the training rows, and those of the monitored rows, after each epoch.
    """
