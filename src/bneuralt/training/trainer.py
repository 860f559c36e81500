"""Training a tree: one call for every estimator and experiment.

The loop itself (epochs, batches, selection, stopping) is compiled; this module checks what goes
in, and gives names to what comes out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt.training.losses import NAMES as LOSSES
from bneuralt.training.losses import check_loss
from bneuralt.training.optimizers import Adam, Optimizer, get_optimizer
from bneuralt.tree.neural_tree import NeuralTree

__all__ = [
    "EpochState",
    "OptimizerState",
    "TrainingDiverged",
    "TrainingInterrupted",
    "TrainingResult",
    "TrainingSettings",
    "epoch_order",
    "gradient",
    "train",
]

Scaling = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class TrainingSettings:
    """How a tree is trained.

    Parameters
    ----------
    loss : {"cross_entropy", "squared_error"}
        Softmax cross-entropy needs two or more linear outputs. Squared error is half the sum of
        squares, through whatever activation the outputs have; classes count as 0 or 1.
    label_smoothing : float
        Cross-entropy only: this share of each row's target is spread over all classes.
    optimizer : Optimizer or str
        One of `bneuralt.training.optimizers`, or its name.
    learning_rate : float
    schedule : {"cosine", "constant"}
        Cosine: the rate falls from `learning_rate` to 0 over all updates.
    weight_decay : float
        Before each update, edge and leaf weights (not biases) shrink by `rate * weight_decay`.
    clip_norm : float or None
        Gradients longer than this are shortened to it.
    batch_size : int or None
        Rows per update: 1 is the paper's online training, None takes all rows.
    max_epochs : int
    select : {None, "epoch", "update"}
        Give back the weights that did best on the validation rows, looked at after every epoch
        or after every single update; None gives back the last ones.
    monitor : {"loss", "error"}
        What "best" means; error is the error rate, or the mean squared error.
    patience : int or None
        With ``select="epoch"``: stop after this many epochs without a new best.
    repeat_first_row : bool
        One more update, on row 0, at the end of every epoch, as the paper's program made.

    Examples
    --------
    >>> from bneuralt.training.trainer import TrainingSettings
    >>> TrainingSettings(optimizer="rmsprop").optimizer
    RMSprop(beta=0.9, epsilon=1e-08)
    """

    loss: str = "cross_entropy"
    label_smoothing: float = 0.0
    optimizer: Optimizer | str = field(default_factory=Adam)
    learning_rate: float = 0.02
    schedule: str = "cosine"
    weight_decay: float = 0.0
    clip_norm: float | None = None
    batch_size: int | None = 16
    max_epochs: int = 100
    select: str | None = None
    monitor: str = "loss"
    patience: int | None = None
    repeat_first_row: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "optimizer", get_optimizer(self.optimizer))
        self._check_one_of("loss", LOSSES)
        self._check_one_of("schedule", ("cosine", "constant"))
        self._check_one_of("select", (None, "epoch", "update"))
        self._check_one_of("monitor", ("loss", "error"))
        self._check_number("label_smoothing", 0 <= self.label_smoothing < 1, "in [0, 1)")
        self._check_number("learning_rate", 0 < self.learning_rate < np.inf, "above 0")
        self._check_number("weight_decay", 0 <= self.weight_decay < np.inf, "0 or above")
        self._check_number("clip_norm", self.clip_norm is None or self.clip_norm > 0, "above 0")
        self._check_number("batch_size", self.batch_size is None or self.batch_size >= 1, ">= 1")
        self._check_number("max_epochs", self.max_epochs >= 0, "0 or above")
        self._check_number("patience", self.patience is None or self.patience >= 1, ">= 1")

    def _check_one_of(self, name: str, allowed: tuple[str | None, ...]) -> None:
        value = getattr(self, name)
        if value not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {value!r}")

    def _check_number(self, name: str, valid: bool, wanted: str) -> None:
        if not valid:
            raise ValueError(f"{name} must be {wanted}, got {getattr(self, name)!r}")

    def for_core(self, seed: int, n_threads: int) -> dict[str, Any]:
        """The settings as the compiled core takes them."""
        assert isinstance(self.optimizer, Optimizer)
        return {
            "loss": self.loss,
            "label_smoothing": self.label_smoothing,
            "optimizer": self.optimizer.name,
            **asdict(self.optimizer),
            "learning_rate": self.learning_rate,
            "schedule": self.schedule,
            "weight_decay": self.weight_decay,
            "clip_norm": self.clip_norm or 0.0,
            "batch_size": self.batch_size or 0,
            "max_epochs": self.max_epochs,
            "select": self.select or "never",
            "monitor": self.monitor,
            "patience": self.patience or 0,
            "repeat_first_row": self.repeat_first_row,
            "seed": seed,
            "n_threads": n_threads,
        }


@dataclass(frozen=True)
class EpochState:
    """What a callback is told after each epoch; errors are error rates or mean squared errors.

    `tree` is the tree as it is then, for scaled inputs where `train` was given a scaling.
    """

    # made when it is asked for: most callbacks never do
    _make_tree: Callable[[], NeuralTree] = field(repr=False, compare=False)

    epoch: int
    max_epochs: int
    train_loss: float
    train_error: float
    val_loss: float
    val_error: float
    learning_rate: float
    seconds: float

    @property
    def tree(self) -> NeuralTree:
        """The tree after this epoch."""
        return self._make_tree()


@dataclass(frozen=True)
class OptimizerState:
    """What an optimizer remembers between two calls of `train`."""

    values: np.ndarray
    step: int


@dataclass(frozen=True)
class TrainingResult:
    """A trained tree, and how it came about.

    `history` holds one array per quantity (train_loss, train_error, val_loss, val_error,
    learning_rate) with one number per epoch; the training figures are running means over the
    updates of the epoch. `best_epoch` is the epoch whose weights were selected, if any were.
    `status` is "completed", "early_stopped", "callback", "diverged" or "interrupted".
    """

    tree: NeuralTree
    history: dict[str, np.ndarray]
    best_epoch: int | None
    n_epochs: int
    status: str
    optimizer_state: OptimizerState
    seconds: float


class TrainingDiverged(RuntimeWarning):
    """The weights overflowed; the last finite ones were kept."""


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C during training; `result` has the best weights so far."""

    def __init__(self, result: TrainingResult) -> None:
        super().__init__("training was interrupted")
        self.result = result


_HISTORY = ("train_loss", "train_error", "val_loss", "val_error", "learning_rate")


def train(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    *,
    settings: TrainingSettings,
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    validation: tuple[ArrayLike, ...] | None = None,
    input_scaling: Scaling | None = None,
    n_threads: int = 1,
    callback: Callable[[EpochState], Any] | None = None,
    optimizer_state: OptimizerState | None = None,
) -> TrainingResult:
    """Train a tree by backpropagation.

    Parameters
    ----------
    tree : NeuralTree
        Its structure and starting weights; its dtype is the one computed in.
    X : array of shape (n_rows, n_inputs)
        float64, float32 and uint8 arrays are read as they are, never copied.
    y : array of shape (n_rows,)
        Class numbers 0 to K - 1 for a tree of K outputs, numbers for a tree of one.
    settings : TrainingSettings
    seed : int
        Decides the order of the rows. The same seed gives the same weights, bit for bit,
        whatever `n_threads` is.
    sample_weight : array of shape (n_rows,), optional
        The gradient of a batch is the mean of `weight * gradient` over its rows.
    validation : tuple (X, y) or (X, y, sample_weight), optional
        Rows that are never trained on.
    input_scaling : tuple (offset, factor), optional
        The tree sees `(x - offset) * factor`, for all rows. The result is a tree for scaled
        inputs: `tree.with_input_scaling` turns it into one for raw inputs.
    n_threads : int
        Threads for mini-batches; online training uses one.
    callback : callable, optional
        Called with an `EpochState` after each epoch; anything true ends the training.
    optimizer_state : OptimizerState, optional
        Go on where an earlier call ended.

    Returns
    -------
    TrainingResult

    Warns
    -----
    TrainingDiverged
        If the weights overflowed.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree, TrainingSettings, train
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> tree = NeuralTree.random(1, 1, max_depth=2, output_activation="linear", random_state=0)
    >>> settings = TrainingSettings(loss="squared_error", max_epochs=200)
    >>> result = train(tree, X, np.sin(3 * X[:, 0]), settings=settings)
    >>> bool(result.history["train_loss"][-1] < 0.01)
    True
    """
    check_loss(settings.loss, tree.n_outputs, tree.output_activation)
    X = _as_rows(X, "X", tree)
    y = _as_targets(y, "y", tree)
    weight = _as_weights(sample_weight, "sample_weight", tree)
    X_val = y_val = weight_val = None
    if validation is not None:
        X_val = _as_rows(validation[0], "X_val", tree)
        y_val = _as_targets(validation[1], "y_val", tree)
        weight_val = _as_weights(validation[2] if len(validation) > 2 else None, "w_val", tree)
    offset, factor = _as_scaling(input_scaling, tree)
    started = time.perf_counter()

    def on_epoch(epoch: int, *told: Any) -> bool:
        assert callback is not None
        *numbers, parameters = told
        state = EpochState(
            lambda: tree.with_parameters(parameters),
            epoch,
            settings.max_epochs,
            **dict(zip(_HISTORY, numbers, strict=True)),
            seconds=time.perf_counter() - started,
        )
        return bool(callback(state))

    parameters, state, step, status, n_epochs, best_epoch, rows, error = tree._model.train(
        X, y, weight, X_val, y_val, weight_val, offset, factor,
        None if optimizer_state is None else optimizer_state.values,
        0 if optimizer_state is None else optimizer_state.step,
        settings.for_core(seed, n_threads),
        on_epoch if callback is not None else None,
    )  # fmt: skip
    columns = np.array(rows, dtype=np.float64).reshape(-1, len(_HISTORY)).T
    result = TrainingResult(
        tree=tree.with_parameters(parameters),
        history=dict(zip(_HISTORY, columns, strict=True)),
        best_epoch=best_epoch if best_epoch >= 0 else None,
        n_epochs=n_epochs,
        status=status,
        optimizer_state=OptimizerState(state, step),
        seconds=time.perf_counter() - started,
    )
    if isinstance(error, KeyboardInterrupt):
        raise TrainingInterrupted(result) from error
    if error is not None:
        raise error
    if status == "diverged":
        warnings.warn(
            f"the weights overflowed in epoch {n_epochs + 1}; the best finite weights before "
            "that were kept. A smaller learning_rate or a clip_norm helps",
            TrainingDiverged,
            stacklevel=2,
        )
    return result


def gradient(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str = "cross_entropy",
    label_smoothing: float = 0.0,
    sample_weight: ArrayLike | None = None,
    n_threads: int = 1,
) -> tuple[float, np.ndarray]:
    """Mean loss of some rows, and its gradient with respect to `tree.parameters`.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.training.trainer import gradient
    >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.5, 2.0])  # 0.5 + 2 x
    >>> gradient(tree, np.array([[1.0]]), [2.0], loss="squared_error")
    (0.125, array([0.5, 0.5]))
    """
    settings = TrainingSettings(loss=loss, label_smoothing=label_smoothing)
    return tree._model.gradient(
        _as_rows(X, "X", tree),
        _as_targets(y, "y", tree),
        _as_weights(sample_weight, "sample_weight", tree),
        settings.for_core(0, n_threads),
    )


def epoch_order(seed: int, epoch: int, n_rows: int) -> np.ndarray:
    """The order in which `train` takes the rows in an epoch.

    Examples
    --------
    >>> sorted(epoch_order(seed=0, epoch=3, n_rows=4).tolist())
    [0, 1, 2, 3]
    """
    return _core.epoch_order(seed, epoch, n_rows)


def _as_rows(X: ArrayLike, name: str, tree: NeuralTree) -> np.ndarray:
    X = np.asarray(X)
    if X.dtype not in (np.float64, np.float32, np.uint8):
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must be numbers, got dtype {X.dtype}") from error
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, it has {X.ndim}")
    X = np.ascontiguousarray(X)
    bad = _core.first_not_finite(X)
    if bad is not None:
        raise ValueError(
            f"{name} has the value {X[bad]} in row {bad[0]}, column {bad[1]}; inputs must be finite"
        )
    return X


def _as_targets(y: ArrayLike, name: str, tree: NeuralTree) -> np.ndarray:
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"{name} must have one dimension, it has {y.ndim}")
    if tree.n_outputs > 1:
        if y.dtype.kind not in "iub":
            raise TypeError(f"{name} must be class numbers (integers), got dtype {y.dtype}")
        return np.ascontiguousarray(y, dtype=np.int32)
    return _as_numbers(y, name, tree)


def _as_weights(weight: ArrayLike | None, name: str, tree: NeuralTree) -> np.ndarray | None:
    if weight is None:
        return None
    numbers = _as_numbers(np.asarray(weight), name, tree)
    if numbers.size and numbers.min() < 0:
        at = int(numbers.argmin())
        raise ValueError(f"{name}[{at}] is {numbers[at]}; weights cannot be negative")
    return numbers


def _as_numbers(values: np.ndarray, name: str, tree: NeuralTree) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):
            numbers = np.ascontiguousarray(values, dtype=tree.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers, got dtype {values.dtype}") from error
    finite = np.isfinite(numbers)
    if not finite.all():
        at = int(np.argmin(finite))
        raise ValueError(f"{name}[{at}] is {values[at]}, which is not finite in {tree.dtype}")
    return numbers


def _as_scaling(scaling: Scaling | None, tree: NeuralTree) -> tuple[Any, Any]:
    if scaling is None:
        return None, None
    shape = (tree.n_inputs,)
    pair = [np.broadcast_to(np.asarray(part, dtype=np.float64), shape) for part in scaling]
    for part, name in zip(pair, ("offset", "factor"), strict=True):
        if not np.isfinite(part).all():
            raise ValueError(f"input_scaling: {name} has a value that is not finite")
    return np.ascontiguousarray(pair[0]), np.ascontiguousarray(pair[1])
