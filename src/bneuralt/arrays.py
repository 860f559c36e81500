"""Conversion and checks of tables for the core.

Every table passes here once on its way to a kernel: `as_table` converts it, `checked_table` also
checks that all values are finite. A `CheckedTable` is not checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from threadpoolctl import ThreadpoolController

from bneuralt import _core
from bneuralt._typing import Array
from bneuralt.lines import InputLines

__all__ = [
    "TABLE_DTYPES",
    "CheckedTable",
    "NotFiniteError",
    "accepted_table",
    "as_table",
    "checked_table",
    "is_large",
    "is_table",
    "new_table",
    "one_blas_thread",
]

#: Tables of these types are read without a copy, all others become float64.
TABLE_DTYPES: tuple[type[np.generic], ...] = (np.float64, np.float32, np.uint8)

#: Tables of more bytes than this are not copied in memory. It is a constant and not a share of the
#: memory, so that a fit gives the same model on every machine.
LARGEST_COPY = 2**30


def is_large(n_bytes: int) -> bool:
    """Return whether a table of `n_bytes` bytes is too large to be copied in memory."""
    return n_bytes > LARGEST_COPY


def is_table(X: Any) -> bool:
    """Return whether X is an array that is read as it is.

    For such arrays, the validation of scikit-learn would change nothing and take 100 microseconds.
    """
    return (
        type(X) is np.ndarray
        and X.dtype in TABLE_DTYPES
        and X.ndim == 2
        and X.size > 0
        and X.flags.c_contiguous
    )


def new_table(shape: tuple[int, int], dtype: DTypeLike) -> Array:
    """Return a table to be filled: in memory or, if it is large, in a temporary file.

    The file is deleted with the table.

    Examples
    --------
    >>> new_table((3, 2), np.float32).shape
    (3, 2)
    """
    if not is_large(shape[0] * shape[1] * np.dtype(dtype).itemsize):
        return np.empty(shape, dtype=dtype)
    with TemporaryFile() as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A table of finite numbers that the core can read.

    Attributes
    ----------
    X : array of shape (n_rows, n_columns)
    lines : InputLines or None
        The inputs of trees that the columns become; None: each column is an input.
    """

    X: Array
    lines: InputLines | None = None

    def __len__(self) -> int:
        return len(self.X)


def accepted_table(X: Any, name: str = "X") -> Any:
    """Return a table of the user with missing values in place of masked cells.

    What has no rows and columns raises an error, and so does a list of dicts, each of which NumPy
    would take as one value.

    Examples
    --------
    >>> accepted_table(np.ma.array([[1, 2]], mask=[[False, True]]))
    array([[ 1., nan]])
    """
    if X is None or isinstance(X, (str, bytes)):
        raise TypeError(
            f"{name} is {X!r:.50}, which is no table: pass a data frame, or an array of shape "
            "(n_rows, n_columns)"
        )
    is_sequence = isinstance(X, (list, tuple)) and len(X) > 0
    if is_sequence and isinstance(X[0], Mapping):
        raise TypeError(
            f"{name} is a {type(X).__name__} of {type(X[0]).__name__}s, which is not read as a "
            f"table: pass pandas.DataFrame({name})"
        )
    shape = (len(X),) if is_sequence and np.ndim(X[0]) == 0 else getattr(X, "shape", None)
    if shape is not None and len(shape) < 2:
        column = f"{name}.to_frame()" if hasattr(X, "to_frame") else f"np.reshape({name}, (-1, 1))"
        raise ValueError(
            f"{name} has the shape {tuple(shape)}, and a table has rows and columns. Reshape your "
            f"data: {column} is one column, np.reshape({name}, (1, -1)) one row"
        )
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    if X.dtype.kind in "mM":
        missing: Any = np.array("NaT", dtype=X.dtype)  # with the unit of the column
        return X.filled(missing)
    if X.dtype.kind in "iub":
        X = X.astype(np.float64)
    return X.filled(np.nan) if X.dtype.kind in "fc" else X.astype(object).filled(None)


def as_table(X: ArrayLike, name: str = "X") -> Array:
    """Return X as a contiguous table with two dimensions and one of `TABLE_DTYPES`.

    Examples
    --------
    >>> as_table([[1, 2]]).dtype
    dtype('float64')
    """
    table = np.asarray(X)
    if table.dtype not in TABLE_DTYPES:
        has_none = table.dtype.kind == "O" and any(value is None for value in table.flat)
        if table.dtype.kind not in "fiubO" or has_none:  # None would become NaN
            raise TypeError(f"{name} must hold numbers, not {table.dtype}")
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold numbers, not {table.dtype}") from error
    if table.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, it has {table.ndim}")
    return np.ascontiguousarray(table)


def checked_table(
    X: ArrayLike | CheckedTable,
    name: str = "X",
    refuse: Callable[[Array, int, int], Exception] | None = None,
) -> CheckedTable:
    """Return a table of finite numbers.

    Parameters
    ----------
    X : array-like or CheckedTable
    name : str
        Name of the table in messages.
    refuse : callable, optional
        Makes the exception for the first value that is not finite, from the table and the
        value's row and column. By default a `ValueError`.

    Examples
    --------
    >>> len(checked_table([[1.0], [2.0]]))
    2
    """
    if isinstance(X, CheckedTable):
        return X
    table = as_table(X, name)
    place = _core.first_not_finite(table)
    if place is not None:
        raise refuse(table, *place) if refuse else NotFiniteError(table, *place, name)
    return CheckedTable(table)


class NotFiniteError(ValueError):
    """A value of a table is not finite, or too large for a float32 tree."""

    def __init__(self, table: Array, row: int, column: int, name: str = "X") -> None:
        value: Any = table[row, column]
        where = f"{name} has the value {value:g} in row {row}, column {column}"
        if np.isfinite(value):
            where += ", too large for float32: scale the column, or use a float64 tree"
        else:
            where += "; inputs must be finite"
        super().__init__(where)
        self.row = row
        self.column = column


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread for small matrices: threads that wait cost most of the time of a fit.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     (np.eye(2) @ np.ones(2)).tolist()
    [1.0, 1.0]
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Return the controller of the loaded libraries, which takes 10 ms to find."""
    return ThreadpoolController()
