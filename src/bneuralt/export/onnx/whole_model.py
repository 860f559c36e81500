"""Whole models in ONNX: from the cells of a table to labels, probabilities and numbers."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from bneuralt._typing import IntArray
from bneuralt.export.contributions import is_difference
from bneuralt.export.onnx.cell_readers import CellReader, cell_types
from bneuralt.export.onnx.contribution_nodes import add_contributions
from bneuralt.export.onnx.graph import Graph, Result
from bneuralt.export.onnx.levels import add_trees
from bneuralt.export.onnx.operation_nodes import form, translate
from bneuralt.model import Model
from bneuralt.training.losses import SOFTMAX

__all__ = ["add_model", "class_labels", "to_onnx"]


def to_onnx(model: Model, *, dtype: str = "double", contributions: bool = False) -> Any:
    """Convert a model to ONNX; see the method `to_onnx` of estimators."""
    model = model.in_raw_units()
    try:
        importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install bneuralt[onnx]") from error
    types = {"double": np.float64, "float": np.float32}
    if dtype not in types:
        raise ValueError(f"dtype={dtype!r} must be 'double' or 'float'")
    graph = Graph(types[dtype])
    inputs, columns = _table(model)
    outputs = []
    for output, result in add_model(graph, model, columns, contributions):
        graph.name(result, output.name)
        outputs.append(output)
    return graph.to_proto(inputs, outputs)


def _table(model: Model) -> tuple[list[Result], str | list[str]]:
    """Return the inputs of the graph, and the name of the table or the names of all columns."""
    cells, n = cell_types(model), len(model.columns)
    if all(cell is np.float32 for cell in cells):
        return [Result("X", np.float32, ["n_rows", n])], "X"
    names = [column.name for column in model.columns]
    if len(set(names)) < n or "" in names:
        raise ValueError("columns with texts or dates become inputs, which need different names")
    pairs = zip(names, cells, strict=True)
    return [Result(name, cell, ["n_rows", 1]) for name, cell in pairs if cell is not None], names


def add_model(
    graph: Graph, model: Model, columns: str | list[str], contributions: bool = False
) -> list[tuple[Result, str]]:
    """Add the computation of a model, from columns to predictions.

    Parameters
    ----------
    graph : Graph
    model : Model
    columns : str or list of str
        Name of the table, of shape (n_rows, n_columns), or of each column.
    contributions : bool
        Whether the contributions of the columns are an output.

    Returns
    -------
    list of (Result, str)
        Declarations of the outputs, and the names of their results in the graph.
    """
    model = model.simplified()
    inputs, positions = _inputs(graph, model, CellReader(graph, model, columns))
    trees = add_trees(graph, model.trees, inputs, positions)
    results = _results(graph, model, trees.outputs)
    if contributions:
        values = graph.cast(add_contributions(graph, model, trees, positions), np.float32)
        is_single = model.n_outputs == 1 or is_difference(model)
        outputs: list[int | str] = [] if is_single else [model.n_outputs]
        shape = ["n_rows", *outputs, len(model.columns)]
        results.append((Result("contributions", np.float32, shape), values))
    return results


def _inputs(graph: Graph, model: Model, read: CellReader) -> tuple[str, IntArray]:
    """Add the inputs of the trees, those of one form at once; return the column of each one."""
    groups: dict[object, list[int]] = {}
    for i, entry in enumerate(model.inputs):
        groups.setdefault(form(entry.expression), []).append(i)
    parts = []
    for group in groups.values():
        columns = model.column_of_input[group].tolist()
        expressions = [model.inputs[i].expression for i in group]
        parts.append(translate(graph, expressions, {}, partial(read, columns)))
    order = np.concatenate([np.array(group) for group in groups.values()])
    return graph.side_by_side(parts), np.argsort(order)


# -- outputs ------------------------------------------------------------------------------


def class_labels(model: Model) -> list[int] | list[str]:
    """Return the labels as all whole numbers or all texts, which ONNX requires."""
    classes = range(model.n_outputs) if model.classes is None else model.classes
    if all(isinstance(label, int) or (isinstance(label, float) and label.is_integer())
           for label in classes):  # fmt: skip
        return [int(label) for label in classes]
    return list(model.output_names)


def _results(graph: Graph, model: Model, outputs: str) -> list[tuple[Result, str]]:
    k = model.n_outputs
    values = _predictions(graph, model, outputs)
    numbers = graph.cast(values, np.float32)
    if model.task == "numbers":
        return [(Result("variable", np.float32, ["n_rows", k]), numbers)]
    probabilities = Result("probabilities", np.float32, ["n_rows", k]), numbers
    if model.task == "labels":
        is_likely = graph.cast(graph("Greater", values, 0.5), np.int64)
        return [(Result("label", np.int64, ["n_rows", k]), is_likely), probabilities]
    position = graph("ArgMax", outputs if model.decides_by_outputs else values, axis=1, keepdims=0)
    labels = class_labels(model)
    is_text = isinstance(labels[0], str)
    label = graph("Gather", graph.constant(labels, object if is_text else np.int64), position)
    return [(Result("label", str if is_text else np.int64, ["n_rows"]), label), probabilities]


def _predictions(graph: Graph, model: Model, outputs: str) -> str:
    """Add probabilities or numbers."""
    n_trees = len(model.trees)
    if n_trees == 1:
        return _linked(graph, model, outputs)
    each = graph("Reshape", outputs, [-1, n_trees, model.n_outputs])
    if model.averages == "outputs":
        return _linked(graph, model, _mean(graph, each, n_trees))
    return _mean(graph, _linked(graph, model, each), n_trees)


def _mean(graph: Graph, values: str, n_trees: int) -> str:
    total = graph("ReduceSum", values, [1], keepdims=0)
    return graph("Div", total, float(n_trees))


def _linked(graph: Graph, model: Model, outputs: str) -> str:
    """Add the link; the last axis is that of the outputs."""
    if model.link == SOFTMAX:  # one operator instead of seven
        return graph("Softmax", outputs, axis=-1)
    return translate(graph, [model.link], {"outputs": outputs})
