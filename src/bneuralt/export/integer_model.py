"""A model that computes with whole numbers only, from the inputs to the prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.estimators.scaling import with_linear_root
from bneuralt.export.arithmetic import FORMATS, PROBABILITY_BITS, Format, activation_form
from bneuralt.export.integer_trees import InputUnits, IntegerTree, integer_trees
from bneuralt.export.plan import Plan
from bneuralt.tables.features import CategoryFeature
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import activation_code

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


@dataclass(frozen=True, eq=False)
class IntegerModel:
    """What an integer model does with a row of inputs.

    Attributes
    ----------
    plan : Plan
        What it is made from.
    format : Format
    inputs : InputUnits
    trees : tuple of IntegerTree
    combine : {"softmax", "shares", "clip", "sum"}
        What becomes of the outputs of the trees: probabilities, of which the sum over all trees is
        taken, or just the sum.
    exp : ExpScale or None
    share : ShareScale or None
    """

    plan: Plan
    format: Format
    inputs: InputUnits
    trees: tuple[IntegerTree, ...]
    combine: str
    exp: ExpScale | None
    share: ShareScale | None

    # -- evaluation ----------------------------------------------------------------------

    def encode(self, inputs: FloatArray) -> IntArray:
        """Return real inputs as whole numbers."""
        return self.inputs.encode(inputs, self.format.top)

    def outputs(self, inputs: IntArray) -> IntArray:
        """Return the outputs of all trees, of shape (n_trees, n_rows, n_outputs)."""
        return np.stack([tree.outputs(inputs) for tree in self.trees])

    def sums(self, outputs: IntArray) -> IntArray:
        """Return the sums of probabilities or outputs over the trees."""
        if self.combine == "softmax":
            outputs = self._softmax(outputs)
        elif self.combine == "shares":
            outputs = self._shares(outputs)
        elif self.combine == "clip":
            outputs = self._clipped(outputs)
        sums: IntArray = outputs.sum(axis=0)
        return sums

    def decided(self, outputs: IntArray) -> IntArray:
        """Return positions of classes, 0 or 1 for each label, or sums of outputs."""
        found = outputs[0] if self.plan.argmax_of_outputs else self.sums(outputs)
        if self.plan.task == "classes":
            positions: IntArray = found.argmax(axis=1)
            return positions
        if self.plan.task == "labels":
            return (2 * found > _ONE * len(self.trees)).astype(np.int64)
        return np.sort(found, axis=1)[:, self.plan.order] if self.plan.order else found

    def values(self, outputs: IntArray) -> FloatArray:
        """Return real probabilities or predictions."""
        if self.plan.task != "numbers":
            n = len(self.trees)
            return ((self.sums(outputs) + n // 2) // n) / _ONE
        values = self.offset + self.unit * self.decided(outputs)
        return np.exp(values) if self.plan.combine == "exp" else values

    @property
    def offset(self) -> FloatArray:
        """Predicted numbers are ``offset + unit * sum``."""
        offset: FloatArray = np.mean([tree.offset for tree in self.trees], axis=0)
        return offset

    @property
    def unit(self) -> FloatArray:
        """Predicted numbers are ``offset + unit * sum``."""
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

        Errors of predictions with ``loss="poisson"`` are those of the logarithm.
        """
        bounds = np.array([tree.bound for tree in self.trees])
        if self.combine == "softmax":
            bounds[:] = np.array([[_softmax_bound(tree)] for tree in self.trees])
            bounds += self._exp_error
        elif self.combine == "shares":
            bounds[:] = [[self._shares_bound(tree)] for tree in self.trees]
        elif self.combine == "clip":
            bounds = np.minimum(bounds + 2.0**-13, 1.0)
        if self.plan.task != "numbers":
            bounds = np.minimum(bounds + 1 / _ONE, 1.0)  # the mean over trees is rounded
        mean: FloatArray = bounds.mean(axis=0)
        return np.full_like(mean, mean.max()) if self.plan.order else mean

    @property
    def _exp_error(self) -> float:
        """The error of probabilities that the integer softmax adds."""
        assert self.exp is not None
        shift, factor, *_ = self.exp
        steps = (2.0**shift) * self.trees[0].unit[0]  # rounded down, in natural units
        octaves = 2.0**-16 + 16 * 0.5 / max(factor, 1)
        chord = (math.log(2) / 2**self.format.exp_bits) ** 2 / 8 + 3 / _ONE
        relative = steps + octaves * math.log(2) + chord
        return relative / 2 + (self.plan.n_outputs + 2) / _ONE

    def _shares_bound(self, tree: IntegerTree) -> float:
        assert self.share is not None
        k = self.plan.n_outputs
        error = float(tree.bound.max()) + 2.0**self.share.shift * 2 * abs(float(tree.unit[0]))
        least = float(np.maximum(tree.low, 0.0).sum()) - k * error
        return 1.0 if least <= 0 else min(1.0, (k + 1) * error / least + 2 / _ONE)


def _softmax_bound(tree: IntegerTree) -> float:
    """Return how much probabilities can change if each score changes by its bound.

    The logarithm of p / (1 - p) changes by no more than twice the bound.
    """
    return math.tanh(float(tree.bound.max()) / 2)


def _divided(parts: IntArray) -> IntArray:
    """Return parts divided by their sum, in units of 2 ** -PROBABILITY_BITS, rounded."""
    total = parts.sum(axis=2, keepdims=True)
    return (parts * _ONE + total // 2) // total


# -- making one ---------------------------------------------------------------------------


def integer_model(plan: Plan, dtype: str, ranges: FloatArray) -> IntegerModel:
    """Convert a model to integer arithmetic.

    Parameters
    ----------
    plan : Plan
    dtype : {"int8", "int16"}
    ranges : array of shape (n_inputs, 2)
        Smallest and largest value of each input. Values outside are clipped.
    """
    format = FORMATS[dtype]
    units = _input_units(plan, format, ranges)
    combine = {"mean": "sum", "exp": "sum", "sort": "sum", "sigmoid": "clip"}.get(
        plan.combine, plan.combine
    )
    trees = plan.trees
    if plan.combine == "sigmoid":
        trees = tuple(_with_sigmoid_outputs(tree) for tree in trees)
    if combine == "sum" or not _have_same_outputs(trees):
        trees = tuple(_with_linear_outputs(tree) for tree in trees)
    shared = combine != "sum" or plan.combine == "sort"
    centered = combine in ("sum", "softmax")
    converted = integer_trees(trees, units, format, shared, centered)
    exp = share = None
    if combine == "softmax":
        exp = _exp_scale(float(converted[0].unit[0]), format)
    elif combine != "sum":
        share = _share_scale(converted, format)
    return IntegerModel(plan, format, units, converted, combine, exp, share)


def _input_units(plan: Plan, format: Format, ranges: FloatArray) -> InputUnits:
    low, high = np.asarray(ranges, dtype=np.float64).T
    half = high / 2 - low / 2
    middle, unit = low / 2 + high / 2, np.where(half > 1e-290, half / format.top, 0.0)
    group, size = np.full(plan.n_inputs, -1), np.zeros(plan.n_inputs, dtype=np.int64)
    share = np.zeros(plan.n_inputs)
    for i, column in enumerate(plan.columns):
        inputs, feature = list(column.inputs), column.feature
        if isinstance(feature, CategoryFeature):
            share[inputs] = feature.shares[len(feature.shares) - len(inputs) :]
            size[inputs] = len(inputs) if len(inputs) == len(feature.shares) else 0
        else:  # the last input may say that the value is missing
            inputs = inputs[len(inputs) - feature.has_gaps :]
        group[inputs] = i
    is_number = group < 0
    return InputUnits(
        np.where(is_number, middle, 0.0),
        np.where(is_number, unit, 1.0 / format.top),
        np.where(is_number, low, 0.0),
        np.where(is_number, high, 1.0),
        group,
        size,
        share,
    )


def _with_sigmoid_outputs(tree: NeuralTree) -> NeuralTree:
    activation = np.array(tree.activation)
    activation[: tree.n_outputs] = activation_code("sigmoid")
    return replace(tree, activation=activation)


def _with_linear_outputs(tree: NeuralTree) -> NeuralTree:
    return tree if tree.output_activation == "linear" else with_linear_root(tree)


def _have_same_outputs(trees: tuple[NeuralTree, ...]) -> bool:
    """Return whether all outputs are in one unit, and 0 is in the range of the integers."""
    forms = {
        (form.kind, form.offset, form.unit, form.slope)
        for tree in trees
        for form in (activation_form(tree, k) for k in range(tree.n_outputs))
    }
    _, offset, unit, slope = next(iter(forms))
    return len(forms) == 1 and unit > 0 and slope == 1.0 and abs(offset) <= unit


def _exp_scale(unit: float, format: Format) -> ExpScale:
    octave = math.log(2) / unit  # the difference that halves a probability
    most = 16 * octave
    shift = max(0, math.ceil(math.log2(most / 65535)))
    per_step = 65536 / octave * 2.0**shift  # what a step of the shifted difference makes
    down = 0
    while per_step * 2 ** (down + 1) < 65535 and 2 ** (down + 21) <= 2**32:
        down += 1
    return ExpScale(shift, round(per_step * 2**down), down, min(65535, int(most / 2**shift)))


def _share_scale(trees: tuple[IntegerTree, ...], format: Format) -> ShareScale:
    unit = float(trees[0].unit[0])
    offset = round(float(trees[0].offset[0]) / unit)
    most = format.top_sum + max(offset, 0)
    shift = max(0, most.bit_length() - 16)
    ratio = unit * 2.0**shift * _ONE
    down = max(0, min(31, math.floor(math.log2(65535 / ratio))))
    return ShareScale(offset, shift, max(1, min(round(ratio * 2.0**down), 65535)), down)
