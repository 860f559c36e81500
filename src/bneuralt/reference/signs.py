"""Signs that weights must have for effects to be monotone."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.reference.nodes import Node
from bneuralt.tree.monotonic import Signs

__all__ = ["require_signs", "wanted_signs"]


def wanted_signs(outputs: list[Node], n_parameters: int, signs: Signs | None) -> FloatArray:
    """Return the sign that each weight must have, 0 for any."""
    wanted = np.zeros(n_parameters)
    if signs is not None:
        for k, output in enumerate(outputs):
            require_signs(output, int(signs.node[k]), signs, wanted)
    return wanted


def require_signs(node: Node, effect: int, signs: Signs, wanted: FloatArray) -> None:
    """Write down the signs of the weights below a neuron whose effect on the prediction is known.

    Parameters
    ----------
    node : Node
    effect : int
        The product of the signs from the prediction down to this neuron.
    signs : Signs
    wanted : array
        Where the sign of each weight is written.
    """
    for child in node.children:
        if child.is_leaf:
            wanted[child.weight_at] = effect * signs.input[child.input]
        else:
            own = int(signs.node[child.bias_at])
            wanted[child.weight_at] = own
            require_signs(child, effect * own, signs, wanted)
