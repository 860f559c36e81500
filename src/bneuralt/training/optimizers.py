"""Optimizers: their names and settings.

Each is a frozen dataclass that holds numbers only. With gradient g and learning rate eta
(which follows a schedule of its own, so it is not kept here), one update is

======================  ==============================================================
`GradientDescent`       theta -= eta g
`Momentum`              v = gamma v + eta g;  theta -= v
`Nesterov`              as momentum, with g taken at theta - gamma v
`Adagrad`               v += g^2;  theta -= eta g / sqrt(v + epsilon)
`RMSprop`               v = beta v + (1 - beta) g^2;  theta -= eta g / sqrt(v + epsilon)
`Adam`                  m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
                        theta -= eta m^ / sqrt(v^ + epsilon), with m^ = m / (1 - beta1^t)
                        and v^ = v / (1 - beta2^t) for update t = 1, 2, ...
`PaperAdam`             as Adam, but t = 1 for ever: the form behind the published results
======================  ==============================================================

`bneuralt.reference` has the same rules as readable code, the compiled core as fast code.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

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


@dataclass(frozen=True)
class Optimizer:
    """What all optimizers share: a name, and settings that are checked once."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "epsilon":
                valid, wanted = 0.0 < value < float("inf"), "a positive number"
            else:
                valid, wanted = 0.0 <= value < 1.0, "in [0, 1)"
            if not valid:
                raise ValueError(f"{type(self).__name__}: {field.name}={value!r} is not {wanted}")


@dataclass(frozen=True)
class GradientDescent(Optimizer):
    """Plain gradient descent."""

    name: ClassVar[str] = "gd"


@dataclass(frozen=True)
class Momentum(Optimizer):
    """Gradient descent with momentum `gamma`."""

    name: ClassVar[str] = "momentum"
    gamma: float = 0.9


@dataclass(frozen=True)
class Nesterov(Optimizer):
    """Nesterov's accelerated gradient: momentum with the gradient taken one step ahead."""

    name: ClassVar[str] = "nesterov"
    gamma: float = 0.9


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Rates scaled by the root of the sum of all squared gradients."""

    name: ClassVar[str] = "adagrad"
    epsilon: float = 1e-8


@dataclass(frozen=True)
class RMSprop(Optimizer):
    """Rates scaled by the root of a running mean of squared gradients."""

    name: ClassVar[str] = "rmsprop"
    beta: float = 0.9
    epsilon: float = 1e-8


@dataclass(frozen=True)
class Adam(Optimizer):
    """Running means of the gradient and of its square, both corrected for their start at 0.

    Examples
    --------
    >>> Adam(beta2=0.99)
    Adam(beta1=0.9, beta2=0.99, epsilon=1e-08)
    """

    name: ClassVar[str] = "adam"
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8


@dataclass(frozen=True)
class PaperAdam(Optimizer):
    """Adam that corrects every update as if it were the first, as the paper's results did."""

    name: ClassVar[str] = "adam_paper"
    beta1: float = 0.9
    beta2: float = 0.9
    epsilon: float = 1e-8


#: Every optimizer class by name.
OPTIMIZERS: dict[str, type[Optimizer]] = {
    cls.name: cls
    for cls in (GradientDescent, Momentum, Nesterov, Adagrad, RMSprop, Adam, PaperAdam)
}


def get_optimizer(optimizer: str | Optimizer) -> Optimizer:
    """Return an optimizer given its name, or the object itself.

    Parameters
    ----------
    optimizer : str or Optimizer
        A name stands for the optimizer with its default settings.

    Examples
    --------
    >>> get_optimizer("rmsprop")
    RMSprop(beta=0.9, epsilon=1e-08)
    """
    if isinstance(optimizer, Optimizer) and type(optimizer) is not Optimizer:
        return optimizer
    if isinstance(optimizer, str) and optimizer in OPTIMIZERS:
        return OPTIMIZERS[optimizer]()
    raise ValueError(
        f"optimizer={optimizer!r} is not known: choose one of {', '.join(OPTIMIZERS)}, "
        "or an object such as bneuralt.training.optimizers.Adam(beta2=0.99)"
    )
