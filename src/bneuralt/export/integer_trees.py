"""Trees with integer weights, made from trees with real ones, and a bound on the difference.

Children are evaluated before their parents and the largest subtree first, so that only few values
have to be kept at a time. Each node sums products of whole numbers, scales the sum, and looks its
activation up in a table. Scales are chosen such that no sum can overflow, whatever the inputs are.

The bound follows the same path: for each node, from the ranges and the errors of its children, the
range of its value and the range of its error. Each weight is on one path only, so one pass over the
nodes suffices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.export.arithmetic import Form, Format, activation_form
from bneuralt.export.order import evaluation_order
from bneuralt.tree import NeuralTree

__all__ = ["InputUnits", "IntegerNode", "IntegerTree", "integer_trees"]

#: What rounding of float64 can add to a bound.
_SLACK = 1.0 + 1e-9


class InputUnits(NamedTuple):
    """How inputs become whole numbers: ``round((x - middle) / unit)``, clipped.

    Attributes
    ----------
    middle, unit : arrays of shape (n_inputs,)
        A unit of 0 stands for an input that does not vary.
    low, high : arrays of shape (n_inputs,)
        The range in training, for which bounds hold.
    is_exact : bool array of shape (n_inputs,)
        Whether only the two ends of the range occur, which are not rounded.
    """

    middle: FloatArray
    unit: FloatArray
    low: FloatArray
    high: FloatArray
    is_exact: IntArray

    def encode(self, inputs: FloatArray, top: int) -> IntArray:
        """Return inputs as whole numbers."""
        factor = np.where(self.unit > 0, 1.0 / np.where(self.unit > 0, self.unit, 1.0), 0.0)
        with np.errstate(over="ignore"):
            scaled = np.floor((inputs - self.middle) * factor + 0.5)
        return np.clip(scaled, -top, top).astype(np.int64)


class IntegerNode(NamedTuple):
    """A function node.

    Attributes
    ----------
    kind : {"tanh", "bell", "pieces"}
    bias : int
    scale : int
        The sum is multiplied by ``scale / 2 ** bits``.
    scale_below : int
        The same for sums below 0, of "pieces".
    folds : bool
        Whether sums below 0 have values above it, of "pieces".
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
    folds: bool
    children: tuple[int, ...]
    leaves: tuple[tuple[int, int], ...]
    is_output: bool


@dataclass(frozen=True, eq=False)
class IntegerTree:
    """A tree with integer weights.

    Attributes
    ----------
    format : Format
    nodes : tuple of IntegerNode
        In the order of evaluation; outputs in the order of the outputs.
    offset, unit : arrays of shape (n_outputs,)
        The real outputs are ``offset + unit * output``.
    bound : array of shape (n_outputs,)
        The largest possible difference to the outputs of the real tree, over the training range.
    low, high : arrays of shape (n_outputs,)
        The range of the outputs of the real tree, over the training range.
    """

    format: Format
    nodes: tuple[IntegerNode, ...]
    offset: FloatArray
    unit: FloatArray
    bound: FloatArray
    low: FloatArray
    high: FloatArray

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
        found = []
        for node in self.nodes:
            acc = np.full(len(inputs), node.bias, dtype=np.int64)
            for weight in node.children:
                acc += weight * stack.pop()
            for i, weight in node.leaves:
                acc += weight * inputs[:, i]
            if node.is_output:
                found.append(self._value(node, acc))
            else:
                stack.append(self._value(node, acc))
        return np.stack(found, axis=1)

    def _value(self, node: IntegerNode, acc: IntArray) -> IntArray:
        format, negative = self.format, acc < 0
        if node.kind == "pieces":
            t = format.scaled(acc, np.where(negative, node.scale_below, node.scale))
            if not node.is_output:
                t = (t + 2 ** (format.bits - 1)) >> format.bits
            return t if node.folds else np.where(negative, -t, t)
        table, t = format.table(node.kind), format.scaled(acc, node.scale)
        value = table.fine(t) if node.is_output else table.coarse(t)
        return np.where(negative, -value, value) if node.kind == "tanh" else value


# -- from real weights to integers --------------------------------------------------------


class _Term(NamedTuple):
    """A child of a node: a leaf, or a function node that was converted before.

    Its value is ``offset + unit * integer`` with an integer of magnitude `top` at most. The real
    value is between `low` and `high`, and the error between `error_low` and `error_high`.
    """

    offset: float
    unit: float
    top: int
    low: float
    high: float
    error_low: float
    error_high: float


class _Sum(NamedTuple):
    """The argument of an activation as a weighted sum, in real numbers."""

    form: Form
    bias: float
    weights: list[float]
    terms: list[_Term]

    @property
    def middle(self) -> float:
        """The argument where all integers are 0."""
        pairs = zip(self.weights, self.terms, strict=True)
        return self.bias + sum(w * term.offset for w, term in pairs)

    @property
    def reach(self) -> float:
        """The largest magnitude of the argument, whatever the inputs are."""
        pairs = zip(self.weights, self.terms, strict=True)
        return abs(self.middle) + sum(abs(w * term.unit) * term.top for w, term in pairs)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest argument over the training range."""
        ends = [
            sorted((w * term.low, w * term.high))
            for w, term in zip(self.weights, self.terms, strict=True)
        ]
        return self.bias + sum(low for low, _ in ends), self.bias + sum(high for _, high in ends)

    def least_unit(self, format: Format) -> float:
        """Return the smallest unit of an integer sum in which nothing can overflow."""
        most = max([abs(w * t.unit) for w, t in zip(self.weights, self.terms, strict=True)] or [0])
        # rounding of the weights can add half of each child's largest value, that of the bias 1
        room = format.top_sum - 1 - sum(term.top / 2 for term in self.terms)
        return max(most / format.top, self.reach / room, 1e-290) * _SLACK


class _Integers(NamedTuple):
    """The weights of a sum as integers."""

    bias: int
    weights: list[int]
    reach: int
    error: tuple[float, float]  # of the argument, over the training range


def _rounded(total: _Sum, unit: float, flat: float = 1.0) -> _Integers:
    """Return the weights of a sum in a unit; `flat` below 1 makes the argument that much smaller.

    The bias makes up for the mean error of the weights.
    """
    weights, shift, low, high, reach = [], 0.0, 0.0, 0.0, 0.0
    for w, term in zip(total.weights, total.terms, strict=True):
        weight = round(flat * w * term.unit / unit)
        weights.append(weight)
        effective = weight * unit / term.unit if term.unit else 0.0
        shift += effective * term.offset
        by_weight = sorted(((effective - w) * term.low, (effective - w) * term.high))
        by_error = sorted((effective * term.error_low, effective * term.error_high))
        low += by_weight[0] + by_error[0]
        high += by_weight[1] + by_error[1]
        reach += abs(weight) * term.top
    center = (low + high) / 2 if flat == 1.0 else 0.0
    bias = round((flat * total.bias + shift - center) / unit)
    constant = bias * unit - total.bias - shift
    return _Integers(bias, weights, int(abs(bias) + reach), (low + constant, high + constant))


def _slopes(form: Form, low: float, high: float) -> tuple[float, float]:
    """Return the smallest and largest slope of F between two arguments."""
    if form.kind == "pieces":
        found = [form.slope] * (low < 0) + [1.0] * (high > 0) or [1.0]
        return min(found), max(found)
    if form.kind == "tanh":
        ends = [1.0 - math.tanh(low) ** 2, 1.0 - math.tanh(high) ** 2]
        return min(ends), 1.0 if low <= 0 <= high else max(ends)
    steepest = math.sqrt(0.5)
    inside = [t for t in (-steepest, steepest) if low < t < high]
    found = [-4.0 * t * math.exp(-min(t * t, 700.0)) for t in (low, high, *inside)]
    return min(found), max(found)


def _product(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _value_range(form: Form, low: float, high: float) -> tuple[float, float]:
    """Return the range of an activation whose argument is between two numbers."""
    if form.kind == "pieces":
        ends = [t if t > 0 else form.slope * t for t in (low, high)] + [0.0] * (low < 0 < high)
    elif form.kind == "tanh":
        ends = [math.tanh(low), math.tanh(high)]
    else:
        ends = [2.0 * math.exp(-min(t * t, 700.0)) - 1.0 for t in (low, high)]
        ends += [1.0] * (low < 0 < high)
    values = [form.offset + form.unit * end for end in ends]
    return min(values), max(values)


class _Converter:
    """Converts the nodes of one tree, from the leaves up."""

    def __init__(self, tree: NeuralTree, inputs: InputUnits, format: Format) -> None:
        self.tree, self.format = tree, format
        self.terms: dict[int, _Term] = {}
        self.nodes: dict[int, IntegerNode] = {}
        half = np.where(inputs.is_exact, 0.0, inputs.unit / 2)
        self.leaves = [
            _Term(middle, unit, format.top + 1, low, high, -error, error)
            for middle, unit, low, high, error in zip(
                *(part.tolist() for part in inputs[:4]), half.tolist(), strict=True
            )
        ]
        self.order = evaluation_order(tree)
        for i in reversed(range(tree.n_outputs, tree.parent.size)):
            self._convert(i)
        self.outputs = [self.sum_of(i) for i in range(tree.n_outputs)]

    def sum_of(self, i: int) -> _Sum:
        """Return the argument of the activation of a node."""
        tree, k = self.tree, self.tree.n_outputs
        form = activation_form(tree, i)
        leaves = range(tree.leaf_start[i], tree.leaf_start[i + 1])
        weights = [form.gain * float(tree.edge[c - k]) for c in self.order.children[i]]
        weights += [form.gain * float(tree.leaf_weight[j]) for j in leaves]
        terms = [self.terms[c] for c in self.order.children[i]]
        terms += [self.leaves[tree.leaf_input[j]] for j in leaves]
        return _Sum(form, form.gain * float(tree.bias[i]) + form.shift, weights, terms)

    def _convert(self, i: int) -> None:
        total = self.sum_of(i)
        if total.form.kind == "pieces":
            self._convert_pieces(i, total)
        else:
            self.terms[i] = self._convert_table(i, total, is_output=False)

    def _keep(self, i: int, kind: str, integers: _Integers, *scales: int, folds: bool) -> None:
        tree, n_children = self.tree, len(self.order.children[i])
        inputs = tree.leaf_input[tree.leaf_start[i] : tree.leaf_start[i + 1]].tolist()
        self.nodes[i] = IntegerNode(
            kind,
            integers.bias,
            scales[0],
            scales[1],
            folds,
            tuple(reversed(integers.weights[:n_children])),
            tuple(zip(inputs, integers.weights[n_children:], strict=True)),
            i < tree.n_outputs,
        )

    def _convert_table(self, i: int, total: _Sum, is_output: bool) -> _Term:
        """Convert a node with a table; return its value, of which an output has more digits."""
        format, form = self.format, total.form
        table = format.table(form.kind)
        step, most = table.unit / 2**format.bits, 2**format.bits - 1
        scale = max(1, math.ceil(total.least_unit(format) / step))
        flat = 1.0
        if scale > most:  # so steep that it has to be made flatter
            scale, flat = most, most / scale
        integers = _rounded(total, scale * step, flat)
        self._keep(i, form.kind, integers, scale, 0, folds=False)
        low, high = total.range
        half = table.unit / 2
        error = integers.error[0] - half, integers.error[1] + half
        whole = (low + error[0]) / table.unit - 1, (high + error[1]) / table.unit + 1
        of_table = table.errors(*whole, fine=is_output)
        of_argument = _product(
            _slopes(form, low + min(error[0], 0), high + max(error[1], 0)), error
        )
        errors = _product(
            (form.unit, form.unit), (of_table[0] + of_argument[0], of_table[1] + of_argument[1])
        )
        unit, top = form.unit / format.top, format.top
        if is_output:
            unit /= 2**format.bits
        elif form.kind == "tanh":
            reached = format.scaled(np.array([integers.reach]), scale)
            top = int(table.coarse(reached)[0])
        return _Term(form.offset, unit, top, *_value_range(form, low, high), *errors)

    def _convert_pieces(self, i: int, total: _Sum) -> None:
        format, form = self.format, total.form
        top, whole = format.top, 2**format.bits
        steepest = max(1.0, abs(form.slope))
        least = total.least_unit(format)
        unit = steepest * max(total.reach * _SLACK / (top - 1), least * whole**2 / (whole - 1))
        most = min(whole - 1, math.ceil(least * steepest * whole**2 / unit))
        integers, *scales, slopes = self._pieces(total, most, unit / whole)
        self._keep(i, "pieces", integers, *scales, folds=form.slope < 0)
        errors = self._pieces_error(total, integers, slopes, unit / 2 * (1 + 1 / whole))
        reached = int(format.scaled(np.array([integers.reach]), max(scales))[0])
        term_top = (reached + whole // 2) // whole
        assert term_top <= top
        self.terms[i] = _Term(0.0, unit, term_top, *_value_range(form, *total.range), *errors)

    def _pieces(
        self, total: _Sum, most: int, unit: float
    ) -> tuple[_Integers, int, int, tuple[float, float]]:
        """Return integers, the scales above and below 0, and the slopes that these make."""
        slope, whole = abs(total.form.slope), 2**self.format.bits
        steepest = max(1.0, slope)
        above, below = max(1, round(most / steepest)), round(most * slope / steepest)
        of_sum = most * unit / (steepest * whole)
        integers = _rounded(total, of_sum)
        slopes = below * steepest / most, above * steepest / most
        return integers, above, below, slopes

    def _pieces_error(
        self, total: _Sum, integers: _Integers, slopes: tuple[float, float], rounding: float
    ) -> tuple[float, float]:
        """Return the range of the error of a value, given the slopes below and above 0."""
        form, error = total.form, integers.error
        low, high = total.range
        of_argument = _product(
            _slopes(form, low + min(error[0], 0), high + max(error[1], 0)), error
        )
        below, above = slopes[0] - abs(form.slope), slopes[1] - 1.0
        ends = low + error[0], high + error[1]
        of_slopes = [0.0]
        of_slopes += [math.copysign(1, form.slope) * below * t for t in ends if t < 0]
        of_slopes += [above * t for t in ends if t > 0]
        return (
            of_argument[0] + min(of_slopes) - rounding,
            of_argument[1] + max(of_slopes) + rounding,
        )

    # -- outputs -------------------------------------------------------------------------

    def least_output_unit(self, k: int, offset: float, n_trees: int) -> float:
        """Return the smallest unit that an output without a table can have."""
        total, whole = self.outputs[k], 2**self.format.bits
        total = total._replace(bias=total.bias - offset)
        steepest = max(1.0, abs(total.form.slope))
        # the sum over all trees has 32 bits
        most = min(self.format.top_sum, (2**31 - 1) // n_trees) - whole
        by_reach = total.reach / most
        return (
            steepest * max(by_reach, total.least_unit(self.format) * whole / (whole - 1)) * _SLACK
        )

    def convert_output(self, k: int, offset: float, unit: float | None) -> _Term:
        """Convert an output; with a unit, it is one without a table."""
        total = self.outputs[k]
        if unit is None:
            return self._convert_table(k, total, is_output=True)
        total = total._replace(bias=total.bias - offset)
        whole = 2**self.format.bits
        steepest = max(1.0, abs(total.form.slope))
        least = total.least_unit(self.format)
        most = min(whole - 1, max(1, math.ceil(least * steepest * whole / unit)))
        integers, *scales, slopes = self._pieces(total, most, unit)
        self._keep(k, "pieces", integers, *scales, folds=total.form.slope < 0)
        errors = self._pieces_error(total, integers, slopes, unit / 2)
        low, high = _value_range(total.form, *total.range)
        return _Term(offset, unit, 0, low + offset, high + offset, *errors)


def integer_trees(
    trees: tuple[NeuralTree, ...],
    inputs: InputUnits,
    format: Format,
    shared: bool,
    centered: bool,
) -> tuple[IntegerTree, ...]:
    """Return trees with integer weights.

    Parameters
    ----------
    trees : tuple of NeuralTree
        Linear outputs are returned in a unit of the conversion's choice. All others need tables,
        and have the units of these.
    inputs : InputUnits
    format : Format
    shared : bool
        Whether all outputs of a tree must have the same unit and offset; otherwise, each output has
        its own, the same one in all trees.
    centered : bool
        Whether linear outputs may have an offset, so that the integers are small.
    """
    converters = [_Converter(tree, inputs, format) for tree in trees]
    n_outputs = trees[0].n_outputs
    has_table = any(total.form.kind != "pieces" for c in converters for total in c.outputs)
    offsets = np.zeros((len(trees), n_outputs))
    if centered and not has_table:
        middles = np.array([[sum(t.range) / 2 for t in c.outputs] for c in converters])
        offsets[:] = middles.mean(axis=1, keepdims=True) if shared else middles
    units: list[float | None] = [None] * n_outputs
    if not has_table:
        least = np.array(
            [
                [c.least_output_unit(k, offset, len(trees)) for k, offset in enumerate(row)]
                for c, row in zip(converters, offsets.tolist(), strict=True)
            ]
        )
        units = (np.full(n_outputs, least.max()) if shared else least.max(axis=0)).tolist()
    found = []
    for c, row in zip(converters, offsets.tolist(), strict=True):
        terms = [c.convert_output(k, row[k], units[k]) for k in range(n_outputs)]
        found.append(
            IntegerTree(
                format,
                tuple(c.nodes[i] for i in c.order.nodes),
                np.array([term.offset for term in terms]),
                np.array([term.unit for term in terms]),
                np.array([max(-term.error_low, term.error_high) * _SLACK for term in terms]),
                np.array([term.low for term in terms]),
                np.array([term.high for term in terms]),
            )
        )
    return tuple(found)
