"""Tables of a report: cells with a kind, written as Markdown or HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import pandas as pd

__all__ = ["ReportTable", "TableCell", "format_number"]


_LEFT = " class='left'"


class TableCell(NamedTuple):
    """The text of a table cell, its kind, and in `aside` the paper's value to show next to it.

    Kinds: "" (plain), "head", "quoted" (the paper's value), "close" and "far" (a difference within
    or outside the tolerance), "strong" (a rejected hypothesis), "faint".
    """

    text: str
    kind: str = ""
    aside: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A formatted table (`header` and `rows`) and its unformatted data (`frame`).

    The first `heads` columns are text, the others numbers; a block begins at each of the rows
    `block_starts`. The data are a file of their own unless `has_file` is false.
    """

    slug: str
    title: str
    header: tuple[str, ...]
    rows: list[tuple[TableCell, ...]]
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    heads: int = 1
    block_starts: frozenset[int] = field(default_factory=frozenset)
    has_file: bool = True

    def to_markdown(self) -> str:
        """Return the table in Markdown, with its title and notes."""
        lines = [f"**{self.title}**", "", _line(self.header)]
        lines.append(_line(["---"] * self.heads + ["---:"] * (len(self.header) - self.heads)))
        lines += [_line([_markdown_cell(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, "", *(f"{note}\n" for note in self.notes)])

    def to_html(self) -> str:
        """Return the table in HTML, with its title and notes; kinds of cells are CSS classes."""
        head = "".join(
            f"<th scope='col'{_LEFT if i < self.heads else ''}>{escape(name)}</th>"
            for i, name in enumerate(self.header)
        )
        words = " class='words'" if self.heads == len(self.header) else ""
        body = []
        for i, row in enumerate(self.rows):
            start = " class='start'" if i in self.block_starts else ""
            body.append(f"<tr{start}>{''.join(_html_cell(cell) for cell in row)}</tr>")
        notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in self.notes)
        return (
            f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(self.title)}'>"
            f"<table id='{self.slug}'{words}><caption>{escape(self.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>{notes}"
        )


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _markdown_cell(cell: TableCell) -> str:
    text = f"{cell.text} ({cell.aside})" if cell.aside else cell.text
    if not text:
        return ""
    if cell.kind in ("quoted", "faint"):
        return f"*{text}*"
    return f"**{text}**" if cell.kind in ("strong", "far") else text


def _html_cell(cell: TableCell) -> str:
    aside = f" <small>{escape(cell.aside)}</small>" if cell.aside else ""
    if cell.kind == "head":
        return f"<th scope='row'>{escape(cell.text)}</th>"
    kind = f" class='{cell.kind}'" if cell.kind else ""
    return f"<td{kind}>{escape(cell.text)}{aside}</td>"


def format_number(value: float | None, digits: int = 3, signed: bool = False) -> str:
    """Format a score as in the paper, such as ``.892``; nan becomes an empty string.

    Examples
    --------
    >>> from bneuralt_paper.reporting.cells import format_number
    >>> format_number(0.8921), format_number(-0.0312, signed=True), format_number(1.0)
    ('.892', '-.031', '1.000')
    """
    if value is None or not math.isfinite(value):
        return ""
    value = round(value, digits) + 0.0  # not "-.000"
    text = f"{value:+.{digits}f}" if signed and value else f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text
