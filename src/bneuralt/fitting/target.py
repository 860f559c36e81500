"""Reading and checking of the target of `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_consistent_length

from bneuralt._sklearn import check_y
from bneuralt._typing import Array
from bneuralt.tables import frames
from bneuralt.tables.number_texts import PLAIN
from bneuralt.tables.reader import Cells
from bneuralt.tables.targets import numbers_of_texts
from bneuralt.warnings import TextValuesWarning, warn_user

__all__ = ["names_of_target", "numbers_in_texts", "read_target", "refuse_masked"]

#: The core counts outputs in 32 bits.
MAX_TARGETS = 2**31 - 1


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


def read_target(
    y: Any, table: Cells, estimator: str, is_classifier: bool, name: str = "y"
) -> Array:
    """Return the target of each row of a table, as an array.

    Parameters
    ----------
    y : array-like
    table : table
    estimator : str
        Name of the class of the estimator, for messages.
    is_classifier : bool
    name : str
        Name of the target in messages.
    """
    if y is None:
        raise ValueError(
            f"This {estimator} estimator requires {name} to be passed, but the target {name} is "
            "None."
        )
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) > 1 and shape[1] > MAX_TARGETS:  # reading that many takes minutes
        raise ValueError(
            f"{name} has {shape[1]} columns, and a model predicts at most {MAX_TARGETS} numbers: "
            "pass fewer columns"
        )
    refuse_masked(y, name)
    numeric = not is_classifier
    is_plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf"
    y = numbers_in_texts(y, name, warns=True) if numeric and not is_plain else y
    target = y
    try:
        if not is_plain:  # else scikit-learn would change nothing
            target = check_y(y, _has_several_columns(y), y_numeric=numeric, estimator=estimator)
        if numeric and target.dtype.kind in "US":
            target = target.astype(np.float64)
    except (TypeError, ValueError, ArithmeticError) as error:
        _refuse_missing(y, name)
        if numeric and "could not convert string" in str(error):
            raise ValueError(
                f"{name} has text ({error}), and {estimator} predicts numbers: to predict classes, "
                f"use {estimator.replace('Regressor', 'Classifier')}"
            ) from None
        raise
    if numeric and target.dtype.kind in "mM":
        raise ValueError(
            f"{name} has dates or durations, and {estimator} predicts numbers: pass "
            "a number, such as the days since the first date"
        )
    if issparse(target):
        target = target.toarray()
    if target.dtype.kind == "O" or (target.dtype.kind == "f" and not np.isfinite(target).all()):
        _refuse_missing(target, name)  # scikit-learn accepts None
    check_consistent_length(table, target)
    checked: Array = target
    return checked


def numbers_in_texts(y: Any, name: str = "y", *, warns: bool = False) -> Any:
    """Return a target of texts such as "3,221.11 EUR" as numbers, and any other as it is."""
    is_list = isinstance(y, (list, tuple)) and len(y) > 0 and isinstance(y[0], str)
    values = np.asarray(y) if is_list or getattr(y, "ndim", 0) == 1 else np.empty(0)
    if values.dtype.kind not in "OU" or not any(isinstance(v, str) for v in values.tolist()):
        return y
    found = numbers_of_texts(values)
    if found is None:
        return y
    if warns and found[1] != PLAIN:
        warn_user(
            f"texts are read as numbers: {name} ({str(values[0])!r:.40} is {found[0][0]:g}).",
            TextValuesWarning,
        )
    return found[0]


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
    except (TypeError, ArithmeticError):  # pandas.NA, and the sNaN of decimal
        return True


def _is_infinite(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isinf(value))


def _has_several_columns(y: Any) -> bool:
    """Return whether y is a table; one of a single column is read as a plain target."""
    is_sequence = isinstance(y, (list, tuple)) and len(y) > 0 and np.ndim(y[0]) == 1
    shape: tuple[int, ...] = (len(y), len(y[0])) if is_sequence else getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] > 1
