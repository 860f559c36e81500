"""Parts that the layouts share: the widths of edges, nodes with their activation, the legend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.drawing.labels import activation_curve, activation_name, outcome
from bneuralt.drawing.outline import NODE, ROOT, TERM, Outline
from bneuralt.drawing.scene import Curves, Dots, Line, Mark, Scene, Text, fitted, text_width
from bneuralt.drawing.view import ExampleView, TreeView

__all__ = ["Drawing", "edge_roles", "edges", "glyph", "leaf_dots", "legend", "prominence", "title"]


@dataclass(frozen=True)
class Drawing:
    """A view with its outline and, optionally, the values of an example."""

    view: TreeView
    outline: Outline
    example: ExampleView | None = None
    show_legend: bool = True

    @property
    def is_partial(self) -> bool:
        """Whether some subtrees are summarised."""
        return bool(self.outline.n_hidden.any())


def prominence(drawing: Drawing) -> FloatArray:
    """Return how strong the edge above each item is, from 0 to 1.

    Without an example, that is its absolute weight, of terms times the spread of the feature, in
    proportion to the largest. The weights of outputs, which have the unit of the target, are
    compared with each other. With an example, it is the share of the path in the decision.
    """
    outline, example = drawing.outline, drawing.example
    if example is None:
        size = np.abs(outline.strength)
        k = drawing.view.tree.n_outputs
        above = outline.parent
        into_output = (above >= 0) & (outline.kind[above] == NODE) & (outline.index[above] < k)
        for group in (into_output, ~into_output):
            used = size[group & (size > 0)]
            if used.size:  # so that a few very large weights do not make all other edges invisible
                size[group] = np.minimum(size[group] / np.quantile(used, 0.95), 1.0)
        return size
    share = np.zeros(outline.kind.size)
    is_term = outline.kind == TERM
    is_node = ~is_term & (outline.kind != ROOT)
    share[is_term] = example.term_share[outline.index[is_term]]
    share[is_node] = example.node_share[outline.index[is_node]]
    top = float(share[is_term | is_node].max(initial=0.0))
    return np.sqrt(share / (top or 1.0))


def edge_roles(drawing: Drawing) -> Array:
    """Return the role of the colour of the edge above each item."""
    outline, view = drawing.outline, drawing.view
    roles: Array = np.where(outline.strength < 0, "negative", "positive").astype(object)
    if drawing.example is None:
        terms = np.flatnonzero(outline.kind == TERM)
        roles[terms[~view.term_has_sign[outline.index[terms]]]] = "mixed"
        # nothing is multiplied above an output
        is_output = (outline.kind == NODE) & (outline.index < view.tree.n_outputs)
        roles[is_output] = "line"
    roles[outline.strength == 0] = "line"
    return roles


def edges(drawing: Drawing, points: FloatArray, widest: float) -> list[Mark]:
    """Return the edges above all items that have one: points of shape (n_items, 4 or 7, 2).

    Edges are put together by colour and width, weak ones first.
    """
    has_edge = drawing.outline.parent >= 0
    size = prominence(drawing)
    roles = edge_roles(drawing)
    n_steps = 8
    step = np.ceil(size * n_steps).astype(int).clip(1, n_steps)
    step[roles == "line"] = 2
    thinnest = min(0.9, widest)
    marks: list[Mark] = []
    for level in range(1, n_steps + 1):
        share = level / n_steps
        width = thinnest + (widest - thinnest) * share**1.3
        opacity = (0.45 + 0.5 * share) if drawing.example is None else (0.25 + 0.7 * share)
        for role in ("line", "mixed", "negative", "positive"):
            chosen = has_edge & (step == level) & (roles == role)
            if chosen.any():
                marks.append(Curves(points[chosen], role, round(width, 2), round(opacity, 2)))
    return marks


def glyph(view: TreeView, node: int, x: float, y: float, size: float, color: str) -> list[Mark]:
    """Return the shape of a node's activation, centred at a point."""
    curve = activation_curve(view.activation(node).expression) * (size / 2, -size * 0.36) + (x, y)
    ends = np.array([[x - size / 2, y], [x + size / 2, y]])
    axis = Line(ends, "faint" if color == "ink" else color, 0.5, (1, 1.5))
    return [axis, Line(curve, color, 1.5)]


def legend(drawing: Drawing, scene: Scene, x: float, y: float, width: float) -> float:
    """Add the legend, wrapped to a width, below y; return where it ends."""
    view, example = drawing.view, drawing.example
    size, at, row = 10.0, x, 18.0
    y += row / 2
    entries: list[tuple[str, str]] = []
    what = "weight" if example is None else "effect"
    entries += [("positive", f"positive {what}"), ("negative", f"negative {what}")]
    if example is None and not view.term_has_sign.all():
        entries.append(("mixed", "several weights"))
    if example is not None:
        entries.append(("", "effect: compared with the average row"))
        entries.append(("", "width: share in the decision"))
    elif view.spread is not None:
        entries.append(("", "width: weight × spread of the feature"))
    else:
        entries.append(("", "width: absolute weight"))
    shown = drawing.outline.index[drawing.outline.kind == NODE]
    kinds = {activation_name(view, int(node)).split(" (")[0]: int(node) for node in shown}
    entries += [(f"glyph {node}", name) for name, node in list(kinds.items())[:8]]
    note = view.caption + (", weakest parts summarised" if drawing.is_partial else "")
    entries.append(("", note))
    for symbol, text in entries:
        text = fitted(text, width - 34, size)
        needed = text_width(text, size) + (26 if symbol else 0)
        if at > x and at + needed > x + width:
            at, y = x, y + row
        if symbol.startswith("glyph"):
            node = int(symbol.split()[1])
            scene.add(*glyph(view, node, at + 9, y, 14, "faint"))
        elif symbol:
            scene.add(Line(np.array([[at, y], [at + 18, y]]), symbol, 3.0))
        at += 24 if symbol else 0
        scene.add(Text(at, y, text, size, "faint"))
        at += text_width(text, size) + 18
    return y + row / 2


def title(drawing: Drawing, scene: Scene, x: float, y: float, width: float) -> None:
    """Add what is predicted for the example."""
    if drawing.example is not None:
        text = fitted(outcome(drawing.view, drawing.example), width, 13, bold=True)
        scene.add(Text(x, y, text, 13, "ink", bold=True))


def leaf_dots(drawing: Drawing, xy: FloatArray, radius: float) -> list[Mark]:
    """Return a dot at each term, in the colour of its sign."""
    roles, outline = edge_roles(drawing), drawing.outline
    marks: list[Mark] = []
    for role in ("line", "mixed", "negative", "positive"):
        chosen = (outline.kind == TERM) & (roles == role)
        if chosen.any():
            marks.append(Dots(xy[chosen], radius, role))
    return marks
