"""Histories of trainings in parts, which grow by one epoch at a time."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray

__all__ = ["GrowingArray"]


class GrowingArray:
    """Memory with free space behind some numbers, so that few appends copy those before.

    Examples
    --------
    >>> memory = GrowingArray()
    >>> one = memory.append(np.array([1.0]), np.array([2.0]))
    >>> memory.append(one, np.array([3.0]))
    array([1., 2., 3.])
    >>> memory.append(one, np.array([4.0])), one
    (array([1., 2., 4.]), array([1., 2.]))
    """

    def __init__(self) -> None:
        self._numbers: FloatArray = np.empty(0)
        self._n_used = 0

    def append(self, before: FloatArray, new: FloatArray) -> FloatArray:
        """Return the numbers of both arrays; no array that was returned before changes."""
        start, end = before.size, before.size + new.size
        continues = before.base is self._numbers and start == self._n_used
        if not continues or end > self._numbers.size:
            self._numbers = np.empty(2 * end)
            self._numbers[:start] = before
        self._numbers[start:end] = new
        self._n_used = end
        return self._numbers[:end]
