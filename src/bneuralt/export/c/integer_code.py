"""C code of integer models.

A tree is a list of small integers (cells) that a loop reads from the first to the last: for each
node its shape, its bias, its scale, the weights of its children and of its leaves. Values of nodes
are kept on a stack until their parent is evaluated. Straight-line code computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bneuralt.export.c.encoding import encode_function
from bneuralt.export.c.link_code import link_function
from bneuralt.export.c.literals import array, c_templates, real
from bneuralt.export.c.model_code import ModelCode
from bneuralt.export.cell_reads import cell_reads, gap_values
from bneuralt.export.integer import IntegerFormat, IntegerModel
from bneuralt.export.integer.curve_tables import CurveTable
from bneuralt.export.integer.integer_trees import IntegerNode, IntegerTree
from bneuralt.export.integer.number_units import TOP, NumberUnit
from bneuralt.expressions import OUTPUTS, Expression, is_elementwise
from bneuralt.tables.features import NumberFeature

__all__ = ["IntegerCode"]

templates = c_templates("integer.c")

#: Numbers of the kinds of nodes; those of curves follow.
_KINDS = {"tanh": 0, "bell": 1, "pieces": 2, "folded": 3}


@dataclass(frozen=True, eq=False)
class IntegerCode(ModelCode):
    """The C code of an integer model.

    Attributes
    ----------
    row, name, straight, math
        See `ModelCode`.
    integers : IntegerModel
    """

    integers: IntegerModel

    @property
    def format(self) -> IntegerFormat:
        """The integer format."""
        return self.integers.format

    @cached_property
    def nodes(self) -> list[IntegerNode]:
        """The nodes of all trees."""
        return [node for tree in self.integers.trees for node in tree.nodes]

    @property
    def input_type(self) -> str:
        """The type of a feature, which is wider for many categories, and for computed inputs."""
        most = max([len(f.texts) for f in self.row.features], default=0)
        if most > 32767:
            raise ValueError(
                f"a column has {most:,} categories, whose positions do not fit in 16 bits: use "
                "dtype='float' or 'double'"
            )
        is_wide = most > self.format.top or bool(self.integers.inputs.numbers)
        return "int16_t" if is_wide else f"{self.format.name}_t"

    # -- cells ---------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> tuple[set[str], set[str]]:
        """The activations of hidden nodes and of outputs."""
        return (
            {node.kind for node in self.nodes if not node.is_output},
            {node.kind for node in self.nodes if node.is_output},
        )

    @cached_property
    def kind_numbers(self) -> dict[str, int]:
        """The number of each kind of node."""
        curves = [k for k, table in self.integers.tables.items() if table.symmetry == "none"]
        numbers = {**_KINDS, **{kind: len(_KINDS) + i for i, kind in enumerate(curves)}}
        if len(numbers) > 2 ** (self.format.bits - 1):
            raise ValueError(
                f"the model has {len(curves)} different activations that need a table each, too "
                f"many for {self.format.name}: use another dtype"
            )
        return numbers

    @cached_property
    def has_kind_cell(self) -> bool:
        """Whether nodes have a cell with the kind of their activation."""
        return any(len(kinds) > 1 for kinds in self.kinds)

    @cached_property
    def has_below_cell(self) -> bool:
        """Whether nodes have a cell with the scale of sums below 0."""
        tables = self.integers.tables
        return any(n.kind not in tables and n.scale_below != n.scale for n in self.nodes)

    @cached_property
    def is_wide(self) -> bool:
        """Whether the number of children or leaves of a node does not fit in half a cell."""
        half = self.format.bits // 2
        return any(
            len(node.children) >= 2 ** (half - 1) or len(node.leaves) >= 2**half
            for node in self.nodes
        )

    @cached_property
    def has_wide_index(self) -> bool:
        """Whether the position of an input does not fit in a cell."""
        return self.model.n_inputs > 2**self.format.bits

    def cells(self, tree: IntegerTree) -> list[int]:
        """Return a tree as cells."""
        bits = self.format.bits
        whole = 2**bits
        widest = max(max(2 * len(node.children), len(node.leaves)) for node in tree.nodes)
        if max(widest, self.model.n_inputs) > whole**2:
            raise ValueError(
                f"the model has {self.model.n_inputs:,} inputs and a node with {widest:,} "
                f"children or leaves, too many for {self.format.name}: use style='code'"
            )
        cells: list[int] = []
        for node in tree.nodes:
            n, m, out = len(node.children), len(node.leaves), int(node.is_output)
            if self.is_wide:
                cells += [n % whole, n // whole + out * (whole // 2), m % whole, m // whole]
            else:
                cells.append((m << bits // 2) + (out << (bits // 2 - 1)) + n)
            cells += [node.bias % whole, node.bias // whole % whole, node.scale]
            cells += [node.scale_below] * self.has_below_cell
            cells += [self.kind_numbers[node.kind]] * self.has_kind_cell
            cells += [weight % whole for weight in node.children]
            for i, weight in node.leaves:
                cells += [i % whole, *([i // whole] if self.has_wide_index else []), weight % whole]
        return [cell - whole if cell >= whole // 2 else cell for cell in cells]

    @cached_property
    def all_cells(self) -> list[int]:
        """The cells of all trees, none if they are written out as statements."""
        trees = () if self.straight else self.integers.trees
        return [cell for tree in trees for cell in self.cells(tree)]

    @cached_property
    def tables(self) -> dict[str, CurveTable]:
        """The tables of the activations that occur."""
        tables = self.integers.tables
        return {kind: tables[kind] for kind in tables if kind in self.kinds[0] | self.kinds[1]}

    @cached_property
    def n_table_bytes(self) -> int:
        """Number of bytes of the tables that predicting a class or a number needs."""
        entries = sum(len(table.values) for table in self.tables.values())
        has_exp = self.integers.link.combine == "softmax" and not self.model.decides_by_outputs
        exp = 2 * len(self.format.exp_table) * has_exp
        cells = self.format.bits // 8 * (entries + len(self.all_cells))
        return cells + exp + 2 * len(self.line_table)

    # -- code ----------------------------------------------------------------------------

    def typedefs(self) -> str:
        """Return the types and constants that users need."""
        missing = "INT8_MIN" if self.input_type == "int8_t" else "INT16_MIN"
        lines = [
            "/* A feature as a whole number: see ${NAME}_quantize. */",
            f"typedef {self.input_type} ${{NAME}}_input;",
            *([] if self.row.is_plain else [f"#define ${{UPPER}}_MISSING {missing}"]),
        ]
        return self.fill("\n".join(lines)) + "\n"

    def helpers(self) -> str:
        """Return the functions from measurements to rows, and from sums to real numbers."""
        return self._quantize() + (self._value() if self.model.task == "numbers" else "")

    def trees_code(self) -> str:
        """Return tables, the function from a row to inputs, and functions that evaluate trees."""
        encode = "" if self.row.is_plain else encode_function(self, f"{self.format.name}_t")
        parts = [self._memory(), self._tables(), self._arithmetic(), self._lines(), encode]
        parts.append(self._trees())
        return "\n".join(part for part in parts if part)

    def _memory(self) -> str:
        """Return how tables are read: on AVR, they are in flash memory."""
        one = ("lpm %0, Z+",) if self.format.bits == 8 else ("lpm %A0, Z+", "lpm %B0, Z+")
        letters = "AB" if self.format.bits == 8 else "ABCD"
        return self.fill(
            templates.MEMORY,
            load="\\n\\t".join(one),
            load_sum="\\n\\t".join(f"lpm %{letter}0, Z+" for letter in letters),
            read="byte" if self.format.bits == 8 else "word",
            has_mul="defined(__AVR_HAVE_MUL__)" if self.format.bits == 8 else "0",
        )

    def _tables(self) -> str:
        tables = [("$cell", kind + "_table", t.values.tolist()) for kind, t in self.tables.items()]
        if self.integers.link.combine == "softmax":
            tables.append(("uint16_t", "exp_table", self.format.exp_table.tolist()))
        if self.line_table:
            tables.append(("uint16_t", "line_table", self.line_table))
        if not self.straight:
            tables.append(("$cell", "cells", self.all_cells))
        lines = []
        for type, name, values in tables:
            place = f"static const {type} ${{NAME}}_{name}[{len(values)}] ${{UPPER}}_ROM"
            lines.append(array(self.fill(place), values) + "\n")
        return "\n".join(lines)

    def _arithmetic(self) -> str:
        parts = [self.fill(templates.SCALED)]
        hidden, outputs = self.kinds
        for kind, table in self.tables.items():
            common: dict[str, object] = {"kind": kind, "limit": f"{table.limit}u"}
            if table.symmetry == "none":
                parts.append(self.fill(templates.CURVE, n_steps=table.n_steps, **common))
                continue
            at, is_odd = f"{self.name.upper()}_AT(e)", table.symmetry == "odd"
            common |= {
                "last": str(int(table.values[-1])),
                "difference": f"{at} - low" if is_odd else f"low - {at}",
                "sign": "+" if is_odd else "-",
                "result": "sum < 0 ? -r : r" if is_odd else "r",
            }
            parts += [self.fill(templates.COARSE, **common)] * (kind in hidden)
            parts += [self.fill(templates.FINE, **common)] * (kind in outputs)
        parts += [self.fill(templates.PIECES)] * (not hidden <= self.tables.keys())
        parts += [self.fill(templates.OUTPUT_PIECES)] * (not outputs <= self.tables.keys())
        return "\n".join(parts)

    # -- inputs --------------------------------------------------------------------------

    def literals(self, j: int, values: Sequence[float]) -> list[str]:
        """Return the literals for real values of an input."""
        rows = np.tile(self.integers.inputs.middle, (len(values), 1))
        rows[:, j] = values
        return [str(number) for number in self.integers.encode(rows)[:, j].tolist()]

    def is_missing(self, value: str) -> str:
        """Return the condition that a feature is missing."""
        return f"{value} == {self.name.upper()}_MISSING"

    def encode_number(self, column: int, j: int) -> str:
        """Return the code of an input that does not depend on the text of a cell."""
        present, missing = gap_values(self.model.inputs[j])
        if cell_reads(self.model.inputs[j].expression).values:
            place = [feature.input for feature in self.row.features].index(j)
            cast = f"({self.format.name}_t)" if self.input_type != f"{self.format.name}_t" else ""
            result = f"{cast}x[{place}]"
        else:
            place, (result,) = self.row.place(column), self.literals(j, [present])
        if np.isnan(missing):
            return result
        return f"{self.is_missing(f'x[{place}]')} ? {self.literals(j, [missing])[0]} : {result}"

    @property
    def first_statements(self) -> list[str]:
        """Statements that compute the inputs which have none of their own."""
        return [f"{self.name}_lines(x, in);"] if self.integers.inputs.numbers else []

    @cached_property
    def line_table(self) -> list[int]:
        """What computes inputs of features, as numbers of 16 bits; see `templates.LINES`."""
        table: list[int] = []
        for place, feature in enumerate(self.row.features):
            if feature.number is None:
                continue
            unit = self.integers.inputs.numbers[feature.number]
            for j, line in unit.lines.items():
                table += [place, j, 32768 + self._at_gap(unit, j)]
                table += [*_halves(line.base), len(line.terms)]
                for factor, constant, shift, most, sign in line.terms:
                    table += [factor, *_halves(constant), shift + 256 * (sign < 0), most]
        return table

    def _at_gap(self, unit: NumberUnit, j: int) -> int:
        """Return the value of a computed input for a missing number."""
        value = self._number(unit.column)
        number = gap_values(self.model.inputs[j]._replace(expression=value))[1]
        if np.isnan(number):
            return 0
        return int(unit.lines[j](unit.encode(np.array([number])), self.format.top)[0])

    def _lines(self) -> str:
        """Return the function that computes inputs of features."""
        if not self.line_table:
            return ""
        n_computed = sum(len(unit.lines) for unit in self.integers.inputs.numbers.values())
        lines = self.fill(templates.LINES, n_computed=n_computed, limit=self.format.top)
        return self.fill(templates.AT32) + "\n" + lines

    # -- trees ---------------------------------------------------------------------------

    def _trees(self) -> str:
        if self.straight:
            return "\n".join(map(self._straight, range(len(self.integers.trees))))
        cell, pair = "($ucell)${NAME}_next(p)", "${NAME}_next_pair(p)"
        half, bits = self.format.bits // 2, self.format.bits
        if self.is_wide:
            flag = f"{2 ** (2 * bits - 1)}u"
            lines = [f"const $uacc head = {pair};", f"const $uacc n_leaves = {pair};"]
            shape = {"children": f"head & ({flag} - 1u)", "leaves": "n_leaves"}
        else:
            flag = f"{2 ** (half - 1)}"
            lines = [f"const $ucell head = {cell};"]
            shape = {"children": f"head & ({flag} - 1)", "leaves": f"head >> {half}"}
        lines += ["$acc sum = ${NAME}_next_sum(p);", f"const $ucell scale = {cell};"]
        lines += [f"const $ucell below = {cell};"] * self.has_below_cell
        lines += [f"const $ucell kind = {cell};"] * self.has_kind_cell
        loop = self.fill(
            templates.LOOP,
            begin="\n        ".join(map(self.fill, lines)),
            count=self.fill("$uacc" if self.is_wide else "$ucell"),
            **shape,
            is_output=f"head & {flag}",
            index_type=self.fill("$uacc" if self.has_wide_index else "$ucell"),
            index=self.fill(pair if self.has_wide_index else cell),
            n_stacked=max(1, *(tree.n_stacked for tree in self.integers.trees)),
            output=self._choice(self.kinds[1], is_output=True),
            hidden=self._choice(self.kinds[0], is_output=False) if self.kinds[0] else "0",
        )
        needs_pair = self.is_wide or self.has_wide_index
        return (self.fill(templates.NEXT_PAIR) + "\n") * needs_pair + loop

    def _choice(self, kinds: set[str], is_output: bool) -> str:
        """Return the expression of a node's value."""
        below = "below" if self.has_below_cell else "scale"
        *others, last = sorted(kinds, key=self.kind_numbers.__getitem__)
        text = self._call(last, is_output, "sum", "scale", below)
        for kind in reversed(others):
            call = self._call(kind, is_output, "sum", "scale", below)
            text = f"kind == {self.kind_numbers[kind]} ? {call} : {text}"
        return text

    def _call(self, kind: str, is_output: bool, total: str, scale: str, below: str) -> str:
        ends = "_output" if is_output else ""
        if kind in self.tables:
            return f"{self.name}_{kind}{ends}({total}, {scale})"
        return f"{self.name}_pieces{ends}({total}, {scale}, {below}, {int(kind == 'folded')})"

    def _straight(self, i: int) -> str:
        """Return the function that evaluates a tree, written out."""
        tree = self.integers.trees[i]
        suffix = "" if self.format.bits == 8 else "L"
        lines, n, k = [], 0, 0
        for node in tree.nodes:
            terms = [f"{node.bias}{suffix}"]
            for weight in node.children:
                n -= 1
                terms.append(f"{weight}{suffix} * v{n}")
            terms += [f"{weight}{suffix} * in[{j}]" for j, weight in node.leaves]
            total = " + ".join(terms).replace("+ -", "- ")
            total, scales = f"({self.fill('$acc')})({total})", (node.scale, node.scale_below)
            call = self._call(node.kind, node.is_output, total, *(f"{s}u" for s in scales))
            lines.append(f"{f'y[{k}]' if node.is_output else f'v{n}'} = {call};")
            k, n = k + node.is_output, n + (not node.is_output)
        if tree.n_stacked:
            names = ", ".join(f"v{j}" for j in range(tree.n_stacked))
            lines.insert(0, f"{self.fill('$cell')} {names};")
        body = "\n".join(f"    {line}" for line in lines)
        return self.fill(
            "static inline void ${NAME}_tree$i(const $cell *in, $acc *y)\n{\n$body\n}\n",
            i=i,
            body=body,
        )

    # -- outputs -------------------------------------------------------------------------

    @property
    def parts(self) -> dict[str, object]:
        """Names and code that templates contain."""
        n, bits, is_plain = len(self.integers.trees), self.format.bits, self.row.is_plain
        unit = ", in units of 1 / 32768"
        if self.model.task == "numbers":
            unit = f", in units: see {self.name}_value"
        return {
            "bits": bits,
            "cell": f"int{bits}_t",
            "ucell": f"uint{bits}_t",
            "acc": f"int{2 * bits}_t",
            "uacc": f"uint{2 * bits}_t",
            "mask": f"{2**bits - 1}u",
            "half": f"{2 ** (bits - 1)}u",
            "whole": 2**bits if bits == 8 else f"{2**bits}L",
            "feature": f"{self.name}_input",
            "value": f"int{2 * bits}_t",
            "sum": "int32_t" if self.integers.link.combine == "sum" else "uint32_t",
            "probability": "uint16_t",
            "label": "uint8_t",
            "totals": "sums",
            "about": "/* The sums over all trees. */\n",
            "tables": "&p",
            "begin": "" if self.straight else f"    const int{bits}_t *p = {self.name}_cells;\n",
            "row": "" if is_plain else f"    int{bits}_t in[{self.model.n_inputs}];\n",
            "encode": "" if is_plain else f"    {self.name}_encode(x, in);\n",
            "inputs": "x" if is_plain else "in",
            "finish": "",
            "share": f"(uint16_t)((sums[k] + {n} / 2) / {n})",
            "half_total": f"16384u * {n}",
            "unit": unit,
        }

    def numbers(self) -> str:
        """Return the statements that predict several numbers."""
        if not self.integers.link.order:
            return super().numbers()
        order = ", ".join(map(str, self.integers.link.order))
        return self.fill(templates.SORTED, order=order)

    def adder(self) -> str:
        """Return the function that adds the contribution of a tree to the sums."""
        combine, exp, share = (
            self.integers.link.combine,
            self.integers.exp,
            self.integers.share,
        )
        if combine == "softmax":
            assert exp is not None
            bits = 16 - self.format.exp_bits
            return self.fill(
                templates.ADD_SOFTMAX, **exp._asdict(), rest_bits=bits, rest_mask=2**bits - 1
            )
        if combine == "sum":
            return self.fill(templates.ADD_OUTPUTS)
        assert share is not None
        template = templates.ADD_SHARES if combine == "shares" else templates.ADD_CLIPPED
        function = self.fill(templates.SHARE, shift=share.shift, offset=f"{share.offset}L")
        return function + "\n" + self.fill(template, factor=share.factor, down=share.down)

    # -- real numbers --------------------------------------------------------------------

    def _quantize(self) -> str:
        """Return the function from measurements to features."""
        middle, factor, missing, most = [], [], [], []
        for feature in self.row.features:
            j, unknown = feature.input, f"{self.name.upper()}_MISSING"
            unit = at = 0.0
            if j is not None:
                unit, at = (
                    float(self.integers.inputs.unit[j]),
                    float(self.integers.inputs.middle[j]),
                )
            elif feature.number is not None:
                number = self.integers.inputs.numbers[feature.number]
                unit, at = number.unit, number.middle
            middle.append(real(at))
            factor.append(real(1.0 / unit if unit else 0.0))
            most.append(str(self.format.top if feature.number is None else TOP))
            if self.row.is_plain and j is not None:
                value = self.row.missing_value(j)
                unknown = "0" if np.isnan(value) else self.literals(j, [value])[0]
            missing.append(unknown)
        size = f"[{len(self.row.features)}]"
        tables = [
            array(f"static const double middle{size}", middle),
            array(f"static const double factor{size}", factor),
            array(f"static const {self.name}_input missing{size}", missing),
        ]
        top = str(self.format.top)
        if any(text != top for text in most):
            tables.append(array(f"static const {self.name}_input most{size}", most))
            top = "most[feature]"
        category = ""
        if any(feature.is_category for feature in self.row.features):
            is_category = [str(int(feature.is_category)) for feature in self.row.features]
            tables.append(array(f"static const unsigned char is_category{size}", is_category))
            largest = 127 if self.input_type == "int8_t" else 32767
            place = f"value >= 0 && value <= {largest} ? value : -1"
            category = (
                f"    if (is_category[feature])\n        return ({self.name}_input)({place});\n"
            )
        joined = "\n".join(tables).replace("\n", "\n    ")
        return self.fill(
            templates.QUANTIZE,
            tables=f"    {joined}",
            category=category,
            computed=self._computed(),
            top=top,
        )

    def _computed(self) -> str:
        """Return the statements that compute inputs which are not the measured value itself."""
        cases = []
        for i, feature in enumerate(self.row.features):
            expression = None
            if feature.input is not None:
                expression = self._expression(self.model.inputs[feature.input].expression)
            elif feature.number is not None:
                expression = self._expression(self._number(feature.column))
            if expression is not None:
                text = self.math.text(expression, {feature.reads: "value"})
                cases += [f"case {i}:", f"    value = {text};", "    break;"]
        if not cases:
            return ""
        lines = ["switch (feature) {", *cases, "default:", "    break;", "}"]
        return "".join(f"    {line}\n" for line in lines)

    def _number(self, column: int) -> Expression:
        """Return the number of a column from which inputs are computed."""
        feature = self.model.columns[column].feature
        assert isinstance(feature, NumberFeature)
        return feature.value

    def _expression(self, expression: Expression) -> Expression | None:
        """Return how an input is computed from a value; None if it is the value itself."""
        is_filled = expression.operation == "if_missing"
        value = expression.arguments[0] if is_filled else expression
        return None if value.operation in ("number", "date_part") else expression

    def _value(self) -> str:
        k, link = self.model.n_outputs, self.integers.link.of_means
        offset = array(f"static const double offset[{k}]", map(real, self.integers.offset.tolist()))
        unit = array(f"static const double unit[{k}]", map(real, self.integers.unit.tolist()))
        result, lines = "offset[k] + unit[k] * (double)sum", [offset, unit]
        about = f"The real number that an output of {self.name}_predict stands for."
        if not is_elementwise(link):
            about = f"The mean output that a sum stands for: see {self.name}_values."
        elif link != OUTPUTS:
            lines.append(f"const double mean = {result};")
            result = self.math.text(link, outputs="mean")
        tables = "    " + "\n".join(lines).replace("\n", "\n    ")
        value = self.fill(templates.VALUE, tables=tables, result=result, about=about)
        if is_elementwise(link):
            return value
        function = link_function(link, k, f"{self.name}_link", self.math)
        return "\n".join([value, function, self.fill(templates.VALUES)])


def _halves(number: int) -> tuple[int, int]:
    """Return the two halves of a number of 32 bits from -2**30 to 2**30 - 1, plus 2**30."""
    return (number + 2**30) % 2**16, (number + 2**30) // 2**16
