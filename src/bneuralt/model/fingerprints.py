"""Hashes of training rows, by which a card notices rows that the model has seen.

A model keeps the smallest hashes of its training rows, at most `MAX_HASHES`. A row whose hash is
above all of them may have been left out, so it cannot be checked; every other row can. Two
different rows have the same hash with a probability of 2**-64.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array

__all__ = ["MAX_HASHES", "Fingerprints"]

MAX_HASHES = 512


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

    def joined(self, others: Fingerprints) -> Fingerprints:
        """Return the hashes of these rows and of those of an earlier training."""
        return Fingerprints.of(
            np.concatenate([self.hashes, others.hashes]),
            self.n_rows + others.n_rows,
            self.n_different + others.n_different,
            self.is_complete and others.is_complete,
        )

    @classmethod
    def of(
        cls, hashes: Array, n_rows: int, n_different: int, is_complete: bool = True
    ) -> Fingerprints:
        """Keep the smallest of some hashes.

        Examples
        --------
        >>> Fingerprints.of(np.array([9, 5, 9], dtype=np.uint64), 3, 2).hashes.tolist()
        [5, 9]
        """
        hashes = np.sort(hashes)  # much faster than `unique` for millions of different numbers
        hashes = hashes[np.append(True, hashes[1:] != hashes[:-1])]
        is_complete = is_complete and hashes.size <= MAX_HASHES
        return cls(n_rows, n_different, is_complete, hashes[:MAX_HASHES])

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
        if len(content) % 8 or not 0 < len(content) <= 8 * MAX_HASHES:
            raise ValueError(f"it must have 1 to {MAX_HASHES} hashes of 8 bytes")
        hashes = np.frombuffer(content, "<u8").astype(np.uint64)
        if not np.all(hashes[1:] > hashes[:-1]):
            raise ValueError("its hashes must be in ascending order")
        return cls(*counts, data["is_complete"], hashes)
