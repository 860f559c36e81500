"""C code of models with floating-point arithmetic.

Scales and offsets of activations are part of the weights: nodes compute ``1 / (1 + exp(z))``,
``exp(-z * z)``, z with another slope below 0, or the translated expression of an activation that is
none of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.activation_forms import ActivationForm, activation_form
from bneuralt.export.c.encoding import encode_function
from bneuralt.export.c.link_code import link_function
from bneuralt.export.c.literals import array, c_templates
from bneuralt.export.c.model_code import ModelCode
from bneuralt.export.cell_reads import cell_reads
from bneuralt.export.nodes import nodes_of
from bneuralt.export.printer import Code
from bneuralt.expressions import (
    OUTPUTS,
    Expression,
    evaluate,
    exp,
    is_missing,
    maximum,
    minimum,
    select,
    sigmoid,
    square,
    variable,
)
from bneuralt.tree import NeuralTree

__all__ = ["RealCode", "RealNode"]

templates = c_templates("model.c")

_Z = variable("z")


#: Functions of nodes, without scales and offsets; other kinds are curves.
FUNCTIONS = {
    "linear": _Z,
    "logistic": sigmoid(-_Z),
    "bell": exp(-square(_Z)),
    "pieces": maximum(_Z, 0.0) + variable("c0") * minimum(_Z, 0.0),
}

#: Nodes with more leaves than this cannot be described by 16 bits.
MOST_LEAVES = 2**16 - 1


class RealNode(NamedTuple):
    """A function node, with the scales and offsets of activations as part of its weights."""

    number: int  # in the tree, outputs first
    kind: str  # one of `FUNCTIONS`, or the name of a curve
    function: Expression  # of z and c0, c1, ...
    constants: tuple[float, ...]  # c0, c1, ...
    bias: float
    children: list[tuple[int, float]]  # number and weight, the last evaluated one first
    leaves: list[tuple[int, float]]
    is_output: bool
    offset: float  # an output is offset + unit * value
    unit: float

    def value(self, z: float) -> float:
        """Return the value of the node for a weighted sum."""
        constants = {f"c{i}": value for i, value in enumerate(self.constants)}
        return float(evaluate(self.function, {"z": z, **constants}))


class RealCode(ModelCode):
    """The C code of a model with floating-point arithmetic."""

    @cached_property
    def centers(self) -> FloatArray:
        """Numbers to subtract from inputs, because float loses digits of numbers far from 0."""
        ranges = self.model.input_ranges if self.math.is_float else None
        centers = np.zeros(self.model.n_inputs)
        if ranges is None:
            return centers
        for j, entry in enumerate(self.model.inputs):
            reads = cell_reads(entry.expression)
            if reads.values and not reads.has_text:
                centers[j] = np.float32(ranges[j].mean())
        return centers

    @cached_property
    def curves(self) -> dict[Expression, str]:
        """The names of activations that are none of `FUNCTIONS`, without their constants."""
        activations = (a for tree in self.model.trees for a in tree.node_expressions)
        forms = dict.fromkeys(map(activation_form, activations))
        functions = dict.fromkeys(_skeleton(form.curve)[0] for form in forms if form.curve)
        return {function: f"curve{i}" for i, function in enumerate(functions)}

    @cached_property
    def trees(self) -> list[list[RealNode]]:
        """The nodes of each tree in the order of evaluation."""
        return [self._nodes(tree) for tree in self.model.trees]

    def _nodes(self, tree: NeuralTree) -> list[RealNode]:
        """Return the nodes, with the scales and offsets of activations as part of the weights."""
        nodes = nodes_of(tree)
        affine = {node.position: _affine(activation_form(node.activation)) for node in nodes}
        converted = []
        for node in nodes:
            kind, gain, shift, function, constants = self._function(
                activation_form(node.activation)
            )
            bias = node.bias
            bias += sum(weight * affine[c][0] for weight, c in node.children)
            bias += sum(weight * float(self.centers[j]) for weight, j in node.leaves)
            children = [(c, gain * weight * affine[c][1]) for weight, c in reversed(node.children)]
            leaves = [(j, gain * weight) for weight, j in node.leaves]
            of_output = affine[node.position] if node.is_output else (0.0, 1.0)
            converted.append(
                RealNode(
                    node.position,
                    kind,
                    function,
                    constants,
                    gain * bias + shift,
                    children,
                    leaves,
                    node.is_output,
                    *of_output,
                )
            )
        return converted

    def _function(
        self, form: ActivationForm
    ) -> tuple[str, float, float, Expression, tuple[float, ...]]:
        """Return kind, gain, shift, function and its constants."""
        kind, gain, shift = form.kind, form.gain, form.shift
        constants: tuple[float, ...] = ()
        if form.curve is not None:
            function, constants = _skeleton(form.curve)
            return self.curves[function], gain, shift, function, constants
        if kind == "tanh":  # 2 / (1 + exp(-2 t)) - 1
            kind, gain, shift = "logistic", -2.0 * gain, -2.0 * shift
        elif kind == "pieces" and form.slope == 1.0:
            kind = "linear"
        elif kind == "pieces":
            constants = (form.slope,)
        return kind, gain, shift, FUNCTIONS[kind], constants

    @cached_property
    def kinds(self) -> dict[str, int]:
        """The number of each kind of node that occurs."""
        used = {node.kind for tree in self.trees for node in tree}
        names = [*FUNCTIONS, *self.curves.values()]
        return {kind: i for i, kind in enumerate(names) if kind in used}

    # -- code ----------------------------------------------------------------------------

    def typedefs(self) -> str:
        """Return the types and constants that users need."""
        return self.fill("/* A feature; NaN is a missing value. */\ntypedef $real ${NAME}_input;\n")

    def trees_code(self) -> str:
        """Return tables, the function from a row to inputs, and functions that evaluate trees."""
        trees = self._written_out() if self.straight else self._tables_and_loop()
        curves = [self._curve(*curve) for curve in self.curves.items()]
        return "\n".join([*curves, encode_function(self, self.math.type), trees])

    def _curve(self, function: Expression, name: str) -> str:
        """Return the function of an activation that is none of the usual ones."""
        constants = sorted(function.variables - {"z"}, key=lambda c: int(c[1:]))
        arguments = ", ".join(f"$real {argument}" for argument in ("z", *constants))
        head = self.fill(f"static inline $real ${{NAME}}_{name}({arguments})")
        return f"{head}\n{{\n    return {self.math.text(function)};\n}}\n"

    # -- inputs --------------------------------------------------------------------------

    def literal(self, j: int, value: float) -> str:
        """Return the literal for a real value of an input."""
        return self.math.number(value)

    def is_missing(self, value: str) -> str:
        """Return the condition that a feature is missing."""
        return f"{value} != {value}"

    def encode_number(self, column: int, j: int) -> str:
        """Return the code of an input that does not depend on the text of a cell."""
        expression = _less(self.model.inputs[j].expression, float(self.centers[j]))
        features = enumerate(self.row.features)
        cell = {f.reads: f"x[{i}]" for i, f in features if f.column == column}
        return self.math.text(expression, cell)

    # -- trees ---------------------------------------------------------------------------

    def _written_out(self) -> str:
        """Return a function for each tree, with a statement for each node."""
        parts, number = [], self.math.number
        for t, tree in enumerate(self.trees):
            lines = []
            for node in self._by_level(tree):
                terms = [(weight, Code(f"v{c}")) for c, weight in node.children]
                terms += [(weight, Code(f"in[{j}]")) for j, weight in node.leaves]
                value = self.math.weighted_sum(node.bias, terms)
                place = f"y[{node.number}]" if node.is_output else f"v{node.number}"
                if node.kind not in ("linear", "pieces"):
                    arguments = ", ".join([value, *map(number, node.constants)])
                    value = Code(f"{self.name}_{node.kind}({arguments})")
                begin = "" if node.is_output else f"{self.math.type} "
                lines.append(f"{begin}{place} = {value};")
                if node.kind == "pieces":
                    slope = number(node.constants[0])
                    lines.append(f"{place} = {place} > 0 ? {place} : {slope} * {place};")
                if (node.offset, node.unit) != (0.0, 1.0):
                    affine = self.math.weighted_sum(node.offset, [(node.unit, Code(place))])
                    lines.append(f"{place} = {affine};")
            body = "\n".join(f"    {line}" for line in lines)
            head = f"static inline void ${{NAME}}_tree{t}(const $real *in, $real *y)"
            parts.append(self.fill(head) + f"\n{{\n{body}\n}}\n")
        return "\n".join(parts)

    def _by_level(self, tree: list[RealNode]) -> list[RealNode]:
        """Return the nodes in the order of their statements.

        Processors of computers evaluate nodes of the same level in parallel. Processors without
        double evaluate one node after the other and have little memory: few values are kept.
        """
        return tree if self.math.is_float else sorted(tree, key=lambda node: -node.number)

    def _tables_and_loop(self) -> str:
        """Return all trees as two arrays, and the function that evaluates one."""
        nodes = [node for tree in self.trees for node in tree]
        has_affine = any((node.offset, node.unit) != (0.0, 1.0) for node in nodes)
        kind_bits = max(2, max(self.kinds.values()).bit_length())
        most_children = 2 ** (15 - kind_bits) - 1
        shapes: list[int] = []
        weights: list[float] = []
        most = 0
        for tree in self.trees:
            n = 0
            for node in tree:
                if len(node.children) > most_children or len(node.leaves) > MOST_LEAVES:
                    raise ValueError(
                        f"a node has {len(node.children)} children and {len(node.leaves)} leaves: "
                        "too many for C code"
                    )
                kind = self.kinds[node.kind] + (node.is_output << kind_bits)
                shapes += [(len(node.children) << kind_bits + 1) + kind, len(node.leaves)]
                shapes += [j for j, _ in node.leaves]
                weights += [node.bias, *(w for _, w in node.children + node.leaves)]
                weights += node.constants
                weights += [node.offset, node.unit] * (has_affine and node.is_output)
                n += (not node.is_output) - len(node.children)
                most = max(most, n)
        loop = self.fill(
            templates.LOOP,
            n_stacked=max(1, most),
            cases="\n".join(map(self._case, self.kinds)),
            affine=" * w[1] + w[0];\n            w += 2" if has_affine else "",
            head_mask=2 ** (kind_bits + 1) - 1,
            head_bits=kind_bits + 1,
            kind_mask=2**kind_bits - 1,
            is_output=2**kind_bits,
        )
        return "\n".join(
            [
                array(f"static const uint16_t {self.name}_shapes[{len(shapes)}]", shapes),
                array(
                    f"static const {self.math.type} {self.name}_weights[{len(weights)}]",
                    map(self.math.number, weights),
                ),
                "",
                loop,
            ]
        )

    def _case(self, kind: str) -> str:
        """Return the statements of the loop for a kind of node."""
        lines = [f"case {self.kinds[kind]}:"]
        if kind == "pieces":
            lines += ["    z = z > 0 ? z : *w * z;", "    w++;"]
        elif kind != "linear":
            function = next((f for f, name in self.curves.items() if name == kind), _Z)
            n = len(function.variables) - 1
            constants = "".join(f", w[{i}]" for i in range(n))
            lines += [f"    z = {self.name}_{kind}(z{constants});"] + [f"    w += {n};"] * (n > 0)
        return "\n".join(f"        {line}" for line in [*lines, "    break;"])

    # -- outputs -------------------------------------------------------------------------

    @property
    def parts(self) -> dict[str, object]:
        """Names and code that templates contain."""
        model, name, real = self.model, self.name, self.math.type
        begin = f"    const uint16_t *shape = {name}_shapes;\n"
        begin += f"    const {real} *weight = {name}_weights;\n"
        finish, about = "", "The means over all trees"
        if (n := len(model.trees)) > 1:
            finish = f"    for (k = 0; k < {model.n_outputs}; k++)\n        means[k] /= {n};\n"
        if self._links_means:
            finish += f"    {name}_link(means);\n"
            about = "Predictions, computed from the means over all trees"
        return {
            **dict.fromkeys(("feature", "value", "sum", "probability"), real),
            "label": "unsigned char",
            "totals": "means",
            "about": f"/* {about}. */\n",
            "tables": "&shape, &weight",
            "begin": "" if self.straight else begin,
            "row": f"    {real} in[{model.n_inputs}];\n",
            "encode": f"    {name}_encode(x, in);\n",
            "inputs": "in",
            "finish": finish,
            "share": "means[k]",
            "half_total": self.math.number(0.5),
            "unit": "",
        }

    @property
    def _links_means(self) -> bool:
        """Whether predictions are a function of the means of outputs."""
        return self.model.link != OUTPUTS and self.model.averages == "outputs"

    def adder(self) -> str:
        """Return the function that adds the contribution of a tree to the means."""
        model, name = self.model, f"{self.name}_link"
        if model.link == OUTPUTS:
            return self.fill(templates.ADD, link="")
        link = link_function(model.link, model.n_outputs, name, self.math)
        add = self.fill(templates.ADD, link="" if self._links_means else f"    {name}(y);\n")
        return f"/* Turns outputs into predictions. */\n{link}\n{add}"


def _affine(form: ActivationForm) -> tuple[float, float]:
    """Return offset and unit of an activation whose nodes compute 1 / (1 + exp(z)) and the like."""
    if form.kind in ("pieces", "curve"):
        return form.offset, form.unit
    return form.offset - form.unit, 2.0 * form.unit  # 0 and 1 for sigmoids: no digits are lost


def _less(expression: Expression, by: float) -> Expression:
    """Return an expression minus a number, which is subtracted from each choice by itself."""
    if by == 0.0:
        return expression
    if expression.is_constant:
        return expression - by
    if expression.operation == "if_missing":
        value, default = expression.arguments
        return select(is_missing(value), _less(default, by), _less(value, by))
    if expression.operation == "select":
        condition, a, b = expression.arguments
        return select(condition, _less(a, by), _less(b, by))
    return expression - by if by > 0.0 else expression + -by


def _skeleton(expression: Expression) -> tuple[Expression, tuple[float, ...]]:
    """Return an expression with variables c0, c1, ... in place of its constants, and these."""
    constants: list[float] = []

    def replaced(part: Expression) -> Expression:
        if part.is_constant:
            constants.append(part.value)
            return variable(f"c{len(constants) - 1}")
        return Expression(part.operation, tuple(map(replaced, part.arguments)), part.value)

    return replaced(expression), tuple(constants)
