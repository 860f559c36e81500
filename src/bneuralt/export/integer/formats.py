"""Integer formats, and the elementary operations of integer arithmetic.

Every operation is on whole numbers, and generated C code returns the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bneuralt._typing import IntArray

__all__ = ["FORMATS", "PROBABILITY_BITS", "IntegerFormat"]

#: Probabilities are whole multiples of 2 ** -PROBABILITY_BITS.
PROBABILITY_BITS = 15


@dataclass(frozen=True)
class IntegerFormat:
    """The widths of an integer model.

    Weights and values have `bits` bits, sums twice as many.

    Attributes
    ----------
    name : str
    bits : int
    tables : tuple of (str, float, float)
        Kind, step and last argument of the tables that most activations share.
    curve_entries : int
        Number of entries on each side of 0 of the tables of all other activations.
    exp_bits : int
        The table of powers of 2 has ``2 ** exp_bits + 1`` entries.
    """

    name: str
    bits: int
    tables: tuple[tuple[str, float, float], ...]
    curve_entries: int
    exp_bits: int

    @property
    def top(self) -> int:
        """The largest weight and the largest value."""
        return int(2 ** (self.bits - 1) - 1)

    @property
    def top_sum(self) -> int:
        """The largest sum."""
        return int(2 ** (2 * self.bits - 1) - 1)

    def scaled(self, acc: IntArray, scale: IntArray | int) -> IntArray:
        """Return the magnitude of sums times ``scale / 2 ** bits``, rounded."""
        return (np.abs(acc) * scale + 2 ** (self.bits - 1)) >> self.bits

    @cached_property
    def exp_table(self) -> IntArray:
        """``2 ** -x`` for x from 0 to 1, times ``2 ** PROBABILITY_BITS``."""
        x = np.arange(2**self.exp_bits + 1) / 2**self.exp_bits
        return np.rint(2.0 ** (PROBABILITY_BITS - x)).astype(np.int64)


#: Integer formats by name.
FORMATS = {
    "int8": IntegerFormat("int8", 8, (("tanh", 1 / 8, 4.0), ("bell", 1 / 8, 3.0)), 32, 4),
    "int16": IntegerFormat("int16", 16, (("tanh", 1 / 32, 6.0), ("bell", 1 / 64, 3.5)), 128, 6),
}
