"""Numbers that look random, computed from the positions of rows: the same on every machine."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array

__all__ = ["mixed", "row_hashes"]


def mixed(z: Array) -> Array:
    """Scramble 64-bit words (the last step of the SplitMix64 generator)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled: Array = z ^ (z >> np.uint64(31))
    return scrambled


def row_hashes(seed: int, first: int, n_rows: int) -> Array:
    """Return a 64-bit word for each of some neighbouring rows.

    Examples
    --------
    >>> row_hashes(0, 2, 2).tolist() == row_hashes(0, 0, 4).tolist()[2:]
    True
    """
    start = mixed(np.array([seed + 1], dtype=np.uint64))
    step = np.uint64(0x9E3779B97F4A7C15)
    return mixed(start + np.arange(first, first + n_rows, dtype=np.uint64) * step)
