"""The arrays of a tree before they are checked, and the number of its weights."""

from __future__ import annotations

from typing import Any, NamedTuple

from bneuralt._typing import FloatArray, IntArray

__all__ = ["TreeArrays", "n_weights"]


class TreeArrays(NamedTuple):
    """The arrays of a `NeuralTree`, in the order of its parameters."""

    n_inputs: int
    n_outputs: int
    parent: IntArray
    activation: IntArray
    leaf_parent: IntArray
    leaf_input: IntArray
    parameters: FloatArray
    activation_parameters: Any = None
    trains_activations: bool = False


def n_weights(n_nodes: int, n_outputs: int, n_leaves: int) -> int:
    """Return the number of weights of a tree: biases, edges and leaves.

    Every function node has a bias, every one but the outputs an edge to its parent, and every leaf
    a weight.

    Examples
    --------
    >>> n_weights(n_nodes=3, n_outputs=1, n_leaves=4)
    9
    """
    return 2 * n_nodes - n_outputs + n_leaves
