"""Figures as files: the common style, and conversion to SVG and PNG.

SVG elements are readable on light and on dark backgrounds.
"""

from __future__ import annotations

import io
import re
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

from bneuralt_paper.reporting.compact_svg import compact_svg

__all__ = ["INK", "STYLE", "svg_file", "to_png", "to_svg"]

#: Text and lines of this colour get the text colour of the page, so that they are readable on light
#: and dark backgrounds. The value is arbitrary, but not used for anything else.
INK = "#010203"
#: The common style of all figures, for matplotlib's `rc_context`.
STYLE: dict[Any, Any] = {
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.1,
    "svg.fonttype": "none",
}


def to_svg(figure: Figure, name: str) -> str:
    """Return a figure as an SVG element for use inside HTML.

    The element refers to nothing outside itself, and its text and lines have the colour
    ``currentColor``.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    name : str
        A name that is unique on the page; identifiers inside the element depend on it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bneuralt_paper.reporting.figure_files import to_svg
    >>> to_svg(Figure(figsize=(1, 1)), "empty")[:4]
    '<svg'
    """
    buffer = io.StringIO()
    with rc_context({**STYLE, "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # As wide as the page, but with the same font size in small and large figures.
    # On phones it is scrolled: its text, of 14 pixels at full width, has at least 10.
    width = figure.get_figwidth() * 130
    size = f'style="max-width: {width:.0f}px; min-width: {0.7 * width:.0f}px" '
    svg = re.sub(r'^<svg ([^>]*?)width="[^"]*" height="[^"]*"', rf"<svg {size}\1", svg)
    return compact_svg(svg)


def svg_file(svg: str) -> str:
    """Return the content of an SVG file: an element from `to_svg` with a size and a background.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bneuralt_paper.reporting.figure_files import svg_file, to_svg
    >>> svg_file(to_svg(Figure(figsize=(1, 1)), "empty"))[:48]
    '<svg width="130" style="background: #ffffff; col'
    """
    attributes = r'<svg width="\1" style="background: #ffffff; color: #1d2733"'
    return re.sub(r'^<svg style="max-width: (\d+)px; min-width: \d+px"', attributes, svg) + "\n"


def to_png(figure: Figure, dpi: int = 200, background: str = "none") -> bytes:
    """Return a figure as a PNG file, by default with a transparent background."""
    drawn, reduced = io.BytesIO(), io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(
            drawn, format="png", dpi=dpi, metadata={"Software": None}, facecolor=background
        )
    # With a palette of 256 colours the file is a quarter as large and looks the same.
    palette = Image.open(drawn).quantize(256, method=Image.Quantize.FASTOCTREE)
    palette.save(reduced, "png", optimize=True)
    return reduced.getvalue()
