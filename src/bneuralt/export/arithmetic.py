"""Fixed-point arithmetic: the formats, the tables of activations, and the elementary operations.

Every operation here is on whole numbers and has a counterpart in the generated C code that returns
the same number. All activations are one of three functions of a shifted and scaled sum, so that two
small tables serve all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import NAMES

__all__ = ["FORMATS", "PROBABILITY_BITS", "Form", "Format", "Table", "activation_form"]

#: Probabilities are whole multiples of 2 ** -PROBABILITY_BITS.
PROBABILITY_BITS = 15


class Form(NamedTuple):
    """An activation as ``offset + unit * F(gain * z + shift)``.

    F is tanh ("tanh"), ``2 * exp(-t * t) - 1`` ("bell"), or the identity with another slope below 0
    ("pieces").
    """

    kind: str
    gain: float = 1.0
    shift: float = 0.0
    offset: float = 0.0
    unit: float = 1.0
    slope: float = 1.0


def activation_form(tree: NeuralTree, node: int) -> Form:
    """Return what a node of a tree does with its weighted sum.

    Examples
    --------
    >>> tree = NeuralTree(1, 1, [-1], [1], [0], [0], [0.0, 1.0])
    >>> activation_form(tree, 0)
    Form(kind='tanh', gain=0.5, shift=0.0, offset=0.5, unit=0.5, slope=1.0)
    """
    start = tree.activation_parameter_start
    phi = tree.activation_parameters[start[node] : start[node + 1]].tolist()
    name = NAMES[tree.activation[node]]
    if name == "linear":
        return Form("pieces")
    if name == "relu":
        return Form("pieces", slope=0.0)
    if name == "leaky_relu":
        return Form("pieces", slope=phi[0])
    if name == "sigmoid":
        return Form("tanh", gain=0.5, offset=0.5, unit=0.5)
    if name == "tanh":
        return Form("tanh")
    if name == "gaussian":
        center, width = phi
        return Form("bell", gain=1.0 / width, shift=-center / width, offset=0.5, unit=0.5)
    if name == "linear_sigmoid":
        scale, offset = phi
        return Form("tanh", gain=0.5, offset=offset + 0.5 * scale, unit=0.5 * scale)
    if name == "linear_tanh":
        return Form("tanh", offset=phi[1], unit=phi[0])
    if name == "bipolar":
        return Form("tanh", gain=phi[0], unit=1.0 / phi[0])
    if name == "unipolar":
        return Form("tanh", gain=abs(phi[0]), offset=abs(phi[0]), unit=abs(phi[0]))
    raise ValueError(f"the activation {name!r} has no integer arithmetic")


@dataclass(frozen=True, eq=False)
class Table:
    """A table of F for arguments 0, step, 2 * step, ..., between which is interpolated.

    Arguments are counted in units of ``step / 2 ** (bits - 2)``. Below 0, F is odd ("tanh") or even
    ("bell"); from the last entry on it is constant.
    """

    kind: str
    bits: int
    step: float
    values: IntArray

    @property
    def unit(self) -> float:
        """The argument that 1 stands for."""
        return self.step / 2 ** (self.bits - 2)

    @property
    def limit(self) -> int:
        """The argument, in units, of the last entry."""
        return int((len(self.values) - 1) << (self.bits - 2))

    def fine(self, t: IntArray) -> IntArray:
        """Return F of arguments that are not negative, times ``2 ** bits``."""
        inside = np.minimum(t, self.limit - 1) << 2
        i, fraction = inside >> self.bits, inside & (2**self.bits - 1)
        between = (self.values[i] << self.bits) + (self.values[i + 1] - self.values[i]) * fraction
        return np.where(t < self.limit, between, self.values[-1] << self.bits)

    def coarse(self, t: IntArray) -> IntArray:
        """Return F of arguments that are not negative, rounded to whole numbers."""
        inside = np.minimum(t, self.limit - 1) << 2
        i, fraction = inside >> self.bits, inside & (2**self.bits - 1)
        half = 2 ** (self.bits - 1)
        low, high = self.values[i], self.values[i + 1]
        if self.kind == "tanh":  # rising
            between = low + (((high - low) * fraction + half) >> self.bits)
        else:
            between = low - (((low - high) * fraction + half) >> self.bits)
        return np.where(t < self.limit, between, self.values[-1])

    def exact(self, t: Any) -> FloatArray:
        """Return the function that the table stands for, of arguments in units."""
        return _function(self.kind, np.asarray(t) * self.unit)

    def errors(self, low: float, high: float, fine: bool) -> tuple[float, float]:
        """Return the smallest and largest error of the table for whole arguments in a range.

        Errors are those of ``coarse`` or ``fine``, as fractions of the largest value.
        """
        lowest, highest = self._block_errors[int(fine)]
        ends = sorted((abs(low), abs(high)))
        first = 0 if low <= 0 <= high else int(ends[0])
        n = len(lowest)
        blocks = slice(min(first // _BLOCK, n - 1), min(int(ends[1]) // _BLOCK, n - 1) + 1)
        least, most = float(lowest[blocks].min()), float(highest[blocks].max())
        if self.kind == "bell" or low >= 0:
            return least, most
        return (-most, -least) if high <= 0 else (min(least, -most), max(most, -least))

    @cached_property
    def _block_errors(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Return the range of errors in each block of arguments, for coarse and fine values.

        All whole arguments are tried up to the last entry; behind it, the error goes on to fall
        from the last value to that of the limit of F.
        """
        top = 2 ** (self.bits - 1) - 1
        n_blocks = -(-self.limit // _BLOCK)
        t = np.arange(n_blocks * _BLOCK)
        exact, last = self.exact(t), 1.0 if self.kind == "tanh" else -1.0
        found = []
        for values in (self.coarse(t) / top, self.fine(t) / (top << self.bits)):
            errors = (values - exact).reshape(n_blocks, _BLOCK)
            end = self.values[-1] / top - np.array([exact[-1], last])
            lowest = np.append(errors.min(axis=1), end.min())
            highest = np.append(errors.max(axis=1), end.max())
            found.append((lowest, highest))
        return tuple(found)


#: Errors of tables are known for blocks of so many arguments.
_BLOCK = 16


def _function(kind: str, t: FloatArray) -> FloatArray:
    return np.tanh(t) if kind == "tanh" else 2.0 * np.exp(-np.square(t)) - 1.0


@dataclass(frozen=True)
class Format:
    """The widths of an integer model.

    Weights and values have `bits` bits, sums twice as many.
    """

    name: str
    bits: int
    tables: tuple[tuple[str, float, float], ...]  # kind, step, end
    exp_bits: int

    @property
    def top(self) -> int:
        """The largest weight and the largest value."""
        return int(2 ** (self.bits - 1) - 1)

    @property
    def top_sum(self) -> int:
        """The largest sum."""
        return int(2 ** (2 * self.bits - 1) - 1)

    def table(self, kind: str) -> Table:
        """Return the table of an activation."""
        return _table(self, kind)

    def scaled(self, acc: IntArray, scale: IntArray | int) -> IntArray:
        """Return the magnitude of sums times ``scale / 2 ** bits``, rounded."""
        return (np.abs(acc) * scale + 2 ** (self.bits - 1)) >> self.bits

    @cached_property
    def exp_table(self) -> IntArray:
        """``2 ** -x`` for x from 0 to 1, times ``2 ** PROBABILITY_BITS``."""
        x = np.arange(2**self.exp_bits + 1) / 2**self.exp_bits
        return np.rint(2.0 ** (PROBABILITY_BITS - x)).astype(np.int64)


@cache
def _table(format: Format, kind: str) -> Table:
    """Return a table whose entries balance the errors of interpolation above and below."""
    step, end = next(entry[1:] for entry in format.tables if entry[0] == kind)
    knots = np.arange(round(end / step) + 1) * step
    curvature = (
        _function(kind, knots + step / 2)
        + _function(kind, np.abs(knots - step / 2))
        * (np.where(knots == 0, -1, 1) if kind == "tanh" else 1)
        - 2 * _function(kind, knots)
    )
    # A chord is off by curvature / 2 in the middle: half of that is moved to the knots.
    balanced = _function(kind, knots) - np.where(knots == 0, 0.0, curvature / 4)
    values = np.rint(np.clip(balanced, -1.0, 1.0) * format.top).astype(np.int64)
    return Table(kind, format.bits, step, values)


#: Integer formats by name.
FORMATS = {
    "int8": Format("int8", 8, (("tanh", 1 / 8, 4.0), ("bell", 1 / 8, 3.0)), exp_bits=4),
    "int16": Format("int16", 16, (("tanh", 1 / 32, 6.0), ("bell", 1 / 64, 3.5)), exp_bits=6),
}
