"""Pictures as plain data: marks in pixels, with colours by role.

A layout makes a `Scene`; `svg` and `axes` draw it, as SVG text and on matplotlib axes. Colours are
names of roles (such as "positive"), which a palette turns into colours, so that a scene can be
drawn on light and on dark ground.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

import numpy as np

from bneuralt._typing import FloatArray

__all__ = [
    "Curves",
    "Dots",
    "Line",
    "Mark",
    "Pill",
    "Scene",
    "Text",
    "Wedges",
    "box_of",
    "fitted",
    "text_width",
]


@dataclass(frozen=True)
class Curves:
    """Bezier curves of one colour and width: points of shape (n, 4, 2), or (n, 7, 2) for pairs."""

    points: FloatArray
    color: str
    width: float
    opacity: float = 1.0


@dataclass(frozen=True)
class Line:
    """A polyline: points of shape (n, 2)."""

    points: FloatArray
    color: str
    width: float
    dashes: tuple[float, float] | None = None


@dataclass(frozen=True)
class Dots:
    """Discs of one colour and radius: centers of shape (n, 2)."""

    centers: FloatArray
    radius: float
    fill: str
    line: str | None = None


@dataclass(frozen=True)
class Wedges:
    """Triangles of one colour that stand for subtrees: points of shape (n, 3, 2)."""

    points: FloatArray
    fill: str
    line: str


@dataclass(frozen=True)
class Pill:
    """A box with round ends; `note` is shown by browsers when the mouse is on it."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    line: str
    line_width: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Text:
    """A line of text; `y` is the middle of its height, `angle` in degrees, clockwise."""

    x: float
    y: float
    text: str
    size: float = 11.0
    color: str = "ink"
    anchor: str = "start"
    bold: bool = False
    angle: float = 0.0
    ground: str | None = "ground"  # the role of what is behind it
    halo: bool = False
    note: str = ""


Mark = Curves | Line | Dots | Wedges | Pill | Text


@dataclass
class Scene:
    """A picture: its size in pixels, and its marks from back to front."""

    width: float = 0.0
    height: float = 0.0
    marks: list[Mark] = field(default_factory=list)
    description: str = ""

    def add(self, *marks: Mark) -> None:
        """Put marks in front of the others."""
        self.marks += marks

    @property
    def texts(self) -> list[Text]:
        """All lines of text."""
        return [mark for mark in self.marks if isinstance(mark, Text)]


# -- text ---------------------------------------------------------------------------------

# Widths of characters in units of the font size: those of DejaVu Sans, which is wider than the
# fonts of most systems.
_NARROW = dict.fromkeys("ijlI.,:;'|! ", 0.32) | dict.fromkeys('()[]{}ftrJ-"/\\', 0.42)
_WIDE = dict.fromkeys("mwMW%@—", 0.98) | dict.fromkeys("+=<>~−≤≥×·", 0.84)


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return an upper estimate of the width of a line of text.

    Examples
    --------
    >>> text_width("iris", 10) < text_width("IRIS", 10) < text_width("MMMM", 10)
    True
    """
    return size * sum(map(_char_width, text)) * (1.12 if bold else 1.0)


def _char_width(char: str) -> float:
    width = _NARROW.get(char) or _WIDE.get(char)
    if width:
        return width
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.0 if char < "\U0001f000" else 1.35
    return 0.7 if char.isupper() else 0.64


_DIGITS = frozenset("0123456789.")


def fitted(text: str, width: float, size: float, bold: bool = False) -> str:
    """Return a text that is at most so wide, shortened in the middle if necessary.

    Examples
    --------
    >>> fitted("a name that is much too long", 100, 10)
    'a name t…too long'
    """
    if text_width(text[:400], size, bold) <= width and len(text) <= 400:
        return text
    low, high = 0, min(len(text), 400)
    while low < high:  # the most characters that fit
        middle = (low + high + 1) // 2
        if text_width(_shortened(text, middle), size, bold) <= width:
            low = middle
        else:
            high = middle - 1
    return _shortened(text, low)


def _shortened(text: str, n: int) -> str:
    end = len(text) - n // 2
    while 0 < end < len(text) and text[end - 1] in _DIGITS and text[end] in _DIGITS:
        end += 1  # the end of a number would be another number
    return text[: (n + 1) // 2].rstrip() + "…" + text[end:].lstrip()


def box_of(text: Text) -> FloatArray:
    """Return the corners of a line of text, clockwise from the upper left.

    Examples
    --------
    >>> box_of(Text(0, 0, "", size=10)).tolist()
    [[0.0, -5.0], [0.0, -5.0], [0.0, 5.0], [0.0, 5.0]]
    """
    width = text_width(text.text, text.size, text.bold)
    left = {"start": 0.0, "middle": -width / 2, "end": -width}[text.anchor]
    high = text.size / 2
    corners = np.array([[left, -high], [left + width, -high], [left + width, high], [left, high]])
    turn = np.deg2rad(text.angle)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    moved: FloatArray = corners @ rotation + (text.x, text.y)
    return moved
