"""Reading and checking of the arguments of `fit` and `predict`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.utils.validation import check_consistent_length, validate_data

from bneuralt._sklearn import check_y, with_names
from bneuralt._typing import Array
from bneuralt.arrays import TABLE_DTYPES, checked_table
from bneuralt.tables import frames
from bneuralt.tables.block_table import BlockTable
from bneuralt.tables.columns import Frame
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tables.reader import Cells, TableReader
from bneuralt.tables.sparse_rows import dense, is_finite_sparse

__all__ = [
    "encoded",
    "finite_inputs",
    "is_ready",
    "names_of",
    "names_of_target",
    "read_table",
    "read_target",
    "refuse_masked",
    "refuse_not_finite",
    "training_inputs",
]

#: The core counts outputs in 32 bits.
MOST_TARGETS = 2**31 - 1


def names_of(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the columns, None if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def names_of_target(y: Any, target: Array) -> tuple[str, ...]:
    """Return the name of a Series, or those of the columns of a data frame; empty if it has none.

    Parameters
    ----------
    y : array-like
        The target as the user has it.
    target : array of shape (n_rows,) or (n_rows, n_columns)
        The same as an array.

    Examples
    --------
    >>> import pandas as pd
    >>> y = pd.Series([1, 2], name="price")
    >>> names_of_target(y, y.to_numpy()), names_of_target([1, 2], np.array([1, 2]))
    (('price',), ())
    """
    is_frame = frames.is_data_frame(y)
    names: list[Any] = frames.frame_names(y) if is_frame else [getattr(y, "name", None)]
    n_columns = target.shape[1] if target.ndim == 2 else 1
    is_complete = len(names) == n_columns and all(isinstance(n, str) and n for n in names)
    return tuple(names) if is_complete else ()


def is_ready(X: Any, estimator: Any) -> bool:
    """Return whether the encoder of a fitted estimator can read X without any conversion.

    For such arrays, the validation of scikit-learn would change nothing and take 100 microseconds.
    """
    return (
        type(X) is np.ndarray
        and X.dtype in TABLE_DTYPES
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and X.flags.c_contiguous
        and not hasattr(estimator, "feature_names_in_")
    )


def read_table(estimator: Any, X: Any, reset: bool) -> Cells:
    """Read a table, and have scikit-learn check the number and the names of its columns.

    With `reset`, the estimator stores them; otherwise they are compared with the stored ones.
    """
    finds_columns = not reset and getattr(estimator, "finds_columns_", False)
    names = names_of(estimator) if finds_columns else None
    table = TableReader(names, type(estimator).__name__).read(X)
    source = table.source
    if isinstance(source, Frame):  # a type that scikit-learn cannot check
        if source.names is not None:
            if reset:
                estimator.n_features_in_ = source.shape[1]
                estimator.feature_names_in_ = np.array(source.names, dtype=object)
            return table.cells
        source = np.broadcast_to(0.0, source.shape)
    elif frames.is_data_frame(source):
        source = with_names(source, table.names)
    validate_data(estimator, source, reset=reset, skip_check_array=True)
    return table.cells


def read_target(estimator: Any, y: Any, table: Cells, name: str = "y") -> Array:
    """Return the target of each row of a table, as an array."""
    if y is None:  # scikit-learn raises its usual error
        validate_data(estimator, np.broadcast_to(0.0, table.shape), y, reset=False)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) > 1 and shape[1] > MOST_TARGETS:  # reading that many takes minutes
        raise ValueError(
            f"{name} has {shape[1]} columns, and a model predicts at most {MOST_TARGETS} numbers: "
            "pass fewer columns"
        )
    refuse_masked(y, name)
    numeric = is_regressor(estimator)
    try:
        target = check_y(y, _has_several_columns(y), y_numeric=numeric, estimator=estimator)
        if numeric and target.dtype.kind in "US":
            target = target.astype(np.float64)
    except (TypeError, ValueError) as error:
        _refuse_missing(y, name)
        if numeric and "could not convert string" in str(error):
            kind = type(estimator).__name__
            raise ValueError(
                f"{name} has text ({error}), and {kind} predicts numbers: to predict classes, use "
                f"{kind.replace('Regressor', 'Classifier')}"
            ) from None
        raise
    if numeric and target.dtype.kind in "mM":
        raise ValueError(
            f"{name} has dates or durations, and {type(estimator).__name__} predicts numbers: pass "
            "a number, such as the days since the first date"
        )
    if issparse(target):
        target = target.toarray()
    if target.dtype.kind == "O" or (target.dtype.kind == "f" and not np.isfinite(target).all()):
        _refuse_missing(target, name)  # scikit-learn accepts None
    check_consistent_length(table, target)
    return target


def refuse_masked(values: Any, name: str) -> None:
    """Raise an error if the targets or weights of some rows are masked."""
    if np.ma.is_masked(values):
        rows = np.flatnonzero(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1))
        raise ValueError(
            f"{name} is masked, first in row {rows[0]} (number of such rows: {rows.size}): leave "
            "these rows out"
        )


def _refuse_missing(y: Any, name: str) -> None:
    """Raise an error if the target of a row is missing or infinite."""
    cells = np.asarray(y, dtype=object)
    if cells.ndim == 0:  # a sparse matrix, or no target at all
        return
    cells = cells.reshape(len(cells), -1)
    for what, is_refused in (("NaN", _is_missing), ("infinity", _is_infinite)):
        rows = [i for i, row in enumerate(cells) if any(map(is_refused, row))]
        if rows:
            raise ValueError(
                f"Input {name} contains {what}, first in row {rows[0]} (number of such rows: "
                f"{len(rows)}): correct these rows, or leave them out"
            )


def _is_missing(value: Any) -> bool:
    try:
        return value is None or (not isinstance(value, np.ndarray) and bool(value != value))
    except TypeError:  # pandas.NA
        return True


def _is_infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isinf(value))


def _has_several_columns(y: Any) -> bool:
    """Return whether y is a table; one of a single column is read as a plain target."""
    is_sequence = isinstance(y, (list, tuple)) and len(y) > 0 and np.ndim(y[0]) == 1
    shape: tuple[int, ...] = (len(y), len(y[0])) if is_sequence else getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def encoded(encoder: TableEncoder, cells: Cells) -> Array:
    """Return numbers for `encoder.lines`; gaps of plain tables remain, kernels detect them."""
    table: Any = dense(cells)
    is_ready = encoder.is_plain and not isinstance(table, Frame)
    return table if is_ready else encoder.numbers(table)


def training_inputs(estimator: Any, cells: Cells, encoder: TableEncoder | None) -> Any:
    """Return numbers without missing values; raise an error if one is not finite.

    A sparse matrix of plain numbers stays sparse. Without an encoder, the cells are the inputs.
    """
    if (encoder is None or encoder.is_plain) and is_finite_sparse(cells):
        return cells
    table = dense(cells) if encoder is None else encoder.numbers(dense(cells))
    return checked_table(table, refuse=partial(refuse_not_finite, estimator, encoder)).X


def finite_inputs(estimator: Any, inputs: Any) -> Any:
    """Fill the missing values that `encoded` left; raise an error if a value is not finite."""
    if isinstance(inputs, BlockTable):  # checked when it is encoded
        return inputs
    encoder = estimator.encoder_
    inputs = encoded(encoder, inputs) if issparse(inputs) else inputs
    if encoder.is_plain:
        inputs = encoder.numbers(inputs)
    return checked_table(inputs, refuse=partial(refuse_not_finite, estimator, encoder)).X


def refuse_not_finite(
    estimator: Any, encoder: TableEncoder | None, X: Array, row: int, column: int
) -> ValueError:
    """Return the error for a table whose first non-finite value is at this row and column."""
    value = X[row, column]
    names = getattr(estimator, "feature_names_in_", None)
    column = column if encoder is None else encoder.column_of_number(column)
    place = f"column {column}" if names is None else f"column {names[column]!r}"
    if np.isfinite(value):
        return ValueError(
            f"row {row} of X has the value {value:g} in {place}, which overflows in the float32 "
            f"arithmetic of this {type(estimator).__name__}: it is far beyond the values that it "
            "was trained on"
        )
    return ValueError(
        f"Input X contains infinity: row {row}, {place} ({np.count_nonzero(np.isinf(X))} such "
        "values in all); numbers must be finite: correct them, or replace them by NaN, which "
        "stands for missing values."
    )
