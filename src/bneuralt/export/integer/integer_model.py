"""Models that compute with whole numbers only, from the inputs to the prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.arrays import as_table
from bneuralt.export.activation_forms import activation_form
from bneuralt.export.integer.curve_tables import CurveTable
from bneuralt.export.integer.formats import FORMATS, PROBABILITY_BITS, IntegerFormat
from bneuralt.export.integer.input_units import InputUnits, input_units
from bneuralt.export.integer.integer_trees import IntegerTree, integer_trees
from bneuralt.export.nodes import Node, nodes_of
from bneuralt.expressions import OUTPUTS, Expression, evaluate, is_elementwise, substitute, variable
from bneuralt.model import Model
from bneuralt.training.losses import SOFTMAX

__all__ = ["ExpScale", "IntegerModel", "ShareScale", "integer_model"]

_ONE = 2**PROBABILITY_BITS


class ExpScale(NamedTuple):
    """How the difference d of two outputs becomes an exponent of 2, in units of 2 ** -16.

    It is ``((d >> shift) * factor) >> down``; a difference ``d >> shift`` above `most` makes 0.
    """

    shift: int
    factor: int
    down: int
    most: int


class ShareScale(NamedTuple):
    """How an output y becomes a share or a probability: ``max(y + offset, 0) >> shift``.

    For probabilities this is multiplied by `factor` and shifted down by `down`.
    """

    offset: int
    shift: int
    factor: int
    down: int


class IntegerLink(NamedTuple):
    """The link of an integer model, from the outputs of the trees to predictions.

    Attributes
    ----------
    combine : {"softmax", "shares", "clip", "sum"}
        How outputs become probabilities, which are summed over all trees; "sum" adds outputs.
    activation : Expression
        A function of `OUTPUTS` that is part of the activations of the outputs of each tree.
    order : tuple of int
        The rank that each sum must have; empty if sums are not sorted.
    of_means : Expression
        The function from mean outputs to predictions, in real numbers.
    """

    combine: str
    activation: Expression = OUTPUTS
    order: tuple[int, ...] = ()
    of_means: Expression = OUTPUTS


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """A model in integer arithmetic.

    Attributes
    ----------
    model : Model
        The model with real weights, simplified.
    format : IntegerFormat
    inputs : InputUnits
    trees : tuple of IntegerTree
    link : IntegerLink
    exp : ExpScale or None
    share : ShareScale or None
    """

    model: Model
    format: IntegerFormat
    inputs: InputUnits
    trees: tuple[IntegerTree, ...]
    link: IntegerLink
    exp: ExpScale | None
    share: ShareScale | None

    @property
    def tables(self) -> dict[str, CurveTable]:
        """The tables of activations by kind of node."""
        return self.trees[0].tables

    # -- evaluation ----------------------------------------------------------------------

    def encode(self, inputs: FloatArray) -> IntArray:
        """Return real inputs as whole numbers, each rounded by itself."""
        return self.inputs.encode(inputs, self.format.top)

    def encode_rows(self, X: Any) -> IntArray:
        """Return the inputs of the rows of a table as whole numbers, as C code computes them."""
        encoder = self.model.encoder
        numbers = np.asarray(as_table(encoder.numbers(self.model.read(X))), dtype=np.float64)
        inputs = numbers if encoder.lines is None else encoder.lines.apply(numbers)
        return self.inputs.computed(self.encode(inputs), numbers, self.format.top)

    def outputs(self, inputs: IntArray) -> IntArray:
        """Return the outputs of all trees, of shape (n_trees, n_rows, n_outputs)."""
        return np.stack([tree.outputs(inputs) for tree in self.trees])

    def sums(self, outputs: IntArray) -> IntArray:
        """Return the sums of probabilities or outputs over the trees."""
        if self.link.combine == "softmax":
            outputs = self._softmax(outputs)
        elif self.link.combine == "shares":
            outputs = self._shares(outputs)
        elif self.link.combine == "clip":
            outputs = self._clipped(outputs)
        sums: IntArray = outputs.sum(axis=0)
        return sums

    def decisions(self, outputs: IntArray) -> IntArray:
        """Return positions of classes, 0 or 1 for each label, or sums of outputs."""
        sums = outputs[0] if self.model.decides_by_outputs else self.sums(outputs)
        if self.model.task == "classes":
            positions: IntArray = sums.argmax(axis=1)
            return positions
        if self.model.task == "labels":
            return (2 * sums > _ONE * len(self.trees)).astype(np.int64)
        return np.sort(sums, axis=1)[:, self.link.order] if self.link.order else sums

    def predictions(self, outputs: IntArray) -> FloatArray:
        """Return real probabilities or numbers."""
        if self.model.task == "numbers":
            values: FloatArray = evaluate(self.link.of_means, {"outputs": self.means(outputs)})
            return values
        n = len(self.trees)
        return ((self.sums(outputs) + n // 2) // n) / _ONE

    def means(self, outputs: IntArray) -> FloatArray:
        """Return the mean outputs as real numbers, sorted if the model sorts them."""
        return self.offset + self.unit * self.decisions(outputs)

    @property
    def offset(self) -> FloatArray:
        """Mean outputs are ``offset + unit * sum``."""
        offset: FloatArray = np.mean([tree.offset for tree in self.trees], axis=0)
        return offset

    @property
    def unit(self) -> FloatArray:
        """Mean outputs are ``offset + unit * sum``."""
        return self.trees[0].unit / len(self.trees)

    def _softmax(self, outputs: IntArray) -> IntArray:
        assert self.exp is not None
        shift, factor, down, most = self.exp
        below = (outputs.max(axis=2, keepdims=True) - outputs) >> shift
        exponent = (np.minimum(below, most) * factor) >> down
        bits, table = 16 - self.format.exp_bits, self.format.exp_table
        fraction = exponent & 65535
        i, rest = fraction >> bits, fraction & (2**bits - 1)
        between = table[i] - (((table[i] - table[i + 1]) * rest) >> bits)
        powers = np.where(below > most, 0, between >> np.minimum(exponent >> 16, 31))
        return _divided(powers)

    def _shares(self, outputs: IntArray) -> IntArray:
        assert self.share is not None
        offset, shift, *_ = self.share
        return _divided(np.maximum((outputs + offset).clip(min=0) >> shift, 1))

    def _clipped(self, outputs: IntArray) -> IntArray:
        assert self.share is not None
        offset, shift, factor, down = self.share
        above = np.minimum((outputs + offset).clip(min=0) >> shift, 65535)
        return np.minimum((above * factor) >> down, _ONE)

    # -- bounds --------------------------------------------------------------------------

    @property
    def bound(self) -> FloatArray:
        """The largest possible error of each probability or prediction, over the training range.

        If numbers are a function of the mean outputs, such as exp, it is the error of the means.
        """
        bounds = np.array([tree.bound for tree in self.trees])
        if self.link.combine == "softmax":
            bounds[:] = np.array([[_softmax_bound(tree)] for tree in self.trees])
            bounds += self._exp_error
        elif self.link.combine == "shares":
            bounds[:] = [[self._shares_bound(tree)] for tree in self.trees]
        elif self.link.combine == "clip":
            bounds = np.minimum(bounds + 2.0**-13, 1.0)
        if self.model.task != "numbers":
            bounds = np.minimum(bounds + 1 / _ONE, 1.0)  # the mean over trees is rounded
        mean: FloatArray = bounds.mean(axis=0)
        return np.full_like(mean, mean.max()) if self.link.order else mean

    def errors(self, inputs: FloatArray, whole: IntArray | None = None) -> FloatArray:
        """Return the errors that `bound` limits, for rows of real inputs.

        `whole` are the same inputs as whole numbers; by default, each is rounded by itself.
        """
        whole = self.encode(inputs) if whole is None else whole
        outputs, exact = self.outputs(whole), self.model.outputs(inputs)
        if self.link.of_means != OUTPUTS:
            return np.abs(self.means(outputs) - exact.mean(axis=0))
        return np.abs(self.predictions(outputs) - self.model.predictions(exact))

    @property
    def _exp_error(self) -> float:
        """The error of probabilities that the integer softmax adds."""
        assert self.exp is not None
        shift, factor, *_ = self.exp
        steps = (2.0**shift) * self.trees[0].unit[0]  # rounded down, in natural units
        octaves = 2.0**-16 + 16 * 0.5 / max(factor, 1)
        chord = (math.log(2) / 2**self.format.exp_bits) ** 2 / 8 + 3 / _ONE
        relative = steps + octaves * math.log(2) + chord
        return relative / 2 + (self.model.n_outputs + 2) / _ONE

    def _shares_bound(self, tree: IntegerTree) -> float:
        assert self.share is not None
        k = self.model.n_outputs
        error = float(tree.bound.max()) + 2.0**self.share.shift * 2 * abs(float(tree.unit[0]))
        least = float(np.maximum(tree.low, 0.0).sum()) - k * error
        return 1.0 if least <= 0 else min(1.0, (k + 1) * error / least + 2 / _ONE)


def _softmax_bound(tree: IntegerTree) -> float:
    """Return the largest change of probabilities if each score changes by its bound.

    The logarithm of p / (1 - p) changes by no more than twice the bound.
    """
    return math.tanh(float(tree.bound.max()) / 2)


def _divided(parts: IntArray) -> IntArray:
    """Return parts divided by their sum, in units of 2 ** -PROBABILITY_BITS, rounded."""
    total = parts.sum(axis=2, keepdims=True)
    return (parts * _ONE + total // 2) // total


# -- conversion ---------------------------------------------------------------------------


def input_ranges(model: Model, X: Any = None) -> FloatArray:
    """Return smallest and largest value of each input: of rows, or of the training rows."""
    if X is not None:
        inputs = model.encode(X).astype(np.float64)
        return np.stack([inputs.min(axis=0), inputs.max(axis=0)], axis=1)
    ranges = model.input_ranges
    if ranges is None:
        raise ValueError(
            f"this {model.kind} has no ranges of its inputs, which integer arithmetic needs: pass "
            "rows as X, or fit the model again"
        )
    return ranges


def integer_model(model: Model, dtype: str, ranges: FloatArray) -> IntegerModel:
    """Convert a model to integer arithmetic.

    Parameters
    ----------
    model : Model
    dtype : {"int8", "int16"}
    ranges : array of shape (n_inputs, 2)
        Smallest and largest value of each input. Values outside are clipped.

    Raises
    ------
    ValueError
        The link or an activation of the model has no integer arithmetic.
    """
    model = model.in_raw_units()
    model, format = model.simplified(), FORMATS[dtype]
    model, inputs = model.with_used_bends()
    ranges = ranges[inputs]
    link = integer_link(model)
    trees = [_with_output_function(nodes_of(tree), link.activation) for tree in model.trees]
    if link.combine == "sum" or not _have_same_outputs(trees):
        trees = [_with_linear_outputs(nodes) for nodes in trees]
    units = input_units(model, format, ranges)
    shared = link.combine != "sum" or bool(link.order)
    centered = link.combine in ("sum", "softmax")
    converted = integer_trees(trees, units, format, shared, centered)
    exp = share = None
    if link.combine == "softmax":
        exp = _exp_scale(float(converted[0].unit[0]))
    elif link.combine != "sum":
        share = _share_scale(converted, format)
    return IntegerModel(model, format, units, converted, link, exp, share)


def integer_link(model: Model) -> IntegerLink:
    """Return the link of a model in integer arithmetic.

    Functions of each output by itself become part of the activations of the outputs. Sorting,
    softmax and shares of a sum have separate code. Any other function of the mean outputs is
    computed in real numbers, from the sums that integer code returns.
    """
    link, of_trees = model.link, model.averages == "predictions" and len(model.trees) > 1
    if model.task == "numbers":
        if link.operation == "ordered" and link.arguments == (OUTPUTS,) and not of_trees:
            return IntegerLink("sum", order=link.value)
        if not of_trees:
            return IntegerLink("sum", of_means=link)
        if is_elementwise(link):
            return IntegerLink("sum", link)
    elif model.averages == "predictions" or len(model.trees) == 1:
        if model.task == "labels" and is_elementwise(link):
            return IntegerLink("clip", _without_limits(link))
        if link == SOFTMAX:
            return IntegerLink("softmax")
        if model.task == "classes" and link.operation == "divide":
            part, whole = link.arguments
            if is_elementwise(part) and whole.operation == "total" and whole.arguments == (part,):
                return IntegerLink("shares", _without_limits(part))
    raise ValueError(
        f"the link {link.operation!r} of this {model.kind} has no integer arithmetic: use "
        "dtype='float' or 'double'"
    )


def _without_limits(link: Expression) -> Expression:
    """Return a link without limits of about 0 and of 1, which integer arithmetic applies anyway."""
    if link.operation in ("minimum", "maximum"):
        inner, limit = link.arguments
        least, most = (-1e-30, 1e-30) if link.operation == "maximum" else (1.0, 1.0)
        if limit.is_constant and least <= limit.value <= most:
            return _without_limits(inner)
    return link


def _with_output_function(nodes: list[Node], function: Expression) -> list[Node]:
    """Return nodes of which the outputs have a further function as part of their activation."""
    return [
        node._replace(activation=substitute(function, {"outputs": node.activation}))
        if node.is_output
        else node
        for node in nodes
    ]


def _with_linear_outputs(nodes: list[Node]) -> list[Node]:
    """Return nodes of which the outputs are linear; others become children of linear outputs."""
    outputs = [activation_form(node.activation) for node in nodes if node.is_output]
    if all(form.kind == "pieces" and form.slope == 1.0 for form in outputs):
        return nodes
    linear = []
    for node in nodes:
        if node.is_output:
            child = len(nodes) + node.position
            linear.append(node._replace(position=child, is_output=False))
            node = Node(node.position, variable("z"), 0.0, (), ((1.0, child),), is_output=True)
        linear.append(node)
    return linear


def _have_same_outputs(trees: list[list[Node]]) -> bool:
    """Return whether all outputs are in one unit, and 0 is in the range of the integers."""
    outputs = (node.activation for nodes in trees for node in nodes if node.is_output)
    forms = {
        (form.kind, form.offset, form.unit, form.slope) for form in map(activation_form, outputs)
    }
    kind, offset, unit, slope = next(iter(forms))
    same = len(forms) == 1 and kind != "curve"
    return same and unit > 0 and slope == 1.0 and abs(offset) <= unit


def _exp_scale(unit: float) -> ExpScale:
    octave = math.log(2) / unit  # the difference that halves a probability
    most = 16 * octave
    shift = max(0, math.ceil(math.log2(most / 65535)))
    per_step = 65536 / octave * 2.0**shift  # exponent per step of the shifted difference
    down = 0
    while per_step * 2 ** (down + 1) < 65535 and 2 ** (down + 21) <= 2**32:
        down += 1
    return ExpScale(shift, round(per_step * 2**down), down, min(65535, int(most / 2**shift)))


def _share_scale(trees: tuple[IntegerTree, ...], format: IntegerFormat) -> ShareScale:
    unit = float(trees[0].unit[0])
    offset = round(float(trees[0].offset[0]) / unit)
    most = format.top_sum + max(offset, 0)
    shift = max(0, most.bit_length() - 16)
    ratio = unit * 2.0**shift * _ONE
    down = max(0, min(31, math.floor(math.log2(65535 / ratio))))
    return ShareScale(offset, shift, max(1, min(round(ratio * 2.0**down), 65535)), down)
