"""Training rows in an order that does not depend on the order in the table.

Rows of weight 0 are dropped, identical rows are merged into one row with their total weight, and
all rows are sorted by a hash of their content. So a fit does not depend on the order of the rows,
and a row that counts as three (`weights`) is equivalent to three equal rows. This copies the table;
a table that is too large for a copy, such as a memory-mapped file, keeps its order and is read in
blocks of neighbouring rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from bneuralt._typing import Array, IntArray
from bneuralt.arrays import is_large
from bneuralt.fitting.rows import MAX_ROWS_TO_COPY, Rows
from bneuralt.fitting.weights import RowWeights
from bneuralt.tables.row_hashes import hash_rows
from bneuralt.tables.sparse_rows import blocks, dense, dense_bytes, smallest_dtype

__all__ = ["canonical_rows"]

#: float32 tables are copied as float64, so that the same numbers give the same model to the last
#: bit, if the copy takes at most this many bytes.
MAX_WIDENED_BYTES = 2**28


def canonical_rows(X: Any, y: Array, weights: RowWeights) -> Rows:
    """Drop rows of weight 0, merge identical rows, and sort by a hash of the content.

    X is an array, or a sparse matrix, which becomes one in the order of the result.

    A large table (`bneuralt.arrays.is_large`) stays as it is: identical rows are not merged, and
    the order of the rows matters.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0], dtype=np.int32)
    >>> rows = canonical_rows(X, y, RowWeights.ones(3))
    >>> sorted(zip(rows.X[:, 0].tolist(), rows.weight.tolist()))
    [(1.0, 2.0), (2.0, 1.0)]
    """
    weight, counts = weights
    if issparse(X) and is_large(dense_bytes(X)):
        X = dense(X)
    if not issparse(X) and is_large(X.nbytes):
        if np.ptp(weight) == 0.0:  # one number instead of one for each row
            weight = np.broadcast_to(weight[0], weight.shape)
        return Rows(X, y, weight).used()
    used, n_rows = None, weight.size
    if not weight.all():
        used = np.flatnonzero(weight)
        X, y, weight, counts = _take(X, used), y[used], weight[used], counts[used]
    identity = _hash_sparse_rows(X, y) if issparse(X) else hash_rows(X, y)
    order = np.argsort(identity, kind="stable")
    is_copy = identity[order[1:]] == identity[order[:-1]]
    if is_copy.any():
        later, earlier = order[1:][is_copy], order[:-1][is_copy]
        if not (np.all(y[later] == y[earlier]) and _are_equal(X[later], X[earlier])):
            identity = _rank_by_content(dense(X), y)  # different rows with the same hash
        order = np.lexsort((weight, identity))  # by weight too, so that sums round the same
        is_copy = identity[order[1:]] == identity[order[:-1]]
    is_first = np.append(True, ~is_copy)
    first = np.flatnonzero(is_first)
    index, total = order[first], np.add.reduceat(weight[order], first)
    copies = np.add.reduceat(counts[order], first)
    # Keep the number of updates proportional to the original number of rows.
    times = int(min(copies.mean() + 0.5, MAX_ROWS_TO_COPY / total.size))
    table_row = np.full(n_rows, -1, dtype=np.int32)
    table_row[order if used is None else used[order]] = np.cumsum(is_first) - 1
    table = dense(_take(X, index))
    if table.dtype == np.float32 and 2 * table.nbytes <= MAX_WIDENED_BYTES:
        table = table.astype(np.float64)  # kernels round the two types differently
    return Rows(
        table,
        y[index],
        total,
        times=max(1, times),
        copies=None if copies.max() == 1 else copies.astype(np.int64),
        table_row=table_row,
    )


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


def _rank_by_content(X: Array, y: Array) -> Array:
    """Return a number for each row, the same for identical rows only."""
    content = np.hstack([part.view(np.uint8).reshape(len(X), -1) for part in (X, y)])
    return np.unique(content.view(f"V{content.shape[1]}").ravel(), return_inverse=True)[1]
