"""A report as files: one page, the same as Markdown, and each table and figure on its own."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path

from matplotlib.figure import Figure

from bneuralt.files import write_atomically
from bneuralt.paper.reporting.cells import ReportTable
from bneuralt.paper.reporting.figures import svg_file, to_png, to_svg
from bneuralt.paper.reporting.findings import HEADINGS, Finding

__all__ = ["Picture", "Section", "pictures", "write_page"]

TITLE = "Backpropagation neural trees: the paper's results, computed again"


@dataclass(frozen=True)
class Picture:
    """A figure with its caption: an SVG element as text, or a PNG file as bytes."""

    name: str
    caption: str
    content: str | bytes

    @property
    def file_name(self) -> str:
        """Name of the figure's own file."""
        return f"{self.name}.{'svg' if isinstance(self.content, str) else 'png'}"

    def to_html(self) -> str:
        """Return the figure as an element that needs no other file."""
        drawn = self.content
        if isinstance(drawn, bytes):
            drawn = f"<img alt='' src='data:image/png;base64,{b64encode(drawn).decode()}'>"
        caption = escape(self.caption)
        return (
            f"<figure id='{self.name}' role='img' aria-label='{caption}'>{drawn}"
            f"<figcaption>{caption}</figcaption></figure>"
        )

    def to_markdown(self) -> str:
        """Return a reference to the figure's own file, with the caption below."""
        return f"![{self.caption}](figures/{self.file_name})\n\n{self.caption}\n"


def pictures(
    figure: Figure | None, name: str, caption: str, *, raster: bool = False
) -> list[Picture]:
    """Return the picture of a figure; none where there is no figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure or None
    name : str
        Unique in the report.
    caption : str
    raster : bool
        Make pixels of it: for figures with more marks than a page should have.
    """
    if figure is None:
        return []
    return [Picture(name, caption, to_png(figure) if raster else to_svg(figure, name))]


@dataclass(frozen=True)
class Section:
    """A heading, what it is about, and its tables and figures in reading order."""

    slug: str
    title: str
    text: str
    parts: tuple[ReportTable | Picture, ...]
    folded: frozenset[str] = frozenset()


def write_page(
    said: Sequence[Finding],
    sections: Sequence[Section],
    facts: Mapping[str, str],
    out: str | os.PathLike[str],
) -> Path:
    """Write ``report.html``, ``report.md``, and the folders ``tables`` and ``figures``.

    Parameters
    ----------
    said : sequence of Finding
    sections : sequence of Section
    facts : mapping of str to str
        Shown under the title.
    out : path
        Folder, made if need be.

    Returns
    -------
    pathlib.Path
        The page.
    """
    folder = Path(out)
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, ReportTable):
            table = folder / "tables" / part.slug
            write_atomically(f"{table}.csv", part.frame.to_csv(index=False))
            write_atomically(f"{table}.md", part.to_markdown())
        else:
            drawn = part.content
            content = svg_file(drawn) if isinstance(drawn, str) else drawn
            write_atomically(folder / "figures" / part.file_name, content)
    write_atomically(folder / "report.md", _markdown(said, sections, facts))
    page = folder / "report.html"
    write_atomically(page, _html(said, sections, facts))
    return page


def _by_kind(said: Iterable[Finding]) -> dict[str, list[str]]:
    said = list(said)
    return {kind: texts for kind in HEADINGS if (texts := [f.text for f in said if f.kind == kind])}


def _markdown(
    said: Iterable[Finding], sections: Iterable[Section], facts: Mapping[str, str]
) -> str:
    lines = [f"# {TITLE}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    for kind, texts in _by_kind(said).items():
        lines += ["", f"## {HEADINGS[kind]}", "", *(f"- {text}" for text in texts)]
    for section in sections:
        lines += ["", f"## {section.title}", "", section.text, ""]
        lines += [part.to_markdown() for part in section.parts]
    return "\n".join(lines) + "\n"


def _html(said: Iterable[Finding], sections: Sequence[Section], facts: Mapping[str, str]) -> str:
    css = (resources.files("bneuralt.paper.reporting") / "report.css").read_text(encoding="utf-8")
    contents = "".join(f"<li><a href='#{s.slug}'>{escape(s.title)}</a></li>" for s in sections)
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    boxes = "".join(
        f"<div class='{kind}'><h3>{escape(HEADINGS[kind])}</h3><ul>"
        + "".join(f"<li>{escape(text)}</li>" for text in texts)
        + "</ul></div>"
        for kind, texts in _by_kind(said).items()
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        # An empty icon, or browsers ask a server for one.
        f"<link rel='icon' href='data:,'><title>{escape(TITLE)}</title><style>{css}</style></head>"
        f"<body><header><h1>{escape(TITLE)}</h1>"
        "<p class='lead'>V. Ojha and G. Nicosia, Backpropagation Neural Tree, Neural Networks "
        "(2022), beside what this program measures.</p>"
        f"<dl class='provenance'>{listed}</dl>"
        f"<nav aria-label='Contents'><ol><li><a href='#summary'>Summary</a></li>{contents}</ol>"
        f"</nav></header><main><section id='summary'><h2>Summary</h2><div class='summary'>{boxes}"
        f"</div></section>{''.join(_html_section(section) for section in sections)}</main>"
        "<footer>Figures in italics are quoted from the paper. Written by "
        "<code>bneuralt paper report</code>; the tables lie beside this page as CSV and "
        "Markdown, the figures as SVG and PNG.</footer></body></html>\n"
    )


def _html_section(section: Section) -> str:
    pieces = [f"<section id='{section.slug}'><h2>{escape(section.title)}</h2>"]
    pieces.append(f"<p>{escape(section.text)}</p>")
    for part in section.parts:
        if isinstance(part, ReportTable) and part.slug in section.folded:
            title = escape(part.title)
            pieces.append(f"<details><summary>{title}</summary>{part.to_html()}</details>")
        else:
            pieces.append(part.to_html())
    return "".join([*pieces, "</section>"])
