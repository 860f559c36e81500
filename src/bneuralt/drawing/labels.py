"""The texts of drawings: numbers, terms, and notes about nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.drawing.outline import REST, Outline
from bneuralt.drawing.view import ExampleView, TreeView
from bneuralt.expressions import Expression, evaluate
from bneuralt.tables.features import MISSING

__all__ = [
    "TermLabel",
    "activation_curve",
    "activation_name",
    "counted",
    "hidden_label",
    "node_note",
    "outcome",
    "output_value",
    "percent",
    "sign_role",
    "signed",
    "term_label",
    "unsigned",
    "weight_text",
]

#: Entries of a term that are listed in a drawing; its note has more of them.
MAX_ENTRIES, MAX_NOTED = 3, 40


def unsigned(value: float) -> str:
    """Return a number with two or three significant digits.

    Examples
    --------
    >>> unsigned(1234.5), unsigned(-0.56789), unsigned(0.0123), unsigned(2e-7)
    ('1234', '−0.57', '0.012', '2e−7')
    """
    value = float(value)
    size = abs(value)
    if size == 0 or 0.000995 <= size < 99999.5:
        steps = (0.0995, 0.00995)  # smaller numbers have more decimals
        decimals = (
            2 + sum(0 < size < step for step in steps) - sum(size >= s for s in (9.995, 99.95))
        )
        text = f"{value:.{decimals}f}"
    else:
        mantissa, exponent = f"{value:.1e}".split("e")
        text = f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    return text.replace("-", "−")


def signed(value: float) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> signed(1.5), signed(-1.5)
    ('+1.50', '−1.50')
    """
    text = unsigned(value)
    return text if text.startswith("−") else f"+{text}"


def weight_text(view: TreeView, value: float) -> str:
    """Return a weight with its sign: exactly, if all weights of the tree have few digits.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> view = TreeView.of(NeuralTree(1, 1, [-1], [0], [0], [0], [612.43, 1.5]))
    >>> weight_text(view, 612.43), weight_text(view, 1.5)
    ('+612.43', '+1.5')
    """
    return f"{float(value):+.15g}".replace("-", "−") if view.has_short_weights else signed(value)


def percent(share: float) -> str:
    """Return a probability as a percentage.

    Examples
    --------
    >>> percent(0.98765), percent(0.99999), percent(0.0001)
    ('98.8 %', '>99.9 %', '<0.1 %')
    """
    if 0.9995 < share < 1:
        return ">99.9 %"
    return "<0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def counted(number: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "leaf"), counted(1200, "leaf")
    ('1 leaf', '1,200 leaves')
    """
    plural = {"leaf": "leaves"}.get(noun, noun + "s")
    return f"{number:,} {noun if number == 1 else plural}"


def sign_role(value: float) -> str:
    """Return the role of the colour for a weight or an effect."""
    return "negative" if value < 0 else "positive"


class TermLabel(NamedTuple):
    """The label of a term: a number, the role of its colour, the name, and a longer note."""

    number: str
    role: str
    name: str
    note: str


def term_label(view: TreeView, term: int, example: ExampleView | None = None) -> TermLabel:
    """Return the label of a term.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> view = TreeView.of(NeuralTree(1, 1, [-1], [0], [0], [0], [0.5, -2.0]))
    >>> term_label(view, 0)
    TermLabel(number='−2', role='negative', name='x0', note='−2 × x0')
    """
    feature = view.term_feature[term]
    column = view.feature_names[feature]
    entries = view.term_entries(term)
    if len(entries) == 1:
        note = f"{weight_text(view, entries[0][1])} × {entries[0][0].name}"
    else:
        listed = [f"{e.entry or 'value'} {weight_text(view, w)}" for e, w in entries[:MAX_NOTED]]
        note = f"{column}: {', '.join(listed)}"
    if example is not None:
        effect = float(example.term_effect[term])
        name = f"{column} = {example.cells[feature]}"
        return TermLabel(signed(effect), sign_role(effect), name, f"{name}; {note}")
    values = [(e.name, weight) for e, weight in entries if e.entry != MISSING]
    if len(entries) == 1:
        values = [(entries[0][0].name, entries[0][1])]
    if len(values) == 1:  # besides it, at most whether it is missing
        name, weight = values[0]
        gaps = "".join(
            f" (missing: {weight_text(view, w)})" for e, w in entries[1:] if e.entry == MISSING
        )
        return TermLabel(weight_text(view, weight), sign_role(weight), name + gaps, note)
    by_size = sorted(entries, key=lambda entry: -abs(entry[1]))
    shown = by_size[:MAX_ENTRIES]
    listed = [f"{_short(e.entry or 'value')} {weight_text(view, weight)}" for e, weight in shown]
    if len(entries) > MAX_ENTRIES:
        listed.append("…")
    return TermLabel("", "mixed", f"{column}: {', '.join(listed)}", note)


def _short(entry: str, most: int = 18) -> str:
    return entry if len(entry) <= most else entry[: most - 1] + "…"


def hidden_label(view: TreeView, outline: Outline, item: int) -> str:
    """Return the label of a summary, or of the weakest terms of a node, with its share."""
    n, share = int(outline.n_hidden[item]), percent(float(outline.share[item]))
    if outline.kind[item] == REST:
        return f"{n:,} weaker {'term' if n == 1 else 'terms'} ({share})"
    names = [view.feature_names[i] for i in outline.main_features.get(item, ())]
    more = ", …" if n > len(names) else ""
    return f"{counted(n, 'leaf')} ({share}): {', '.join(names)}{more}"


def activation_name(view: TreeView, node: int) -> str:
    """Return the name of a node's activation, with its parameters if it has some."""
    name, parameters, _ = view.activation(node)
    name = name.replace("_", " ")
    return f"{name} ({', '.join(map(unsigned, parameters))})" if parameters else name


def node_note(view: TreeView, node: int, example: ExampleView | None = None) -> str:
    """Return a longer description of a node."""
    parts = [activation_name(view, node), f"bias {weight_text(view, view.tree.bias[node])}"]
    if node < view.tree.n_outputs:
        parts.insert(0, view.output_names[node])
    else:
        parts.append(f"weight {weight_text(view, view.node_strength[node])}")
    if example is not None:
        parts.append(f"sum {signed(example.node_sum[node])}")
        parts.append(f"value {unsigned(example.node_value[node])}")
    return ", ".join(parts)


def output_value(view: TreeView, example: ExampleView, output: int) -> str:
    """Return the value of an output for an example: a probability, or a number."""
    if view.task == "numbers" or view.model.has_scores:
        return unsigned(example.node_value[output])
    return percent(float(example.predictions[output]))


def outcome(view: TreeView, example: ExampleView) -> str:
    """Return what is predicted for an example."""
    if example.decision is not None:
        name = view.output_names[example.decision]
        if view.model.has_scores:
            return f"highest output: {name}"
        return f"predicted: {name}, {percent(example.predictions[example.decision])}"
    if view.task == "labels":
        pairs = zip(view.output_names, example.predictions, strict=True)
        labels = [name for name, share in pairs if share > 0.5]
        return f"predicted: {', '.join(labels) or 'no label'}"
    return f"predicted: {', '.join(unsigned(value) for value in example.predictions[:5])}"


def activation_curve(expression: Expression, n_points: int = 21) -> FloatArray:
    """Return the shape of an activation: points in the square from -1 to 1, y upwards.

    Examples
    --------
    >>> from bneuralt.tree.activations import ReLU
    >>> activation_curve(ReLU().expression, 5).tolist()
    [[-1.0, -1.0], [-0.5, -1.0], [0.0, -1.0], [0.5, 0.0], [1.0, 1.0]]
    """
    z = np.linspace(-1, 1, n_points)
    with np.errstate(all="ignore"):
        values = evaluate(expression, {"z": 3 * z})
    h = np.nan_to_num(np.broadcast_to(np.asarray(values, dtype=np.float64), z.shape))
    low, high = h.min(), h.max()
    y = (2 * (h - low) / (high - low) - 1) if high > low else np.zeros_like(h)
    return np.stack([z, y], axis=1)
