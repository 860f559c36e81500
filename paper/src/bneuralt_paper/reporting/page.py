"""The files of a report: one page, also as Markdown, and each table and figure separately."""

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
from bneuralt_paper.reporting.cells import ReportTable
from bneuralt_paper.reporting.codes import explain_codes
from bneuralt_paper.reporting.figure_files import svg_file, to_png, to_svg
from bneuralt_paper.reporting.findings import HEADINGS, Finding

__all__ = ["Picture", "Section", "pictures", "write_page"]

TITLE = "Reproducing the paper"
INTRODUCTION = (
    'Results of the experiments of "Backpropagation Neural Tree" (V. Ojha and G. Nicosia, Neural '
    "Networks, 2022) with this library, compared with the published results."
)
PROVENANCE = "Provenance"


@dataclass(frozen=True)
class Picture:
    """A figure with its caption: an SVG element as text, or a PNG file as bytes.

    An SVG element has the same figure as pixels in `png`, for the files.
    """

    name: str
    caption: str
    content: str | bytes
    png: bytes | None = None

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

    def to_markdown(self) -> str:
        """Return a reference to the file with this figure, and the caption."""
        return f"![{self.caption}](figures/{self.file_name})\n\n{self.caption}\n"


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
    return [Picture(name, caption, to_svg(figure, name), to_png(figure, 130, "white"))]


@dataclass(frozen=True)
class Section:
    """A section: heading, text, tables and figures; the tables in `folded` are collapsed."""

    slug: str
    title: str
    text: str
    parts: tuple[ReportTable | Picture, ...]
    folded: frozenset[str] = frozenset()


def write_page(
    findings: Sequence[Finding],
    sections: Sequence[Section],
    facts: Mapping[str, str],
    out: str | os.PathLike[str],
) -> Path:
    """Write ``report.html``, ``report.md``, and the folders ``tables`` and ``figures``.

    Parameters
    ----------
    findings : sequence of Finding
    sections : sequence of Section
    facts : mapping of str to str
        The provenance of the results, shown at the end.
    out : path
        The folder; created if necessary.

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
            if part.png is not None:
                write_atomically(folder / "figures" / f"{part.name}.png", part.png)
    write_atomically(folder / "report.md", _markdown(findings, sections, facts))
    page = folder / "report.html"
    write_atomically(page, _html(findings, sections, facts))
    return page


def _aside(text: str) -> str:
    explanation = explain_codes(text)
    return f" <small>{escape(explanation)}</small>" if explanation else ""


def _by_kind(findings: Sequence[Finding]) -> dict[str, list[str]]:
    texts = {kind: [f.text for f in findings if f.kind == kind] for kind in HEADINGS}
    return {kind: text for kind, text in texts.items() if text}


def _markdown(
    findings: Sequence[Finding], sections: Iterable[Section], facts: Mapping[str, str]
) -> str:
    lines = [f"# {TITLE}", "", INTRODUCTION]
    for kind, texts in _by_kind(findings).items():
        lines += ["", f"## {HEADINGS[kind]}", "", *(f"- {text}" for text in texts)]
    for section in sections:
        lines += ["", f"## {section.title}", "", section.text, ""]
        if explanation := _explanation(section):
            lines += [explanation, ""]
        lines += [part.to_markdown() for part in section.parts]
    if facts:
        lines += ["", f"## {PROVENANCE}", ""]
        lines += [f"- {name}: {value}" for name, value in facts.items()]
    return "\n".join(lines) + "\n"


def _html(
    findings: Sequence[Finding], sections: Sequence[Section], facts: Mapping[str, str]
) -> str:
    css = (resources.files("bneuralt_paper.reporting") / "report.css").read_text(encoding="utf-8")
    contents = "".join(f"<li><a href='#{s.slug}'>{escape(s.title)}</a></li>" for s in sections)
    terms = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    provenance = (
        f"<section id='provenance'><h2>{PROVENANCE}</h2><dl class='provenance'>{terms}</dl>"
        "</section>"
        if facts
        else ""
    )
    boxes = "".join(
        f"<div class='{kind}'><h3>{escape(HEADINGS[kind])}</h3><ul>"
        + "".join(f"<li>{escape(text)}{_aside(text)}</li>" for text in texts)
        + "</ul></div>"
        for kind, texts in _by_kind(findings).items()
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        # An empty icon prevents browsers from requesting one.
        f"<link rel='icon' href='data:,'><title>{escape(TITLE)}</title><style>{css}</style></head>"
        f"<body><header><h1>{escape(TITLE)}</h1>"
        f"<p class='lead'>{escape(INTRODUCTION)}</p>"
        f"<nav aria-label='Contents'><ol><li><a href='#summary'>Summary</a></li>{contents}</ol>"
        f"</nav></header><main><section id='summary'><h2>Summary</h2><div class='summary'>{boxes}"
        f"</div></section>{''.join(_html_section(section) for section in sections)}"
        f"{provenance}</main><footer>Values in italics are quoted from the paper. Written by "
        "<code>bneuralt paper report</code>; the tables are also available as CSV and Markdown "
        "files, the figures as SVG and PNG files.</footer></body></html>\n"
    )


def _explanation(section: Section) -> str:
    """Return an explanation of the codes of experiments in a section."""
    texts = [section.text]
    for part in section.parts:
        if isinstance(part, ReportTable):
            texts += [cell.text for row in part.rows for cell in row] + list(part.notes)
        else:
            texts += [part.caption, part.content if isinstance(part.content, str) else ""]
    return explain_codes(" ".join(texts))


def _html_section(section: Section) -> str:
    pieces = [f"<section id='{section.slug}'><h2>{escape(section.title)}</h2>"]
    pieces.append(f"<p>{escape(section.text)}</p>")
    if explanation := _explanation(section):
        pieces.append(f"<p class='note'>{escape(explanation)}</p>")
    for part in section.parts:
        if isinstance(part, ReportTable) and part.slug in section.folded:
            title = escape(part.title)
            pieces.append(f"<details><summary>{title}</summary>{part.to_html()}</details>")
        else:
            pieces.append(part.to_html())
    return "".join([*pieces, "</section>"])
