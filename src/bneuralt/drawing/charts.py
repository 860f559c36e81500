"""Small charts as scenes: lines and points over numbers, and points over names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.drawing.scene import Dots, Line, Scene, Text, fitted, text_width

__all__ = ["Series", "chart", "name_chart", "padded", "ticks"]

#: Roles of the colours of lines, in their order.
ROLES = ("positive", "negative", "decision", "mixed", "faint", "output")
WIDTH, HEIGHT = 340.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 12.0, 14.0, 44.0
SIZE = 10.5
#: Longest name below a chart of names, in pixels.
LONGEST_NAME = 90.0


@dataclass(frozen=True)
class Series:
    """A line or points of a chart.

    Attributes
    ----------
    x, y : arrays of one shape
    name : str
        For the legend; empty for none.
    role : str
        Of its colour.
    is_line : bool
        Whether points are connected.
    has_dots : bool
        Whether points are marked.
    low, high : array or None
        Ends of the interval of each point.
    is_dashed : bool
    """

    x: Array
    y: FloatArray
    name: str = ""
    role: str = "positive"
    is_line: bool = True
    has_dots: bool = False
    low: FloatArray | None = None
    high: FloatArray | None = None
    is_dashed: bool = False


def ticks(low: float, high: float, most: int = 5) -> FloatArray:
    """Return round numbers between two numbers.

    Examples
    --------
    >>> ticks(0.0, 4.0).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    >>> ticks(-3.0, 18.0).tolist()
    [0.0, 5.0, 10.0, 15.0]
    """
    span = high - low
    if not np.isfinite(span) or span <= 0:
        return np.array([low])
    unit = 10.0 ** np.floor(np.log10(span / most))
    step = next((unit * m for m in (1, 2, 2.5, 5, 10) if span / (unit * m) <= most), 10 * unit)
    numbers: FloatArray = np.arange(np.ceil(low / step - 1e-9), high / step + 1e-9) * step
    return numbers + 0.0  # not -0.0


def chart(
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    rows: FloatArray | None = None,
) -> Scene:
    """Return a chart of lines and points over numbers.

    Parameters
    ----------
    series : sequence of Series
    x_label, y_label : str
        Names of the axes.
    x_range, y_range : tuple of two floats, optional
        By default the range of all points.
    rows : array, optional
        Numbers whose deciles are marked at the bottom.

    Examples
    --------
    >>> scene = chart([Series(np.array([0.0, 1.0]), np.array([2.0, 3.0]))], "age", "risk")
    >>> [text.text for text in scene.texts][-2:]
    ['age', 'risk']
    """
    x_range = x_range or _extent([each.x for each in series])
    parts = [part for each in series for part in (each.y, each.low, each.high) if part is not None]
    y_range = y_range or padded(parts)
    scene = _framed(series, y_label, y_range)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for x in ticks(*x_range).tolist():
        at = _at(x, x_range, LEFT, right)
        scene.add(Line(np.array([[at, bottom], [at, bottom + 4]]), "faint", 1.0))
        scene.add(Text(at, bottom + 13, f"{x:g}", SIZE, "faint", "middle"))
    if rows is not None and rows.size:
        order = np.sort(rows)
        for x in order[np.linspace(0, order.size - 1, 11).astype(int)].clip(*x_range).tolist():
            at = _at(x, x_range, LEFT, right)
            scene.add(Line(np.array([[at, bottom - 7], [at, bottom]]), "faint", 1.0))
    for each in series:
        x = np.array([_at(value, x_range, LEFT, right) for value in each.x.tolist()])
        _draw(scene, each, x, y_range)
    _name_axes(scene, x_label, y_label)
    return scene


def name_chart(
    names: Sequence[str],
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    y_range: tuple[float, float] | None = None,
) -> Scene:
    """Return a chart of points over names; the x of each series are positions of names.

    Examples
    --------
    >>> points = Series(np.arange(2), np.array([0.2, 0.7]))
    >>> [text.text for text in name_chart(["a", "b"], [points], "group", "risk").texts][-4:-2]
    ['a', 'b']
    """
    y_range = y_range or padded([each.y for each in series])
    scene = _framed(series, y_label, y_range)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    room = (right - LEFT) / max(1, len(names))
    places = LEFT + room * (np.arange(len(names)) + 0.5)
    for each in series:
        _draw(scene, each, places[each.x.astype(int)], y_range)
    turned = max((text_width(name, SIZE) for name in names), default=0.0) > room - 4
    for name, at in zip(names, places.tolist(), strict=True):
        shown = fitted(name, LONGEST_NAME if turned else room, SIZE)
        if turned:
            scene.add(Text(at, bottom + 8, shown, SIZE, "faint", "end", angle=-40.0))
        else:
            scene.add(Text(at, bottom + 13, shown, SIZE, "faint", "middle"))
    if turned:
        longest = max(text_width(fitted(name, LONGEST_NAME, SIZE), SIZE) for name in names)
        scene.height += 0.65 * longest
    _name_axes(scene, x_label, y_label)
    return scene


def _framed(series: Sequence[Series], y_label: str, y_range: tuple[float, float]) -> Scene:
    """Return a scene with the vertical axis and the legend."""
    scene = Scene(WIDTH, HEIGHT, description=y_label)
    bottom = HEIGHT - BOTTOM
    for y in ticks(*y_range).tolist():
        at = _at(y, y_range, bottom, TOP)
        scene.add(Line(np.array([[LEFT, at], [WIDTH - RIGHT, at]]), "node", 1.0))
        scene.add(Text(LEFT - 6, at, f"{y:g}", SIZE, "faint", "end"))
    scene.add(Line(np.array([[LEFT, bottom], [WIDTH - RIGHT, bottom]]), "line", 1.0))
    named = [each for each in series if each.name]
    at, line = LEFT, 0
    for each in named:
        name = fitted(each.name, 120.0, SIZE)
        width = 24 + text_width(name, SIZE) + 10
        if at + width > WIDTH and at > LEFT:
            at, line = LEFT, line + 1
        y = HEIGHT + 8 + 15 * line
        scene.add(Line(np.array([[at, y], [at + 16, y]]), each.role, 2.0, _dashes(each)))
        scene.add(Text(at + 20, y, name, SIZE, "faint"))
        at += width
    scene.height += 15 * (line + 1) + 4 if named else 0
    return scene


def _draw(scene: Scene, series: Series, x: FloatArray, y_range: tuple[float, float]) -> None:
    bottom = HEIGHT - BOTTOM

    def height(values: FloatArray) -> FloatArray:
        return np.array([_at(value, y_range, bottom, TOP) for value in values.tolist()])

    y = height(series.y)
    if series.low is not None and series.high is not None:
        ends = zip(x, height(series.low), height(series.high), strict=True)
        for at, low, high in ends:
            scene.add(Line(np.array([[at, low], [at, high]]), series.role, 1.2))
    points = np.column_stack([x, y])
    if series.is_line and len(points) > 1:
        scene.add(Line(points, series.role, 1.8, _dashes(series)))
    if series.has_dots or len(points) == 1 or not series.is_line:
        scene.add(Dots(points, 3.0, series.role))


def _dashes(series: Series) -> tuple[float, float] | None:
    return (4, 3) if series.is_dashed else None


def _name_axes(scene: Scene, x_label: str, y_label: str) -> None:
    middle = (LEFT + WIDTH - RIGHT) / 2
    scene.add(Text(middle, HEIGHT - 10, fitted(x_label, 250, SIZE), SIZE, "ink", "middle"))
    center = (TOP + HEIGHT - BOTTOM) / 2
    shown = fitted(y_label, 180, SIZE)
    scene.add(Text(11, center, shown, SIZE, "ink", "middle", angle=-90.0))
    scene.description = f"{y_label} over {x_label}"


def _at(value: float, limits: tuple[float, float], start: float, end: float) -> float:
    """Return the place of a number on an axis."""
    low, high = limits
    share = (value - low) / (high - low) if high > low else 0.5
    return float(start + min(max(share, 0.0), 1.0) * (end - start))


def _extent(parts: Sequence[Array]) -> tuple[float, float]:
    numbers = np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])
    numbers = numbers[np.isfinite(numbers)]
    return (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)


def padded(parts: Sequence[Array]) -> tuple[float, float]:
    """Return the range of all numbers of some arrays, with a margin on both sides.

    Examples
    --------
    >>> padded([np.array([0.0, 50.0]), np.array([100.0])])
    (-6.0, 106.0)
    """
    low, high = _extent(parts)
    margin = 0.06 * (high - low) or 0.05 * max(abs(low), 1e-9)
    return low - margin, high + margin
