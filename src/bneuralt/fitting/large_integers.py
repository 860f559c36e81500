"""Warning about whole numbers that are too large to be told apart as floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt._typing import Array
from bneuralt.tables.columns import Frame
from bneuralt.tables.encoder import TableEncoder
from bneuralt.warnings import RoundedIntegersWarning, warn_user

__all__ = ["RoundedIntegersWarning", "warn_of_rounding"]

#: Larger whole numbers are rounded; beyond 2**64 they are measurements, and not codes or counts.
LARGEST_EXACT, LARGEST_INTEGER = 2**53, 2**64


def warn_of_rounding(X: Any, encoder: TableEncoder) -> None:
    """Warn of columns whose whole numbers are rounded.

    Parameters
    ----------
    X : table
        As passed to `fit`. Numbers of a file have been rounded already.
    encoder : TableEncoder
        Learnt from X.
    """
    rounded = []
    for j, limits in enumerate(encoder.ranges or ()):
        if limits is None or isinstance(limits[0], str) or encoder.features[j].kind != "number":
            continue
        if not LARGEST_EXACT < max(-limits[0], limits[1]) <= LARGEST_INTEGER:
            continue
        column = _column(X, j)
        if column is not None and _are_rounded(column):
            rounded.append(f"column {encoder.name(j)!r} (up to {limits[1]:.0f})")
    if rounded:
        warn_user(
            f"whole numbers beyond 2**53 are rounded: {'; '.join(rounded[:5])}. If they are codes, "
            "make texts of them; otherwise subtract a constant.",
            RoundedIntegersWarning,
        )


def _column(X: Any, j: int) -> Array | None:
    """Return a column of a table; None if it cannot be found out."""
    if isinstance(X, Frame):
        return np.asarray(X.columns[j].values)
    try:
        column = np.asarray(X[X.columns[j]] if hasattr(X, "columns") else X[:, j])
    except (TypeError, LookupError, ValueError):
        return None
    return column if column.dtype.kind in "iu" else None


def _are_rounded(column: Array) -> bool:
    """Return whether whole numbers change in float64, or are floats, which were rounded before.

    Examples
    --------
    >>> _are_rounded(np.array([2**53 + 1])), _are_rounded(np.array([2**53 + 2]))
    (True, False)
    >>> _are_rounded(np.array([2.0**60, 1.0])), _are_rounded(np.array([2.0**60, 0.5]))
    (True, False)
    """
    if column.dtype.kind in "iu":
        return any(number != int(float(number)) for number in column.tolist())
    numbers = column[np.isfinite(column)]
    return bool(np.all(np.floor(numbers) == numbers))
