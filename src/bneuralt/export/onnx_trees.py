"""The trees of a model as operators of ONNX, level by level and all trees at once.

A level is one product: of the inputs and the values of the level below with the weights. Where most
weights would be 0, as in forests and large trees, the terms of every node are gathered instead, and
summed: that takes as much memory as there are weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.nodes import Node, nodes_of
from bneuralt.export.onnx_graph import Graph
from bneuralt.tree import NeuralTree
from bneuralt.tree.walk import node_levels

__all__ = ["add_trees"]

#: Arguments of exp are limited as in the core, by the bytes of a number: shares that are all close
#: to 0 keep their proportions.
EXP_LIMIT = {4: 87.0, 8: 708.0}

#: Gathering a weight takes about as long as so many multiplications of a product.
COST_OF_GATHERING = 8


def add_trees(graph: Graph, trees: Sequence[NeuralTree], inputs: str) -> str:
    """Add the outputs of all trees, of shape (n_rows, n_trees * n_outputs).

    Parameters
    ----------
    graph : Graph
    trees : sequence of NeuralTree
        With equally many inputs and outputs.
    inputs : str
        Name of the inputs, of shape (n_rows, n_inputs).
    """
    n_inputs, k = trees[0].n_inputs, trees[0].n_outputs
    levels = _levels(trees)
    below: dict[tuple[int, int], int] = {}  # where the nodes of the level below are
    values = ""
    for depth in range(len(levels) - 1, -1, -1):
        # nodes of one activation are side by side
        nodes = sorted(levels[depth], key=lambda entry: entry[1].activation)
        source = graph("Concat", inputs, values, axis=1) if values else inputs
        n_source = n_inputs + len(below)
        total = _sums(graph, source, n_source, [_terms(t, n, below, n_inputs) for t, n in nodes])
        total = graph("Add", total, graph.constant([node.bias for _, node in nodes]))
        values = _activated(graph, total, [node for _, node in nodes], is_output=depth == 0)
        below = {(t, node.position): i for i, (t, node) in enumerate(nodes)}
    order = [below[t, j] for t in range(len(trees)) for j in range(k)]
    if order == list(range(len(order))):
        return values
    return graph("Gather", values, graph.integers(order), axis=1)


def _levels(trees: Sequence[NeuralTree]) -> list[list[tuple[int, Node]]]:
    """Return the nodes of all trees, with the positions of their trees, level by level."""
    levels: list[list[tuple[int, Node]]] = []
    for t, tree in enumerate(trees):
        level_of = node_levels(tree.parent)
        for node in nodes_of(tree):
            depth = int(level_of[node.position])
            while len(levels) <= depth:
                levels.append([])
            levels[depth].append((t, node))
    for nodes in levels:
        nodes.sort(key=lambda entry: (entry[0], entry[1].position))
    return levels


def _terms(
    t: int, node: Node, below: dict[tuple[int, int], int], n_inputs: int
) -> list[tuple[int, float]]:
    """Return positions in the source, and weights, of all that a node sums."""
    leaves = [(i, weight) for weight, i in node.leaves]
    return leaves + [(n_inputs + below[t, child], weight) for weight, child in node.children]


def _sums(graph: Graph, source: str, n_source: int, terms: list[list[tuple[int, float]]]) -> str:
    most = max(1, *(len(own) for own in terms))
    if n_source <= COST_OF_GATHERING * most:
        weights = np.zeros((n_source, len(terms)))
        for column, own in enumerate(terms):
            for position, weight in own:
                weights[position, column] += weight
        return graph("MatMul", source, graph.constant(weights))
    positions, factors = np.zeros((len(terms), most), np.int64), np.zeros((len(terms), most))
    for row, own in enumerate(terms):
        positions[row, : len(own)] = [position for position, _ in own]
        factors[row, : len(own)] = [weight for _, weight in own]
    gathered = graph("Gather", source, graph.integers(positions), axis=1)
    products = graph("Mul", gathered, graph.constant(factors))
    return graph("ReduceSum", products, graph.integers([2]), keepdims=0)


def _activated(graph: Graph, total: str, nodes: list[Node], is_output: bool) -> str:
    """Apply the activations of nodes that are sorted by them."""
    names = [node.activation for node in nodes]
    groups = sorted(set(names))
    if len(groups) == 1:
        return _apply(graph, groups[0], total, _parameters(nodes), is_output)
    parts, start = [], 0
    for name in groups:
        end = start + names.count(name)
        ends = (graph.integers([at]) for at in (start, end, 1))  # 1: the axis
        part = graph("Slice", total, *ends)
        parts.append(_apply(graph, name, part, _parameters(nodes[start:end]), is_output))
        start = end
    return graph("Concat", *parts, axis=1)


def _parameters(nodes: list[Node]) -> FloatArray:
    """Return the parameters of the activations, one row for each parameter."""
    return np.array([node.parameters for node in nodes], dtype=float).T


def _apply(graph: Graph, name: str, z: str, phi: FloatArray, is_output: bool) -> str:
    """Add one activation."""
    if name == "linear":
        return z
    if name == "relu":
        return graph("Relu", z)
    if name == "sigmoid":
        return _sigmoid(graph, z, is_output)
    if name == "tanh":
        return graph("Tanh", z)
    if name == "unipolar":
        double = graph.constant(2 * np.abs(phi[0]))
        return graph("Mul", _sigmoid(graph, graph("Mul", z, double), is_output), double)
    a = graph.constant(phi[0])
    if name == "leaky_relu":
        positive = graph("Greater", z, graph.constant(0.0))
        return graph("Where", positive, z, graph("Mul", z, a))
    if name == "gaussian":
        u = graph("Div", graph("Sub", z, a), graph.constant(phi[1]))
        limit = graph.constant(-EXP_LIMIT[graph.dtype.itemsize])
        return graph("Exp", graph("Max", graph("Neg", graph("Mul", u, u)), limit))
    if name in ("linear_sigmoid", "linear_tanh"):
        inner = _sigmoid(graph, z, is_output) if name == "linear_sigmoid" else graph("Tanh", z)
        return graph("Add", graph("Mul", inner, a), graph.constant(phi[1]))
    if name == "bipolar":
        return graph("Div", graph("Tanh", graph("Mul", z, a)), a)
    raise ValueError(f"activation {name!r} cannot be written in ONNX")


def _sigmoid(graph: Graph, z: str, is_output: bool) -> str:
    """Add a sigmoid; outputs may be shares close to 0, where runtimes make 0 of them."""
    if not is_output:
        return graph("Sigmoid", z)
    limit = EXP_LIMIT[graph.dtype.itemsize]
    clipped = graph("Clip", z, graph.constant(-limit), graph.constant(limit))
    power = graph("Exp", graph("Neg", clipped))
    return graph("Reciprocal", graph("Add", power, graph.constant(1.0)))
