"""The trees of a model in ONNX, level by level and all trees at once.

A level is one matrix product: of the inputs and the values of the level below with the weights. If
most weights are 0, as in forests and large trees, the terms of every node are gathered and summed
instead, so that memory is proportional to the number of weights.

Inputs and values are limited where a sum of them could overflow, because the sum of opposite
infinities is not a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.export.onnx.graph import Graph
from bneuralt.export.onnx.operation_nodes import EXACT_OPERATORS, OPERATORS, form, translate
from bneuralt.expressions import Expression, interval
from bneuralt.tree import NeuralTree

__all__ = ["Level", "TreeValues", "add_trees"]

#: Time to gather a weight, in multiplications of a matrix product.
COST_OF_GATHERING = 8


class Level(NamedTuple):
    """The nodes of all trees at one depth, and the terms that they sum.

    Attributes
    ----------
    formulas : list of Expression
        The activation of each node; those of one form are side by side.
    biases : array of shape (n_nodes,)
    nodes, columns, weights : array of shape (n_terms,)
        Node, column and weight of each term. The columns are those of the inputs, followed by the
        values of the level below.
    """

    formulas: list[Expression]
    biases: FloatArray
    nodes: IntArray
    columns: IntArray
    weights: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """The sum of the magnitudes of the weights of each node."""
        sizes: FloatArray = np.zeros(self.biases.size)
        np.add.at(sizes, self.nodes, np.abs(self.weights))
        return sizes


class TreeValues(NamedTuple):
    """The results of all nodes.

    Attributes
    ----------
    outputs : str
        Of shape (n_rows, n_trees * n_outputs).
    inputs : str
        The inputs, limited.
    levels : list of Level
        The outputs first.
    order : list of int
        Where the outputs are in the first level.
    sums, values : list of str
        The sums and the values of the nodes of each level.
    """

    outputs: str
    inputs: str
    levels: list[Level]
    order: list[int]
    sums: list[str]
    values: list[str]


def add_trees(
    graph: Graph, trees: Sequence[NeuralTree], inputs: str, positions: IntArray
) -> TreeValues:
    """Add the outputs of all trees.

    Parameters
    ----------
    graph : Graph
    trees : sequence of NeuralTree
        With equally many inputs and outputs.
    inputs : str
        Name of the inputs, of shape (n_rows, n_inputs).
    positions : int array of shape (n_inputs,)
        The column of `inputs` that has each input of the trees.
    """
    levels, order = _levels(trees, positions)
    limit = _limit(graph, levels, len(order))
    bound = min(limit, float(np.finfo(np.float32).max))  # cells are float32
    inputs = source = graph.limited(inputs, bound)
    values, n_source = "", positions.size
    all_sums: list[str] = []
    all_values: list[str] = []
    for depth in reversed(range(len(levels))):
        level = levels[depth]
        if values:
            source = graph("Concat", inputs, values, axis=1)
        total = graph("Add", _sums(graph, source, n_source, level), graph.constant(level.biases))
        values = _activated(graph, total, level.formulas, is_output=depth == 0)
        largest_total = float((np.abs(level.biases) + bound * level.sizes).max())
        largest_value = max(_bound(formula, largest_total) for formula in set(level.formulas))
        if not largest_value <= limit:
            values, largest_value = graph.limited(values, limit), limit
        bound = max(bound, largest_value)
        all_sums.insert(0, total)
        all_values.insert(0, values)
        n_source = positions.size + len(level.formulas)
    if order != list(range(len(order))):
        values = graph("Gather", values, order, axis=1)
    return TreeValues(values, inputs, levels, order, all_sums, all_values)


def _limit(graph: Graph, levels: list[Level], n_outputs: int) -> float:
    """Return the largest magnitude of inputs and values for which sums are finite.

    These are the sums of nodes, and those over the outputs of all trees.
    """
    sizes = [float((np.abs(level.biases) + level.sizes).max()) for level in levels]
    return float(np.finfo(graph.dtype).max) / (2.0 * max(n_outputs, *sizes))  # 2: for rounding


def _bound(formula: Expression, largest: float) -> float:
    """Return the largest magnitude of an activation for sums up to a magnitude."""
    try:
        low, high = interval(formula, {"z": (-largest, largest)})
    except ValueError:  # it has no bounds
        return math.inf
    return max(abs(low), abs(high))


# -- levels -------------------------------------------------------------------------------


def _levels(trees: Sequence[NeuralTree], positions: IntArray) -> tuple[list[Level], list[int]]:
    """Return all levels, the outputs first, and where the outputs are in the first one."""
    formulas = [tree.node_expressions for tree in trees]
    places = [np.zeros(tree.parent.size, dtype=np.int64) for tree in trees]
    nodes = []
    for depth in range(max(tree.level_start.size for tree in trees) - 1):
        groups: dict[object, list[tuple[int, int]]] = {}
        for t, tree in enumerate(trees):
            for j in _nodes_at(tree, depth):
                groups.setdefault(form(formulas[t][j]), []).append((t, j))
        nodes.append([node for group in groups.values() for node in group])
        for place, (t, j) in enumerate(nodes[-1]):
            places[t][j] = place
    levels = []
    for depth, of_level in enumerate(nodes):
        terms = [
            _terms(tree, _nodes_at(tree, depth), place, positions)
            for tree, place in zip(trees, places, strict=True)
        ]
        levels.append(
            Level(
                [formulas[t][j] for t, j in of_level],
                np.array([trees[t].bias[j] for t, j in of_level], dtype=np.float64),
                *(np.concatenate(parts) for parts in zip(*terms, strict=True)),
            )
        )
    outputs = [place[: tree.n_outputs] for tree, place in zip(trees, places, strict=True)]
    return levels, np.concatenate(outputs).tolist()


def _nodes_at(tree: NeuralTree, depth: int) -> range:
    ends = tree.level_start
    return range(ends[depth], ends[depth + 1]) if depth + 1 < ends.size else range(0)


def _terms(
    tree: NeuralTree, nodes: range, places: IntArray, positions: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return node, column and weight of each term of some nodes, which are adjacent."""
    leaves = slice(tree.leaf_start[nodes.start], tree.leaf_start[nodes.stop])
    children = np.arange(tree.child_start[nodes.start], tree.child_start[nodes.stop])
    return (
        places[np.concatenate([tree.leaf_parent[leaves], tree.parent[children]])],
        np.concatenate([positions[tree.leaf_input[leaves]], positions.size + places[children]]),
        np.concatenate([tree.leaf_weight[leaves], tree.edge[children - tree.n_outputs]]),
    )


# -- operators ----------------------------------------------------------------------------


def _sums(graph: Graph, source: str, n_source: int, level: Level) -> str:
    n_nodes = level.biases.size
    counts = np.bincount(level.nodes, minlength=n_nodes)
    most = max(1, int(counts.max()))
    if n_source <= COST_OF_GATHERING * most:
        weights = np.zeros((n_source, n_nodes))
        np.add.at(weights, (level.columns, level.nodes), level.weights)
        return graph("MatMul", source, graph.constant(weights))
    by_node = np.argsort(level.nodes, kind="stable")
    nodes = level.nodes[by_node]
    slots = np.arange(nodes.size) - (np.cumsum(counts) - counts)[nodes]
    columns, weights = np.zeros((n_nodes, most), np.int64), np.zeros((n_nodes, most))
    columns[nodes, slots], weights[nodes, slots] = level.columns[by_node], level.weights[by_node]
    gathered = graph("Gather", source, columns, axis=1)
    products = graph("Mul", gathered, graph.constant(weights))
    return graph("ReduceSum", products, [2], keepdims=0)


def _activated(graph: Graph, total: str, formulas: list[Expression], is_output: bool) -> str:
    """Apply the activations of nodes, those of one form at once."""
    # Outputs may be shares, of which small ones count.
    operators = EXACT_OPERATORS if is_output else OPERATORS
    groups = [list(group) for _, group in groupby(formulas, key=form)]
    parts, start = [], 0
    for group in groups:
        z, end = total, start + len(group)
        if len(groups) > 1:
            z = graph("Slice", total, [start], [end], [1])
        part = translate(graph, group, {"z": z}, operators=operators)
        if not group[0].variables:
            part = graph("Expand", part, graph("Shape", z))
        parts.append(part)
        start = end
    return graph.side_by_side(parts)
