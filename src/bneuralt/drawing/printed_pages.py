"""Pages to read and to print: headings, sentences, tables and pictures, without scripts.

All texts are escaped, and the content security policy allows nothing but the page's own style.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files

from bneuralt.drawing.scene import Scene
from bneuralt.drawing.svg import scene_to_svg
from bneuralt.drawing.view import printable

__all__ = ["CodeLines", "Figures", "Notice", "PageSection", "Table", "printed_page"]


@dataclass(frozen=True)
class Notice:
    """A sentence that stands out; `role` is "good" or "bad"."""

    text: str
    role: str = "bad"


@dataclass(frozen=True)
class Table:
    """A table; the first column is the heading of each row, the others are numbers if aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str
    are_numbers: bool = True


@dataclass(frozen=True)
class Figures:
    """Pictures beside each other, each with a caption, which may be empty."""

    scenes: Sequence[tuple[Scene, str]]


@dataclass(frozen=True)
class CodeLines:
    """Lines of code."""

    text: str


Block = str | Notice | Table | Figures | CodeLines


@dataclass(frozen=True)
class PageSection:
    """A heading, and what is below it; a string is a paragraph."""

    title: str
    blocks: list[Block] = field(default_factory=list)


def printed_page(title: str, summary: str, sections: Sequence[PageSection]) -> str:
    """Return a page.

    Parameters
    ----------
    title, summary : str
        Heading, and a line below it.
    sections : sequence of PageSection

    Examples
    --------
    >>> page = printed_page("A card", "1 < 2", [PageSection("Data", ["No rows."])])
    >>> "<h2>Data</h2>" in page, "1 &lt; 2" in page
    (True, True)
    """
    style = (files("bneuralt.drawing") / "page" / "printed.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:"
    body = "\n".join(_section(section) for section in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:,">\n<title>{_text(title)}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header><h1>{_text(title)}</h1><p>{_text(summary)}</p></header>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


def _section(section: PageSection) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    return f"<section>\n<h2>{_text(section.title)}</h2>\n{blocks}\n</section>"


def _block(block: Block) -> str:
    if isinstance(block, Notice):
        return f'<p class="notice {block.role}">{_text(block.text)}</p>'
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, CodeLines):
        return f'<pre tabindex="0"><code>{escape(block.text)}</code></pre>'
    if isinstance(block, Figures):
        figures = (
            f"<figure>{_svg(scene)}{_caption(caption)}</figure>" for scene, caption in block.scenes
        )
        return f'<div class="figures">{"".join(figures)}</div>'
    return f"<p>{_text(block)}</p>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in table.header)
    rows = "".join(
        f'<tr><th scope="row">{_text(row[0])}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in table.rows
    )
    kind = "numbers" if table.are_numbers else "texts"
    return (
        f'<div class="scrolls" tabindex="0" role="group" aria-label="{_text(table.caption)}">'
        f'<table class="{kind}"><caption>{_text(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _caption(text: str) -> str:
    return f"<figcaption>{_text(text)}</figcaption>" if text else ""


def _svg(scene: Scene) -> str:
    """Return a picture without the style attribute, which the policy does not allow."""
    return scene_to_svg(scene).replace(' style="max-width:100%;height:auto"', "")


def _text(text: str) -> str:
    return escape(printable(text))
