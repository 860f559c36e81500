"""Small SVG files: rewrite what matplotlib saves without a visible change.

Matplotlib writes one element for each mark and repeats every style property in every element. This
module draws marks of one kind as a single path with SVG markers, puts neighbours with equal
properties into a group, removes points of polylines that make no visible difference, and rounds
coordinates.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree import ElementTree

import numpy as np
from PIL import Image

from bneuralt_paper._typing import FloatArray

__all__ = ["compact_svg"]

Element = ElementTree.Element

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}"
_PNG = "data:image/png;base64,"

#: Attributes of a marker that is drawn in its own size, and in full. Browsers need no view box for
#: that, but some other programs do.
_MARKER = {
    "viewBox": "-9 -9 18 18",
    "markerWidth": "18",
    "markerHeight": "18",
    "markerUnits": "userSpaceOnUse",
    "overflow": "visible",
}

#: Largest distance, in points, between a polyline and the shorter one that replaces it; the edges
#: of translucent areas are less visible.
_TOLERANCE = 0.1
_AREA_TOLERANCE = 0.5


def compact_svg(svg: str) -> str:
    """Return a smaller SVG document that looks the same.

    Parameters
    ----------
    svg : str
        An SVG element as matplotlib writes it.

    Examples
    --------
    >>> from bneuralt_paper.reporting.compact_svg import compact_svg
    >>> line = '<g><path d="M 10 20 L 30 20.04 L 50.004 20"/></g>'
    >>> compact_svg(f'<svg xmlns="http://www.w3.org/2000/svg">{line}</svg>')
    '<svg xmlns="http://www.w3.org/2000/svg"><path d="m10 20 40 0" /></svg>'
    """
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        _normalise(element)
    root.set("xmlns", _SVG)
    shapes = {path.attrib["id"]: path for path in root.iter("path") if "id" in path.attrib}
    definitions = [child for part in root.iter("defs") for child in part if child.tag != "path"]
    marks = _Marks(shapes)
    drawn = _group(list(_flatten(root)), marks)
    if definitions := [*definitions, *marks.markers.values()]:
        _set_children(defs := Element("defs"), definitions)
        drawn.insert(0, defs)
    _set_children(root, drawn)
    return ElementTree.tostring(root, encoding="unicode")


def _normalise(element: Element) -> None:
    """Remove what has no effect: namespaces, white space, names of groups, superfluous digits."""
    element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    if element.tag not in ("text", "tspan", "style"):
        element.text = None
    element.tail = None
    for name in [name for name in element.attrib if name.startswith(_XLINK)]:
        element.set(name.removeprefix(_XLINK), element.attrib.pop(name))
    for name, value in element.items():
        if name not in ("d", "href"):
            element.set(name, re.sub(r"(\d\.\d\d)\d+", r"\1", value))
    if element.tag == "g":
        element.attrib.pop("id", None)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    if element.get("href", "").startswith(_PNG):
        element.set("href", _PNG + _smaller_png(element.attrib["href"].removeprefix(_PNG)))


def _smaller_png(encoded: str) -> str:
    """Encode a PNG file (in base 64) in grey or with a palette where that loses nothing."""
    image = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGBA")
    smallest = encoded
    for candidate in (image, image.convert("L"), image.convert("RGB").quantize(256)):
        if candidate.convert("RGBA").tobytes() == image.tobytes():
            buffer = io.BytesIO()
            candidate.save(buffer, "png", optimize=True)
            smallest = min(smallest, base64.b64encode(buffer.getvalue()).decode(), key=len)
    return smallest


def _flatten(element: Element) -> Iterator[Element]:
    """Yield all drawn elements in order, without definitions and groups without attributes."""
    for child in element:
        if child.tag == "g" and not child.attrib:
            yield from _flatten(child)
        elif child.tag == "g":
            _set_children(child, list(_flatten(child)))
            yield child
        elif child.tag == "path" and not child.get("d"):
            pass  # nothing is drawn
        elif child.tag == "path" and "clip-path" in child.attrib:
            # In a group of its own, which the neighbours with the same clip path can join.
            group = Element("g", {"clip-path": child.attrib.pop("clip-path")})
            group.append(child)
            yield group
        elif child.tag not in ("defs", "metadata"):
            yield child


def _group(elements: Sequence[Element], marks: _Marks) -> list[Element]:
    """Draw marks, shorten paths, and put neighbours with equal properties into one group."""
    merged: list[Element] = []
    for kind, run in groupby(elements, _kind):
        neighbours = list(run)
        if kind == "marks and labels":
            # Ticks and their labels alternate; they do not overlap, so their order is free.
            merged += marks.draw([e for e in neighbours if e.tag == "use"])
            merged += [e for e in neighbours if e.tag == "text"]
        elif kind.startswith("group"):
            group = neighbours[0]
            inner = [child for neighbour in neighbours for child in neighbour]
            _set_children(group, _group(inner, marks))
            merged.append(group)
        else:
            for path in neighbours:
                if path.tag == "path":
                    path.set("d", _shorten_path(path.attrib["d"], path.get("style", "")))
            merged += neighbours
    return [shared for _, run in groupby(merged, _style_key) for shared in _share_style(list(run))]


def _kind(element: Element) -> str:
    if element.tag in ("use", "text"):
        return "marks and labels"
    return f"group {sorted(element.items())}" if element.tag == "g" else "other"


def _style_key(element: Element) -> tuple[str, str]:
    return element.tag, element.get("style", "")


def _share_style(neighbours: list[Element]) -> list[Element]:
    tag, style = _style_key(neighbours[0])
    # The opacity of a group is not that of its members where they overlap.
    if len(neighbours) == 1 or not style or tag == "g" or re.search(r"(^|[ ;])opacity", style):
        return neighbours
    group = Element("g", {"style": style})
    for element in neighbours:
        del element.attrib["style"]
    _set_children(group, neighbours)
    return [group]


def _set_children(element: Element, children: Sequence[Element]) -> None:
    element[:] = list(children)


class _Marks:
    """The shapes that ``use`` elements refer to, and the SVG markers made of them."""

    def __init__(self, shapes: dict[str, Element]) -> None:
        self._shapes = shapes
        self.markers: dict[tuple[str, str], Element] = {}

    def draw(self, uses: Sequence[Element]) -> list[Element]:
        """Return one path for all uses of a shape in a style."""
        places: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for use in uses:
            key = use.attrib["href"].removeprefix("#"), use.get("style", "")
            places.setdefault(key, []).append((float(use.get("x", 0)), float(use.get("y", 0))))
        return [self._draw(name, style, np.array(xy)) for (name, style), xy in places.items()]

    def _draw(self, name: str, style: str, places: FloatArray) -> Element:
        shape = self._shapes[name]
        # As in CSS, the properties of the shape itself come before inherited ones.
        style = _format_style(_parse_style(style) | _parse_style(shape.get("style", "")))
        if len(places) == 1:
            d = _shorten_path(shape.attrib["d"], style, offset=places[0])
            return Element("path", {"d": d, "style": style})
        if (name, style) not in self.markers:
            marker = Element("marker", {"id": f"{name}-{len(self.markers)}", **_MARKER})
            d = _shorten_path(shape.attrib["d"], style)
            marker.append(Element("path", {"d": d, "style": style}))
            self.markers[name, style] = marker
        style = f"fill:none;marker:url(#{self.markers[name, style].attrib['id']})"
        return Element("path", {"d": _format_path([("M", places)], 1), "style": style})


def _parse_style(style: str) -> dict[str, str]:
    pairs = (part.partition(":") for part in style.split(";") if part.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _format_style(properties: dict[str, str]) -> str:
    return ";".join(f"{name}:{value}" for name, value in properties.items())


# A path is a list of commands with their points: "M" is a whole polyline, its start included; "L",
# "Q" and "C" continue from the last point; "z" goes back to the start and has no points.
_Path = list[tuple[str, FloatArray]]


def _shorten_path(d: str, style: str, offset: FloatArray | float = 0.0) -> str:
    """Return the data of a path, moved by an offset, in few characters."""
    tolerance = _AREA_TOLERANCE if "fill-opacity" in style else _TOLERANCE
    path = [(command, points + offset) for command, points in _parse_path(d)]
    extent = np.ptp(np.concatenate([points for _, points in path]), axis=0).max()
    if extent < 20:  # a mark, where hundredths of a point count
        return _format_path(path, 2)
    short = [(c, _simplify(points, tolerance) if c == "M" else points) for c, points in path]
    return _format_path(short, 1)


def _parse_path(d: str) -> _Path:
    path: _Path = []
    for command, numbers in re.findall(r"([MLQCz])([^MLQCz]*)", d):
        points = np.array(numbers.split(), dtype=float).reshape(-1, 2)
        if command == "L" and path and path[-1][0] == "M":
            path[-1] = "M", np.concatenate([path[-1][1], points])
        else:
            path.append((command, points))
    return path


def _simplify(points: FloatArray, tolerance: float) -> FloatArray:
    """Leave out points of a polyline as long as it moves by no more than a tolerance.

    This is the algorithm of Douglas and Peucker.
    """
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    pending = [(0, len(points) - 1)]
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        distances = _distances(points[first + 1 : last], points[first], points[last])
        farthest = int(distances.argmax())
        if distances[farthest] > tolerance:
            middle = first + 1 + farthest
            keep[middle] = True
            pending += [(first, middle), (middle, last)]
    return points[keep]


def _distances(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Return the distances of points from a line segment."""
    along = end - start
    length = float(along @ along)
    share = np.clip((points - start) @ along / length, 0, 1) if length else np.zeros(len(points))
    distances: FloatArray = np.hypot(*(points - start - share[:, None] * along).T)
    return distances


def _format_path(path: _Path, digits: int) -> str:
    """Write a path in relative coordinates; rounding errors do not add up."""
    text = ""
    current = start = np.zeros(2, dtype=int)
    for command, points in path:
        grid = np.rint(points * 10**digits).astype(int)
        # The control points of a curve are relative to where the curve starts.
        size = {"Q": 2, "C": 3}.get(command, 1)
        steps = []
        for i in range(0, len(grid), size):
            steps += (grid[i : i + size] - current).ravel().tolist()
            current = grid[i + size - 1]
        if command == "M":
            start = grid[0]
        elif command == "z":
            current = start
        written = " ".join(_format_number(step, digits) for step in steps)
        text += command.lower() + written.replace(" -", "-")
    return text


def _format_number(steps: int, digits: int) -> str:
    """Write a number of steps of ``10**-digits``.

    Examples
    --------
    >>> _format_number(-50, 2), _format_number(120, 1), _format_number(0, 2)
    ('-.5', '12', '0')
    """
    text = f"{steps / 10**digits:.{digits}f}".rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0(?=\.)", r"\1", text)
