"""Whole models in ONNX: from the cells of a table to labels, probabilities and numbers."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from bneuralt.export.contributions import SMALL
from bneuralt.export.grouped import form
from bneuralt.export.onnx.cell_readers import CellReader, cell_types
from bneuralt.export.onnx.graph import Graph, Result
from bneuralt.export.onnx.operation_nodes import translate
from bneuralt.export.onnx.vectors import Vectors
from bneuralt.export.program import Program
from bneuralt.model import Model

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
    small = SMALL[graph.dtype.itemsize]
    program = Program.of(model, contributions=contributions, has_functions=False, small=small)
    names, inputs = _inputs(graph, program, columns)
    vectors = Vectors(graph, inputs, names, program.after_inputs)
    results = _results(graph, program, vectors)
    if contributions:
        entries = [value for row in program.contributions for value in row]
        shape: list[int] = [len(program.contributions), len(program.model.columns)]
        shape = shape[1:] if shape[0] == 1 else shape
        values = graph("Reshape", vectors.columns(entries), [-1, *shape])
        result = Result("contributions", np.float32, ["n_rows", *shape])
        results.append((result, graph.cast(values, np.float32)))
    return results


def _inputs(graph: Graph, program: Program, columns: str | list[str]) -> tuple[list[str], str]:
    """Add the inputs of the trees, those of one form at once; return their names."""
    model = program.model
    read, groups = CellReader(graph, model, columns), dict[object, list[int]]()
    for i in model.used_inputs.tolist() or [0]:
        groups.setdefault(form(model.inputs[i].expression), []).append(i)
    parts = [
        translate(
            graph,
            [model.inputs[i].expression for i in group],
            {},
            partial(read, model.column_of_input[group].tolist()),
        )
        for group in groups.values()
    ]
    names = [f"i{i}" for group in groups.values() for i in group]
    return names, graph.side_by_side(parts)


# -- outputs ------------------------------------------------------------------------------


def class_labels(model: Model) -> list[int] | list[str]:
    """Return the labels as all whole numbers or all texts, which ONNX requires."""
    classes = range(model.n_outputs) if model.classes is None else model.classes
    if all(isinstance(label, int) or (isinstance(label, float) and label.is_integer())
           for label in classes):  # fmt: skip
        return [int(label) for label in classes]
    return list(model.output_names)


def _results(graph: Graph, program: Program, vectors: Vectors) -> list[tuple[Result, str]]:
    model, k = program.model, program.model.n_outputs
    values = vectors.columns(program.predictions)
    numbers = graph.cast(values, np.float32)
    if model.task == "numbers":
        return [(Result("variable", np.float32, ["n_rows", k]), numbers)]
    probabilities = Result("probabilities", np.float32, ["n_rows", k]), numbers
    if model.task == "labels":
        is_likely = graph.cast(graph("Greater", values, 0.5), np.int64)
        return [(Result("label", np.int64, ["n_rows", k]), is_likely), probabilities]
    scores = vectors.columns(program.scores)
    if program.is_log_odds:
        is_second = graph.cast(graph("Greater", scores, 0.0), np.int64)
        position = graph("Squeeze", is_second, [1])
    else:
        position = graph("ArgMax", scores, axis=1, keepdims=0)
    labels = class_labels(model)
    is_text = isinstance(labels[0], str)
    label = graph("Gather", graph.constant(labels, object if is_text else np.int64), position)
    return [(Result("label", str if is_text else np.int64, ["n_rows"]), label), probabilities]
