"""Exact simplification: the same function of the inputs with fewer weights.

Four rules are applied from the leaves up to the outputs: leaves of the same input under one parent
are merged, leaves and edges of weight 0 are dropped, nodes that do not depend on any input become
part of their parent's bias, and linear nodes are replaced by their children. Outputs change by no
more than rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.tree.activations import EXPRESSIONS
from bneuralt.tree.neural_tree import NeuralTree
from bneuralt.tree.walk import outputs_above

__all__ = ["activation_values", "simplify"]


@dataclass
class _Node:
    """A function node with its remaining leaves and children."""

    bias: float
    leaves: dict[int, float] = field(default_factory=dict)  # input -> weight
    children: dict[int, float] = field(default_factory=dict)  # node -> weight of its edge

    @property
    def is_constant(self) -> bool:
        return not self.leaves and not self.children

    @property
    def is_finite(self) -> bool:
        numbers = [self.bias, *self.leaves.values(), *self.children.values()]
        return bool(np.isfinite(numbers).all())

    def with_contracted(self, child: int, below: _Node) -> _Node:
        """Return this node with the children of a linear child in place of the child."""
        edge = self.children[child]
        merged = _Node(self.bias + edge * below.bias, dict(self.leaves), dict(self.children))
        del merged.children[child]
        for leaf, weight in below.leaves.items():
            merged.leaves[leaf] = merged.leaves.get(leaf, 0.0) + edge * weight
        for grandchild, weight in below.children.items():
            merged.children[grandchild] = edge * weight
        merged.drop_zeros()
        return merged

    def drop_zeros(self) -> None:
        self.leaves = {leaf: weight for leaf, weight in self.leaves.items() if weight != 0.0}
        self.children = {child: weight for child, weight in self.children.items() if weight != 0.0}


def simplify(tree: NeuralTree, constants: Mapping[int, float] | None = None) -> NeuralTree:
    """Return a tree with fewer weights that computes the same outputs, up to rounding.

    Parameters
    ----------
    tree : NeuralTree
    constants : dict, optional
        Function nodes that are replaced by a constant, with its value. This is not exact; see
        `saturated_on` of the method `simplify` of estimators.

    Returns
    -------
    NeuralTree
        `tree` itself if there is nothing to remove. An output that does not depend on any input
        keeps one of its leaves, with weight 0, since every function node has a child.

    Examples
    --------
    ``1 + 2 * x0 + 3 * (x0 + 4)`` is a linear node below another one:

    >>> from bneuralt import NeuralTree
    >>> from bneuralt.tree.simplify import simplify
    >>> tree = NeuralTree(1, 1, [-1, 0], [0, 0], [0, 1], [0, 0], [1.0, 4.0, 3.0, 2.0, 1.0])
    >>> simplify(tree).parameters
    array([13.,  5.])
    """
    nodes = _simplified_nodes(tree, constants or {})
    for output, node in enumerate(nodes[: tree.n_outputs]):
        if node.is_constant:  # every function node must have a child
            below = outputs_above(tree.parent)[tree.leaf_parent] == output
            node.leaves[int(tree.leaf_input[np.argmax(below)])] = 0.0
    simplified = _tree_of(tree, nodes)
    return simplified if simplified.n_parameters < tree.n_parameters else tree


def _simplified_nodes(tree: NeuralTree, constants: Mapping[int, float]) -> list[_Node]:
    """Return all nodes after the rules are applied; some are no longer used."""
    k = tree.n_outputs
    nodes = [_Node(bias) for bias in tree.bias.tolist()]
    leaves = zip(
        tree.leaf_parent.tolist(), tree.leaf_input.tolist(), tree.leaf_weight.tolist(), strict=True
    )
    for parent, leaf, weight in leaves:
        below = nodes[parent].leaves
        below[leaf] = below.get(leaf, 0.0) + weight
    edges = zip(tree.parent[k:].tolist(), tree.edge.tolist(), strict=True)
    for child, (parent, weight) in enumerate(edges, start=k):
        nodes[parent].children[child] = weight
    is_linear = _is_linear(tree)
    for i in reversed(range(len(nodes))):  # children come after their parents
        node = nodes[i]
        node.drop_zeros()
        for child in list(node.children):
            below = nodes[child]
            if child in constants or below.is_constant:
                value = constants.get(child)
                if value is None:
                    value = float(activation_values(tree, [child], [below.bias])[0])
                node.bias += node.children.pop(child) * value
            elif is_linear[child]:
                contracted = node.with_contracted(child, below)
                if contracted.is_finite:  # the product of two weights may overflow
                    node = contracted
        nodes[i] = node
    return nodes


def _is_linear(tree: NeuralTree) -> list[bool]:
    """Return for each node whether its activation returns the weighted sum unchanged."""
    return [expression == EXPRESSIONS["linear"] for expression in tree.node_expressions]


def activation_values(tree: NeuralTree, nodes: list[int], sums: list[float]) -> FloatArray:
    """Return the values of nodes of a tree whose weighted sums are these.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1], [1], [0], [0], [0.0, 1.0])
    >>> activation_values(tree, [0], [0.0])
    array([0.5])
    """
    n = len(nodes)  # evaluated as the outputs of a tree whose leaves have weight 0
    single = NeuralTree(
        1,
        n,
        parent=np.full(n, -1),
        activation=tree.activation[nodes],
        leaf_parent=np.arange(n),
        leaf_input=np.zeros(n, dtype=np.int32),
        parameters=np.concatenate([sums, np.zeros(n), *(_phi(tree, nodes))]),
        activation_parameters=np.concatenate([[], *_phi(tree, nodes)]),
        trains_activations=True,  # trained ones may be outside of their declared ranges
    )
    return single.forward(np.zeros(1))


def _phi(tree: NeuralTree, nodes: list[int]) -> list[FloatArray]:
    """Return the activation parameters of each of these nodes."""
    start = tree.activation_parameter_start
    return [tree.activation_parameters[start[i] : start[i + 1]] for i in nodes]


def _tree_of(tree: NeuralTree, nodes: list[_Node]) -> NeuralTree:
    """Return the nodes that the outputs reach as a tree, numbered breadth-first."""
    order, parent, edge = list(range(tree.n_outputs)), [-1] * tree.n_outputs, []
    for position, i in enumerate(order):  # grows while it is read
        for child, weight in nodes[i].children.items():
            order.append(child)
            parent.append(position)
            edge.append(weight)
    leaves = [(p, *leaf) for p, i in enumerate(order) for leaf in nodes[i].leaves.items()]
    phi = np.concatenate([[], *_phi(tree, order)])
    bias = [nodes[i].bias for i in order]
    weights = np.array([*bias, *edge, *(weight for *_, weight in leaves)])
    with np.errstate(over="ignore"):
        fits = np.isfinite(weights.astype(tree.dtype)).all()
    trained: FloatArray | list[float] = phi if tree.trains_activations else []
    return NeuralTree(
        tree.n_inputs,
        tree.n_outputs,
        parent=np.array(parent),
        activation=tree.activation[order],
        leaf_parent=np.array([parent for parent, *_ in leaves], dtype=np.int32),
        leaf_input=np.array([leaf for _, leaf, _ in leaves], dtype=np.int32),
        parameters=np.concatenate([weights, trained]).astype(tree.dtype if fits else np.float64),
        activation_parameters=phi,
        trains_activations=tree.trains_activations,
    )
