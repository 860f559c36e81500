"""Training rows in an order that does not depend on the order in the table.

Rows of weight 0 are dropped, identical rows are merged into one row with their total weight, and
all rows are sorted by a hash of their content. So a fit does not depend on the order of the rows,
and a row of weight 3 is equivalent to three equal rows. This copies the table; a table that is too
large for a copy, such as a memory-mapped file, keeps its order and is read in blocks of
neighbouring rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import is_large
from bneuralt.estimators.rows import MOST_COPIES, MOST_ROWS_TO_COPY, Rows
from bneuralt.tables.row_hashes import mixed
from bneuralt.tables.sparse_rows import blocks, dense, dense_bytes, smallest_dtype

__all__ = ["canonical_rows", "hash_rows"]


def canonical_rows(X: Any, y: Array, weight: Array) -> Rows:
    """Drop rows of weight 0, merge identical rows, and sort by a hash of the content.

    X is an array, or a sparse matrix, which becomes one in the order of the result.

    A large table (`bneuralt.arrays.is_large`) stays as it is: identical rows are not merged, and
    the order of the rows matters.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0], dtype=np.int32)
    >>> rows = canonical_rows(X, y, np.ones(3))
    >>> sorted(zip(rows.X[:, 0].tolist(), rows.weight.tolist()))
    [(1.0, 2.0), (2.0, 1.0)]
    """
    if issparse(X) and is_large(dense_bytes(X)):
        X = dense(X)
    if not issparse(X) and is_large(X.nbytes):
        if np.ptp(weight) == 0.0:  # one number instead of one for each row
            weight = np.broadcast_to(weight[0], weight.shape)
        return Rows(X, y, weight).used()
    if not weight.all():
        used = np.flatnonzero(weight)
        X, y, weight = _take(X, used), y[used], weight[used]
    identity = _hash_sparse_rows(X, y) if issparse(X) else hash_rows(X, y)
    order = np.argsort(identity, kind="stable")
    is_copy = identity[order[1:]] == identity[order[:-1]]
    if is_copy.any():
        later, earlier = order[1:][is_copy], order[:-1][is_copy]
        if not (np.all(y[later] == y[earlier]) and _are_equal(X[later], X[earlier])):
            identity = _rank_by_content(dense(X), y)  # different rows with the same hash
        order = np.lexsort((weight, identity))  # by weight too, so that sums round the same
        is_copy = identity[order[1:]] == identity[order[:-1]]
    first = np.flatnonzero(np.append(True, ~is_copy))
    index, total = order[first], np.add.reduceat(weight[order], first)
    # Keep the number of updates proportional to the original number of rows.
    times = int(min(total.mean() + 0.5, MOST_ROWS_TO_COPY / total.size))
    copies = total if _are_counts(weight) else np.diff(np.append(first, order.size))
    return Rows(
        dense(_take(X, index)),
        y[index],
        total,
        times=max(1, times),
        copies=None if copies.max() == 1 else copies.astype(np.int64),
    )


def _are_counts(weight: FloatArray) -> bool:
    """Return whether weights are numbers of equal rows."""
    return weight.sum() <= MOST_COPIES and bool(np.all(weight == np.floor(weight)))


def _take(X: Any, index: IntArray) -> Any:
    return X[index] if issparse(X) else X.take(index, axis=0)  # faster than indexing


def _are_equal(X: Any, Z: Any) -> bool:
    """Return whether two tables of one shape have the same values."""
    return (X != Z).nnz == 0 if issparse(X) else bool(np.all(X == Z))


def _hash_sparse_rows(X: Any, y: Array) -> Array:
    """Return the hash of each row, as of the array that the matrix would be."""
    dtype, n_rows = smallest_dtype(X.data), 4096
    parts = zip(blocks(X, n_rows), range(0, X.shape[0], n_rows), strict=True)
    hashes = [hash_rows(dense(part, dtype), y[at : at + n_rows]) for part, at in parts]
    return np.concatenate(hashes)


def hash_rows(X: Array, y: Array) -> Array:
    """Return a 64-bit hash of each row and its target."""
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

    n_rows = max(1, 100_000 // max(1, n_words))  # as many as stay in the cache
    for start in range(0, len(X), n_rows):
        block = slice(start, start + n_rows)
        hashes[block] += _folded(words[block]) @ keys[:n_words]
    return mixed(hashes)


def _folded(words: Array) -> Array:
    """Mix high bits into the low half, which is all zeros in round floating-point numbers."""
    return words ^ (words >> np.uint64(32))


def _rank_by_content(X: Array, y: Array) -> Array:
    """Return a number for each row, the same for identical rows only."""
    content = np.hstack([part.view(np.uint8).reshape(len(X), -1) for part in (X, y)])
    return np.unique(content.view(f"V{content.shape[1]}").ravel(), return_inverse=True)[1]
