"""The nodes of a tree one by one, for generators of code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bneuralt._typing import FloatArray
from bneuralt.export.activation_forms import activation_form
from bneuralt.expressions import Expression, exp, greater, select, sigmoid, square, variable
from bneuralt.tree import NeuralTree

__all__ = ["Node", "folded", "nodes_of"]

_Z = variable("z")


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


class _Core(NamedTuple):
    """An activation as ``offset + unit * function(gain * z + shift)``."""

    function: Expression
    gain: float
    shift: float
    offset: float
    unit: float


def _core(activation: Expression) -> _Core:
    form = activation_form(activation)
    gain, shift, offset, unit = form.gain, form.shift, form.offset, form.unit
    if form.curve is not None:
        return _Core(form.curve, gain, shift, offset, unit)
    if form.kind == "pieces":
        bent = select(greater(_Z, 0.0), _Z, form.slope * _Z)
        return _Core(_Z if form.slope == 1.0 else bent, gain, shift, offset, unit)
    # between 0 and 1, so that sigmoids lose no digits
    offset, unit = offset - unit, 2.0 * unit
    if form.kind == "tanh":  # 2 / (1 + exp(-2 t)) - 1
        return _Core(sigmoid(-_Z), -2.0 * gain, -2.0 * shift, offset, unit)
    return _Core(exp(-square(_Z)), gain, shift, offset, unit)


def folded(nodes: Sequence[Node], centers: FloatArray) -> list[Node]:
    """Return nodes with the scales and offsets of activations as part of the weights.

    Activations are then ``1 / (1 + exp(z))``, ``exp(-z * z)``, z with another slope below 0, or a
    curve that is none of them; those of outputs keep their scales and offsets.

    Parameters
    ----------
    nodes : sequence of Node
    centers : array of shape (n_inputs,)
        Numbers that the inputs lack.

    Examples
    --------
    >>> tree = NeuralTree(1, 1, [-1, 0], [0, 2], [1], [0], [0.5, 0.0, 3.0, 2.0])  # tanh below
    >>> hidden, output = folded(nodes_of(tree), [0.0])  # 2 / (1 + exp(-2 z)) - 1
    >>> hidden.leaves, output.bias, output.children
    (((-4.0, 0),), -2.5, ((6.0, 1),))
    """
    cores = {node.position: _core(node.activation) for node in nodes}
    result = []
    for node in nodes:
        function, gain, shift, offset, unit = cores[node.position]
        bias = node.bias + sum(weight * cores[c].offset for weight, c in node.children)
        bias += sum(weight * float(centers[j]) for weight, j in node.leaves)
        result.append(
            node._replace(
                activation=offset + unit * function if node.is_output else function,
                bias=gain * bias + shift,
                children=tuple((gain * weight * cores[c].unit, c) for weight, c in node.children),
                leaves=tuple((gain * weight, j) for weight, j in node.leaves),
            )
        )
    return result
