"""Sparse matrices as dense tables, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from bneuralt._typing import Array
from bneuralt.arrays import new_table

__all__ = ["blocks", "dense", "dense_bytes", "is_finite_sparse", "smallest_dtype"]


def blocks(X: Any, n_rows: int = 4096) -> Iterator[Any]:
    """Yield blocks of rows of a sparse matrix."""
    for start in range(0, X.shape[0], n_rows):
        yield X[start : start + n_rows]


def dense(table: Any, dtype: Any = None) -> Any:
    """Return a table as it is, and a sparse matrix as an array, filled block by block.

    By default the array is of the smallest type that holds the values exactly.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> dense(csr_matrix([[0, 3], [0, 0]]))
    array([[0., 3.],
           [0., 0.]], dtype=float32)
    """
    if not issparse(table):
        return table
    array, start = new_table(table.shape, dtype or smallest_dtype(table.data)), 0
    for block in blocks(table):
        array[start : start + block.shape[0]] = block.toarray()
        start += block.shape[0]
    return array


def dense_bytes(table: Any) -> int:
    """Return the size of the array that a sparse matrix becomes."""
    n_cells = int(np.prod(table.shape, dtype=np.int64))
    return n_cells * np.dtype(smallest_dtype(table.data)).itemsize


def is_finite_sparse(table: Any) -> bool:
    """Return whether a table is a sparse matrix of finite numbers."""
    return issparse(table) and bool(np.isfinite(table.data).all())


def smallest_dtype(values: Array) -> type[np.generic]:
    """Return the smallest type that a table may have and that holds these values exactly.

    Only values of type uint8 stay so: they are taken for images.
    """
    if values.dtype == np.uint8:
        return np.uint8
    with np.errstate(invalid="ignore", over="ignore"):
        return np.float32 if np.array_equal(values.astype(np.float32), values) else np.float64
