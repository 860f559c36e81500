"""Columns that a model does not use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bneuralt._typing import Array
from bneuralt.lines import LineSum
from bneuralt.tables.columns import Column
from bneuralt.tables.features.feature import Feature, Input, Report, checked_bool

__all__ = ["UnusedFeature"]


@dataclass(frozen=True)
class UnusedFeature(Feature):
    """A column without inputs: it identifies rows, or has no values.

    Attributes
    ----------
    reason : str
        Why it is not used: "identifier" or "empty".
    """

    kind: ClassVar[str] = "unused"
    reason: str
    has_gaps: bool = False

    def read(self, column: Column) -> Column:
        """Return the column as it is."""
        return column

    def inputs(self, name: str, limits: Any = None) -> list[Input]:
        """Return no inputs."""
        return []

    @property
    def lines(self) -> tuple[tuple[LineSum, ...], ...]:
        """There are none."""
        return ()

    def encode(self, column: Column, out: Array, report: Report) -> None:
        """Write nothing, whatever the column has."""

    @classmethod
    def checked(cls, entries: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the class for the entries of a file."""
        if entries["reason"] not in ("identifier", "empty"):
            raise ValueError(f'"reason" is {entries["reason"]!r:.50}')
        return {**entries, "has_gaps": checked_bool(entries["has_gaps"], "has_gaps")}
