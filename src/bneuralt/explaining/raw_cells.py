"""Cells of a table as plain values and as text, for display beside contributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt._typing import Array
from bneuralt.tables.columns import Column, Frame

__all__ = ["format_cell", "raw_cells"]


def raw_cells(table: Array | Frame) -> Array:
    """Return the values of each row and feature, as numbers or as objects.

    Parameters
    ----------
    table : array or Frame
        The result of `Model.read`.
    """
    if not isinstance(table, Frame):
        return table
    cells = np.empty(table.shape, dtype=object)
    for j, column in enumerate(table.columns):
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
