"""Scenes as SVG text, without matplotlib.

Neighbouring marks of one style share a group, and coordinates have one decimal, so that pictures of
tens of thousands of nodes stay small. Names are escaped: they are text and nothing else.
"""

from __future__ import annotations

from html import escape

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.drawing.scene import (
    Curves,
    Dots,
    Line,
    Mark,
    Pill,
    Scene,
    Text,
    Wedges,
)
from bneuralt.plotting import PALETTES

__all__ = ["scene_to_svg"]

FONTS = "'DejaVu Sans',Verdana,'Helvetica Neue',Arial,sans-serif"


def scene_to_svg(scene: Scene, theme: str = "light") -> str:
    """Return a picture as an SVG file.

    Parameters
    ----------
    scene : Scene
    theme : {"light", "dark", "auto"}
        The ground that it is drawn on; with "auto", the browser chooses.

    Examples
    --------
    >>> from bneuralt.drawing.scene import Scene
    >>> scene_to_svg(Scene(20, 10)).startswith("<svg xmlns=")
    True
    """
    painter = _Painter("light" if theme == "auto" else theme)
    body = "\n".join(painter.draw(mark) for mark in scene.marks)
    size = f'width="{scene.width:.0f}" height="{scene.height:.0f}"'
    style = _dark_style() if theme == "auto" else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} class="bneuralt-tree" '
        f'viewBox="0 0 {scene.width:.0f} {scene.height:.0f}" role="img" '
        f'style="max-width:100%;height:auto" font-family="{FONTS}">'
        f"<title>{escape(scene.description)}</title>{style}"
        f'<rect width="100%" height="100%" {painter.fill("ground")}/>\n{body}\n</svg>\n'
    )


def _dark_style() -> str:
    """Return rules for dark ground; they take precedence over the colours of the elements."""
    rules = [
        f".bneuralt-tree .{kind[0]}-{role.replace(' ', '-')}{{{kind}:{color}}}"
        for role, color in PALETTES["dark"].items()
        for kind in ("fill", "stroke")
    ]
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


class _Painter:
    """Writes marks in the colours of a palette, and names the role of each colour as a class."""

    def __init__(self, theme: str) -> None:
        if theme not in PALETTES:
            raise ValueError(f"theme={theme!r} must be 'light', 'dark' or 'auto'")
        self._palette = PALETTES[theme]

    def fill(self, role: str) -> str:
        return f'class="{_class("f", role)}" fill="{self._palette[role]}"'

    def _stroke(self, role: str, width: float) -> str:
        color = self._palette[role]
        return f'class="{_class("s", role)}" stroke="{color}" stroke-width="{_number(width)}"'

    def _both(self, fill: str, line: str, width: float) -> str:
        classes = f"{_class('f', fill)} {_class('s', line)}"
        return (
            f'class="{classes}" fill="{self._palette[fill]}" stroke="{self._palette[line]}" '
            f'stroke-width="{_number(width)}"'
        )

    def draw(self, mark: Mark) -> str:
        if isinstance(mark, Curves):
            return self._curves(mark)
        if isinstance(mark, Dots):
            return self._dots(mark)
        if isinstance(mark, Line):
            dashes = f' stroke-dasharray="{mark.dashes[0]} {mark.dashes[1]}"' if mark.dashes else ""
            stroke = self._stroke(mark.color, mark.width)
            return f'<path fill="none" {stroke}{dashes} d="M{_points(mark.points)}"/>'
        if isinstance(mark, Wedges):
            d = "".join(f"M{_points(points)}z" for points in mark.points)
            return f'<path {self._both(mark.fill, mark.line, 1)} d="{d}"/>'
        if isinstance(mark, Pill):
            return self._pill(mark)
        return self._text(mark)

    def _curves(self, mark: Curves) -> str:
        # each curve relative to its start: few characters
        points = np.rint(mark.points * 10)
        start = points[:, 0]
        steps = points[:, 1:] - np.repeat(points[:, :-1:3], 3, axis=1)
        d = "".join(
            f"M{_joined(a)}c{_joined(b)}"
            for a, b in zip(start.tolist(), steps.reshape(len(steps), -1).tolist(), strict=True)
        )
        opacity = f' opacity="{_number(mark.opacity)}"' if mark.opacity < 1 else ""
        # The opacity of a stroke that crosses itself is that of one stroke.
        stroke = self._stroke(mark.color, mark.width)
        return f'<path fill="none" stroke-linecap="round" {stroke}{opacity} d="{d}"/>'

    def _dots(self, mark: Dots) -> str:
        if len(mark.centers) <= 400:
            line = f' stroke="{self._palette[mark.line]}"' if mark.line else ""
            dots = "".join(
                f'<circle cx="{_number(x)}" cy="{_number(y)}" r="{_number(mark.radius)}"/>'
                for x, y in mark.centers.tolist()
            )
            return f"<g {self.fill(mark.fill)}{line}>{dots}</g>"
        # Lines of no length with round ends are discs, and much shorter than circles.
        d = "".join(f"M{_joined(xy)}h0" for xy in np.rint(mark.centers * 10).tolist())
        return (
            f'<path fill="none" stroke-linecap="round" {self._stroke(mark.fill, 2 * mark.radius)} '
            f'd="{d}"/>'
        )

    def _pill(self, mark: Pill) -> str:
        note = f"<title>{escape(mark.note)}</title>" if mark.note else ""
        return (
            f'<rect x="{_number(mark.x)}" y="{_number(mark.y)}" width="{_number(mark.width)}" '
            f'height="{_number(mark.height)}" rx="{_number(mark.height / 2)}" '
            f"{self._both(mark.fill, mark.line, mark.line_width)}>{note}</rect>"
        )

    def _text(self, mark: Text) -> str:
        x, y = mark.x, mark.y
        turn = f' transform="rotate({_number(mark.angle)} {_number(x)} {_number(y)})"'
        attributes = [
            f'x="{_number(x)}" y="{_number(y)}" dy=".35em" font-size="{_number(mark.size)}"',
            "" if mark.anchor == "start" else f'text-anchor="{mark.anchor}"',
            'font-weight="bold"' if mark.bold else "",
            turn.strip() if mark.angle else "",
        ]
        if mark.halo and mark.ground is not None:
            attributes.append(f'paint-order="stroke" {self._both(mark.color, mark.ground, 3)}')
        else:
            attributes.append(self.fill(mark.color))
        note = f"<title>{escape(mark.note)}</title>" if mark.note else ""
        shown = " ".join(part for part in attributes if part)
        return f"<text {shown}>{escape(mark.text)}{note}</text>"


def _class(kind: str, role: str) -> str:
    return f"{kind}-{role.replace(' ', '-')}"


def _number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _points(points: FloatArray) -> str:
    return " ".join(f"{_number(x)} {_number(y)}" for x, y in points.tolist())


def _joined(tenths: list[float]) -> str:
    """Return tenths of pixels in few characters."""
    text = " ".join(_number(value / 10) for value in tenths)
    return text.replace(" -", "-")
