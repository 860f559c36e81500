"""The nodes of a tree one by one, for generators of code."""

from __future__ import annotations

from typing import NamedTuple

from bneuralt.expressions import Expression
from bneuralt.tree import NeuralTree

__all__ = ["Node", "nodes_of"]


class Node(NamedTuple):
    """One function node.

    Attributes
    ----------
    position : int
        Its position in the tree; outputs come first.
    activation : Expression
        Of z, the weighted sum.
    bias : float
    leaves, children : tuple of (float, int)
        Weights and inputs, weights and positions of nodes. The children are in the order of their
        evaluation.
    is_output : bool
    """

    position: int
    activation: Expression
    bias: float
    leaves: tuple[tuple[float, int], ...]
    children: tuple[tuple[float, int], ...]
    is_output: bool


def nodes_of(tree: NeuralTree) -> list[Node]:
    """Return the nodes, each after its children, in an order that keeps few values at a time.

    The largest subtree of a node is evaluated first. Outputs are in the order of the outputs.

    Examples
    --------
    >>> tree = NeuralTree(1, 1, [-1, 0, 0, 2], [0, 1, 1, 1], [1, 3], [0, 0], [1.0] * 9)
    >>> [node.position for node in nodes_of(tree)]
    [1, 3, 2, 0]
    """
    n, k, expressions = tree.parent.size, tree.n_outputs, tree.node_expressions
    child_start, leaf_start = tree.child_start.tolist(), tree.leaf_start.tolist()
    biases, edges = tree.bias.tolist(), tree.edge.tolist()
    leaves = list(zip(tree.leaf_weight.tolist(), tree.leaf_input.tolist(), strict=True))
    n_kept = [1] * n  # how many values are kept while a subtree is evaluated
    nodes: dict[int, Node] = {}
    for i in reversed(range(n)):
        children = sorted(range(child_start[i], child_start[i + 1]), key=lambda c: -n_kept[c])
        n_kept[i] = max([1, *(n_kept[c] + j for j, c in enumerate(children))])
        nodes[i] = Node(
            i,
            expressions[i],
            biases[i],
            tuple(leaves[leaf_start[i] : leaf_start[i + 1]]),
            tuple((edges[c - k], c) for c in children),
            i < k,
        )
    ordered: list[Node] = []
    for output in range(k):
        backward, waiting = [], [output]
        while waiting:  # parents first, the last child first
            node = nodes[waiting.pop()]
            backward.append(node)
            waiting += [c for _, c in node.children]
        ordered += reversed(backward)
    return ordered
