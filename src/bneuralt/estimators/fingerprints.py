"""Hashes of training rows, by which a card notices rows that the model has seen.

A model keeps the smallest hashes of its training rows, at most `MOST_HASHES`. A row whose hash is
above all of them may have been left out, so it cannot be checked; every other row can. Two
different rows have the same hash with a probability of 2**-64.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array
from bneuralt.arrays import is_large
from bneuralt.estimators.canonical import hash_rows
from bneuralt.estimators.rows import Rows

__all__ = ["MOST_HASHES", "Fingerprints"]

MOST_HASHES = 512


class Fingerprints(NamedTuple):
    """Hashes of training rows.

    Attributes
    ----------
    n_rows : int
        Number of training rows.
    n_different : int
        Number of different training rows; of several parts of a table, the sum.
    is_complete : bool
        Whether all different rows have their hash.
    hashes : uint64 array
        The smallest hashes, in ascending order.
    """

    n_rows: int
    n_different: int
    is_complete: bool
    hashes: Array

    @classmethod
    def of(cls, rows: Rows, others: Fingerprints | None = None) -> Fingerprints | None:
        """Return the hashes of rows, and of those of an earlier training; None for large tables."""
        if rows.on_disk or is_large(rows.table.nbytes):
            return None
        hashes = _hashes(rows)
        n_rows, n_different, is_complete = rows.n_separate, len(rows), True
        if others is not None:
            hashes = np.concatenate([hashes, others.hashes])
            n_rows, n_different = n_rows + others.n_rows, n_different + others.n_different
            is_complete = others.is_complete
        hashes = np.sort(hashes)  # much faster than `unique` for millions of different numbers
        hashes = hashes[np.append(True, hashes[1:] != hashes[:-1])]
        is_complete = is_complete and hashes.size <= MOST_HASHES
        return cls(n_rows, n_different, is_complete, hashes[:MOST_HASHES])

    def seen(self, rows: Rows) -> tuple[int, int]:
        """Return how many of some rows can be checked, and how many of those were seen.

        Equal rows are counted as often as they occur.
        """
        hashes = _hashes(rows)
        copies = np.ones(len(rows), dtype=np.int64) if rows.copies is None else rows.copies
        can_check = np.ones(len(rows), dtype=bool)
        if not self.is_complete:
            can_check = hashes <= self.hashes[-1]
        was_seen = np.isin(hashes, self.hashes)
        return int(copies[can_check].sum()), int(copies[was_seen].sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a file."""
        return {
            "n_rows": self.n_rows,
            "n_different": self.n_different,
            "is_complete": self.is_complete,
            "hashes": base64.b64encode(self.hashes.astype("<u8").tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Fingerprints:
        """Read what `to_dict` returned; raise a ValueError if it is damaged.

        Examples
        --------
        >>> prints = Fingerprints(3, 2, True, np.array([5, 9], dtype=np.uint64))
        >>> Fingerprints.from_dict(prints.to_dict()).hashes.tolist()
        [5, 9]
        """
        counts = data["n_rows"], data["n_different"]
        if any(type(n) is not int or not 0 < n < 2**63 for n in counts):
            raise ValueError("its numbers of rows must be whole and positive")
        if type(data["is_complete"]) is not bool or not isinstance(data["hashes"], str):
            raise ValueError("its values have other types")
        try:
            content = base64.b64decode(data["hashes"], validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("its hashes are not in base64") from None
        if len(content) % 8 or not 0 < len(content) <= 8 * MOST_HASHES:
            raise ValueError(f"it must have 1 to {MOST_HASHES} hashes of 8 bytes")
        hashes = np.frombuffer(content, "<u8").astype(np.uint64)
        if not np.all(hashes[1:] > hashes[:-1]):
            raise ValueError("its hashes must be in ascending order")
        return cls(*counts, data["is_complete"], hashes)


def _hashes(rows: Rows) -> Array:
    """Return a hash of each row and its target, for numbers of float32, as tables may differ."""
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(rows.X, dtype=np.float32) + np.float32(0.0)  # not -0.0
        y = np.ascontiguousarray(rows.y, dtype=np.float32) + np.float32(0.0)
    if y.ndim == 2:
        y = y.astype(np.float64)  # the hash reads words of 8 bytes
    return hash_rows(X, y)
