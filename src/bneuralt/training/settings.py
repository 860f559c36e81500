"""How a tree is trained: `TrainingSettings`."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bneuralt import _core
from bneuralt.training.losses import CrossEntropy, Loss, get_loss
from bneuralt.training.optimizers import Adam, Optimizer, get_optimizer

__all__ = ["TrainingSettings"]


@dataclass(frozen=True)
class TrainingSettings:
    """How a tree is trained.

    Parameters
    ----------
    loss : Loss or str
        One of `bneuralt.training.losses`, or its name.
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
    block_rows : int or None
        Take blocks of so many neighbouring rows together: the blocks are shuffled, and then the
        rows of 64 blocks at a time, so that a table in a file need not fit into memory. None
        shuffles all rows.
    max_epochs : int
    select : {None, "epoch", "update"}
        Return the weights that did best on the validation rows, scored after every epoch
        or after every single update; None returns the last ones.
    monitor : {"loss", "error"}
        What "best" means; error is the error rate, or the mean squared error.
    patience : int or None
        With ``select="epoch"``: stop after this many epochs without a new best.
    repeat_first_row : bool
        One more update, on row 0, at the end of every epoch, as the paper's program made.
    leaf_moves : int
        How often leaves move during the first half of the updates: those of the smallest weights
        are given the inputs that their nodes have most use for. 0: leaves stay where they are.
    moving_share : float
        Share of the leaves that move the first time; it falls to 0 along a cosine.

    Examples
    --------
    >>> from bneuralt.training import TrainingSettings
    >>> TrainingSettings(optimizer="rmsprop").optimizer
    RMSprop(beta=0.9, epsilon=1e-08)
    """

    loss: Loss | str = field(default_factory=CrossEntropy)
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
    leaf_moves: int = 0
    moving_share: float = 0.3
    block_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", get_loss(self.loss))
        object.__setattr__(self, "optimizer", get_optimizer(self.optimizer))
        self._check_one_of("schedule", ("cosine", "constant"))
        self._check_one_of("select", (None, "epoch", "update"))
        self._check_one_of("monitor", ("loss", "error"))
        self._check_number("learning_rate", "above 0", lambda x: x > 0)
        self._check_number("weight_decay", "0 or above", lambda x: x >= 0)
        if self.clip_norm is not None:
            self._check_number("clip_norm", "above 0", lambda x: x > 0)
        self._check_count("batch_size", 1, 2**62, optional=True)
        self._check_count("block_rows", 1, 2**31 - 1, optional=True)
        self._check_count("max_epochs", 0, 2**31 - 1)
        self._check_count("patience", 1, 2**31 - 1, optional=True)
        object.__setattr__(self, "repeat_first_row", bool(self.repeat_first_row))

    def _check_one_of(self, name: str, allowed: tuple[str | None, ...]) -> None:
        value = getattr(self, name)
        if value not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {value!r}")

    def _check_number(self, name: str, wanted: str, is_valid: Any) -> None:
        value = getattr(self, name)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a number, got {value!r}") from None
        if not (np.isfinite(number) and is_valid(number)):
            raise ValueError(f"{name} must be {wanted}, got {value!r}")
        object.__setattr__(self, name, number)

    def _check_count(self, name: str, least: int, most: int, optional: bool = False) -> None:
        value = getattr(self, name)
        if value is None and optional:
            return
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            count = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} must be a whole number, got {value!r}") from None
        if not least <= count <= most:
            raise ValueError(f"{name} must be between {least} and {most}, got {value!r}")
        object.__setattr__(self, name, count)

    @cached_property
    def for_core(self) -> _core.Settings:
        """The settings as the compiled core takes them."""
        assert isinstance(self.loss, Loss) and isinstance(self.optimizer, Optimizer)
        return _core.Settings(
            {
                "loss": self.loss.name,
                "loss_parameters": self.loss.numbers,
                "optimizer": self.optimizer.name,
                "optimizer_parameters": self.optimizer.numbers,
                "learning_rate": self.learning_rate,
                "schedule": self.schedule,
                "weight_decay": self.weight_decay,
                "clip_norm": self.clip_norm or 0.0,
                "batch_size": self.batch_size or 0,
                "block_rows": self.block_rows or 0,
                "max_epochs": self.max_epochs,
                "select": self.select or "never",
                "monitor": self.monitor,
                "patience": self.patience or 0,
                "repeat_first_row": self.repeat_first_row,
                "leaf_moves": self.leaf_moves,
                "moving_share": self.moving_share,
            }
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the core makes of the settings: it cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "for_core"}
