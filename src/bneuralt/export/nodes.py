"""The nodes of a tree one by one, for generators of straight-line code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bneuralt._typing import FloatArray
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import NAMES

__all__ = ["Node", "activation_parameters", "nodes_of"]


class Node(NamedTuple):
    """One function node.

    Attributes
    ----------
    position : int
        Its position in the tree; outputs come first.
    activation : str
    parameters : tuple of float
        Those of the activation.
    bias : float
    leaves, children : tuple of (float, int)
        Weights and inputs, weights and positions of nodes.
    """

    position: int
    activation: str
    parameters: tuple[float, ...]
    bias: float
    leaves: tuple[tuple[float, int], ...]
    children: tuple[tuple[float, int], ...]


def nodes_of(tree: NeuralTree) -> Iterator[Node]:
    """Yield the nodes, each after its children.

    Examples
    --------
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> next(nodes_of(tree)).leaves
    ((2.0, 0), (-1.0, 1))
    """
    k, phi = tree.n_outputs, activation_parameters(tree)
    phi_start, child_start = tree.activation_parameter_start, tree.child_start
    leaf_weights, leaf_inputs = tree.leaf_weight, tree.leaf_input
    for j in range(tree.parent.size - 1, -1, -1):
        leaves = slice(tree.leaf_start[j], tree.leaf_start[j + 1])
        first, last = int(child_start[j]), int(child_start[j + 1])
        weights = tree.edge[first - k : last - k].tolist()
        yield Node(
            j,
            NAMES[tree.activation[j]],
            tuple(phi[phi_start[j] : phi_start[j + 1]].tolist()),
            float(tree.bias[j]),
            tuple(zip(leaf_weights[leaves].tolist(), leaf_inputs[leaves].tolist(), strict=True)),
            tuple(zip(weights, range(first, last), strict=True)),
        )


def activation_parameters(tree: NeuralTree) -> FloatArray:
    """Return the parameters of the activations of all nodes, also where they are trained."""
    n = tree.structure.n_weights
    values: FloatArray = (
        tree.parameters[n:] if tree.trains_activations else tree.activation_parameters
    )
    return values
