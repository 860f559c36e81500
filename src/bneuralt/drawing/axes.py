"""Scenes on matplotlib axes, which the extra ``bneuralt[plot]`` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt.drawing.scene import Curves, Dots, Line, Mark, Pill, Scene, Text, Wedges
from bneuralt.plotting import PALETTES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_scene"]

#: Drawings of more edges are pixels in PDF and SVG files of matplotlib, all but their text.
MAX_VECTORS = 5000


def draw_scene(scene: Scene, ax: Axes, theme: str = "light") -> None:
    """Draw a picture on axes; one unit of the axes is one of its pixels.

    Text and lines have the size that fits the axes at the time of drawing.
    """
    if theme not in PALETTES:
        raise ValueError(f"theme={theme!r} must be 'light' or 'dark'")
    palette = PALETTES[theme]
    ax.set(xlim=(0, scene.width), ylim=(scene.height, 0), aspect="equal")
    ax.set_axis_off()
    ax.figure.set_facecolor(palette["ground"])
    box = ax.get_window_extent()
    scale = min(box.width / scene.width, box.height / scene.height)
    n_elements = sum(len(m.points) for m in scene.marks if isinstance(m, Curves))
    pen = _Pen(ax, palette, scale * 72 / ax.figure.dpi, n_elements > MAX_VECTORS)
    for order, mark in enumerate(scene.marks):
        pen.draw(mark, 1 + order * 1e-4)


class _Pen:
    """Draws marks; `points` is the size of a pixel of the scene in points."""

    def __init__(self, ax: Any, palette: dict[str, str], points: float, rasterized: bool) -> None:
        self._ax, self._palette, self._points = ax, palette, points
        self._rasterized = rasterized

    def draw(self, mark: Mark, order: float) -> None:
        if isinstance(mark, Text):
            self._text(mark, order)
        else:
            self._artist(mark).set(zorder=order, clip_on=False, rasterized=self._rasterized)

    def _artist(self, mark: Mark) -> Any:
        from matplotlib.collections import EllipseCollection, LineCollection, PathCollection
        from matplotlib.patches import FancyBboxPatch
        from matplotlib.path import Path

        colors, points = self._palette, self._points
        if isinstance(mark, Curves):
            codes = [Path.MOVETO] + [Path.CURVE4] * (mark.points.shape[1] - 1)
            path = Path(mark.points.reshape(-1, 2), codes * len(mark.points))
            drawn: Any = PathCollection(
                [path],
                facecolors="none",
                edgecolors=colors[mark.color],
                linewidths=mark.width * points,
                alpha=mark.opacity,
                capstyle="round",
            )
        elif isinstance(mark, Line):
            style = "solid"
            if mark.dashes:
                style = (0, mark.dashes)  # type: ignore[assignment]
            drawn = LineCollection(
                [mark.points],
                colors=colors[mark.color],
                linewidths=mark.width * points,
                linestyles=[style],
                capstyle="round",
            )
        elif isinstance(mark, Dots):
            size = np.full(len(mark.centers), 2 * mark.radius)
            drawn = EllipseCollection(
                size,
                size,
                np.zeros(len(size)),
                units="xy",
                offsets=mark.centers,
                offset_transform=self._ax.transData,
                facecolors=colors[mark.fill],
                edgecolors=colors[mark.line] if mark.line else "none",
            )
        elif isinstance(mark, Wedges):
            paths = [Path([*points_, points_[0]], closed=True) for points_ in mark.points]
            drawn = PathCollection(
                paths,
                facecolors=colors[mark.fill],
                edgecolors=colors[mark.line],
                linewidths=points,
            )
        else:
            assert isinstance(mark, Pill)
            patch = FancyBboxPatch(
                (mark.x, mark.y),
                mark.width,
                mark.height,
                boxstyle=f"round,pad=0,rounding_size={mark.height / 2}",
                facecolor=colors[mark.fill],
                edgecolor=colors[mark.line],
                linewidth=mark.line_width * points,
            )
            self._ax.add_patch(patch)
            return patch
        self._ax.add_collection(drawn, autolim=False)
        return drawn

    def _text(self, mark: Text, order: float) -> None:
        from matplotlib.patheffects import withStroke

        text = self._ax.text(
            mark.x,
            mark.y,
            mark.text.replace("$", r"\$"),  # no formulas
            fontsize=mark.size * self._points,
            color=self._palette[mark.color],
            ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
            va="center_baseline",
            weight="bold" if mark.bold else "normal",
            rotation=-mark.angle,
            rotation_mode="anchor",
            zorder=order,
            clip_on=False,
        )
        if mark.halo and mark.ground is not None:
            width = 3 * self._points
            text.set_path_effects(
                [withStroke(linewidth=width, foreground=self._palette[mark.ground])]
            )
