"""The radial layout: the outputs around a centre, their terms on circles around them.

Each term takes up the same angle and each subtree a contiguous sector, so edges never cross each
other. With labels, all terms are on the outermost circle and their labels outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.drawing.labels import hidden_label, node_note, output_value, term_label, unsigned
from bneuralt.drawing.layered import layered_positions
from bneuralt.drawing.marks import Drawing, edges, glyph, leaf_dots, legend, title
from bneuralt.drawing.outline import NODE, ROOT, SUMMARY, TERM
from bneuralt.drawing.scene import Dots, Mark, Pill, Scene, Text, Wedges, fitted, text_width

__all__ = ["radial_scene"]

MARGIN = 24.0
ROW = 15.5  # of the outermost circle
SIZE, OUTPUT_SIZE, VALUE_SIZE = 10.5, 12.0, 8.5
LONGEST_NAME, LONGEST_TABLE, LONGEST_OUTPUT = 230.0, 340.0, 120.0
MOST_LABELLED_ROWS = 420
UNLABELLED_RADIUS = 560.0
MOST_OUTPUT_NAMES = 40


def radial_scene(drawing: Drawing) -> Scene:
    """Return the picture of a tree around its root.

    Parameters
    ----------
    drawing : Drawing

    Returns
    -------
    Scene
    """
    return _Radial(drawing).scene()


@dataclass
class _Radial:
    drawing: Drawing

    def __post_init__(self) -> None:
        drawing = self.drawing
        self.view, self.outline, self.example = drawing.view, drawing.outline, drawing.example
        outline, k = self.outline, self.view.tree.n_outputs
        self.has_children: Array = outline.has_children
        self.is_labelled = outline.n_rows <= MOST_LABELLED_ROWS
        self.is_output = (outline.kind == NODE) & (outline.index < k)
        self.output_names = [
            fitted(self._output_text(i), LONGEST_OUTPUT, OUTPUT_SIZE, bold=True) for i in range(k)
        ]
        depth = outline.depth + (0 if (outline.parent < 0).sum() == 1 else 1)
        self.n_rings = max(int(depth.max()), 1)
        if self.is_labelled:
            depth = np.where(self.has_children, depth, self.n_rings)
        self.depth = depth
        self._place(depth)

    def _output_text(self, output: int) -> str:
        name = self.view.output_names[output]
        if self.example is None:
            return name
        return f"{name} {output_value(self.view, self.example, output)}"

    def _place(self, depth: Array) -> None:
        """Set the angle of each item, clockwise from the top, and the radius of each ring.

        Circle and gaps between outputs grow until no two boxes of nodes overlap.
        """
        outline = self.outline
        heights = np.where(self.has_children, 0.0, 1.0)
        heights[outline.kind == SUMMARY] = 1.5
        rows = layered_positions(outline, heights)
        n_outputs = int(self.is_output.sum())
        has_gaps = 1 < n_outputs <= MOST_OUTPUT_NAMES
        gap = max(1.0, 0.01 * heights.sum()) if has_gaps else 0.0
        boxed = np.flatnonzero(outline.kind == NODE)
        sizes = np.array([self._box(i) for i in boxed.tolist()]).reshape(-1, 2)
        scale = 1.0
        while True:
            total = max(float(heights.sum() + gap * n_outputs), 4.0)
            spread = rows + gap * (np.cumsum(self.is_output) - 0.5)
            self.angle = 2 * np.pi * np.where(outline.kind == ROOT, 0.0, spread) / total
            self.radius = UNLABELLED_RADIUS
            if self.is_labelled:
                self.radius = scale * max(total * ROW / (2 * np.pi), 60.0 + 52 * self.n_rings)
            first = self.radius / self.n_rings
            for innermost in (first, max(first, 0.5 * self.radius)):
                self.ring = np.append(0.0, np.linspace(innermost, self.radius, self.n_rings))
                self.r = self.ring[depth]
                at = _polar(self.r[boxed], self.angle[boxed])
                if not self.is_labelled or not _any_overlap(at, sizes):
                    return
            gap, scale = 1.1 * gap, 1.1 * scale

    def _box(self, item: int) -> tuple[float, float]:
        """Return width and height of the box of a node."""
        node = int(self.outline.index[item])
        if self.is_output[item]:
            if self.is_output.sum() > MOST_OUTPUT_NAMES:
                return 8.0, 8.0
            return text_width(self.output_names[node], OUTPUT_SIZE, bold=True) + 20, 22.0
        if self.example is None:
            return 18.0, 18.0
        return text_width(unsigned(self.example.node_value[node]), VALUE_SIZE) + 9, 15.0

    # -- drawing -------------------------------------------------------------------------

    def scene(self) -> Scene:
        """Return the picture."""
        drawing, outline = self.drawing, self.outline
        labels = self._labels() if self.is_labelled else []
        reach = self.radius + 10 + max((label[2] for label in labels), default=0.0)
        header = 30.0 if self.example is not None else 0.0
        self.center = np.array([MARGIN + reach, MARGIN + header + reach])
        scene = Scene(2 * float(self.center[0]), 2 * reach + 2 * MARGIN + header)
        self.xy = self.center + _polar(self.r, self.angle)
        widest = 5.0 if self.is_labelled else float(np.clip(1500 / outline.kind.size, 0.3, 3.0))
        scene.add(*edges(drawing, self._curves(), widest))
        if self.is_labelled:
            scene.add(*self._wedges(), *leaf_dots(drawing, self.xy, 2.6), *self._inner_nodes())
            for i, texts, _ in labels:
                scene.add(*self._placed(i, texts))
        else:
            size = float(np.clip(2500 / outline.kind.size, 0.4, 2.5))
            scene.add(*leaf_dots(drawing, self.xy, size))
            inner = (outline.kind == NODE) & ~self.is_output
            if 0 < inner.sum() < 3000:  # more of them hide the edges
                scene.add(Dots(self.xy[inner], 1.2 * size, "ink"))
        if outline.kind[0] == ROOT:
            scene.add(Dots(self.xy[:1], 5.0, "output"))
        scene.add(*self._outputs())
        room = scene.width - 2 * MARGIN
        title(drawing, scene, MARGIN, MARGIN, room)
        if drawing.show_legend:
            bottom = legend(drawing, scene, MARGIN, scene.height - MARGIN + 6, room)
            scene.height = bottom + MARGIN / 2
        return scene

    def _curves(self) -> FloatArray:
        """Return edges that leave and arrive along the radius.

        An edge over several rings turns within the first of them, where nothing is in its way.
        """
        above = self.outline.parent.clip(0)
        start_r, start_angle = self.r[above], self.angle[above]
        next_r = self.ring[np.minimum(self.depth[above] + 1, self.n_rings)]
        turn_r = np.minimum(next_r, self.r)
        middle = (start_r + turn_r) / 2
        start_angle = np.where(start_r > 0, start_angle, self.angle)  # straight from the centre
        curve = [
            _polar(start_r, start_angle),
            _polar(middle, start_angle),
            _polar(middle, self.angle),
            _polar(turn_r, self.angle),
        ]
        if self.is_labelled:
            rest = self.r - turn_r
            curve += [_polar(turn_r + share * rest, self.angle) for share in (1 / 3, 2 / 3, 1)]
        points: FloatArray = np.stack(curve, axis=1) + self.center
        return points

    def _labels(self) -> list[tuple[int, tuple[Text | None, Text], float]]:
        """Return number and name of terms and of what is hidden, yet to be placed."""
        outline, view = self.outline, self.view
        labels: list[tuple[int, tuple[Text | None, Text], float]] = []
        terms = {
            int(i): term_label(view, int(outline.index[i]), self.example)
            for i in np.flatnonzero(outline.kind == TERM)
        }
        widths = [text_width(label.number, SIZE, bold=True) for label in terms.values()]
        self.number_width = max(widths, default=0.0)
        for i, kind in enumerate(outline.kind.tolist()):
            if kind == TERM:
                label = terms[i]
                room = LONGEST_NAME if label.number else LONGEST_TABLE
                name = fitted(label.name, room, SIZE)
                color = "ink" if label.number else label.role
                text = Text(0, 0, name, SIZE, color, note=label.note)
                number = Text(0, 0, label.number, SIZE, label.role, bold=True)
                shown = number if label.number else None
                labels.append((i, (shown, text), text_width(name, SIZE) + self.number_width + 6))
            elif kind not in (NODE, ROOT):
                name = fitted(hidden_label(view, outline, i), LONGEST_NAME + 40, SIZE)
                text = Text(0, 0, name, SIZE, "faint")
                labels.append((i, (None, text), text_width(name, SIZE)))
        return labels

    def _placed(self, i: int, texts: tuple[Text | None, Text]) -> list[Mark]:
        """Return labels that run outwards and are never upside down."""
        number, name = texts
        angle = float(self.angle[i])
        turn = np.rad2deg(angle) % 360 - 90
        flipped = turn > 90
        turn = float(turn - 180 if flipped else turn)
        anchors = ("end", "start") if flipped else ("start", "end")
        r = float(self.r[i]) + 8
        marks: list[Mark] = []
        if number is not None:  # aligned at its end that is away from the circle
            x, y = self.center + _polar(np.array([r + self.number_width]), np.array([angle]))[0]
            marks.append(
                Text(x, y, number.text, SIZE, number.color, anchors[1], bold=True, angle=turn)
            )
            r += self.number_width + 6
        x, y = self.center + _polar(np.array([r]), np.array([angle]))[0]
        marks.append(
            Text(x, y, name.text, SIZE, name.color, anchors[0], False, turn, note=name.note)
        )
        return marks

    def _wedges(self) -> list[Mark]:
        chosen = np.flatnonzero(self.outline.kind == SUMMARY)
        if not chosen.size:
            return []
        size = 4 + 2.2 * np.log10(np.maximum(self.outline.n_hidden[chosen], 1))
        outwards = _polar(np.ones(chosen.size), self.angle[chosen])
        sideways = _polar(size, self.angle[chosen] + np.pi / 2)
        tip, back = self.xy[chosen] - 16 * outwards, self.xy[chosen] + 3 * outwards
        return [Wedges(np.stack([tip, back + sideways, back - sideways], axis=1), "node", "faint")]

    def _inner_nodes(self) -> list[Mark]:
        """Return discs with the shape of the activation; for an example, with the value."""
        marks: list[Mark] = []
        for i in np.flatnonzero((self.outline.kind == NODE) & ~self.is_output).tolist():
            node, (x, y) = int(self.outline.index[i]), self.xy[i].tolist()
            note = node_note(self.view, node, self.example)
            if self.example is None:
                marks.append(Pill(x - 9, y - 9, 18, 18, "node", "line", note=note))
                marks += glyph(self.view, node, x, y, 11, "ink")
                continue
            text = unsigned(self.example.node_value[node])
            width, height = self._box(i)
            box = Pill(x - width / 2, y - height / 2, width, height, "node", "line", note=note)
            marks += [box, Text(x, y, text, VALUE_SIZE, "ink", "middle", ground="node")]
        return marks

    def _outputs(self) -> list[Mark]:
        chosen = np.flatnonzero(self.is_output)
        if chosen.size > MOST_OUTPUT_NAMES:
            return [Dots(self.xy[chosen], 4.0, "output")]
        marks: list[Mark] = []
        for i in chosen.tolist():
            node, (x, y) = int(self.outline.index[i]), self.xy[i].tolist()
            decided = self.example is not None and self.example.decision == node
            fill, ink = ("decision", "on decision") if decided else ("output", "on output")
            name = self.output_names[node]
            width, height = self._box(i)
            note = node_note(self.view, node, self.example)
            box = Pill(x - width / 2, y - height / 2, width, height, fill, fill, note=note)
            marks += [box, Text(x, y, name, OUTPUT_SIZE, ink, "middle", True, ground=fill)]
        return marks


def _polar(r: FloatArray, angle: FloatArray) -> FloatArray:
    return np.stack([r * np.sin(angle), -r * np.cos(angle)], axis=1)


def _any_overlap(centers: FloatArray, sizes: FloatArray) -> bool:
    """Return whether any two boxes are closer than two pixels."""
    apart = np.abs(centers[:, None] - centers[None])
    touching = (apart < (sizes[:, None] + sizes[None]) / 2 + 2).all(axis=2)
    return bool(np.count_nonzero(touching) > len(centers))
