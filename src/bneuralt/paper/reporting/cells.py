"""A table for a report: cells that say what they are, written as Markdown or HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import pandas as pd

__all__ = ["Cell", "ReportTable", "number"]


_LEFT = " class='left'"


class Cell(NamedTuple):
    """Text of a table cell, what it is, and the paper's figure where it stands beside.

    Kinds: "" (plain), "head", "quoted" (the paper's figure), "close", "far" (a difference within or
    beyond the tolerance), "strong" (a rejected hypothesis), "faint".
    """

    text: str
    kind: str = ""
    aside: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A table for reading (`header` and `rows`) and the same for computing (`frame`).

    The first `heads` columns are words, the others numbers; rows at `block_starts` begin a block.
    """

    slug: str
    title: str
    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    heads: int = 1
    block_starts: frozenset[int] = field(default_factory=frozenset)

    def to_markdown(self) -> str:
        """Return the table in Markdown, with its title and notes."""
        lines = [f"**{self.title}**", "", _line(self.header)]
        lines.append(_line(["---"] * self.heads + ["---:"] * (len(self.header) - self.heads)))
        lines += [_line([_markdown_cell(cell) for cell in row]) for row in self.rows]
        return "\n".join([*lines, "", *(f"{note}\n" for note in self.notes)])

    def to_html(self) -> str:
        """Return the table in HTML, with its title and notes; classes are the cells' kinds."""
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


def _markdown_cell(cell: Cell) -> str:
    text = f"{cell.text} ({cell.aside})" if cell.aside else cell.text
    if not text:
        return ""
    if cell.kind in ("quoted", "faint"):
        return f"*{text}*"
    return f"**{text}**" if cell.kind in ("strong", "far") else text


def _html_cell(cell: Cell) -> str:
    aside = f" <small>{escape(cell.aside)}</small>" if cell.aside else ""
    if cell.kind == "head":
        return f"<th scope='row'>{escape(cell.text)}</th>"
    kind = f" class='{cell.kind}'" if cell.kind else ""
    return f"<td{kind}>{escape(cell.text)}{aside}</td>"


def number(value: float | None, digits: int = 3, signed: bool = False) -> str:
    """Write a score as the paper does, ``.892``; nothing for nan.

    Examples
    --------
    >>> from bneuralt.paper.reporting.cells import number
    >>> number(0.8921), number(-0.0312, signed=True), number(1.0), number(float("nan"))
    ('.892', '-.031', '1.000', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    value = round(value, digits) + 0.0  # not "-.000"
    text = f"{value:+.{digits}f}" if signed and value else f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text
