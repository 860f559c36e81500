"""C code of models with floating-point arithmetic.

Scales and offsets of activations are part of the weights; see `bneuralt.export.nodes.folded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.c.encoding import encode_function
from bneuralt.export.c.link_code import link_function
from bneuralt.export.c.literals import array, c_templates
from bneuralt.export.c.model_code import ModelCode
from bneuralt.export.cell_reads import cell_reads
from bneuralt.export.nodes import Node, folded, nodes_of
from bneuralt.export.printer import Code
from bneuralt.export.program import (
    Forest,
    Function,
    curve,
    forest_of,
    skeleton,
    tree_function,
)
from bneuralt.expressions import (
    OUTPUTS,
    Expression,
    exp,
    is_missing,
    select,
    sigmoid,
    square,
    variable,
)

__all__ = ["RealCode"]

templates = c_templates("model.c")

_Z = variable("z")

#: Functions of nodes that have code already; others are curves.
KNOWN = (_Z, sigmoid(-_Z), exp(-square(_Z)))

#: Nodes with more leaves than this cannot be described by 16 bits.
MOST_LEAVES = 2**16 - 1


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
    def trees(self) -> list[list[Node]]:
        """The nodes of each tree in the order of evaluation."""
        return [folded(nodes_of(tree), self.centers) for tree in self.model.trees]

    @cached_property
    def curves(self) -> dict[Expression, str]:
        """The names of activations that are called, without their constants."""
        forms = dict.fromkeys(skeleton(n.activation)[0] for nodes in self.trees for n in nodes)
        called = [form for form in forms if form not in KNOWN]
        return {form: f"curve{i}" for i, form in enumerate(called)}

    # -- code ----------------------------------------------------------------------------

    def typedefs(self) -> str:
        """Return the types and constants that users need."""
        return self.fill("/* A feature; NaN is a missing value. */\ntypedef $real ${NAME}_input;\n")

    def trees_code(self) -> str:
        """Return tables, the function from a row to inputs, and functions that evaluate trees."""
        trees = self._written_out() if self.straight else self._tables_and_loop()
        curves = [self._curve(*pair) for pair in self.curves.items()]
        return "\n".join([*curves, encode_function(self, self.math.type), trees])

    def _curve(self, form: Expression, name: str) -> str:
        """Return the function of an activation that is called."""
        function = curve(form, name)
        arguments = ", ".join(f"$real {argument}" for argument in function.parameters)
        head = f"static inline $real ${{NAME}}_{name}({arguments})"
        return self._function(head, function, {}, "return {1};")

    def _function(self, head: str, function: Function, names: dict[str, Code], end: str) -> str:
        """Return a function; `end` is the statement of a result, by its number and value."""
        places = {result.value: k for k, result in enumerate(function.results)}
        lines = []
        for statement in function.body:
            name, text = statement.name, self.math.scalar(statement.value, names)
            plain = f"const {self.math.type} {name} = {text};"
            lines.append(end.format(places[name], text) if name in places else plain)
        body = "\n".join(f"    {line}" for line in lines)
        return f"{self.fill(head)}\n{{\n{body}\n}}\n"

    # -- inputs --------------------------------------------------------------------------

    def literals(self, j: int, values: Sequence[float]) -> list[str]:
        """Return the literals for real values of an input."""
        return [self.math.number(value) for value in values]

    def text_source(self, j: int) -> tuple[Expression, str]:
        """Return what tables have of an input of a text, and a template that computes the rest.

        The ramps of a number that stands for a text share its table.
        """
        expression = self.model.inputs[j].expression
        lookups = _lookups(expression)
        if len(lookups) > 1:
            return expression, "{}"
        (source,) = lookups
        return source, self.math.text(expression, {source.value: "{}"})

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
        names = {f"i{j}": Code(f"in[{j}]") for j in range(self.model.n_inputs)}
        head = "static inline void ${{NAME}}_tree{}(const $real *in, $real *y)"
        functions = (
            tree_function(self._by_level(nodes), f"tree{t}", self.curves)
            for t, nodes in enumerate(self.trees)
        )
        return "\n".join(
            self._function(head.format(t), function, names, "y[{}] = {};")
            for t, function in enumerate(functions)
        )

    def _by_level(self, nodes: list[Node]) -> list[Node]:
        """Return the nodes in the order of their statements.

        Processors of computers evaluate nodes of the same level in parallel. Processors without
        double evaluate one node after the other and have little memory: few values are kept.
        """
        return nodes if self.math.is_float else sorted(nodes, key=lambda node: -node.position)

    def _tables_and_loop(self) -> str:
        """Return all trees as two arrays, and the function that evaluates one."""
        forest = forest_of(self.trees, range(self.model.n_inputs))
        kind_bits = max(2, (len(forest.functions) - 1).bit_length())
        most_children = 2 ** (15 - kind_bits) - 1
        shapes: list[int] = []
        for node in forest.nodes:
            if len(node.children) > most_children or len(node.leaves) > MOST_LEAVES:
                raise ValueError(
                    f"a node has {len(node.children)} children and {len(node.leaves)} leaves: "
                    "too many for C code"
                )
            kind = node.function + (node.is_output << kind_bits)
            shapes += [(len(node.children) << kind_bits + 1) + kind, len(node.leaves)]
            shapes += [j for _, j in node.leaves]
        weights = forest.numbers
        loop = self.fill(
            templates.LOOP,
            n_stacked=forest.n_stacked,
            cases=self._cases(forest),
            head_mask=2 ** (kind_bits + 1) - 1,
            head_bits=kind_bits + 1,
            kind_mask=2**kind_bits - 1,
            is_output=2**kind_bits,
        )
        numbers = f"static const {self.math.type} {self.name}_weights[{len(weights)}]"
        return "\n".join(
            [
                array(f"static const uint16_t {self.name}_shapes[{len(shapes)}]", shapes),
                array(numbers, map(self.math.number, weights)),
                "",
                loop,
            ]
        )

    def _cases(self, forest: Forest) -> str:
        """Return the statements of the loop for each function of nodes."""
        lines = []
        for i, (form, function) in enumerate(zip(forest.forms, forest.functions, strict=True)):
            lines.append(f"case {i}:")
            n = len(function.parameters) - 1
            if form in self.curves:
                arguments = tuple(map(variable, function.parameters))
                form = Expression("curve", arguments, self.curves[form])
            if form != _Z:
                constants = {f"c{j}": Code(f"w[{j}]") for j in range(n)}
                lines.append(f"    z = {self.math.scalar(form, constants)};")
            lines += [f"    w += {n};"] * (n > 0) + ["    break;"]
        return "\n".join(f"        {line}" for line in lines)

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


def _lookups(expression: Expression) -> set[Expression]:
    if expression.operation == "lookup":
        return {expression}
    return set().union(*map(_lookups, expression.arguments))


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
