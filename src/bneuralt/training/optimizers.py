"""Optimizers: their names and parameters.

The compiled core registers them. Each is a class here that only holds numbers, such as
``Adam(beta2=0.99)``. The learning rate is a separate setting, because it follows a schedule.
`tests/reference` has the same rules as readable code.
"""

from __future__ import annotations

from typing import Any

from bneuralt import _core
from bneuralt.registry import Registered, classes_of, find

__all__ = [
    "OPTIMIZERS",
    "Adagrad",
    "Adam",
    "GradientDescent",
    "Momentum",
    "Nesterov",
    "Optimizer",
    "PaperAdam",
    "RMSprop",
    "get_optimizer",
]


class Optimizer(Registered):
    """An optimizer with values for its parameters.

    Examples
    --------
    >>> Adam(beta2=0.99)
    Adam(beta1=0.9, beta2=0.99, epsilon=1e-08)
    """

    @property
    def n_state(self) -> int:
        """Number of state values for each weight."""
        return self.entry.n_state


#: Every optimizer class by name.
OPTIMIZERS: dict[str, type[Optimizer]] = classes_of(_core.optimizers(), Optimizer, __name__)
globals().update({cls.__name__: cls for cls in OPTIMIZERS.values()})

# Those of the paper by name, for readers and type checkers.
GradientDescent = OPTIMIZERS["gd"]
Momentum = OPTIMIZERS["momentum"]
Nesterov = OPTIMIZERS["nesterov"]
Adagrad = OPTIMIZERS["adagrad"]
RMSprop = OPTIMIZERS["rmsprop"]
Adam = OPTIMIZERS["adam"]
PaperAdam = OPTIMIZERS["adam_paper"]


def get_optimizer(optimizer: str | Optimizer | dict[str, Any]) -> Optimizer:
    """Return an optimizer given its name, or the object itself.

    Parameters
    ----------
    optimizer : str, Optimizer or dict
        A name stands for the optimizer with its default parameters, a dict of `Optimizer.to_dict`
        for the optimizer with these parameters.

    Examples
    --------
    >>> get_optimizer("rmsprop")
    RMSprop(beta=0.9, epsilon=1e-08)
    """
    return find(OPTIMIZERS, Optimizer, optimizer, "optimizer")
