"""Warnings about values that training could not prepare for."""

from __future__ import annotations

import warnings
from collections.abc import Callable

__all__ = [
    "MissingValuesWarning",
    "RareValuesWarning",
    "Surprises",
    "UnseenValuesWarning",
]

#: A warning lists at most this many columns.
MOST_COLUMNS = 5


class UnseenValuesWarning(UserWarning):
    """A column of categories has values that did not occur in training."""


class RareValuesWarning(UserWarning):
    """All values of a column of categories are rare."""


class MissingValuesWarning(UserWarning):
    """Values are missing in a column that had none missing in training, or only such."""


class Surprises:
    """Counts of missing and unseen values, by column.

    Parameters
    ----------
    place : callable
        What messages call a column, from its position.

    Examples
    --------
    >>> surprises = Surprises(["column 'a'"].__getitem__)
    >>> surprises.count(0, "unseen", 2, "blue")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     surprises.warn(stacklevel=1)
    >>> print(str(caught[0].message).split(".")[0])
    not seen in training: 2 values of column 'a', such as 'blue'
    """

    def __init__(self, place: Callable[[int], str]) -> None:
        self._place = place
        self._counts: dict[str, dict[int, tuple[int, str]]] = {"unseen": {}, "missing": {}}

    def count(self, column: int, what: str, number: int, example: str) -> None:
        """Add values of a column: "unseen" ones with an example, or "missing" ones."""
        before, first = self._counts[what].get(column, (0, example))
        self._counts[what][column] = before + number, first

    def warn(self, stacklevel: int) -> None:
        """Warn of what was counted, once for each kind of surprise."""
        unseen = [
            f"{_values(n)} of {self._place(j)}, such as {example!r:.50}"
            for j, (n, example) in self._counts["unseen"].items()
        ]
        missing = [
            f"{_values(n)} of {self._place(j)}" for j, (n, _) in self._counts["missing"].items()
        ]
        if unseen:
            warnings.warn(
                f"not seen in training: {_listed(unseen)}. They are treated as rare values are, or "
                "as the mean of the training rows where no value was rare.",
                UnseenValuesWarning,
                stacklevel=stacklevel + 1,
            )
        if missing:
            warnings.warn(
                f"missing, though none was in training: {_listed(missing)}. They are treated as "
                "the mean of the training rows.",
                MissingValuesWarning,
                stacklevel=stacklevel + 1,
            )


def _values(n: int) -> str:
    return f"{n:,} value{'' if n == 1 else 's'}"


def _listed(parts: list[str]) -> str:
    more = len(parts) - MOST_COLUMNS
    return "; ".join(parts[:MOST_COLUMNS]) + (f"; and {more} more columns" if more > 0 else "")
