"""Drawings of trees in text, for terminals and logs.

Each function node is one line: the weight of its edge, its activation, its bias and its leaves. The
function nodes that are its children follow, indented; they are terms of the same sum.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from bneuralt._typing import IntArray
from bneuralt.drawing.labels import counted
from bneuralt.drawing.view import Drawable, TreeView, as_model, in_log_odds
from bneuralt.expressions import variable
from bneuralt.tree.neural_tree import NeuralTree
from bneuralt.tree.walk import node_levels, sum_up

__all__ = ["draw_tree", "use_color"]

_BOLD, _GREEN, _RED, _FAINT, _RESET = "\033[1m", "\033[32m", "\033[31m", "\033[2m", "\033[0m"
_MIN_TEXT = 24  # columns left for the text of a line, however deep the tree


def draw_tree(
    model: Drawable,
    *,
    tree: int = 0,
    simplified: bool = True,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[object] | None = None,
    width: int | None = None,
    max_lines: int | None = None,
    color: bool | None = None,
    ascii_only: bool | None = None,
) -> str:
    """Draw a tree in text.

    Parameters
    ----------
    model : fitted estimator, NeuralTree, or Model
        What to draw.
    tree : int, default 0
        Which tree of a forest, from 0.
    simplified : bool, default True
        Draw an equal tree with fewer weights, made by `bneuralt.tree.simplify`.
    feature_names : sequence of str, optional
        Names of the columns; those of the training table by default.
    output_names : sequence, optional
        Names of the outputs; the classes by default.
    width : int, optional
        Largest number of columns; the width of the terminal by default.
    max_lines : int, optional
        Omit the deepest levels until the drawing has at most this many lines. The outputs are
        always drawn.
    color : bool, optional
        Colour positive and negative weights. By default, `use_color` decides.
    ascii_only : bool, optional
        Use no box-drawing characters. By default only where the output cannot encode them.

    Returns
    -------
    str
        The lines, without a final newline.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.drawing.terminal import draw_tree
    >>> tree = NeuralTree.random(3, 2, max_depth=2, max_children=3, random_state=4)
    >>> print(draw_tree(tree, feature_names=["age", "height", "weight"],
    ...                 output_names=["no", "yes"], width=70, simplified=False))
    no = sigmoid of  +0.00  -0.41 age
    └─ -1.38 sigmoid of  +0.00  -1.10 age  +0.16 weight  -0.23 weight
    yes = sigmoid of  +0.00
    ├─ -0.46 sigmoid of  +0.00  +0.22 weight  -0.43 weight
    ├─ +0.99 sigmoid of  +0.00  -0.57 age  +0.39 age
    └─ +0.034 sigmoid of  +0.00  +0.015 weight  +1.18 weight  +0.13 height
    """
    shown, names = in_log_odds(as_model(model), output_names)
    view = TreeView.of(
        shown,
        tree=tree,
        simplified=simplified,
        feature_names=feature_names,
        output_names=names,
    )
    width = shutil.get_terminal_size().columns if width is None else width
    pen = _Pen(
        max(width, _MIN_TEXT),
        use_color(sys.stdout) if color is None else color,
        not _can_encode(sys.stdout, "├─│└…") if ascii_only is None else ascii_only,
    )
    sketch = _Sketch.of(view)
    deepest = int(sketch.level.max())
    while True:
        if max_lines is None or deepest == 0 or (sketch.level <= deepest).sum() <= max_lines:
            lines = list(_lines(sketch, pen, deepest))
            if max_lines is None or deepest == 0 or len(lines) <= max_lines:
                return "\n".join(lines)
        deepest -= 1


def use_color(stream: TextIO) -> bool:
    """Return whether text written to a stream should be coloured.

    Only terminals get colours, and only if the environment variable ``NO_COLOR`` is unset or empty
    and ``TERM`` is not ``dumb``.

    Parameters
    ----------
    stream : text stream
        Where the text is written.

    Returns
    -------
    bool
        Whether to use colours.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def _can_encode(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


@dataclass(frozen=True)
class _Pen:
    """The width, colours and characters of a drawing."""

    width: int
    color: bool
    ascii_only: bool

    def branch(self, last: bool) -> str:
        if self.ascii_only:
            return "`- " if last else "|- "
        return "└─ " if last else "├─ "

    def stem(self, last: bool) -> str:
        return "   " if last else ("|  " if self.ascii_only else "│  ")

    @property
    def dots(self) -> str:
        return "..." if self.ascii_only else "…"

    def paint(self, text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if self.color and text else text

    def shorten(self, name: str) -> str:
        """Return a name that fits; the ends of a ramp and other numbers are never cut."""
        room = max(8, self.width // 3)
        if len(name) <= room:
            return name
        ramp = re.search(r" from \S+ to \S+$", name)
        column, rest = (name[: ramp.start()], ramp[0]) if ramp else (name, "")
        kept = column[: max(1, room - len(rest) - len(self.dots))]
        if re.match(r"[\d.]", column[len(kept) :]):
            kept = re.sub(r"[\d.]+$", "", kept)
        return kept + self.dots + rest if len(kept) < len(column) else name


@dataclass(frozen=True)
class _Sketch:
    """A view of a tree together with the counts that its drawing shows."""

    view: TreeView
    level: IntArray
    nodes_below: IntArray
    leaves_below: IntArray

    @classmethod
    def of(cls, view: TreeView) -> _Sketch:
        parent = view.tree.parent
        nodes_below = sum_up(parent, np.ones_like(parent)) - 1
        leaves_below = sum_up(parent, np.diff(view.tree.leaf_start))
        return cls(view, node_levels(parent), nodes_below, leaves_below)

    @property
    def tree(self) -> NeuralTree:
        return self.view.tree

    def leaves(self, node: int) -> range:
        return range(self.tree.leaf_start[node], self.tree.leaf_start[node + 1])

    def children(self, node: int) -> range:
        return range(self.tree.child_start[node], self.tree.child_start[node + 1])


def _lines(sketch: _Sketch, pen: _Pen, deepest: int) -> Iterator[str]:
    """Yield the lines, depth first; without recursion, since trees may be deeper than the stack."""
    waiting = [(node, "", "") for node in reversed(range(sketch.tree.n_outputs))]
    while waiting:
        node, branch, stem = waiting.pop()
        children = sketch.children(node)
        cut = len(children) > 0 and sketch.level[node] >= deepest
        below = stem + (pen.stem(False) if children else "   ")
        yield from _wrapped(_head(sketch, node, pen), _terms(sketch, node, pen), branch, below, pen)
        if cut:
            hidden = sketch.nodes_below[node], sketch.leaves_below[node] - len(sketch.leaves(node))
            note = f"{pen.dots} {counted(hidden[0], 'node')}, {counted(hidden[1], 'leaf')} below"
            yield pen.paint(stem + pen.branch(True), _FAINT) + pen.paint(note, _FAINT)
            continue
        for child in reversed(children):
            last = child == children[-1]
            waiting.append((child, stem + pen.branch(last), stem + pen.stem(last)))


def _head(sketch: _Sketch, node: int, pen: _Pen) -> tuple[str, str]:
    """Return the start of a node's line, without and with colours."""
    tree, activation = sketch.tree, sketch.view.activation(node)
    parameters = ", ".join(f"{value:.3g}" for value in activation.parameters)
    name = f"{activation.name}({parameters})" if parameters else activation.name
    if node < tree.n_outputs:
        title, style = sketch.view.output_names[node], _BOLD
        after = " =" if activation.expression == variable("z") else f" = {name} of"
    else:
        weight = tree.edge[node - tree.n_outputs]
        title, style = _signed(weight, sketch.view), _sign_style(weight)
        after = f" {name} of"
    return title + after, pen.paint(title, style) + after


def _terms(sketch: _Sketch, node: int, pen: _Pen) -> Iterator[tuple[str, str]]:
    """Yield the bias and the leaves of a node, without and with colours."""
    tree = sketch.tree
    bias = _signed(tree.bias[node], sketch.view)
    yield bias, bias
    for leaf in sketch.leaves(node):
        weight = tree.leaf_weight[leaf]
        name = pen.shorten(sketch.view.inputs[tree.leaf_input[leaf]].name)
        number = _signed(weight, sketch.view)
        yield f"{number} {name}", f"{pen.paint(number, _sign_style(weight))} {name}"


def _wrapped(
    head: tuple[str, str],
    terms: Iterator[tuple[str, str]],
    branch: str,
    below: str,
    pen: _Pen,
) -> Iterator[str]:
    """Yield the lines of a node, wrapped to the width."""
    room = max(pen.width - len(branch), _MIN_TEXT)
    line, used = pen.paint(branch, _FAINT) + head[1], len(head[0])
    indent = pen.paint(below, _FAINT) + "   "
    for plain, painted in terms:
        if used + 2 + len(plain) > room:
            yield line
            line, used = indent + painted, len(below) - len(branch) + 3 + len(plain)
        else:
            line, used = f"{line}  {painted}", used + 2 + len(plain)
    yield line


def _signed(value: float, view: TreeView) -> str:
    if view.has_short_weights:
        return f"{float(value):+.15g}"
    size = abs(float(value))
    if size == 0 or 0.1 <= size < 1000:
        return f"{value:+.2f}"
    return f"{value:+.0f}" if 1000 <= size < 1e6 else f"{value:+.2g}"


def _sign_style(value: float) -> str:
    return _GREEN if value >= 0 else _RED
