"""Rows of predictions as lines of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["as_cell", "csv_lines", "shares_of_classes"]

_LINE_END = "\r\n"  # csv.writer quotes cells that contain a character of it

#: How cells begin that spreadsheets take for formulas.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class _Lines(io.StringIO):
    """The lines of a CSV file, which end in a line feed only."""

    def write(self, line: str) -> int:
        return super().write(line.removesuffix(_LINE_END) + "\n")


def csv_lines(rows: Iterable[Sequence[Any]], raw: bool = False) -> str:
    r"""Return rows as lines of a CSV file.

    Parameters
    ----------
    rows : iterable of sequences
        The cells of each row.
    raw : bool
        Whether texts that spreadsheets take for formulas stay as they are.

    Examples
    --------
    >>> csv_lines([[1, "=A1"], [2.5, "ab"]])
    "1,'=A1\n2.5,ab\n"
    """
    out = _Lines()
    writer = csv.writer(out, lineterminator=_LINE_END)
    for row in rows:
        writer.writerow(row if raw else [as_cell(cell) for cell in row])
    return out.getvalue()


def shares_of_classes(model: Any, probabilities: Any) -> dict[str, Any]:
    """Return the probabilities of each class, by the title of their column."""
    titles = [f"p({label})" for label in model.classes_]
    return dict(zip(titles, probabilities.T, strict=True))


def as_cell(label: Any) -> Any:
    """Return a label such that spreadsheets show it as text and do not run it as a formula."""
    from bneuralt.tables.numbers import to_number

    is_formula = isinstance(label, str) and label.startswith(_FORMULA) and to_number(label) is None
    return f"'{label}" if is_formula else label
