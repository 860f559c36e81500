"""Numbers written as text: decimal points, decimal commas, thousands separators."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np

from bneuralt._typing import FloatArray

__all__ = ["has_thousands", "read_numbers", "to_number"]


def to_number(cell: str, decimal: str = ".", thousands: str = "") -> float | None:
    """Return the number in a cell, or None if it is not a finite number.

    Examples
    --------
    >>> to_number("1,5", decimal=","), to_number("old"), to_number("1,017", thousands=",")
    (1.5, None, 1017.0)
    """
    if thousands and thousands in cell:
        if not _grouped(thousands).fullmatch(cell.split(decimal)[0]):
            return None
        cell = cell.replace(thousands, "")
    if decimal != "." and decimal in cell:
        cell = cell.replace(decimal, ".") if "." not in cell else ""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def _grouped(separator: str) -> re.Pattern[str]:
    return re.compile(rf"[+-]?\d{{1,3}}({re.escape(separator)}\d{{3}})+")


def read_numbers(texts: Iterable[str], decimal: str = ".", thousands: str = "") -> FloatArray:
    """Return texts as numbers, NaN for those that are none.

    Examples
    --------
    >>> read_numbers(["1", "x", "2.5"])
    array([1. , nan, 2.5])
    """
    numbers = (to_number(text, decimal, thousands) for text in texts)
    return np.array([np.nan if number is None else number for number in numbers], dtype=np.float64)


def has_thousands(texts: Iterable[str], separator: str = ",") -> bool:
    """Return whether texts are numbers of which some have a thousands separator.

    One such number that cannot be a decimal fraction is enough; without one, as in a column of
    ``1,017`` only, three digits after every comma are taken for thousands as well.

    Examples
    --------
    >>> has_thousands(["1,017", "950"]), has_thousands(["1,5", "1,017"]), has_thousands(["3.5"])
    (True, False, False)
    """
    texts = list(texts)
    return any(separator in text for text in texts) and all(
        to_number(text, thousands=separator) is not None for text in texts
    )
