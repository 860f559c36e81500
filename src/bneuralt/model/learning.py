"""The state of training of a fitted model: what further updates of its weights need."""

from __future__ import annotations

from dataclasses import dataclass

from bneuralt._typing import Array, FloatArray
from bneuralt.training.losses import Loss
from bneuralt.tree import NeuralTree

__all__ = ["Learning"]

#: (offset, factor): a raw value x becomes ``(x - offset) * factor``.
OffsetAndFactor = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Learning:
    """A tree as training left it, before scaling was folded into its weights.

    Attributes
    ----------
    tree : NeuralTree
        From scaled inputs to scaled outputs.
    loss : Loss
        That training minimised.
    inputs : tuple of two arrays, or None
        Offset and factor of each input; None if they are not scaled.
    targets : tuple of two arrays, or None
        Offset and factor of each target in training; None if they are not scaled.
    outputs : tuple of two arrays, or None
        Offset and factor whose inverse is applied to outputs. They are those of the targets,
        unless outputs are logarithms.
    signs : array of shape (n_parameters,), or None
        The sign that each weight must keep: 1, -1, or 0 for any.
    """

    tree: NeuralTree
    loss: Loss
    inputs: OffsetAndFactor | None = None
    targets: OffsetAndFactor | None = None
    outputs: OffsetAndFactor | None = None
    signs: Array | None = None
