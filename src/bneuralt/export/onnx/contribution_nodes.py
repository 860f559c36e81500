"""Contributions of columns to predictions in ONNX, level by level from the outputs down."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.export.contributions import (
    SMALL,
    explained_link,
    is_difference,
    mean_row,
    quotient,
)
from bneuralt.export.onnx.graph import Graph
from bneuralt.export.onnx.levels import Level, TreeValues
from bneuralt.export.onnx.operation_nodes import form, translate
from bneuralt.expressions import OUTPUTS, Expression, evaluate, substitute, variable
from bneuralt.model import Model

__all__ = ["add_contributions"]

#: Below this difference of two sums of float32 numbers, see `quotient`.
SMALL_OF_FLOAT = 1e-2
#: Largest number of weights of the matrices from nodes to columns.
MOST_WEIGHTS = 2**24


def add_contributions(graph: Graph, model: Model, trees: TreeValues, positions: IntArray) -> str:
    """Add the contributions of all columns.

    Parameters
    ----------
    graph : Graph
    model : Model
    trees : TreeValues
        The result of `add_trees`.
    positions : int array of shape (n_inputs,)
        The column of the inputs in the graph that has each input of the trees.

    Returns
    -------
    str
        Of shape (n_rows, n_columns) or (n_rows, n_outputs, n_columns).
    """
    link, baseline = explained_link(model), mean_row(model)
    n_inputs, k, n_trees = positions.size, model.n_outputs, len(model.trees)
    n_nodes = sum(level.biases.size for level in trees.levels)
    if n_nodes * k * n_inputs > MOST_WEIGHTS:
        raise ValueError(
            f"contributions of {n_nodes:,} nodes, {k} outputs and {n_inputs:,} inputs are too many "
            "for ONNX: use fewer or smaller trees"
        )
    small = SMALL if graph.dtype.itemsize == 8 else SMALL_OF_FLOAT
    start = np.empty(n_inputs)  # in the order of the graph
    start[positions] = baseline
    sums = _baseline_sums(trees.levels, start)
    output = np.zeros(trees.levels[0].biases.size, dtype=np.int64)
    output[trees.order] = np.tile(np.arange(k), n_trees)
    total, factors = "", ""
    for depth, level in enumerate(trees.levels):
        formulas = [
            quotient(formula, z, small)
            for formula, z in zip(level.formulas, sums[depth].tolist(), strict=True)
        ]
        quotients = _quotients(graph, formulas, trees.sums[depth], trees.values[depth])
        if depth:
            edges = trees.levels[depth - 1]
            is_edge = edges.columns >= n_inputs
            child = edges.columns[is_edge] - n_inputs
            above = np.zeros((2, level.biases.size))
            above[:, child] = edges.nodes[is_edge], edges.weights[is_edge]
            output = output[above[0].astype(np.int64)]
            factors = graph("Gather", factors, above[0].astype(np.int64), axis=1)
            factors = graph("Mul", factors, graph.constant(above[1]))
            factors = graph("Mul", factors, quotients)
        else:
            factors = quotients
        is_leaf = level.columns < n_inputs
        nodes = level.nodes[is_leaf]
        weights = np.zeros((level.biases.size, k * n_inputs))
        cells = output[nodes] * n_inputs + level.columns[is_leaf]
        np.add.at(weights, (nodes, cells), level.weights[is_leaf] / n_trees)
        part = graph("MatMul", factors, graph.constant(weights))
        total = graph("Add", total, part) if total else part
    difference = graph("Sub", trees.inputs, graph.constant(start))
    each = graph("Reshape", total, [-1, k, n_inputs])
    products = graph("Mul", each, graph("Unsqueeze", difference, [1]))
    columns = np.zeros((n_inputs, len(model.columns)))
    columns[positions, model.column_of_input] = 1.0
    values = graph("MatMul", products, graph.constant(columns))
    if link != OUTPUTS:
        secants = _secants(graph, model, link, baseline, trees.outputs, small)
        values = graph("Mul", values, graph("Unsqueeze", secants, [2]))
    if is_difference(model):
        second, first = (graph("Gather", values, i, axis=1) for i in (1, 0))
        return graph("Sub", second, first)
    return values if k > 1 else graph("Squeeze", values, [1])


def _baseline_sums(levels: list[Level], start: FloatArray) -> list[FloatArray]:
    """Return the sums of the nodes of each level for the baseline row."""
    sums: list[FloatArray] = [level.biases.copy() for level in levels]
    values = np.zeros(0)
    for depth in reversed(range(len(levels))):
        level = levels[depth]
        source = np.concatenate([start, values])
        np.add.at(sums[depth], level.nodes, level.weights * source[level.columns])
        pairs = zip(level.formulas, sums[depth].tolist(), strict=True)
        values = np.array([float(evaluate(f, {"z": np.float64(z)})) for f, z in pairs])
    return sums


def _quotients(graph: Graph, formulas: list[Expression], sums: str, values: str) -> str:
    """Add the quotients of the nodes of a level, those of one form at once."""
    groups: dict[object, list[int]] = {}
    for i, formula in enumerate(formulas):
        groups.setdefault(form(formula), []).append(i)
    parts = []
    for group in groups.values():
        z, h = (graph("Gather", each, group, axis=1) for each in (sums, values))
        part = translate(graph, [formulas[i] for i in group], {"z": z, "h": h})
        if not formulas[group[0]].variables:
            part = graph("Expand", part, graph("Shape", z))
        parts.append(part)
    order = np.argsort(np.concatenate([np.array(group) for group in groups.values()]))
    joined = graph.side_by_side(parts)
    return graph("Gather", joined, order, axis=1) if len(parts) > 1 else joined


def _secants(
    graph: Graph,
    model: Model,
    link: Expression,
    baseline: FloatArray,
    outputs: str,
    small: float,
) -> str:
    """Add the factor of an elementwise link for each output."""
    formula = substitute(link, {"outputs": variable("z")})
    start = model.outputs(baseline[np.newaxis]).mean(axis=0)[0]
    each = graph("Reshape", outputs, [-1, len(model.trees), model.n_outputs])
    mean = graph("Div", graph("ReduceSum", each, [1], keepdims=0), float(len(model.trees)))
    parts = []
    for j, z0 in enumerate(start.tolist()):
        z = graph("Gather", mean, [j], axis=1)
        h = translate(graph, [formula], {"z": z})
        parts.append(translate(graph, [quotient(formula, z0, small)], {"z": z, "h": h}))
    return graph.side_by_side(parts)
