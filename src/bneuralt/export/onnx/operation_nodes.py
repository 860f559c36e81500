"""Expressions in ONNX: one operator, or a few, for each operation.

Expressions that differ in their numbers only, such as the activations of the nodes of a level or
the inputs that columns of numbers become, are translated together: their numbers become vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bneuralt.export.onnx.graph import Graph
from bneuralt.export.printer import EXP_LIMITS, representable
from bneuralt.expressions import Expression
from bneuralt.expressions.operations import CELLS

__all__ = ["EXACT_OPERATORS", "OPERATORS", "translate"]


def _exp(graph: Graph, a: str) -> str:
    return graph("Exp", graph.limited(a, EXP_LIMITS[graph.dtype.itemsize]))


def _exact_sigmoid(graph: Graph, a: str) -> str:
    minus = graph("Neg", graph.limited(a, EXP_LIMITS[graph.dtype.itemsize]))
    return graph("Reciprocal", graph("Add", graph("Exp", minus), 1.0))


def _if_missing(graph: Graph, a: str, default: str) -> str:
    return graph("Where", graph("IsNaN", a), default, a)


def _largest(graph: Graph, vector: str) -> str:
    return graph("TopK", vector, [1], axis=-1, n_results=2)


def _total(graph: Graph, vector: str) -> str:
    return graph("ReduceSum", vector, [-1], keepdims=1)


def _ordered(graph: Graph, vector: str, places: tuple[int, ...]) -> str:
    length = graph("Gather", graph("Shape", vector), [-1])
    ascending = graph("TopK", vector, length, axis=-1, largest=0, n_results=2)
    return graph("Gather", ascending, places, axis=-1)


#: The operator of each operation on numbers and vectors, or a function that adds several.
OPERATORS: dict[str, str | Callable[..., str]] = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "minimum": "Min",
    "maximum": "Max",
    "absolute": "Abs",
    "square": lambda graph, a: graph("Mul", a, a),
    "sqrt": "Sqrt",
    "exp": _exp,
    "log": "Log",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "greater": "Greater",
    "is_missing": "IsNaN",
    "select": "Where",
    "if_missing": _if_missing,
    "largest": _largest,
    "total": _total,
    "ordered": _ordered,
}

#: Where the proportions of small numbers count: runtimes make 0 of a sigmoid close to 0.
EXACT_OPERATORS = {**OPERATORS, "sigmoid": _exact_sigmoid}


def translate(
    graph: Graph,
    expressions: Sequence[Expression],
    variables: Mapping[str, str],
    read: Callable[[list[Expression]], str] | None = None,
    operators: Mapping[str, str | Callable[..., str]] = OPERATORS,
) -> str:
    """Add expressions of one form; the last axis of the result is that of the expressions.

    Parameters
    ----------
    graph : Graph
    expressions : sequence of Expression
        A single one may have vectors as variables.
    variables : dict
        The result that each variable stands for.
    read : callable, optional
        Adds operations that read cells, one for each expression; returns the result.
    operators : dict
        `OPERATORS` or `EXACT_OPERATORS`.
    """
    first = expressions[0]
    if first.is_constant:
        values = representable([e.value for e in expressions], np.finfo(graph.dtype))
        return graph.constant(values[0] if (values == values[0]).all() else values)
    if first.operation == "variable":
        return variables[first.value]
    if first.operation in CELLS:
        assert read is not None
        return read(list(expressions))
    arguments = [
        translate(graph, parts, variables, read, operators)
        for parts in zip(*(e.arguments for e in expressions), strict=True)
    ]
    operator = operators.get(first.operation)
    if operator is None:
        raise ValueError(f"ONNX has no operator for the operation {first.operation!r}")
    if isinstance(operator, str):
        return graph(operator, *arguments)
    return operator(graph, *arguments, *(() if first.value is None else (first.value,)))
