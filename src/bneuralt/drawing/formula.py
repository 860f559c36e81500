"""A tree as a formula: text, LaTeX or SymPy expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from bneuralt.drawing.view import FeatureView, TreeView
from bneuralt.tree.activations import ACTIVATIONS

__all__ = ["MOST_LEVELS", "MOST_WEIGHTS", "to_formula"]

#: Larger trees have formulas that nobody reads, and that take long to make and to parse.
MOST_WEIGHTS, MOST_LEVELS = 1000, 60


def to_formula(
    model: Any,
    format: str = "text",
    *,
    digits: int | None = None,
    tree: int | None = None,
    simplified: bool = True,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[object] | None = None,
) -> Any:
    r"""Return the outputs of a tree as formulas of its features.

    The outputs are predicted numbers, or the scores of the classes, whose softmax are the
    probabilities. Features that are not numbers occur as indicators such as ``[colour = red]``,
    which is 1 for rows with this category and 0 for others.

    Parameters
    ----------
    model : estimator, fitted, or NeuralTree
        What to write down; at most 1000 weights, and 60 levels of nodes.
    format : {"text", "latex", "sympy"}, default "text"
        Text that is close to Python, where names that are not identifiers are in brackets; the
        lines of an ``aligned`` environment of LaTeX; or a dict with a SymPy expression for each
        output, whose symbols have the names of the features.
    digits : int, optional
        Round the weights to so many significant digits; by default they are exact.
    tree : int, optional
        Which tree of a forest, from 0. The formula of a forest needs it.
    simplified : bool, default True
        Write an equal tree with fewer weights, made by `bneuralt.tree.simplify`.
    feature_names, output_names : sequence, optional
        Names of the columns and of the outputs; those of the training table by default.

    Returns
    -------
    str, or dict of SymPy expressions

    Raises
    ------
    ValueError
        The tree is too large, or it is not said which tree of a forest.

    Examples
    --------
    >>> from bneuralt import NeuralTree, to_formula
    >>> tree = NeuralTree(2, 1, parent=[-1, 0], activation=[0, 2], leaf_parent=[0, 1, 1],
    ...                   leaf_input=[0, 0, 1], parameters=[0.5, 0.0, 3.0, -1.0, 2.0, 0.25])
    >>> print(to_formula(tree, feature_names=["age", "net income"]))
    y = 0.5 - age + 3*tanh(2*age + 0.25*[net income])
    >>> print(to_formula(tree, "latex"))
    \begin{aligned}
    y &= 0.5 - x_{0} + 3 \cdot \tanh\left(2 \cdot x_{0} + 0.25 \cdot x_{1}\right)
    \end{aligned}
    """
    if format not in _WRITERS:
        raise ValueError(f"format={format!r} must be 'text', 'latex' or 'sympy'")
    n_trees = len(getattr(model, "estimators_", (model,)))
    if tree is None and n_trees > 1:
        raise ValueError(
            f"the model is a forest, whose prediction is the mean of {n_trees} trees: choose one "
            "with tree=0, 1, ..."
        )
    view = TreeView.of(
        model,
        tree=tree or 0,
        simplified=simplified,
        feature_names=feature_names,
        output_names=output_names,
    )
    size, n_levels = view.tree.n_parameters, view.tree.level_start.size - 1
    if size > MOST_WEIGHTS or n_levels > MOST_LEVELS:
        raise ValueError(
            f"the tree has {size:,} weights on {n_levels} levels; formulas are written for at most "
            f"{MOST_WEIGHTS:,} weights on {MOST_LEVELS} levels: fit a smaller one (n_weights=100)"
        )
    writer = _WRITERS[format](digits)
    return writer.finished(view, _expressions(view, writer))


class _Writer(Protocol):
    """How the parts of a formula are written."""

    def symbol(self, feature: FeatureView, entry: str) -> Any: ...

    def total(self, bias: float, terms: list[tuple[float, Any]]) -> Any: ...

    def grouped(self, z: Any) -> Any: ...

    def applied(self, activation: str, parameters: tuple[float, ...], z: Any) -> Any: ...

    def finished(self, view: TreeView, outputs: list[Any]) -> Any: ...


def _expressions(view: TreeView, writer: _Writer) -> list[Any]:
    """Return the expression of each output, made from the leaves up."""
    tree, k = view.tree, view.tree.n_outputs
    terms: list[list[tuple[float, Any]]] = [[] for _ in range(tree.parent.size)]
    for term, node in enumerate(view.term_node.tolist()):
        feature = view.features[view.term_feature[term]]
        for entry, weight in view.term_entries(term):
            terms[node].append((weight, writer.symbol(feature, entry)))
    values: list[Any] = [None] * tree.parent.size
    for node in range(tree.parent.size - 1, -1, -1):
        children = range(tree.child_start[node], tree.child_start[node + 1])
        terms[node] += [(float(tree.edge[child - k]), values[child]) for child in children]
        z = writer.total(float(tree.bias[node]), terms[node])
        activation, parameters = view.activation(node)
        if activation == "linear":
            values[node] = z if node < k else writer.grouped(z)
        else:
            values[node] = writer.applied(activation, parameters, z)
    return values[:k]


def _is_indicator(feature: FeatureView, entry: str) -> bool:
    return bool(entry) and (feature.kind == "category" or entry.startswith("("))


def _readable(feature: FeatureView, entry: str) -> str:
    """Return the name of an input: a feature, an indicator, or a part of a date."""
    if not entry:
        return feature.name
    if entry in ("(missing)", "(rare)"):
        return f"{feature.name} is {entry[1:-1]}"
    return (
        f"{feature.name} = {entry}" if feature.kind == "category" else f"{entry} of {feature.name}"
    )


class _TextWriter:
    """Formulas as text, close to Python."""

    times, left, right = "*", "(", ")"

    def __init__(self, digits: int | None) -> None:
        if digits is not None and digits < 1:
            raise ValueError(f"digits={digits!r} must be None or at least 1")
        self._digits = digits
        self._used: dict[str, None] = {}  # activations, in the order of their use

    def number(self, value: float) -> str:
        """Return a number that is not negative."""
        value = float(value) if self._digits is None else float(f"{value:.{self._digits}g}")
        return repr(value).removesuffix(".0")

    def symbol(self, feature: FeatureView, entry: str) -> str:
        name = _readable(feature, entry)
        return name if not entry and name.isidentifier() else f"[{name}]"

    def function(self, activation: str) -> str:
        return activation

    def total(self, bias: float, terms: list[tuple[float, Any]]) -> str:
        parts = [(bias, self.number(abs(bias)))] if bias or not terms else []
        for weight, factor in terms:
            size = self.number(abs(weight))
            parts.append((weight, factor if size == "1" else f"{size}{self.times}{factor}"))
        first, *rest = parts
        text = ("-" if first[0] < 0 else "") + first[1]
        return text + "".join(f" {'-' if w < 0 else '+'} {part}" for w, part in rest)

    def grouped(self, z: str) -> str:
        return f"{self.left}{z}{self.right}"

    def applied(self, activation: str, parameters: tuple[float, ...], z: str) -> str:
        self._used[activation] = None
        numbers = [("-" if value < 0 else "") + self.number(abs(value)) for value in parameters]
        return f"{self.function(activation)}{self.left}{', '.join([z, *numbers])}{self.right}"

    def finished(self, view: TreeView, outputs: list[str]) -> str:
        lines = [f"{name} = {text}" for name, text in zip(view.output_names, outputs, strict=True)]
        lines += [f"where {self._definition(name)}" for name in self._used if name != "tanh"]
        return "\n".join(lines)

    def _definition(self, activation: str) -> str:
        entry = ACTIVATIONS[activation].entry
        arguments = ", ".join(["z", *(parameter.name for parameter in entry.parameters)])
        return f"{activation}({arguments}) = {entry.about}"


class _LatexWriter(_TextWriter):
    """Formulas in LaTeX, as the lines of an ``aligned`` environment."""

    times, left, right = r" \cdot ", r"\left(", r"\right)"

    def number(self, value: float) -> str:
        mantissa, _, exponent = super().number(value).partition("e")
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def symbol(self, feature: FeatureView, entry: str) -> str:
        name = _latex_name(feature.name)
        if not entry:
            return name
        if _is_indicator(feature, entry) and not entry.startswith("("):
            return rf"[{name} = {_latex_name(entry)}]"
        return rf"[\text{{{_escaped(_readable(feature, entry))}}}]"

    def function(self, activation: str) -> str:
        known = {"sigmoid": r"\sigma", "tanh": r"\tanh"}
        return known.get(activation, rf"\operatorname{{{_escaped(activation)}}}")

    def finished(self, view: TreeView, outputs: list[str]) -> str:
        names = [_latex_name(name) for name in view.output_names]
        lines = [f"{name} &= {text}" for name, text in zip(names, outputs, strict=True)]
        if "sigmoid" in self._used:
            lines.append(r"\sigma(z) &= 1 / \left(1 + e^{-z}\right)")
        for name in self._used.keys() - {"sigmoid", "tanh"}:
            lines.append(rf"&\text{{{_escaped(self._definition(name))}}}")
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


_SPECIAL = {c: "\\" + c for c in "#$%&_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def _escaped(name: str) -> str:
    return "".join(_SPECIAL.get(c, c) for c in name)


def _latex_name(name: str) -> str:
    """Return a letter with an index as such, and other names as text."""
    found = re.fullmatch(r"([A-Za-z])_?(\d*)", name)
    if not found:
        return rf"\text{{{_escaped(name)}}}"
    return found[1] if not found[2] else f"{found[1]}_{{{found[2]}}}"


class _SympyWriter:
    """Formulas as SymPy expressions."""

    def __init__(self, digits: int | None) -> None:
        try:
            import sympy
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "to_formula(format='sympy') needs SymPy: run pip install sympy", name="sympy"
            ) from None
        self._sympy, self._digits = sympy, digits

    def _number(self, value: float) -> Any:
        if self._digits is not None:
            value = float(f"{value:.{self._digits}g}")
        return self._sympy.Integer(int(value)) if value == int(value) else self._sympy.Float(value)

    def symbol(self, feature: FeatureView, entry: str) -> Any:
        return self._sympy.Symbol(_readable(feature, entry), real=True)

    def total(self, bias: float, terms: list[tuple[float, Any]]) -> Any:
        parts = [self._number(weight) * factor for weight, factor in terms]
        return self._sympy.Add(self._number(bias), *parts)

    def grouped(self, z: Any) -> Any:
        return z

    def applied(self, activation: str, parameters: tuple[float, ...], z: Any) -> Any:
        sympy, numbers = self._sympy, [self._number(value) for value in parameters]
        if activation in _SYMPY:
            return _SYMPY[activation](sympy, z, *numbers)
        return sympy.Function(activation)(z, *numbers)

    def finished(self, view: TreeView, outputs: list[Any]) -> dict[str, Any]:
        return dict(zip(view.output_names, outputs, strict=True))


def _sigmoid(sympy: Any, z: Any) -> Any:
    return 1 / (1 + sympy.exp(-z))


_SYMPY: dict[str, Callable[..., Any]] = {
    "sigmoid": _sigmoid,
    "tanh": lambda sympy, z: sympy.tanh(z),
    # Comparing the arguments, as SymPy would do, takes very long.
    "relu": lambda sympy, z: sympy.Max(z, 0, evaluate=False),
    "leaky_relu": lambda sympy, z, slope: (
        sympy.Max(z, 0, evaluate=False) + slope * sympy.Min(z, 0, evaluate=False)
    ),
    "gaussian": lambda sympy, z, center, width: sympy.exp(-(((z - center) / width) ** 2)),
    "linear_sigmoid": lambda sympy, z, scale, offset: scale * _sigmoid(sympy, z) + offset,
    "linear_tanh": lambda sympy, z, scale, offset: scale * sympy.tanh(z) + offset,
    "bipolar": lambda sympy, z, steepness: sympy.tanh(steepness * z) / steepness,
    "unipolar": lambda sympy, z, steepness: (
        2 * abs(steepness) * _sigmoid(sympy, 2 * abs(steepness) * z)
    ),
}

_WRITERS: dict[str, Callable[[int | None], Any]] = {
    "text": _TextWriter,
    "latex": _LatexWriter,
    "sympy": _SympyWriter,
}
