"""Results of training, and the state that callbacks get after each epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from bneuralt import _core
from bneuralt._typing import FloatArray, IntArray
from bneuralt.tree.neural_tree import AnyTree, NeuralTree, grown
from bneuralt.warnings import TrainingDiverged

__all__ = [
    "HISTORY",
    "EpochState",
    "OptimizerState",
    "TrainingDiverged",
    "TrainingInterrupted",
    "TrainingResult",
]

#: The figures of an epoch, in the order of the core.
HISTORY = ("train_loss", "train_error", "val_loss", "val_error", "learning_rate")


@dataclass(frozen=True)
class EpochState:
    """State of a training after an epoch; errors are error rates or mean squared errors.

    `tree` is the tree after the epoch, for scaled inputs if `train` has a scaling. `job` is the
    position of the tree among those trained together, 0 for a single one.
    """

    # called at the first use of `tree`: most callbacks do not use it
    _make_tree: Callable[[], NeuralTree] = field(repr=False, compare=False)

    epoch: int
    max_epochs: int
    train_loss: float
    train_error: float
    val_loss: float
    val_error: float
    learning_rate: float
    seconds: float
    job: int = 0

    @property
    def tree(self) -> NeuralTree:
        """The tree after this epoch."""
        return self._make_tree()


@dataclass(frozen=True)
class OptimizerState:
    """Internal state of an optimizer, to continue a training."""

    values: FloatArray
    step: int


class TrainingResult:
    """A trained tree, with the course of its training.

    Attributes
    ----------
    tree, start : NeuralTree
        The trained tree, and the tree that was trained.
    history : dict of arrays
        One array per quantity (train_loss, train_error, val_loss, val_error, learning_rate) with
        one number per epoch; the training figures are running means over the updates of the epoch.
    best_epoch : int or None
        The epoch whose weights were selected, if any were.
    n_epochs : int
        Epochs completed.
    status : str
        "completed", "early_stopped", "callback", "diverged" or "interrupted".
    optimizer_state : OptimizerState
        To continue the training.
    seconds : float
        Time of this training alone.
    """

    def __init__(self, start: AnyTree, result: _core.Result) -> None:
        self._start = start
        self.status: str = result.status
        self.n_epochs: int = result.n_epochs
        self.best_epoch: int | None = result.best_epoch if result.best_epoch >= 0 else None
        self.seconds: float = result.seconds
        self._result = result

    @property
    def start(self) -> NeuralTree:
        """The tree that was trained."""
        return grown(self._start)

    @property
    def start_inputs(self) -> IntArray:
        """The input of each leaf before the training."""
        structure = self._result.structure
        return self.start.leaf_input if structure is None else structure.leaf_input

    # Made at first use: of many trees trained together, most are only compared by their scores.
    @cached_property
    def tree(self) -> NeuralTree:
        """The trained tree."""
        structure, parameters = self._result.structure, self._result.parameters
        shape = self.start if structure is None else NeuralTree.of_core(structure, parameters)
        return shape.with_leaf_inputs(self._result.leaf_input, parameters)

    @property
    def moves(self) -> IntArray:
        """The leaves that moved: rows of (epoch, leaf, input before, input after)."""
        return self._result.moves

    @property
    def figures(self) -> FloatArray:
        """Figures of each epoch, of shape (n_epochs, n_figures), in the order of `HISTORY`."""
        return self._result.history

    @cached_property
    def history(self) -> dict[str, FloatArray]:
        """Figures of each epoch, by name."""
        return dict(zip(HISTORY, self.figures.T, strict=True))

    @property
    def optimizer_state(self) -> OptimizerState:
        """State of the optimizer, to continue the training."""
        return OptimizerState(np.array(self._result.state), self._result.step)

    def __getstate__(self) -> dict[str, Any]:
        """Return numbers and arrays in place of the core's object, which cannot be pickled."""
        names = ("parameters", "state", "step", "history", "leaf_input", "moves")
        plain = {name: getattr(self._result, name) for name in names}
        result = SimpleNamespace(**plain, structure=None)
        return {**self.__dict__, "_start": self.start, "_result": result}

    def __repr__(self) -> str:
        return f"TrainingResult(status={self.status!r}, n_epochs={self.n_epochs})"


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C during training.

    `results` has all results so far: a tree whose status is "interrupted" has the best weights
    until then, or its initial weights.
    """

    def __init__(self, results: Sequence[TrainingResult]) -> None:
        super().__init__("training was interrupted")
        self.results = list(results)

    def __reduce__(self) -> tuple[Any, ...]:
        return TrainingInterrupted, (self.results,)

    @property
    def result(self) -> TrainingResult:
        """The first result; for a call of `train` the only one."""
        return self.results[0]
