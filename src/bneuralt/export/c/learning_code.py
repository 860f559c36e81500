"""C code of a tree whose weights can change: predictions without folded scaling.

The code scales inputs and outputs as training did. Weights are in the order of
`NeuralTree.parameters`: biases, edges, leaves, and trained parameters of activations. Where only
some of them learn, these come first in each of the four parts, because outputs come first in the
tree; the others are constants. `update_code` has the functions that learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.export.c.encoding import encode_function
from bneuralt.export.c.line_inputs import line_of
from bneuralt.export.c.literals import array, c_templates
from bneuralt.export.c.real_code import RealCode
from bneuralt.export.cell_reads import cell_reads
from bneuralt.expressions import Expression, constant, derivative, sigmoid, variable
from bneuralt.model import Learning
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import ACTIVATIONS, EXPRESSIONS, NAMES

__all__ = ["LEARNS", "LearningCode", "NodeFunction", "indented", "sum_code"]

templates = c_templates("learning.c")

#: Which weights learn: all of them, those of the output nodes, or all biases.
LEARNS = ("all", "outputs", "biases")

#: Shifts of scaled values below this are left out.
NEGLIGIBLE = {"float": 5e-7, "double": 1e-16}


class Part(NamedTuple):
    """One of the four parts of the weights: biases, edges, leaves, parameters of activations."""

    values: FloatArray
    n_learnt: int
    start: int  # of those that learn among all that do
    fixed: int  # of the others among the constants


class NodeFunction(NamedTuple):
    """An activation as it occurs in the tree: a function of z and its trained parameters."""

    value: Expression
    parameters: tuple[str, ...] = ()

    def slope_by(self, name: str = "z") -> Expression:
        """Return the derivative by z or a parameter, as an expression of z, h and parameters."""
        return in_terms_of_value(derivative(self.value, name), self.value)


def in_terms_of_value(expression: Expression, value: Expression) -> Expression:
    """Return an expression with the variable h where a value occurs that is known.

    Examples
    --------
    >>> from bneuralt.expressions import square, tanh
    >>> value = tanh(variable("z"))
    >>> in_terms_of_value(derivative(value, "z"), value) == 1.0 - square(variable("h"))
    True
    """
    if expression == value and value.arguments:
        return variable("h")
    if expression.operation == "sigmoid":  # sigmoid(-a) = 1 - sigmoid(a)
        (inner,) = expression.arguments
        if inner.operation == "multiply" and inner.arguments[0] == constant(-1.0):
            return 1.0 - in_terms_of_value(sigmoid(inner.arguments[1]), value)
    parts = tuple(in_terms_of_value(part, value) for part in expression.arguments)
    return Expression(expression.operation, parts, expression.value)


@dataclass(frozen=True, eq=False)
class LearningCode(RealCode):
    """The C code of a tree with weights that can change.

    Attributes
    ----------
    learns : str
        One of `LEARNS`.
    tables : dict
        Name -> definition of the tables that the code reads; filled while code is written.
    """

    learns: str = "all"
    tables: dict[str, str] = field(default_factory=dict)

    @property
    def learning(self) -> Learning:
        """The state of training."""
        assert self.model.learning is not None
        return self.model.learning

    @property
    def tree(self) -> NeuralTree:
        """The tree as training left it."""
        return self.model.trees[0]

    # -- tables --------------------------------------------------------------------------

    def wholes(self, name: str, values: Array, i: str) -> str:
        """Return the code of entry i of a table of whole numbers that are not negative."""
        largest = int(values.max(initial=0))
        bits = 8 if largest < 2**8 else 16 if largest < 2**16 else 32
        declared = f"static const uint{bits}_t {self.name}_{name}[{values.size}]"
        self.tables[name] = array(f"{declared} {self.name.upper()}_ROM", values.tolist())
        return f"{self.name.upper()}_AT{bits}({self.name}_{name} + {i})"

    def reals(self, name: str, values: FloatArray, i: str) -> str:
        """Return the code of entry i of a table of numbers, or the number that all of them are."""
        if np.unique(values).size == 1:
            return f"({self.math.number(float(values.flat[0]))})"
        declared = f"static const {self.math.type} {self.name}_{name}[{values.size}]"
        numbers = map(self.math.number, values.tolist())
        self.tables[name] = array(f"{declared} {self.name.upper()}_ROM", numbers)
        return f"{self.name.upper()}_REAL({self.name}_{name} + {i})"

    # -- weights -------------------------------------------------------------------------

    @cached_property
    def weights(self) -> dict[str, Part]:
        """The parts of the weights by name."""
        tree, k = self.tree, self.model.n_outputs
        values = {"bias": tree.bias, "edge": tree.edge, "leaf": tree.leaf_weight}
        values["phi"] = tree.parameters[tree.structure.n_weights :]
        counts = {name: part.size for name, part in values.items()}
        if self.learns == "biases":
            counts |= {"edge": 0, "leaf": 0, "phi": 0}
        elif self.learns == "outputs":
            counts = {"bias": k, "edge": int(tree.child_start[k]) - k}
            counts["leaf"] = int(tree.leaf_start[k])
            counts["phi"] = sum(len(kind.parameters) for kind in self.node_kinds[:k])
        parts, start, fixed = {}, 0, 0
        for name, part in values.items():
            parts[name] = Part(part.astype(np.float64), counts[name], start, fixed)
            start, fixed = start + counts[name], fixed + part.size - counts[name]
        return parts

    @property
    def n_learnt(self) -> int:
        """Number of weights that learn."""
        return sum(part.n_learnt for part in self.weights.values())

    @property
    def n_moved(self) -> int:
        """Number of nodes with weights that learn."""
        return self.weights["bias"].n_learnt

    def weight(self, name: str, i: str, less: int = 0) -> str:
        """Return the code that reads entry `i - less` of a part."""
        part = self.weights[name]
        learnt = f"{self.name}_learnt[{sum_code(i, part.start - less)}]"
        place = sum_code(i, part.fixed - part.n_learnt - less)
        fixed = f"{self.name.upper()}_REAL({self.name}_fixed + {place})"
        if part.n_learnt == part.values.size:
            return learnt
        if part.n_learnt == 0:
            return fixed
        return f"({i} < {part.n_learnt + less} ? {learnt} : {fixed})"

    def _weight_tables(self) -> list[str]:
        parts, real = self.weights.values(), self.math.type
        learnt = np.concatenate([part.values[: part.n_learnt] for part in parts]).tolist()
        fixed = np.concatenate([part.values[part.n_learnt :] for part in parts]).tolist()
        tables = [f"static {real} {self.name}_learnt[{len(learnt)}]"]
        tables = [array(tables[0], map(self.math.number, learnt))]
        if fixed:
            declared = f"static const {real} {self.name}_fixed[{len(fixed)}]"
            rom = f"{self.name.upper()}_ROM"
            tables += [array(f"{declared} {rom}", map(self.math.number, fixed))]
        return tables

    # -- activations ---------------------------------------------------------------------

    @cached_property
    def node_kinds(self) -> list[NodeFunction]:
        """The activation of each node; parameters that are not trained are constants."""
        if not self.tree.trains_activations:
            return [NodeFunction(expression) for expression in self.tree.node_expressions]
        names = [NAMES[code] for code in self.tree.activation]
        parameters = {
            name: tuple(parameter.name for parameter in ACTIVATIONS[name].entry.parameters)
            for name in names
        }
        return [NodeFunction(EXPRESSIONS[name], parameters[name]) for name in names]

    @cached_property
    def node_cases(self) -> list[NodeFunction]:
        """The different activations of nodes."""
        return list(dict.fromkeys(self.node_kinds))

    @property
    def needs_sums(self) -> bool:
        """Whether slopes depend on weighted sums, not only on values."""
        slopes = (kind.slope_by() for kind in self.node_cases)
        return any("z" in slope.variables for slope in slopes) or self.tree.trains_activations

    def by_kind(self, lines_of: dict[NodeFunction, list[str]], n_nodes: int) -> str:
        """Return statements that depend on the activation of node j, one of the first nodes."""
        k, kinds, cases = self.model.n_outputs, self.node_kinds[:n_nodes], self.node_cases
        used = list(dict.fromkeys(kinds))
        if len(used) == 1:
            return indented(_block(lines_of[used[0]]), 2)
        if len(set(kinds[:k])) == len(set(kinds[k:])) == 1:
            head = [f"if (j < {k}) {{", *_block(lines_of[kinds[0]])[1:-1], "} else {"]
            return indented([*head, *_block(lines_of[kinds[-1]])[1:]], 2)
        positions = np.array([cases.index(kind) for kind in self.node_kinds])
        lines = [f"switch ({self.wholes('kinds', positions, 'j')}) {{"]
        for kind in used:
            label = "default" if kind == used[-1] else f"case {cases.index(kind)}"
            block = _block(lines_of[kind])
            lines += [f"{label}: {{", *block[1:-1], "    break;", "}"]
        return indented([*lines, "}"], 2)

    def parameter_reads(
        self, kind: NodeFunction, *expressions: Expression
    ) -> tuple[list[str], dict[str, str]]:
        """Return statements that read the parameters of node j, and the C names of variables.

        Only those are read that occur in some expressions.
        """
        used = frozenset[str]().union(*(expression.variables for expression in expressions))
        names = {parameter: f"a{i}" for i, parameter in enumerate(kind.parameters)}
        lines = [
            f"const {self.math.type} {names[parameter]} = {self.weight('phi', sum_code('p', i))};"
            for i, parameter in enumerate(kind.parameters)
            if parameter in used
        ]
        return lines, {**names, "h": f"{self.name}_h[j]"}

    # -- scaling -------------------------------------------------------------------------

    @cached_property
    def centers(self) -> FloatArray:
        """Numbers to subtract from inputs before they are scaled, so that no digits are lost."""
        centers = np.zeros(self.model.n_inputs)
        if self.learning.inputs is None:
            return centers
        offset = self.rounded(self.learning.inputs[0])
        for j, entry in enumerate(self.model.inputs):
            reads = cell_reads(entry.expression)
            if reads.values and not reads.has_text:
                centers[j] = offset[j]
        return centers

    def rounded(self, values: Array) -> FloatArray:
        """Return numbers as the code has them."""
        exact = np.asarray(values, dtype=np.float64)
        return exact.astype(np.float32).astype(np.float64) if self.math.is_float else exact

    def scaled(self, value: str, factor: FloatArray, shift: FloatArray, name: str, i: str) -> str:
        """Return ``value * factor + shift``; negligible shifts are left out."""
        text = f"{value} * {self.reals(f'{name}_factors', factor, i)}"
        if np.all(np.abs(shift) < NEGLIGIBLE[self.math.type]):
            return text
        return f"{text} + {self.reals(f'{name}_shifts', shift, i)}"

    def _encode(self) -> str:
        """Return the function from a row to scaled inputs."""
        lines = self._encode_lines()
        if lines is not None:
            return lines
        plain = encode_function(self, self.math.type)
        if self.learning.inputs is None:
            return plain
        offset, factor = map(np.asarray, self.learning.inputs)
        shift = (self.centers - offset) * factor
        scaled = self.scaled("in[j]", factor, shift, "input", "j")
        return f"{plain}\n{self.fill(templates.SCALE, scaled=scaled)}"

    @cached_property
    def _are_lines(self) -> bool:
        """Whether all inputs are lines between two limits, and all or none replace gaps."""
        entries = self.model.inputs
        reads = [cell_reads(entry.expression) for entry in entries]
        if any(read.values != ("number",) or read.gaps for read in reads):
            return False
        gaps = np.isnan([self.row.missing_value(j) for j in range(len(entries))])
        is_line = all(line_of(entry.expression) is not None for entry in entries)
        return is_line and len(set(gaps.tolist())) == 1

    def _encode_lines(self) -> str | None:
        """Return the function from a row to scaled inputs as a loop over tables, if possible."""
        if not self._are_lines:
            return None
        n = self.model.n_inputs
        offset, factor = self.learning.inputs or (np.zeros(n), np.ones(n))
        lines = [line_of(entry.expression) for entry in self.model.inputs]
        start, slope, low, high = np.array([line for line in lines if line is not None]).T
        # as the engine scales: where its result is 0, so is this one
        center = self.rounded((offset - start) / np.where(slope == 0, 1.0, slope))
        shift = (start - offset + slope * center) * factor
        value = f"(value - {self.reals('input_centers', center, 'j')})"
        scaled = self.scaled(value, slope * factor, shift, "input", "j")
        limit = []
        largest = float(np.finfo(np.float32 if self.math.is_float else np.float64).max)
        for name, ends, sign in (("low", low, "<"), ("high", high, ">")):
            if np.isfinite(ends).any():
                limits = np.where(np.isfinite(ends), (ends - offset) * factor, ends)
                limits = np.clip(limits, -largest, largest)
                end = self.reals(f"input_{name}", limits, "j")
                limit += [f"if (scaled {sign} {end})", f"    scaled = {end};"]
        gaps = np.array([self.row.missing_value(j) for j in range(n)])
        if not np.isnan(gaps).any():
            replaced = (gaps - offset) * factor
            replaced[np.abs(replaced) < NEGLIGIBLE[self.math.type]] = 0.0
            gap = self.reals("input_gaps", replaced, "j")
            limit += ["if (value != value)", f"    scaled = {gap};"]
        places = np.array([self.row.place(int(i), "number") for i in self.model.column_of_input])
        place = "j" if places.tolist() == list(range(n)) else self.wholes("places", places, "j")
        filled = {"place": place, "scaled": scaled, "limit": indented(limit, 2)}
        return self.fill(templates.ENCODE_LINES, **filled)

    # -- code ----------------------------------------------------------------------------

    def typedefs(self) -> str:
        """Return the types and constants that users need."""
        defined = f"#define {self.name.upper()}_N_WEIGHTS {self.n_learnt}"
        return f"{super().typedefs()}\n/* Number of weights that learn. */\n{defined}\n"

    @property
    def parts(self) -> dict[str, object]:
        """Names and code that templates contain."""
        scales = self.learning.inputs is not None and not self._are_lines
        scale = f"    {self.name}_scale(in);\n" * scales
        tree, k = self.tree, self.model.n_outputs
        shape = np.stack([np.diff(tree.child_start), np.diff(tree.leaf_start)], axis=1).ravel()
        return {
            **super().parts,
            "row": f"    {self.math.type} *const in = {self.name}_in;\n",
            "encode": f"    {self.name}_encode(x, in);\n{scale}",
            "scale": scale,
            "n_nodes": tree.parent.size,
            "n_leaves": tree.n_leaves,
            "n_moved": self.n_moved,
            "children": self.wholes("shape", shape, "2 * j"),
            "leaves": self.wholes("shape", shape, "2 * j + 1"),
            "input": self.wholes("leaf_inputs", tree.leaf_input, "l"),
            "bias": self.weight("bias", "j"),
            "leaf": self.weight("leaf", "l"),
            "edge": self.weight("edge", "c", k),
        }

    def trees_code(self) -> str:
        """Return tables, and the functions that evaluate the tree."""
        functions = [self._encode(), self._values()]
        return "\n".join(functions)

    def source(self) -> str:
        """Return tables and all functions that users do not call."""
        functions = super().source()
        memory, variables = map(self.fill, (templates.MEMORY, templates.VARIABLES))
        tables = [*self.tables.values(), *self._weight_tables()]
        return "\n".join([memory, *tables, variables, functions])

    def _values(self) -> str:
        cases = {}
        for kind in self.node_cases:
            read, names = self.parameter_reads(kind, kind.value)
            n = len(kind.parameters)
            lines = [*[f"p -= {n};"] * (n > 0), *read]
            cases[kind] = [*lines, f"h[j] = {self.math.text(kind.value, None, **names)};"]
        output = "h[k]"
        if self.learning.outputs is not None:
            offset, factor = (np.atleast_1d(part) for part in self.learning.outputs)
            varies = factor != 0
            unit = np.where(varies, 1.0 / np.where(varies, factor, 1.0), 0.0)
            output = self.scaled(output, unit, offset, "output", "k")
        sums = self.needs_sums
        return self.fill(
            templates.VALUES,
            about_sums=", and their weighted sums" * sums,
            sums=f", {self.math.type} *sums" * sums,
            no_sums=", 0" * sums,
            keep="        if (sums)\n            sums[j] = z;\n" * sums,
            p=f", p = {self.weights['phi'].values.size}" * self.tree.trains_activations,
            cases=self.by_kind(cases, self.tree.parent.size),
            output=output,
        )


def sum_code(i: str, number: int) -> str:
    """Return the code of a sum of a variable and a number.

    Examples
    --------
    >>> sum_code("i", 2), sum_code("i", -2), sum_code("i", 0)
    ('i + 2', 'i - 2', 'i')
    """
    return i if number == 0 else f"{i} {'+' if number > 0 else '-'} {abs(number)}"


def indented(lines: Sequence[str], level: int) -> str:
    """Return lines of code at a level of indentation."""
    return "".join(f"{'    ' * level}{line}\n" for line in lines)


def _block(lines: Sequence[str]) -> list[str]:
    """Return lines in braces."""
    return ["{", *(f"    {line}" for line in lines), "}"]
