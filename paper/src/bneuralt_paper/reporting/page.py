"""The files of a report: one page, as Markdown and HTML, and each table and figure as a file."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path

from matplotlib.figure import Figure

from bneuralt.files import write_atomically
from bneuralt_paper.reporting.cells import ReportTable
from bneuralt_paper.reporting.figure_files import svg_file, to_png, to_svg

__all__ = ["Picture", "Section", "pictures", "write_page"]

TITLE = "Reproducing the paper"
INTRODUCTION = (
    'Every algorithm, equation, table, figure and statement of "Backpropagation Neural Tree" (V. '
    "Ojha and G. Nicosia, Neural Networks, 2022), what was found with this library, and whether it "
    "agrees."
)
PROVENANCE = "Provenance"


@dataclass(frozen=True)
class Picture:
    """A figure with its caption: an SVG element as text, or a PNG file as bytes."""

    name: str
    caption: str
    content: str | bytes

    @property
    def file_name(self) -> str:
        """The name of the file with this figure."""
        return f"{self.name}.{'svg' if isinstance(self.content, str) else 'png'}"

    def to_html(self) -> str:
        """Return the figure as a self-contained HTML element."""
        drawn = self.content
        if isinstance(drawn, bytes):
            drawn = f"<img alt='' src='data:image/png;base64,{b64encode(drawn).decode()}'>"
        caption = escape(self.caption)
        return (
            f"<figure id='{self.name}' role='img' aria-label='{caption}'>"
            f"<div class='scroll' tabindex='0'>{drawn}</div>"
            f"<figcaption>{caption}</figcaption></figure>"
        )

    def to_markdown(self, folder: str) -> str:
        """Return a reference to the file with this figure, and the caption."""
        label = re.split("[:;,(]", self.caption)[0].strip()
        return f"![{label}]({folder}/{self.file_name})\n\n{self.caption}\n"


def pictures(
    figure: Figure | None, name: str, caption: str, *, raster: bool = False
) -> list[Picture]:
    """Return a list with the picture of a figure, which is empty if there is no figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure or None
    name : str
        Unique in the report.
    caption : str
    raster : bool
        Convert to pixels, for figures with too many elements for SVG.
    """
    if figure is None:
        return []
    if raster:
        return [Picture(name, caption, to_png(figure))]
    return [Picture(name, caption, to_svg(figure, name))]


@dataclass(frozen=True)
class Section:
    """A section: heading, text, tables and figures.

    Tables in `folded` are collapsed in HTML; those in `files_only` are CSV files to which the page
    refers.
    """

    slug: str
    title: str
    text: str
    parts: tuple[ReportTable | Picture, ...] = ()
    folded: frozenset[str] = frozenset()
    files_only: frozenset[str] = frozenset()


def write_page(
    sections: Sequence[Section], facts: Mapping[str, str], out: str | os.PathLike[str]
) -> Path:
    """Write a page, and its tables and figures to a folder with its name.

    Parameters
    ----------
    sections : sequence of Section
    facts : mapping of str to str
        The provenance of the results, shown at the end.
    out : path
        A Markdown file, or a folder for ``report.html`` and ``report.md``.

    Returns
    -------
    pathlib.Path
        The page.
    """
    out = Path(out)
    is_file = out.suffix == ".md"
    page = out if is_file else out / "report.md"
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for part in (part for section in sections for part in section.parts):
        if isinstance(part, ReportTable):
            if not part.has_file:
                continue
            text = part.frame.to_csv(index=False, lineterminator="\n", float_format="%.6g")
            write_atomically(folder / f"{part.slug}.csv", text)
        else:
            drawn = part.content
            content = svg_file(drawn) if isinstance(drawn, str) else drawn
            write_atomically(folder / part.file_name, content)
    write_atomically(page, _markdown(sections, facts, folder.name))
    if is_file:
        return page
    html = page.with_suffix(".html")
    write_atomically(html, _html(sections, facts))
    return html


def _markdown(sections: Sequence[Section], facts: Mapping[str, str], folder: str) -> str:
    lines = [f"# {TITLE}", "", INTRODUCTION]
    for section in sections:
        lines += ["", f"## {section.title}", ""]
        if section.text:
            lines += [section.text, ""]
        for part in section.parts:
            if isinstance(part, Picture):
                lines.append(part.to_markdown(folder))
            elif part.slug not in section.files_only:
                lines.append(part.to_markdown())
        if files := _files(section):
            links = ", ".join(f"[{t.title}]({folder}/{t.slug}.csv)" for t in files)
            lines += [f"As files: {links}.", ""]
    if facts:
        lines += ["", f"## {PROVENANCE}", ""]
        lines += [f"- {name}: {value}" for name, value in facts.items()]
    return "\n".join(lines).rstrip("\n") + "\n"


def _files(section: Section) -> list[ReportTable]:
    tables = [part for part in section.parts if isinstance(part, ReportTable)]
    return [table for table in tables if table.slug in section.files_only]


def _html(sections: Sequence[Section], facts: Mapping[str, str]) -> str:
    css = (resources.files("bneuralt_paper.reporting") / "report.css").read_text(encoding="utf-8")
    contents = "".join(f"<li><a href='#{s.slug}'>{escape(s.title)}</a></li>" for s in sections)
    terms = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    provenance = (
        f"<section id='provenance'><h2>{PROVENANCE}</h2><dl class='provenance'>{terms}</dl>"
        "</section>"
        if facts
        else ""
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        # An empty icon prevents browsers from requesting one.
        f"<link rel='icon' href='data:,'><title>{escape(TITLE)}</title><style>{css}</style></head>"
        f"<body><header><h1>{escape(TITLE)}</h1>"
        f"<p class='lead'>{escape(INTRODUCTION)}</p>"
        f"<nav aria-label='Contents'><ol>{contents}</ol></nav></header><main>"
        f"{''.join(_html_section(section) for section in sections)}"
        f"{provenance}</main><footer>Values in italics are quoted from the paper. Written by "
        "<code>bneuralt paper report</code>; the tables are also available as CSV files, the "
        "figures as SVG and PNG files.</footer></body></html>\n"
    )


def _html_section(section: Section) -> str:
    pieces = [f"<section id='{section.slug}'><h2>{escape(section.title)}</h2>"]
    pieces += [f"<p>{escape(text)}</p>" for text in section.text.split("\n\n") if text]
    folded = section.folded | section.files_only
    for part in section.parts:
        if isinstance(part, ReportTable) and part.slug in folded:
            title = escape(part.title)
            pieces.append(f"<details><summary>{title}</summary>{part.to_html()}</details>")
        else:
            pieces.append(part.to_html())
    return "".join([*pieces, "</section>"])
