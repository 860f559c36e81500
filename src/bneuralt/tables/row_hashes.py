"""Hashes of rows, by their positions or by their content: the same on every machine."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array

__all__ = ["hash_rows", "mixed", "row_hashes"]


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


def hash_rows(X: Array, y: Array) -> Array:
    """Return a 64-bit hash of each row and its target, the same for equal numbers of any type."""
    y = y + 0.0 if y.dtype.kind == "f" else y  # -0.0 is 0.0
    if X.dtype.kind == "f":
        n_rows = max(1, 100_000 // max(1, X.shape[1]))
        blocks = (slice(start, start + n_rows) for start in range(0, len(X), n_rows))
        parts = [_hash_content(X[b].astype(np.float64) + 0.0, y[b]) for b in blocks]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)
    return _hash_content(X, y)


def _hash_content(X: Array, y: Array) -> Array:
    content = X.view(np.uint8).reshape(len(X), -1)
    n_words, n_rest = divmod(content.shape[1], 8)
    words = content[:, : 8 * n_words].view(np.uint64)
    keys = mixed(np.arange(1, n_words + 3, dtype=np.uint64)) | np.uint64(1)

    rest = np.zeros((len(X), 16), dtype=np.uint8)  # the last bytes of the row, and the target
    rest[:, :n_rest] = content[:, 8 * n_words :]
    first = np.ascontiguousarray(y.reshape(len(y), -1)[:, 0])
    rest[:, 8 : 8 + y.itemsize] = first.view(np.uint8).reshape(len(y), -1)
    hashes = _folded(rest.view(np.uint64)) @ keys[n_words:]
    if y.ndim == 2:  # the other targets
        others = np.ascontiguousarray(y[:, 1:]).view(np.uint64)
        more_keys = mixed(np.arange(others.shape[1], dtype=np.uint64) + keys[-1]) | np.uint64(1)
        hashes += _folded(others) @ more_keys

    return mixed(hashes + _folded(words) @ keys[:n_words])


def _folded(words: Array) -> Array:
    """Mix high bits into the low half, which is all zeros in round floating-point numbers."""
    folded: Array = words ^ (words >> np.uint64(32))
    return folded
