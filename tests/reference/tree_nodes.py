"""Trees as linked `TreeNode` objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from bneuralt.tree.activations import NAMES
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["TreeNode", "Vector", "build", "numbers"]

Vector = Sequence[float]


@dataclass
class TreeNode:
    """A node of the tree: a neuron, or a leaf, which has the value of an input.

    Attributes
    ----------
    children : list of TreeNode
        Empty for a leaf.
    activation : str
        Name of the activation of a neuron.
    input : int
        The input of a leaf.
    bias_at : int
        Place in theta of the bias of a neuron.
    weight_at : int
        Place in theta of the weight of the edge to the parent; an output has none.
    phi : list of float
        Parameters of the activation, where they are not trained.
    phi_at : int
        Place in theta of the first parameter of the activation; -1 if they are not trained.
    sum : float
        z, the weighted sum of the latest forward pass.
    value : float
        h, the value of the latest forward pass.
    delta : float
        The error term of a neuron of the latest backward pass.
    """

    children: list[TreeNode] = field(default_factory=list)
    activation: str = ""
    input: int = -1
    bias_at: int = -1
    weight_at: int = -1
    phi: list[float] = field(default_factory=list)
    phi_at: int = -1
    sum: float = 0.0
    value: float = 0.0
    delta: float = 0.0

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf."""
        return not self.children

    def parameters(self, theta: Vector) -> Vector:
        """Return the parameters of the activation."""
        return self.phi if self.phi_at < 0 else theta[self.phi_at : self.phi_at + len(self.phi)]


def build(tree: NeuralTree) -> list[TreeNode]:
    """Return the outputs of a tree, each a `TreeNode` with its whole subtree below it.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> len(build(NeuralTree.random(4, 3, random_state=0)))
    3
    """
    n_nodes, k = tree.parent.size, tree.n_outputs
    nodes: list[TreeNode] = []
    start, phi = tree.activation_parameter_start, numbers(tree.activation_parameters)
    for i, parent in enumerate(tree.parent):
        nodes.append(TreeNode(activation=NAMES[tree.activation[i]], bias_at=i))
        nodes[i].phi = phi[start[i] : start[i + 1]]
        if tree.trains_activations:
            nodes[i].phi_at = tree.n_parameters - len(phi) + int(start[i])
        if i >= k:
            nodes[i].weight_at = n_nodes + i - k
            nodes[parent].children.append(nodes[i])
    for j, parent in enumerate(tree.leaf_parent):
        leaf = TreeNode(input=int(tree.leaf_input[j]), weight_at=2 * n_nodes - k + j)
        nodes[parent].children.append(leaf)
    return nodes[:k]


def numbers(values: ArrayLike) -> list[float]:
    """Return an array as a list of Python floats."""
    values_as_list: list[float] = np.asarray(values, dtype=np.float64).tolist()
    return values_as_list
