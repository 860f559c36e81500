"""The formula of a tree: text, LaTeX or SymPy expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.drawing.notation import PRODUCT, LatexNotation, Spelled, SympyNotation, TextNotation
from bneuralt.drawing.view import NodeActivation, TreeView, has_short_weights, in_log_odds
from bneuralt.expressions import variable
from bneuralt.model import Model
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import ACTIVATIONS, EXPRESSIONS

__all__ = ["MAX_LEVELS", "MAX_WEIGHTS", "to_formula"]

#: Formulas of larger trees are unreadable and slow to make and to parse.
MAX_WEIGHTS, MAX_LEVELS = 1000, 60
#: Largest change of outputs by rounding, as a share of their standard deviation, and the number of
#: rows on which it is measured; more digits than this are never rounded.
TOLERANCE, N_ROWS, MAX_DIGITS = 0.01, 256, 12


_Z = variable("z")


def to_formula(
    model: Model,
    format: str = "text",
    *,
    digits: int | str | None = "auto",
    tree: int | None = None,
    simplified: bool = True,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[object] | None = None,
) -> Any:
    r"""Return the outputs of a tree as formulas of its inputs.

    `NeuralTreeEstimator.to_formula` describes the parameters.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, parent=[-1, 0], activation=[0, 2], leaf_parent=[0, 1, 1],
    ...                   leaf_input=[0, 0, 1], parameters=[0.5, 0.0, 3.0, -1.0, 2.0, 0.25])
    >>> model = Model.of_tree(tree)
    >>> print(to_formula(model, feature_names=["age", "net income"]))
    y = 0.5 - age + 3*tanh(2*age + 0.25*[net income])
    >>> print(to_formula(model, "latex"))
    \begin{aligned}
    y &= 0.5 - x_{0} + 3 \cdot \tanh\left(2 \cdot x_{0} + 0.25 \cdot x_{1}\right)
    \end{aligned}
    """
    model = model.in_raw_units()
    if format not in _WRITERS:
        raise ValueError(f"format={format!r} must be 'text', 'latex' or 'sympy'")
    n_trees = len(model.trees)
    if tree is None and n_trees > 1:
        raise ValueError(
            f"the model is a forest, whose prediction is the mean of {n_trees} trees: choose one "
            "with tree=0, 1, ..."
        )
    model, output_names = in_log_odds(model, output_names)
    view = TreeView.of(
        model,
        tree=tree or 0,
        simplified=simplified,
        feature_names=feature_names,
        output_names=output_names,
    )
    size, n_levels = view.tree.n_parameters, view.tree.level_start.size - 1
    if size > MAX_WEIGHTS or n_levels > MAX_LEVELS:
        raise ValueError(
            f"the tree has {size:,} weights on {n_levels} levels; formulas are written for at most "
            f"{MAX_WEIGHTS:,} weights on {MAX_LEVELS} levels: fit a smaller one (n_weights=100)"
        )
    if isinstance(digits, str):
        if digits != "auto":
            raise ValueError(f"digits={digits!r} must be 'auto', None or a number, at least 1")
        digits = None if format == "sympy" else digits_that_matter(view.tree, model.input_ranges)
    writer = _WRITERS[format](digits)
    return writer.finished(view, _outputs(view, writer))


def digits_that_matter(tree: NeuralTree, ranges: FloatArray | None) -> int | None:
    """Return the smallest number of digits of weights that hardly changes the outputs.

    Rounded outputs differ by at most `TOLERANCE` of the standard deviation of the outputs, on rows
    that are drawn from the ranges of the inputs.

    Parameters
    ----------
    tree : NeuralTree
    ranges : array of shape (n_inputs, 2) or None
        Smallest and largest value of each input in training.

    Returns
    -------
    int or None
        None if ranges are not known, all digits are needed, or there are only few.

    Examples
    --------
    >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [1/3, 2/3])
    >>> digits_that_matter(tree, np.array([[-1.0, 1.0]]))
    3
    """
    if ranges is None or has_short_weights(tree):
        return None
    low, high = ranges.T
    rows = np.random.default_rng(0).uniform(low, high, size=(N_ROWS, len(ranges)))
    exact = tree.astype(np.float64)
    outputs = exact.forward(rows)
    limit = TOLERANCE * outputs.std(axis=0)
    for digits in range(1, MAX_DIGITS):
        rounded = [float(f"{weight:.{digits}g}") for weight in exact.parameters.tolist()]
        difference = exact.with_parameters(rounded).forward(rows) - outputs
        if (np.abs(difference).max(axis=0) <= limit).all():
            return digits
    return None


class _Writer(Protocol):
    """How the parts of a formula are written."""

    def symbol(self, name: str, is_column: bool) -> Any: ...

    def total(self, bias: float, terms: list[tuple[float, Any]]) -> Any: ...

    def grouped(self, z: Any) -> Any: ...

    def applied(self, activation: NodeActivation, z: Any) -> Any: ...

    def finished(self, view: TreeView, outputs: list[Any]) -> Any: ...


def _outputs(view: TreeView, writer: _Writer) -> list[Any]:
    """Return the formula of each output, made from the leaves up."""
    tree, k = view.tree, view.tree.n_outputs
    terms: list[list[tuple[float, Any]]] = [[] for _ in range(tree.parent.size)]
    entries = [
        (node, entry, weight)
        for term, node in enumerate(view.term_node.tolist())
        for entry, weight in view.term_entries(term)
    ]
    for node, entry, weight in sorted(entries, key=lambda each: not each[1].is_drawn):
        # the linear part is first, then what bends
        terms[node].append((weight, writer.symbol(entry.name, not entry.entry)))
    values: list[Any] = [None] * tree.parent.size
    for node in range(tree.parent.size - 1, -1, -1):
        children = range(tree.child_start[node], tree.child_start[node + 1])
        terms[node] += [(float(tree.edge[child - k]), values[child]) for child in children]
        z = writer.total(float(tree.bias[node]), terms[node])
        activation = view.activation(node)
        if activation.expression == _Z:
            values[node] = z if node < k else writer.grouped(z)
        else:
            values[node] = writer.applied(activation, z)
    return values[:k]


class _TextWriter(TextNotation):
    """Formulas as text."""

    times = "*"

    def total(self, bias: float, terms: list[tuple[float, str]]) -> str:
        parts = [(bias, self.number(abs(bias)))] if bias or not terms else []
        for weight, factor in terms:
            size = self.number(abs(weight))
            parts.append((weight, factor if size == "1" else f"{size}{self.times}{factor}"))
        first, *rest = parts
        text = ("-" if first[0] < 0 else "") + first[1]
        return text + "".join(f" {'-' if w < 0 else '+'} {part}" for w, part in rest)

    def applied(self, activation: NodeActivation, z: str) -> str:
        formula = EXPRESSIONS[activation.name]
        if formula.arguments == (_Z,):  # one operation, such as tanh
            text, level = self.operation(formula.operation, Spelled(z, 0))
            return text if level >= PRODUCT else self.grouped(text)
        parameters = [p.name for p in ACTIVATIONS[activation.name].entry.parameters]
        self.definitions.setdefault(
            self._call(activation.name, map(self.name, ("z", *parameters))), formula
        )
        numbers = (("-" if x < 0 else "") + self.number(abs(x)) for x in activation.parameters)
        return self._call(activation.name, (z, *numbers))

    def _call(self, name: str, arguments: Iterable[str]) -> str:
        return self.function(name) + self.grouped(", ".join(arguments))

    def defined(self) -> list[tuple[str, str]]:
        """Return the functions that occur, each with its formula."""
        texts: dict[str, str] = {}
        while rest := self.definitions.keys() - texts.keys():  # formulas may use other functions
            for head in [head for head in self.definitions if head in rest]:
                texts[head] = self.spelled(self.definitions[head]).text
        return list(texts.items())

    def finished(self, view: TreeView, outputs: list[str]) -> str:
        lines = [f"{name} = {text}" for name, text in zip(view.output_names, outputs, strict=True)]
        return "\n".join(lines + [f"where {head} = {text}" for head, text in self.defined()])


class _LatexWriter(LatexNotation, _TextWriter):
    """Formulas in LaTeX, as the lines of an ``aligned`` environment."""

    times = r" \cdot "

    def finished(self, view: TreeView, outputs: list[str]) -> str:
        names = [self.name(name) for name in view.output_names]
        lines = [*zip(names, outputs, strict=True), *self.defined()]
        text = " \\\\\n".join(f"{left} &= {right}" for left, right in lines)
        return "\\begin{aligned}\n" + text + "\n\\end{aligned}"


class _SympyWriter(SympyNotation):
    """Formulas as a dict of SymPy expressions."""

    def total(self, bias: float, terms: list[tuple[float, Any]]) -> Any:
        return self.sum_of([self.number(bias), *(self.number(w) * part for w, part in terms)])

    def grouped(self, z: Any) -> Any:
        return z

    def applied(self, activation: NodeActivation, z: Any) -> Any:
        names = (p.name for p in ACTIVATIONS[activation.name].entry.parameters)
        values = dict(zip(names, map(self.number, activation.parameters), strict=True))
        return self.converted(EXPRESSIONS[activation.name], {"z": z, **values})

    def finished(self, view: TreeView, outputs: list[Any]) -> dict[str, Any]:
        return dict(zip(view.output_names, outputs, strict=True))


_WRITERS: dict[str, Callable[[int | None], Any]] = {
    "text": _TextWriter,
    "latex": _LatexWriter,
    "sympy": _SympyWriter,
}
