"""The range of each column in training: what later values, and sliders, can be compared with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.tables.columns import Column, parse_dates
from bneuralt.tables.features import DateFeature, Feature

__all__ = ["Range", "column_range", "number_range", "ranges_from_plain"]

#: Smallest and largest value: numbers, or dates as text such as 2024-05-31T14:30:00.
Range = tuple[float, float] | tuple[str, str]


def column_range(column: Column, feature: Feature, weight: FloatArray) -> Range | None:
    """Return the range of a column of training rows; None for categories and empty columns.

    Parameters
    ----------
    column : Column
    feature : Feature
        What the column was learnt to be.
    weight : array of shape (n_rows,)
        Rows of weight 0 are ignored.

    Examples
    --------
    >>> from bneuralt.tables.features import NumberFeature
    >>> column = Column("number", np.array([3.0, np.nan, -1.0, 9.0]))
    >>> column_range(column, NumberFeature(1.0, True), np.array([1.0, 1.0, 1.0, 0.0]))
    (-1.0, 3.0)
    """
    known = ~column.is_missing & (weight > 0)
    if feature.kind == "category" or not known.any():
        return None
    if not isinstance(feature, DateFeature):
        return number_range(float(column.values[known].min()), float(column.values[known].max()))
    if column.kind == "text":
        texts = [column.texts[i] for i in np.unique(column.values[known])]
        parsed = parse_dates(texts, feature.day_first)
        assert parsed is not None  # since the feature was learnt from them
        dates = parsed[0]
    else:
        dates = column.values[known]
    return str(dates.min()), str(dates.max())


def number_range(low: float, high: float) -> Range | None:
    """Return the range, None if it is not finite."""
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def ranges_from_plain(data: Any, kinds: list[str]) -> tuple[Range | None, ...]:
    """Read ranges that were stored as lists, one for each column of these kinds.

    Raises
    ------
    ValueError
        They are damaged.

    Examples
    --------
    >>> ranges_from_plain([[0.5, 2.0], None], ["number", "category"])
    ((0.5, 2.0), None)
    """
    if not isinstance(data, list) or len(data) != len(kinds):
        raise ValueError(f"it must be a list with an entry for each of the {len(kinds)} columns")
    return tuple(
        _range(i, entry, kind) for i, (entry, kind) in enumerate(zip(data, kinds, strict=True))
    )


def _range(i: int, entry: Any, kind: str) -> Range | None:
    if entry is None:
        return None
    if isinstance(entry, list) and len(entry) == 2:
        low, high = entry
        if kind == "number" and all(_is_finite(end) for end in entry) and low <= high:
            return float(low), float(high)
        if kind == "date" and all(type(end) is str for end in entry) and parse_dates(entry):
            return low, high
    raise ValueError(f"the entry of column {i}, a {kind}, is {entry!r:.50}")


def _is_finite(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # of an integer with hundreds of digits
        return False
