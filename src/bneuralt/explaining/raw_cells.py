"""The cells of a table as a user knows them, beside contributions to predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from bneuralt._typing import Array
from bneuralt.estimators.inputs import names_of
from bneuralt.tables.columns import Column, as_frame

__all__ = ["format_cell", "raw_cells"]


def raw_cells(model: Any, X: Any) -> Array:
    """Return the values of each row and feature, as numbers or as objects.

    Parameters
    ----------
    model : NeuralTree or estimator
        Its columns are chosen by name where it finds them by name.
    X : table
        One that the model has accepted.
    """
    if issparse(X):
        dense: Array = X.toarray()
        return dense
    names = names_of(model)
    frame = as_frame(X)
    if frame is None:
        if names is not None and getattr(model, "finds_columns_", False) and hasattr(X, "iloc"):
            X = X[list(names)]
        return np.asarray(X)
    if names is not None and frame.names is not None and set(names) <= set(frame.names):
        frame = frame.select(names)
    cells = np.empty(frame.shape, dtype=object)
    for j, column in enumerate(frame.columns):
        cells[:, j] = _values(column)
    return cells


def _values(column: Column) -> list[Any]:
    if column.kind == "text":
        return [None if code < 0 else column.texts[code] for code in column.values.tolist()]
    values: list[Any] = (
        column.values.astype(str) if column.kind == "date" else column.values
    ).tolist()
    return [
        None if missing else value
        for value, missing in zip(values, column.is_missing.tolist(), strict=True)
    ]


def format_cell(name: str, value: Any) -> str:
    """Return a feature with its value as text.

    Examples
    --------
    >>> format_cell("petal width", 1.8), format_cell("colour", None)
    ('petal width = 1.8', 'colour is missing')
    """
    is_number = isinstance(value, (float, int, np.floating, np.integer))
    if value is None or (is_number and np.isnan(value)):
        return f"{name} is missing"
    return f"{name} = {value:.6g}" if is_number else f"{name} = {value}"
