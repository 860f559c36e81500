"""Data frames of pandas, polars and Arrow: their names, their columns, and the values of a column.

They are read through the methods that they have, so that none of these packages need be installed.
Data frames of other packages are handed over to Arrow, by the protocols that they share.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bneuralt._typing import Array

__all__ = [
    "as_array",
    "as_list",
    "column_at",
    "columns_of",
    "concatenated",
    "frame_names",
    "has_categories",
    "is_arrow",
    "is_data_frame",
    "is_plain",
    "known_frame",
    "n_bytes",
    "plain_table",
    "select_columns",
    "take_rows",
]

#: How the names of Arrow's types begin whose values NumPy has too.
_NUMBERS_OF_ARROW = ("int", "uint", "float", "double", "halffloat")
_SHARED_WITH_NUMPY = (*_NUMBERS_OF_ARROW, "bool", "date", "timestamp", "duration")


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2


def _is_polars(X: Any) -> bool:
    return hasattr(X, "get_columns") and hasattr(X, "columns")


def is_arrow(X: Any) -> bool:
    """Return whether X is a table or record batch of Arrow."""
    return hasattr(X, "column_names") and hasattr(X, "itercolumns")


def is_data_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas, polars or Arrow."""
    return _is_pandas(X) or _is_polars(X) or is_arrow(X)


def known_frame(X: Any) -> Any:
    """Return a data frame of any package as one of pandas, polars or Arrow, and others as they are.

    Raises
    ------
    ImportError
        Arrow is needed and not installed.
    TypeError
        The rows are yet to be computed, or can be read only once.
    """
    is_batch = is_arrow(X) and not hasattr(X, "combine_chunks")  # a RecordBatch
    if isinstance(X, np.ndarray) or (is_data_frame(X) and not is_batch):
        return X
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet: use X.collect()")
    has_stream = hasattr(X, "__arrow_c_stream__")
    if not has_stream and not hasattr(X, "__dataframe__"):
        if isinstance(X, Iterator):
            raise TypeError(
                f"the rows of a {type(X).__name__} can be read only once, and they are needed "
                "several times: use open_table with a list of data frames, or with an object "
                "whose __iter__ begins anew"
            )
        return X
    try:
        if has_stream:
            return importlib.import_module("pyarrow").table(X)
        return importlib.import_module("pyarrow.interchange").from_dataframe(X)
    except ImportError:
        raise ImportError(
            f"X is a {type(X).__module__}.{type(X).__name__}: to read it, install pyarrow, or "
            "make a data frame of pandas or polars of it"
        ) from None


def frame_names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame; an empty list for other tables."""
    if not is_data_frame(X):
        return []
    return list(X.column_names if is_arrow(X) else X.columns)


def columns_of(X: Any) -> list[Any]:
    """Return the columns of a data frame."""
    if _is_pandas(X):
        return [column for _, column in X.items()]
    return list(X.get_columns() if _is_polars(X) else X.itercolumns())


def column_at(X: Any, j: int) -> Any:
    """Return one column of a data frame."""
    if _is_pandas(X):
        return X.iloc[:, j]
    return X.to_series(j) if _is_polars(X) else X.column(j)


def select_columns(X: Any, positions: Sequence[int]) -> Any:
    """Return some columns of a data frame."""
    if _is_pandas(X):
        return X.iloc[:, list(positions)]
    if _is_polars(X):
        return X[:, list(positions)]
    return X.select(list(positions))


def take_rows(X: Any, rows: Array | slice) -> Any:
    """Return some rows of a data frame."""
    if _is_pandas(X):
        return X.iloc[rows]
    if _is_polars(X):
        return X[rows]
    if isinstance(rows, slice):
        start, stop, _ = rows.indices(len(X))
        return X.slice(start, stop - start)
    return X.take(rows)


def concatenated(parts: Sequence[Any]) -> Any:
    """Return the rows of several data frames of one package as one."""
    if is_arrow(parts[0]):
        return importlib.import_module("pyarrow").concat_tables(parts, promote_options="permissive")
    package = importlib.import_module("pandas" if _is_pandas(parts[0]) else "polars")
    return package.concat(list(parts))


def n_bytes(X: Any) -> int:
    """Return how much memory a data frame takes; texts of pandas are counted as 50 bytes."""
    if _is_pandas(X):
        n_texts = sum(column.dtype.kind == "O" for _, column in X.items())
        size = X.memory_usage(index=False).sum() + 50 * n_texts * len(X)
    else:
        size = X.estimated_size() if _is_polars(X) else X.nbytes
    return int(size)


def plain_table(X: Any) -> Any:
    """Return a data frame of plain numbers as an array where scikit-learn would not find its type.

    Data frames of pandas whose columns are all of NumPy's types are returned as they are.
    """
    columns = columns_of(X)
    if _is_pandas(X) and all(isinstance(column.dtype, np.dtype) for column in columns):
        return X
    return np.column_stack([_plain_array(column) for column in columns])


def _plain_array(column: Any) -> Array:
    """Return a column of plain numbers as an array of the type that NumPy has for it."""
    dtype: Any = getattr(column, "dtype", None)
    if not _is_nullable(dtype):
        values: Array = column.to_numpy()
        return values
    has_gaps = dtype.kind != "f" and column.hasnans
    values = column.to_numpy(np.float64 if has_gaps else dtype.numpy_dtype, na_value=np.nan)
    return values


def _is_nullable(dtype: Any) -> bool:
    """Return whether a type is one of pandas for numbers and gaps, its own or one of Arrow."""
    return hasattr(dtype, "numpy_dtype") and getattr(dtype, "kind", "") in "fiu"


def is_plain(column: Any) -> bool:
    """Return whether a column is one of numbers as NumPy has them."""
    dtype: Any = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "fiuc"
    if _is_nullable(dtype):
        return True
    if hasattr(dtype, "is_integer"):  # polars
        return bool(dtype.is_integer() or dtype.is_float())
    return str(getattr(column, "type", "")).startswith(_NUMBERS_OF_ARROW)


def as_array(column: Any) -> Array | None:
    """Return the values of a column as an array; None if they are not all of a type of NumPy."""
    dtype: Any = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype):
        values: Array = column.to_numpy()
        return values
    if str(dtype).startswith("period"):  # of pandas: the begin of each period
        values = column.dt.to_timestamp().to_numpy()
        return values
    if hasattr(dtype, "is_temporal"):  # polars
        is_shared = dtype.is_numeric() or dtype.is_temporal() or str(dtype) == "Boolean"
        has_zone = getattr(dtype, "time_zone", None) is not None
    else:
        is_shared = str(getattr(column, "type", "")).startswith(_SHARED_WITH_NUMPY)
        has_zone = getattr(getattr(column, "type", None), "tz", None) is not None
    if not is_shared or has_zone:  # the hour on the wall is what matters, NumPy has that of UTC
        return None
    values = column.to_numpy()
    return values if values.dtype.kind in "fiubMm" else None


def as_list(column: Any) -> list[Any]:
    """Return the values of a column as Python objects."""
    values: list[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return values


def has_categories(column: Any) -> bool:
    """Return whether the type of a column says that its values are categories."""
    kind = str(getattr(column, "dtype", getattr(column, "type", "")))
    return kind.startswith(("Categorical", "category", "Enum", "dictionary"))
