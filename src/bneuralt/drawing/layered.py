"""The layered layout: outputs on the left, their terms to the right, one row for each term.

The rows of a subtree are contiguous, so edges never cross each other, and a label to the right of
its leaf never meets an edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.drawing.labels import (
    hidden_label,
    node_note,
    output_value,
    sign_role,
    signed,
    term_label,
    unsigned,
    weight_text,
)
from bneuralt.drawing.marks import Drawing, edges, glyph, leaf_dots, legend, title
from bneuralt.drawing.outline import NODE, ROOT, SUMMARY, TERM, Outline
from bneuralt.drawing.scene import Dots, Mark, Pill, Scene, Text, Wedges, fitted, text_width

__all__ = ["layered_positions", "layered_scene"]

MARGIN = 24.0
ROW, NODE_ROW, OUTPUT_ROW = 19.0, 30.0, 40.0
PILL, OUTPUT_PILL = 22.0, 28.0
GAP = 84.0  # from a node to its children
LONGEST_NAME, LONGEST_TABLE = 290.0, 450.0  # of a feature, and of one with several weights
LONGEST_OUTPUT = 230.0
SIZE, SMALL = 11.0, 10.0
#: A drawing of more rows than this has no labels and is as high as a page.
MAX_LABELLED_ROWS = 400
UNLABELLED_SIZE = 1600.0, 1000.0


def layered_positions(outline: Outline, heights: FloatArray) -> FloatArray:
    """Return the vertical position of each item; each has at least its height for itself.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.drawing.outline import outline_of
    >>> from bneuralt.drawing.view import TreeView
    >>> view = TreeView.of(NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0]))
    >>> layered_positions(outline_of(view, None, None), np.array([10.0, 10.0, 10.0]))
    array([10.,  5., 15.])
    """
    parent = outline.parent
    below = np.zeros(parent.size)  # the height of all children
    extent = heights.copy()
    for i in range(parent.size - 1, -1, -1):
        extent[i] = max(extent[i], below[i])
        if parent[i] >= 0:
            below[parent[i]] += extent[i]
    top = np.zeros(parent.size)
    next_free = np.zeros(parent.size)
    at = 0.0
    for i in range(parent.size):
        if parent[i] < 0:
            top[i], at = at, at + extent[i]
        else:
            top[i] = next_free[parent[i]]
            next_free[parent[i]] += extent[i]
        next_free[i] = top[i] + (extent[i] - below[i]) / 2
    y = top + extent / 2
    # A node is in the middle of its outermost children, as far as its height allows it.
    first, last = np.full(parent.size, -1), np.full(parent.size, -1)
    for i in range(parent.size - 1, -1, -1):
        if first[i] >= 0:
            low, high = top[i] + heights[i] / 2, top[i] + extent[i] - heights[i] / 2
            y[i] = np.clip((y[first[i]] + y[last[i]]) / 2, low, high)
        if parent[i] >= 0:
            first[parent[i]] = i
            last[parent[i]] = i if last[parent[i]] < 0 else last[parent[i]]
    return y


def layered_scene(drawing: Drawing) -> Scene:
    """Return the picture of a tree in layers.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    Scene
    """
    if drawing.outline.n_rows > MAX_LABELLED_ROWS:
        return _unlabelled(drawing)
    return _Labelled(drawing).scene()


def _curves(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return curves that leave and arrive horizontally."""
    middle = (start[:, 0] + end[:, 0]) / 2
    first = np.stack([middle, start[:, 1]], axis=1)
    second = np.stack([middle, end[:, 1]], axis=1)
    return np.stack([start, first, second, end], axis=1)


@dataclass
class _Labelled:
    """A drawing in which every item has a label."""

    drawing: Drawing

    def __post_init__(self) -> None:
        drawing = self.drawing
        self.view, self.outline, self.example = drawing.view, drawing.outline, drawing.example
        outline = self.outline
        self.is_output = (outline.kind == NODE) & (outline.index < self.view.tree.n_outputs)
        heights = np.where(outline.kind == NODE, NODE_ROW, ROW)
        heights[self.is_output | (outline.kind == ROOT)] = OUTPUT_ROW
        heights[outline.kind == SUMMARY] = NODE_ROW
        header = 30.0 if self.example is not None else 0.0
        self.y = layered_positions(outline, heights) + MARGIN + header
        self.labels = {
            int(i): term_label(self.view, int(outline.index[i]), self.example)
            for i in np.flatnonzero(outline.kind == TERM)
        }
        widths = [text_width(label.number, SIZE, bold=True) for label in self.labels.values()]
        self.number_width = max(widths, default=0.0)
        self.pill_text = [self._pill_text(i) for i in range(outline.kind.size)]
        self.pill_width = np.array([self._pill_width(i) for i in range(outline.kind.size)])
        self.left = self._columns()[outline.depth]
        self.right = self.left + self.pill_width

    def _pill_text(self, i: int) -> str:
        """Return what is written in a node: its bias or, for an example, its value."""
        kind, node = self.outline.kind[i], self.outline.index[i]
        if kind == ROOT:
            return "highest score"
        if kind != NODE:
            return ""
        if self.example is None:
            return weight_text(self.view, self.view.tree.bias[node])
        if self.is_output[i]:
            return output_value(self.view, self.example, node)
        return unsigned(self.example.node_value[node])

    def _output_name(self, i: int) -> str:
        return fitted(self.view.output_names[self.outline.index[i]], LONGEST_OUTPUT, 13, bold=True)

    def _pill_width(self, i: int) -> float:
        if self.outline.kind[i] == TERM:
            return 0.0
        if self.outline.kind[i] == ROOT:
            return text_width(self.pill_text[i], SIZE) + 20
        if self.outline.kind[i] != NODE:
            return 16.0
        width = 32 + text_width(self.pill_text[i], SIZE) + 10
        if self.is_output[i]:
            width += text_width(self._output_name(i), 13, bold=True) + 14
        return width

    def _columns(self) -> FloatArray:
        """Return the left side of each layer."""
        n_layers = int(self.outline.depth.max()) + 1
        widths = np.zeros(n_layers)
        is_box = (self.outline.kind == NODE) | (self.outline.kind == ROOT)
        np.maximum.at(widths, self.outline.depth[is_box], self.pill_width[is_box])
        gaps = np.full(n_layers, GAP)
        if self.outline.kind[0] == ROOT:
            gaps[0] = 46.0
        return MARGIN + np.append(0.0, np.cumsum(widths + gaps)[:-1])

    def scene(self) -> Scene:
        """Return the picture."""
        outline, scene = self.outline, Scene()
        above = outline.parent.clip(0)
        start = np.stack([self.right[above], self.y[above]], axis=1)
        end = np.stack([self.left, self.y], axis=1)
        scene.add(*edges(self.drawing, _curves(start, end), 6.0))
        scene.add(*leaf_dots(self.drawing, end, 3.0))
        edge_of_labels = float(self.right.max())
        for i, kind in enumerate(outline.kind.tolist()):
            if kind == TERM:
                marks = self._term(i)
            elif kind in (NODE, ROOT):
                marks = self._node(i)
            else:
                marks = self._hidden(i)
            scene.add(*marks)
            for mark in marks:
                if isinstance(mark, Text) and mark.anchor == "start":
                    end_x = mark.x + text_width(mark.text, mark.size, mark.bold)
                    edge_of_labels = max(edge_of_labels, end_x)
        scene.width = max(edge_of_labels + MARGIN, 420.0)
        bottom = float((self.y + np.where(self.is_output, OUTPUT_PILL, ROW) / 2).max()) + 12
        room = scene.width - 2 * MARGIN
        title(self.drawing, scene, MARGIN, MARGIN + 2, room)
        if self.drawing.show_legend:
            bottom = legend(self.drawing, scene, MARGIN, bottom + 4, room)
        scene.height = bottom + MARGIN / 2
        return scene

    def _term(self, i: int) -> list[Mark]:
        label = self.labels[i]
        x, y = self.left[i] + 9, self.y[i]
        marks: list[Mark] = []
        if label.number:
            x += self.number_width
            marks.append(Text(x, y, label.number, SIZE, label.role, "end", bold=True))
            x += 8
        name = fitted(label.name, LONGEST_NAME if label.number else LONGEST_TABLE, SIZE)
        color = "ink" if label.number else label.role
        marks.append(Text(x, y, name, SIZE, color, note=label.note))
        return marks

    def _node(self, i: int) -> list[Mark]:
        kind, node = self.outline.kind[i], int(self.outline.index[i])
        x, y, width = self.left[i], self.y[i], self.pill_width[i]
        if kind == ROOT:
            box = Pill(x, y - PILL / 2, width, PILL, "ground", "line")
            text = Text(x + width / 2, y, self.pill_text[i], SIZE, "faint", "middle")
            return [box, text]
        note = node_note(self.view, node, self.example)
        marks: list[Mark] = []
        if self.is_output[i]:
            fill, ink = "output", "on output"
            if self.example is not None and self.example.decision == node:
                fill, ink = "decision", "on decision"
            height = OUTPUT_PILL
            marks.append(Pill(x, y - height / 2, width, height, fill, fill, note=note))
            name = self._output_name(i)
            marks.append(Text(x + 13, y, name, 13, ink, bold=True, ground=fill))
            x += text_width(name, 13, bold=True) + 14
        else:
            fill, ink, height = "node", "ink", PILL
            strong = self.example is not None and self._is_strong(i)
            line = sign_role(self.outline.strength[i]) if strong else "line"
            width_of_line = 2.0 if strong else 1.0
            marks.append(Pill(x, y - height / 2, width, height, fill, line, width_of_line, note))
            marks += self._edge_label(i)
        marks += glyph(self.view, node, x + 18, y, 16, ink)
        marks.append(Text(x + 32, y, self.pill_text[i], SIZE, ink, ground=fill))
        return marks

    def _is_strong(self, i: int) -> bool:
        assert self.example is not None
        share = float(self.example.node_share[self.outline.index[i]])
        return share >= 0.1

    def _edge_label(self, i: int) -> list[Mark]:
        strength = float(self.outline.strength[i])
        # on the side from which the edge does not come
        above = self.y[i] <= self.y[self.outline.parent[i]] + 1
        x, y = self.left[i] - 7, self.y[i] + (-9 if above else 9)
        role = sign_role(strength)
        text = weight_text(self.view, strength) if self.example is None else signed(strength)
        return [Text(x, y, text, SMALL, role, "end", bold=True, halo=True)]

    def _hidden(self, i: int) -> list[Mark]:
        x, y = self.left[i], self.y[i]
        label = Text(x + 24, y, hidden_label(self.view, self.outline, i), SIZE, "faint")
        if self.outline.kind[i] == SUMMARY:
            note = node_note(self.view, int(self.outline.index[i]), self.example)
            wedge = np.array([[[x, y], [x + 16, y - 9], [x + 16, y + 9]]])
            label = Text(label.x, y, label.text, SIZE, "faint", note=note)
            return [Wedges(wedge, "node", "line"), label, *self._edge_label(i)]
        dots = np.array([[x + 3, y], [x + 9, y], [x + 15, y]])
        return [Dots(dots, 1.6, "faint"), label]


def _unlabelled(drawing: Drawing) -> Scene:
    """Return a picture of very many items, of which only the outputs are labelled."""
    outline, view = drawing.outline, drawing.view
    width, height = UNLABELLED_SIZE
    names = [fitted(name, 160, 12, bold=True) for name in view.output_names]
    label = max(text_width(name, 12, bold=True) for name in names) + 12
    heights = np.where(outline.has_children, 0.0, 1.0)
    y = layered_positions(outline, heights)
    y = MARGIN + y * (height - 2 * MARGIN) / max(heights.sum(), 1.0)
    depth = outline.depth - outline.depth.min()
    x = MARGIN + label + depth * (width - 2 * MARGIN - label) / max(int(depth.max()), 1)
    scene = Scene(width, height)
    xy = np.stack([x, y], axis=1)
    widest = float(np.clip(1500 / outline.kind.size, 0.5, 4.0))
    scene.add(*edges(drawing, _curves(xy[outline.parent.clip(0)], xy), widest))
    radius = float(np.clip(1800 / outline.kind.size, 0.5, 3.0))
    scene.add(*leaf_dots(drawing, xy, radius))
    inner = (outline.kind == NODE) | (outline.kind == SUMMARY)
    if inner.sum() < 3000:  # more of them hide the edges
        scene.add(Dots(xy[inner], 1.3 * radius, "ink"))
    scene.add(*_output_labels(drawing, xy, names))
    scene.height += legend(drawing, scene, MARGIN, height, width - 2 * MARGIN) - height + MARGIN / 2
    return scene


def _output_labels(drawing: Drawing, xy: FloatArray, names: list[str]) -> list[Mark]:
    outline, k = drawing.outline, drawing.view.tree.n_outputs
    outputs: IntArray = np.flatnonzero((outline.kind == NODE) & (outline.index < k))
    if outputs.size > 60:
        return []
    return [
        Text(xy[i, 0] - 8, xy[i, 1], names[outline.index[i]], 12, "ink", "end", True, halo=True)
        for i in outputs
    ]
