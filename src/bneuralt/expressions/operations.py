"""The operations of expressions, computed with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray

__all__ = [
    "CELLS",
    "CONDITIONS",
    "DATE_PARTS",
    "EXP_LIMIT",
    "NUMERIC",
    "OPERATIONS",
    "VECTORS",
    "Lookup",
    "Operation",
]

#: Arguments of exp are limited to this size, so that its values stay positive and finite.
EXP_LIMIT = 708.0


class Lookup(NamedTuple):
    """The number that stands for each text.

    Attributes
    ----------
    texts : tuple of str
    numbers : tuple of float
        One for each text.
    unknown, missing : float
        For other texts, and for a cell without a value.
    """

    texts: tuple[str, ...]
    numbers: tuple[float, ...]
    unknown: float
    missing: float


class Operation(NamedTuple):
    """Value and derivatives of an operation.

    Attributes
    ----------
    value : callable
        From the values of the arguments to the result.
    slopes : callable or None
        From the values of the arguments to the derivative by each of them.
    """

    value: Callable[..., Any]
    slopes: Callable[..., tuple[Any, ...]] | None = None


def _exp(x: Any) -> Any:
    return np.exp(np.clip(x, -EXP_LIMIT, EXP_LIMIT))


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # of either sign, without overflow
    return np.where(np.asarray(x) < 0, small, 1.0) / (1.0 + small)


def _sigmoid_slope(x: Any) -> tuple[Any]:
    return (_sigmoid(x) * _sigmoid(-x),)


def _look_up(cell: Any, table: Lookup) -> FloatArray:
    numbers = dict(zip(table.texts, table.numbers, strict=True))
    of_text = [numbers.get(text, table.unknown) for text in cell.texts]
    numbers_of_cells: FloatArray = np.array([*of_text, table.missing])[cell.values]
    return numbers_of_cells  # the code -1 stands for missing


def _date_part(cell: Any, part: str) -> FloatArray:
    values = DATE_PARTS[part](cell.values).astype(np.float64)
    return np.where(cell.is_missing, np.nan, values)


#: The parts of a date, and how to compute them from datetime64 values. Monday is weekday 0, and the
#: time elapsed is in days since 1970, of which full hours count.
DATE_PARTS: dict[str, Callable[[Array], Array]] = {
    "year": lambda dates: dates.astype("datetime64[Y]").astype(np.int64) + 1970,
    "month": lambda dates: dates.astype("datetime64[M]").astype(np.int64) % 12 + 1,
    "day": lambda dates: (
        (dates.astype("datetime64[D]") - dates.astype("datetime64[M]")).astype(np.int64) + 1
    ),
    "weekday": lambda dates: (dates.astype("datetime64[D]").astype(np.int64) + 3) % 7,
    "hour": lambda dates: dates.astype("datetime64[h]").astype(np.int64) % 24,
    "elapsed": lambda dates: dates.astype("datetime64[h]").astype(np.int64) / 24,
}

#: Operations that combine numbers. At a border, slopes are those of the core: that of 0 for the
#: larger of 0 and 0, so that the slope of the smaller one is the rest.
NUMERIC: dict[str, Operation] = {
    "add": Operation(np.add, lambda a, b: (1.0, 1.0)),
    "subtract": Operation(np.subtract, lambda a, b: (1.0, -1.0)),
    "multiply": Operation(np.multiply, lambda a, b: (b, a)),
    "divide": Operation(np.divide, lambda a, b: (1.0 / b, -a / b**2)),
    "minimum": Operation(np.minimum, lambda a, b: (1.0 * (a <= b), 1.0 * (a > b))),
    "maximum": Operation(np.maximum, lambda a, b: (1.0 * (a > b), 1.0 * (a <= b))),
    "absolute": Operation(np.abs, lambda a: (np.sign(a),)),
    "square": Operation(np.square, lambda a: (2.0 * a,)),
    "sqrt": Operation(np.sqrt, lambda a: (0.5 / np.sqrt(a),)),
    "exp": Operation(_exp, lambda a: (_exp(a),)),
    "log": Operation(np.log, lambda a: (1.0 / a,)),
    "tanh": Operation(np.tanh, lambda a: (1.0 - np.tanh(a) ** 2,)),
    "sigmoid": Operation(_sigmoid, _sigmoid_slope),
}

#: Operations that make conditions, or choose by them.
CONDITIONS: dict[str, Operation] = {
    "greater": Operation(np.greater),
    "is_missing": Operation(np.isnan),
    "select": Operation(np.where),
    "if_missing": Operation(lambda a, default: np.where(np.isnan(a), default, a)),
}

#: Operations that read the cell of a column.
CELLS: dict[str, Operation] = {
    "number": Operation(lambda cell: cell.values),
    "lookup": Operation(_look_up),
    "date_part": Operation(_date_part),
}

#: Operations that take a vector as a whole.
VECTORS: dict[str, Operation] = {
    "largest": Operation(lambda v: v.max(axis=-1, keepdims=True)),
    "total": Operation(lambda v: v.sum(axis=-1, keepdims=True)),
    "ordered": Operation(lambda v, places: np.sort(v, axis=-1)[..., list(places)]),
}

#: Every operation by name.
OPERATIONS: dict[str, Operation] = {
    "constant": Operation(lambda value: value),
    "variable": Operation(lambda value: value),
    **NUMERIC,
    **CONDITIONS,
    **CELLS,
    **VECTORS,
}
