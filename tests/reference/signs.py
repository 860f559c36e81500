"""Signs that weights must have for effects to be monotone."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.tree.monotonic import Signs
from tests.reference.tree_nodes import TreeNode

__all__ = ["require_signs", "weight_signs"]


def weight_signs(outputs: list[TreeNode], n_parameters: int, signs: Signs | None) -> FloatArray:
    """Return the sign that each weight must have, 0 for any."""
    required = np.zeros(n_parameters)
    if signs is not None:
        for k, output in enumerate(outputs):
            require_signs(output, int(signs.node[k]), signs, required)
    return required


def require_signs(node: TreeNode, effect: int, signs: Signs, required: FloatArray) -> None:
    """Store the required signs of the weights below a neuron.

    Parameters
    ----------
    node : TreeNode
    effect : int
        The product of the signs from the prediction down to this neuron.
    signs : Signs
    required : array
        Receives the sign of each weight.
    """
    for child in node.children:
        if child.is_leaf:
            required[child.weight_at] = effect * signs.input[child.input]
        else:
            node_sign = int(signs.node[child.bias_at])
            required[child.weight_at] = node_sign
            require_signs(child, effect * node_sign, signs, required)
