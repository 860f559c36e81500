"""Losses: what training minimises.

The compiled core registers them; each is a class here, and ``Huber(delta=0.5)`` is one with a
parameter of its own. A loss compares the K outputs of a tree with the class of a row, with K
numbers, or with a single number for all outputs (`Pinball`, one output for each quantile).
`bneuralt.reference` has the formulas with their derivatives.
"""

from __future__ import annotations

from typing import Any

from bneuralt import _core
from bneuralt.registry import Registered, classes_of, find

__all__ = [
    "LOSSES",
    "NAMES",
    "AbsoluteError",
    "BinaryCrossEntropy",
    "CrossEntropy",
    "Huber",
    "Loss",
    "Pinball",
    "Poisson",
    "SquaredError",
    "check_loss",
    "get_loss",
]


class Loss(Registered):
    """A loss with values for its parameters.

    Examples
    --------
    >>> CrossEntropy(label_smoothing=0.1)
    CrossEntropy(label_smoothing=0.1)
    """

    @property
    def compares(self) -> str:
        """What the outputs are compared with.

        "labels": class numbers; "values": one number for each output; "either" of the two;
        "shared": one number for all outputs.
        """
        return self.entry.compares


#: Every loss class by name.
LOSSES: dict[str, type[Loss]] = classes_of(_core.losses(), Loss, __name__)
globals().update({cls.__name__: cls for cls in LOSSES.values()})

# By name, for readers and type checkers.
SquaredError = LOSSES["squared_error"]
CrossEntropy = LOSSES["cross_entropy"]
AbsoluteError = LOSSES["absolute_error"]
Huber = LOSSES["huber"]
Pinball = LOSSES["pinball"]
Poisson = LOSSES["poisson"]
BinaryCrossEntropy = LOSSES["binary_cross_entropy"]

NAMES: tuple[str, ...] = tuple(LOSSES)


def get_loss(loss: str | Loss | dict[str, Any]) -> Loss:
    """Return a loss given its name, or the object itself.

    Examples
    --------
    >>> get_loss("huber")
    Huber(delta=1.0)
    """
    return find(LOSSES, Loss, loss, "loss")


def check_loss(loss: str | Loss, n_outputs: int, output_activation: str) -> Loss:
    """Return the loss, if it fits a tree with such outputs.

    Parameters
    ----------
    loss : str or Loss
    n_outputs : int
        Number of outputs of the tree.
    output_activation : str
        Activation of the output nodes.

    Examples
    --------
    >>> check_loss("cross_entropy", 3, "linear").name
    'cross_entropy'
    """
    loss = get_loss(loss)
    if loss.compares == "labels" and n_outputs < 2:
        raise ValueError(
            f"loss={loss.name!r} needs a classification tree (n_outputs >= 2), this one has "
            f"n_outputs={n_outputs}: use loss='squared_error'"
        )
    if loss.entry.needs_linear_outputs and output_activation != "linear":
        raise ValueError(
            f"loss={loss.name!r} needs linear output nodes, these are "
            f"{output_activation!r}: draw the tree with output_activation='linear', "
            "or use loss='squared_error'"
        )
    if loss.compares == "shared" and len(loss.numbers) != n_outputs:
        raise ValueError(
            f"{loss} needs one output for each of its {len(loss.numbers)} numbers, the tree has "
            f"n_outputs={n_outputs}"
        )
    return loss
