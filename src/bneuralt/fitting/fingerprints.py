"""Hashes of rows, from which a model's `Fingerprints` are made and compared."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array
from bneuralt.arrays import is_large
from bneuralt.fitting.rows import Rows
from bneuralt.model.fingerprints import Fingerprints
from bneuralt.tables.row_hashes import hash_rows

__all__ = ["fingerprints_of", "n_seen"]


def fingerprints_of(rows: Rows) -> Fingerprints | None:
    """Return the hashes of rows; None for large tables."""
    if rows.on_disk or is_large(rows.table.nbytes):
        return None
    return Fingerprints.of(_hashes(rows), rows.n_separate, len(rows))


def n_seen(known: Fingerprints, rows: Rows) -> tuple[int, int]:
    """Return how many of some rows can be checked, and how many of those were seen.

    Equal rows are counted as often as they occur.
    """
    hashes = _hashes(rows)
    copies = np.ones(len(rows), dtype=np.int64) if rows.copies is None else rows.copies
    can_check = np.ones(len(rows), dtype=bool)
    if not known.is_complete:
        can_check = hashes <= known.hashes[-1]
    was_seen = np.isin(hashes, known.hashes)
    return int(copies[can_check].sum()), int(copies[was_seen].sum())


def _hashes(rows: Rows) -> Array:
    """Return a hash of each row and its target, for numbers of float32, as tables may differ."""
    with np.errstate(over="ignore"):
        X = np.ascontiguousarray(rows.X, dtype=np.float32) + np.float32(0.0)  # not -0.0
        y = np.ascontiguousarray(rows.y, dtype=np.float32) + np.float32(0.0)
    if y.ndim == 2:
        y = y.astype(np.float64)  # the hash reads words of 8 bytes
    return hash_rows(X, y)
