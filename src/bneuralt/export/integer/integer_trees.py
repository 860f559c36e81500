"""Trees with integer weights, made from trees with real ones, and a bound on the difference.

Children are evaluated before their parents and the largest subtree first, so that only few values
have to be kept at a time. Each node sums products of whole numbers, scales the sum, and looks its
activation up in a table. Scales are chosen such that no sum can overflow, whatever the inputs are.

The bound follows the same path: for each node, from the ranges and the errors of its children, the
range of its value and the range of its error. Each weight is on one path only, so one pass over the
nodes is enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.export.activation_forms import ActivationForm, activation_form
from bneuralt.export.integer.curve_tables import (
    CurveTable,
    fitted_curve,
    shared_tables,
    slopes,
    value_range,
)
from bneuralt.export.integer.formats import IntegerFormat
from bneuralt.export.integer.input_units import InputUnits
from bneuralt.export.integer.shared_errors import Interval, SharedError, interval_product
from bneuralt.export.integer.weighted_sums import SLACK, RoundedSum, Term, WeightedSum
from bneuralt.export.nodes import Node
from bneuralt.expressions import Expression

__all__ = ["IntegerNode", "IntegerTree", "integer_trees"]


class IntegerNode(NamedTuple):
    """A function node.

    Attributes
    ----------
    kind : str
        "pieces"; "folded" if sums below 0 have values above it; or the name of a table: "tanh",
        "bell", "curve0", "curve1", ...
    bias : int
    scale : int
        The sum is multiplied by ``scale / 2 ** bits``.
    scale_below : int
        The same for sums below 0, of nodes without a table.
    children : tuple of int
        Weights of the children, the last evaluated one first.
    leaves : tuple of (int, int)
        Input and weight of each leaf.
    is_output : bool
    """

    kind: str
    bias: int
    scale: int
    scale_below: int
    children: tuple[int, ...]
    leaves: tuple[tuple[int, int], ...]
    is_output: bool


@dataclass(frozen=True, eq=False)
class IntegerTree:
    """A tree with integer weights.

    Attributes
    ----------
    format : IntegerFormat
    tables : dict of str to CurveTable
        By kind of node.
    nodes : tuple of IntegerNode
        In the order of evaluation; outputs in the order of the outputs.
    offset, unit : arrays of shape (n_outputs,)
        The real outputs are ``offset + unit * output``.
    bound : array of shape (n_outputs,)
        The largest possible difference to the outputs of the real tree, over the training range.
    low : array of shape (n_outputs,)
        The smallest outputs of the real tree, over the training range.
    """

    format: IntegerFormat
    tables: dict[str, CurveTable]
    nodes: tuple[IntegerNode, ...]
    offset: FloatArray
    unit: FloatArray
    bound: FloatArray
    low: FloatArray

    @property
    def n_stacked(self) -> int:
        """The largest number of values that are kept at a time."""
        most = n = 0
        for node in self.nodes:
            n -= len(node.children)
            n += not node.is_output
            most = max(most, n)
        return most

    def outputs(self, inputs: IntArray) -> IntArray:
        """Return the outputs for inputs that are whole numbers, of shape (n_rows, n_outputs)."""
        stack: list[IntArray] = []
        outputs = []
        for node in self.nodes:
            acc = np.full(len(inputs), node.bias, dtype=np.int64)
            for weight in node.children:
                acc += weight * stack.pop()
            for i, weight in node.leaves:
                acc += weight * inputs[:, i]
            if node.is_output:
                outputs.append(self._value(node, acc))
            else:
                stack.append(self._value(node, acc))
        return np.stack(outputs, axis=1)

    def _value(self, node: IntegerNode, acc: IntArray) -> IntArray:
        format, negative = self.format, acc < 0
        if node.kind not in self.tables:
            t = format.scaled(acc, np.where(negative, node.scale_below, node.scale))
            if not node.is_output:
                t = (t + 2 ** (format.bits - 1)) >> format.bits
            return t if node.kind == "folded" else np.where(negative, -t, t)
        table, t = self.tables[node.kind], format.scaled(acc, node.scale)
        return table.fine(t, negative) if node.is_output else table.coarse(t, negative)


# -- from real weights to integers --------------------------------------------------------


class _Converter:
    """Converts the nodes of one tree, in the order of their evaluation."""

    def __init__(
        self,
        nodes: Sequence[Node],
        forms: dict[Expression, ActivationForm],
        tables: dict[str, CurveTable],
        inputs: InputUnits,
        format: IntegerFormat,
    ) -> None:
        self.source, self.forms, self.tables, self.format = nodes, forms, tables, format
        self.leaves = inputs.terms(format.top)
        self.terms: dict[int, Term] = {}
        self.nodes: dict[int, IntegerNode] = {}
        self.outputs: list[WeightedSum] = []
        for node in nodes:
            total = self._sum(node)
            if node.is_output:
                self.outputs.append(total)
            elif total.form.kind == "pieces":
                self.terms[node.position] = self._convert_pieces(total)
            else:
                self.terms[node.position] = self._convert_table(total)

    def _sum(self, node: Node) -> WeightedSum:
        """Return the argument of the activation of a node."""
        form = self.forms[node.activation]
        weights = [form.gain * weight for weight, _ in node.children + node.leaves]
        terms = [self.terms[c] for _, c in node.children]
        terms += [self.leaves[j] for _, j in node.leaves]
        return WeightedSum(node, form, form.gain * node.bias + form.shift, weights, terms)

    def _keep(
        self, node: Node, kind: str, integers: RoundedSum, scale: int, below: int = 0
    ) -> None:
        n_children, inputs = len(node.children), [j for _, j in node.leaves]
        self.nodes[node.position] = IntegerNode(
            kind,
            integers.bias,
            scale,
            below,
            tuple(reversed(integers.weights[:n_children])),
            tuple(zip(inputs, integers.weights[n_children:], strict=True)),
            node.is_output,
        )

    def _convert_table(self, total: WeightedSum) -> Term:
        """Convert a node with a table; return its value, of which an output has more digits."""
        format, form, is_output = self.format, total.form, total.node.is_output
        table = self.tables[form.kind]
        step, most = table.unit / 2**format.bits, 2**format.bits - 1
        least = total.least_unit(format)
        scale = min(most, max(1, math.ceil(least / step)))
        flat = min(1.0, most * step / least)  # below 1 for sums that are too steep for the table
        integers = total.rounded(scale * step, flat)
        while not integers.fits(format):
            scale, flat = (scale + 1, flat) if scale < most else (scale, 0.99 * flat)
            integers = total.rounded(scale * step, flat)
        self._keep(total.node, form.kind, integers, scale)
        low, high = total.range
        half = table.unit / 2
        error = integers.error.plus(-half, half)
        most = error.range
        whole = (low + most[0]) / table.unit - 1, (high + most[1]) / table.unit + 1
        of_table = table.errors(*whole, fine=is_output)
        of_value = _propagated(form, total.range, error).plus(*of_table)
        unit, top = form.unit / format.top, format.top
        if is_output:
            unit /= 2**format.bits
        elif form.kind == "tanh":
            top = int(table.coarse(format.scaled(np.array([integers.reach]), scale))[0])
        error = of_value.times((form.unit, form.unit))
        return Term(form.offset, unit, top, *value_range(form, low, high), error)

    def _convert_pieces(self, total: WeightedSum) -> Term:
        """Convert a node whose activation has two slopes."""
        format, slope = self.format, abs(total.form.slope)
        whole, steepest = 2**format.bits, max(1.0, slope)
        least = total.least_unit(format)
        while True:
            by_value = total.reach * SLACK / (format.top - 1)
            unit = steepest * max(by_value, least * whole**2 / (whole - 1))
            most = min(whole - 1, math.ceil(least * steepest * whole**2 / unit))
            integers = total.rounded(most * unit / (steepest * whole**2))
            if integers.fits(format):
                break
            least *= 1.01
        above, below = max(1, round(most / steepest)), round(most * slope / steepest)
        kind = "folded" if total.form.slope < 0 else "pieces"
        self._keep(total.node, kind, integers, above, below)
        off = below * steepest / most - slope, above * steepest / most - 1.0
        error = self._pieces_error(total, integers, off, unit / 2 * (1 + 1 / whole))
        reached = int(format.scaled(np.array([integers.reach]), max(above, below))[0])
        top = (reached + whole // 2) // whole
        return Term(0.0, unit, top, *value_range(total.form, *total.range), error)

    def _pieces_error(
        self, total: WeightedSum, integers: RoundedSum, off: Interval, rounding: float
    ) -> SharedError:
        """Return the error of a value whose slopes below and above 0 are off."""
        form, most = total.form, integers.error.range
        ends = total.range[0] + most[0], total.range[1] + most[1]
        of_slopes = [0.0]
        of_slopes += [math.copysign(1, form.slope) * off[0] * t for t in ends if t < 0]
        of_slopes += [off[1] * t for t in ends if t > 0]
        of_sum = _propagated(form, total.range, integers.error)
        return of_sum.plus(min(of_slopes) - rounding, max(of_slopes) + rounding)

    # -- outputs -------------------------------------------------------------------------

    def least_output_unit(self, k: int, offset: float, n_trees: int) -> float:
        """Return the smallest unit that a linear output can have."""
        total, whole = self.outputs[k].shifted(-offset), 2**self.format.bits
        # the sum over all trees has 32 bits
        most = min(self.format.top_sum, (2**31 - 1) // n_trees) - whole
        return max(total.reach / most, total.least_unit(self.format) * whole / (whole - 1)) * SLACK

    def convert_linear_output(self, k: int, offset: float, unit: float) -> Term | None:
        """Convert a linear output; return None if it does not fit the unit."""
        total, whole = self.outputs[k].shifted(-offset), 2**self.format.bits
        least = max(1, math.ceil(total.least_unit(self.format) * whole / unit))
        for scale in range(least, whole):
            integers = total.rounded(scale * unit / whole)
            if integers.fits(self.format):
                self._keep(total.node, "pieces", integers, scale, scale)
                low, high = total.range
                error = integers.error.plus(-unit / 2, unit / 2)
                return Term(offset, unit, 0, low + offset, high + offset, error)
        return None

    def convert_output(self, k: int) -> Term:
        """Convert an output that has a table."""
        return self._convert_table(self.outputs[k])


def _propagated(form: ActivationForm, ends: Interval, error: SharedError) -> SharedError:
    """Return the error of F whose argument is between two ends and has an error."""
    low, high = error.range
    return error.times(slopes(form, ends[0] + min(low, 0.0), ends[1] + max(high, 0.0)))


def integer_trees(
    trees: Sequence[Sequence[Node]],
    inputs: InputUnits,
    format: IntegerFormat,
    shared: bool,
    centered: bool,
) -> tuple[IntegerTree, ...]:
    """Return trees with integer weights.

    Parameters
    ----------
    trees : sequence of sequences of Node
        The nodes of each tree in the order of evaluation. Linear outputs get units that fit them;
        all others need tables, and have the units of these.
    inputs : InputUnits
    format : IntegerFormat
    shared : bool
        Whether all outputs of a tree must have the same unit and offset; otherwise, units differ
        between outputs, but not between trees.
    centered : bool
        Whether linear outputs may have an offset, so that the integers are small.
    """
    forms, tables = _integer_forms(trees, inputs, format)
    converters = [_Converter(nodes, forms, tables, inputs, format) for nodes in trees]
    if any(total.form.kind != "pieces" for c in converters for total in c.outputs):
        terms = [[c.convert_output(k) for k in range(len(c.outputs))] for c in converters]
    else:
        terms = _linear_outputs(converters, shared, centered)
    return tuple(
        IntegerTree(
            format,
            tables,
            tuple(c.nodes[node.position] for node in c.source),
            np.array([term.offset for term in row]),
            np.array([term.unit for term in row]),
            np.array([max(map(abs, term.error.range)) * SLACK for term in row]),
            np.array([term.low for term in row]),
        )
        for c, row in zip(converters, terms, strict=True)
    )


def _linear_outputs(converters: list[_Converter], shared: bool, centered: bool) -> list[list[Term]]:
    """Convert the outputs of all trees to common units."""
    n_trees, n_outputs = len(converters), len(converters[0].outputs)
    offsets = np.zeros((n_trees, n_outputs))
    if centered:
        middles = np.array([[sum(total.range) / 2 for total in c.outputs] for c in converters])
        offsets[:] = middles.mean(axis=1, keepdims=True) if shared else middles
    pairs = list(zip(converters, offsets.tolist(), strict=True))
    least = np.array(
        [[c.least_output_unit(k, by, n_trees) for k, by in enumerate(row)] for c, row in pairs]
    )
    units = np.full(n_outputs, least.max()) if shared else least.max(axis=0)
    while True:
        converted = [
            [c.convert_linear_output(k, row[k], float(units[k])) for k in range(n_outputs)]
            for c, row in pairs
        ]
        terms = [[term for term in row if term is not None] for row in converted]
        if all(len(row) == n_outputs for row in terms):
            return terms
        units = 1.01 * units


# -- activations --------------------------------------------------------------------------


def _integer_forms(
    trees: Sequence[Sequence[Node]], inputs: InputUnits, format: IntegerFormat
) -> tuple[dict[Expression, ActivationForm], dict[str, CurveTable]]:
    """Return the form of each activation, and the tables by kind of node.

    Activations that are no affine map around a shared table have separate tables, which cover the
    sums of all nodes with the activation.
    """
    forms = {node.activation: activation_form(node.activation) for tree in trees for node in tree}
    tables = dict(shared_tables(format))
    curves = [activation for activation, form in forms.items() if form.kind == "curve"]
    if curves:
        ranges = _sum_ranges(trees, forms, inputs)
        for i, activation in enumerate(curves):
            ends, kind = ranges[activation], f"curve{i}"
            forms[activation], tables[kind] = fitted_curve(forms[activation], ends, format, kind)
    return forms, tables


def _sum_ranges(
    trees: Sequence[Sequence[Node]], forms: dict[Expression, ActivationForm], inputs: InputUnits
) -> dict[Expression, Interval]:
    """Return the range of the sums of all nodes with each activation."""
    ranges: dict[Expression, Interval] = {}
    leaves = list(zip(inputs.low.tolist(), inputs.high.tolist(), strict=True))
    for tree in trees:
        values: dict[int, Interval] = {}
        for node in tree:
            low = high = node.bias
            terms = [(weight, leaves[j]) for weight, j in node.leaves]
            terms += [(weight, values[c]) for weight, c in node.children]
            for weight, ends in terms:
                least, most = interval_product((weight, weight), ends)
                low, high = low + least, high + most
            form = forms[node.activation]
            arguments = sorted((form.gain * low + form.shift, form.gain * high + form.shift))
            values[node.position] = value_range(form, *arguments)
            before = ranges.get(node.activation, (low, high))
            ranges[node.activation] = min(low, before[0]), max(high, before[1])
    return ranges
