"""Statements of a program in ONNX: groups of them are operators on vectors.

A group of weighted sums is one matrix product. If most weights are 0, as in forests and large
trees, the terms of every sum are gathered instead, so that memory is proportional to the number of
weights.

Inputs and values are limited where a sum of them could overflow, because the sum of opposite
infinities is not a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bneuralt._typing import IntArray
from bneuralt.export.grouped import Group, grouped
from bneuralt.export.onnx.graph import Graph
from bneuralt.export.onnx.operation_nodes import EXACT_OPERATORS, OPERATORS, translate
from bneuralt.export.program import Statement
from bneuralt.expressions import Expression, interval

__all__ = ["Vectors"]

#: Time to gather a weight, in multiplications of a matrix product.
COST_OF_GATHERING = 8


class Vectors:
    """The values of statements, as columns of results of a graph.

    Parameters
    ----------
    graph : Graph
    inputs : str
        A result with one column for each name.
    names : sequence of str
    statements : sequence of Statement
        What is computed from them.
    """

    def __init__(
        self, graph: Graph, inputs: str, names: Sequence[str], statements: Sequence[Statement]
    ) -> None:
        self.graph = graph
        groups = grouped(statements)
        sums = [group for group in groups if group.operation == "weighted_sum"]
        self.limit = _limit(graph, sums)
        self.summed = {name for group in sums for names in group.arguments for name in names}
        least = min(self.limit, float(np.finfo(np.float32).max))  # cells are float32
        #: Result and column of each name, and the largest magnitude of its values.
        self.places: dict[str, tuple[str, int]] = {}
        self.bounds: dict[str, float] = {}
        self._keep(names, graph.limited(inputs, least), least)
        self.n_columns = {self.places[names[0]][0]: len(names)}
        self.rows = graph("Slice", graph("Shape", self.places[names[0]][0]), [0], [1], [0])
        for group in groups:
            self._add(group)

    def columns(self, values: Sequence[Expression]) -> str:
        """Return names and constants side by side."""
        if not any(value.is_constant for value in values):
            return self.picked([value.value for value in values])
        shape = self._shape(1)
        return self.graph.side_by_side(
            [
                self.graph("Expand", self.graph.constant([[value.value]]), shape)
                if value.is_constant
                else self.picked([value.value])
                for value in values
            ]
        )

    def _shape(self, n_columns: int) -> str:
        return self.graph("Concat", self.rows, [n_columns], axis=0)

    def picked(self, names: Sequence[str]) -> str:
        """Return the values of names side by side; one column if they are all the same."""
        if len(set(names)) == 1:
            names = names[:1]
        source, positions, n = self._located(names)
        if positions.tolist() == list(range(n)):
            return source
        return self.graph("Gather", source, positions, axis=1)

    def _located(self, names: Sequence[str]) -> tuple[str, IntArray, int]:
        """Return a result with all names, their columns, and its number of columns."""
        places = [self.places[name] for name in names]
        starts: dict[str, int] = {}
        n = 0
        for result, _ in places:
            if result not in starts:
                starts[result] = n
                n += self.n_columns[result]
        positions = np.array([starts[result] + column for result, column in places])
        return self.graph.side_by_side(list(starts)), positions, n

    def _keep(self, names: Sequence[str], result: str, bound: float) -> None:
        for column, name in enumerate(names):
            self.places[name] = result, column
            self.bounds[name] = bound

    def _add(self, group: Group) -> None:
        """Add the values of a group; those that are summed later are limited."""
        if group.operation == "weighted_sum":
            result, bound = self._sums(group), max(map(self._sum_bound, group.values))
        elif group.operation:
            result, bound = self._gathered(group), max(map(self._bound_of, group.arguments))
        else:
            result, bound = self._elementwise(group), self._elementwise_bound(group)
        if not bound <= self.limit and not self.summed.isdisjoint(group.names):
            result, bound = self.graph.limited(result, self.limit), self.limit
        self._keep(group.names, result, bound)
        self.n_columns[result] = len(group.names)

    # -- sums ------------------------------------------------------------------------------

    def _sums(self, group: Group) -> str:
        graph, n = self.graph, len(group.names)
        terms = [name for names in group.arguments for name in names]
        source, columns, n_source = self._located(terms)
        weights = np.concatenate([value.value[1:] for value in group.values])
        biases = graph.constant([value.value[0] for value in group.values])
        counts = np.array([len(names) for names in group.arguments])
        sums, most = np.repeat(np.arange(n), counts), int(counts.max())
        if n_source <= COST_OF_GATHERING * most:
            matrix = np.zeros((n_source, n))
            np.add.at(matrix, (columns, sums), weights)
            return graph("Add", graph("MatMul", source, graph.constant(matrix)), biases)
        slots = np.arange(sums.size) - np.repeat(np.cumsum(counts) - counts, counts)
        places, factors = np.zeros((n, most), np.int64), np.zeros((n, most))
        places[sums, slots], factors[sums, slots] = columns, weights
        products = graph("Mul", graph("Gather", source, places, axis=1), graph.constant(factors))
        return graph("Add", graph("ReduceSum", products, [2], keepdims=0), biases)

    def _sum_bound(self, value: Expression) -> float:
        bias, *weights = value.value
        pairs = zip(weights, value.arguments, strict=True)
        return abs(bias) + sum(abs(w) * self.bounds[part.value] for w, part in pairs)

    # -- other operations --------------------------------------------------------------------

    def _gathered(self, group: Group) -> str:
        """Add the largest values, or those of one rank, of equally many names."""
        source, columns, _ = self._located([n for names in group.arguments for n in names])
        table = columns.reshape(len(group.names), -1)
        vectors, value = self.graph("Gather", source, table, axis=1), group.values[0]
        places = () if value.value is None else ((value.value,),)
        chosen = OPERATORS[value.operation]
        assert callable(chosen)
        return self.graph("Squeeze", chosen(self.graph, vectors, *places), [2])

    def _elementwise(self, group: Group) -> str:
        vectors = list(zip(*group.arguments, strict=True))
        slots = {str(i): self.picked(names) for i, names in enumerate(vectors)}
        operators = OPERATORS if group.names[0][0] == "n" else EXACT_OPERATORS
        result = translate(self.graph, group.values, slots, operators=operators)
        if slots and (len(group.names) == 1 or any(len(set(names)) > 1 for names in vectors)):
            return result
        return self.graph("Expand", result, self._shape(len(group.names)))

    def _bound_of(self, names: Sequence[str]) -> float:
        return max((self.bounds[name] for name in names), default=0.0)

    def _elementwise_bound(self, group: Group) -> float:
        slots = [self._bound_of(names) for names in zip(*group.arguments, strict=True)]
        ranges = {str(i): (-bound, bound) for i, bound in enumerate(slots)}
        return max(_magnitude(value, ranges) for value in set(group.values))


def _limit(graph: Graph, sums: Sequence[Group]) -> float:
    """Return the largest magnitude of inputs and values for which sums are finite."""
    sizes = [sum(map(abs, value.value)) for group in sums for value in group.values]
    return float(np.finfo(graph.dtype).max) / (2.0 * max([1.0, *sizes]))  # 2: for rounding


def _magnitude(value: Expression, ranges: dict[str, tuple[float, float]]) -> float:
    """Return the largest magnitude of an expression."""
    try:
        low, high = interval(value, ranges)
    except ValueError:  # it has no bounds
        return math.inf
    return max(abs(low), abs(high))
