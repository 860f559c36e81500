"""C code of integer models.

A tree is a list of small integers (cells) that a loop reads from the first to the last: for each
node its shape, its bias, its scale, the weights of its children and of its leaves. Values of nodes
wait on a stack until their parent takes them. Straight-line code is the same, written out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from string import Template

import numpy as np

from bneuralt.export import c_fixed_text as text
from bneuralt.export.arithmetic import Format
from bneuralt.export.c_features import CFeature, Encoding, encode_function, is_plain
from bneuralt.export.c_text import array, real
from bneuralt.export.integer_model import IntegerModel
from bneuralt.export.integer_trees import IntegerNode, IntegerTree

__all__ = ["FixedCode"]

_KINDS = {"tanh": 0, "bell": 1, "pieces": 2}
_FOLDED = 3


@dataclass(frozen=True, eq=False)
class FixedCode:
    """The C code of an integer model.

    Attributes
    ----------
    model : IntegerModel
    features : list of CFeature
    name : str
    straight : bool
        Whether trees are written out as statements.
    public : str
        What the definitions of the functions that users call begin with.
    """

    model: IntegerModel
    features: list[CFeature]
    name: str
    straight: bool
    public: str = ""

    @property
    def format(self) -> Format:
        """The integer format."""
        return self.model.format

    @cached_property
    def nodes(self) -> list[IntegerNode]:
        """The nodes of all trees."""
        return [node for tree in self.model.trees for node in tree.nodes]

    @cached_property
    def is_plain(self) -> bool:
        """Whether a row is used as it is."""
        return is_plain(self.model.plan)

    @property
    def input_type(self) -> str:
        """The type of a feature, which positions of categories may need to be wider."""
        most = max([len(f.categories) for f in self.features], default=0)
        return "int16_t" if most > self.format.top else f"{self.format.name}_t"

    # -- cells ---------------------------------------------------------------------------

    @cached_property
    def kinds(self) -> tuple[set[str], set[str]]:
        """The activations of hidden nodes and of outputs."""
        return (
            {node.kind for node in self.nodes if not node.is_output},
            {node.kind for node in self.nodes if node.is_output},
        )

    @cached_property
    def has_kind_cell(self) -> bool:
        """Whether nodes say what their activation is."""
        return any(len(kinds) > 1 for kinds in self.kinds) or any(n.folds for n in self.nodes)

    @cached_property
    def has_below_cell(self) -> bool:
        """Whether nodes have another scale for sums below 0."""
        return any(n.kind == "pieces" and n.scale_below != n.scale for n in self.nodes)

    @cached_property
    def is_wide(self) -> bool:
        """Whether nodes have more children or leaves than half a cell can say."""
        half = self.format.bits // 2
        return any(
            len(node.children) >= 2 ** (half - 1) or len(node.leaves) >= 2**half
            for node in self.nodes
        )

    @cached_property
    def has_wide_index(self) -> bool:
        """Whether inputs are more than one cell can count."""
        return self.model.plan.n_inputs > 2**self.format.bits

    def cells(self, tree: IntegerTree) -> list[int]:
        """Return a tree as cells."""
        bits = self.format.bits
        whole = 2**bits
        widest = max(max(2 * len(node.children), len(node.leaves)) for node in tree.nodes)
        if max(widest, self.model.plan.n_inputs) > whole**2:
            raise ValueError(
                f"the model has {self.model.plan.n_inputs:,} inputs and a node with {widest:,} "
                f"children or leaves, too many for {self.format.name}: use style='code'"
            )
        found: list[int] = []
        for node in tree.nodes:
            n, m, out = len(node.children), len(node.leaves), int(node.is_output)
            if self.is_wide:
                found += [n % whole, n // whole + out * (whole // 2), m % whole, m // whole]
            else:
                found.append((m << bits // 2) + (out << (bits // 2 - 1)) + n)
            found += [node.bias % whole, node.bias // whole % whole, node.scale]
            found += [node.scale_below] * self.has_below_cell
            found += [_FOLDED if node.folds else _KINDS[node.kind]] * self.has_kind_cell
            found += [weight % whole for weight in node.children]
            for i, weight in node.leaves:
                found += [i % whole, *([i // whole] if self.has_wide_index else []), weight % whole]
        return [cell - whole if cell >= whole // 2 else cell for cell in found]

    @cached_property
    def n_cells(self) -> int:
        """Number of cells of all trees."""
        return sum(len(self.cells(tree)) for tree in self.model.trees)

    @cached_property
    def n_table_bytes(self) -> int:
        """Number of bytes of the tables that predicting a class or a number needs."""
        width = self.format.bits // 8
        used = (self.kinds[0] | self.kinds[1]) - {"pieces"}
        entries = sum(len(self.format.table(kind).values) for kind in used)
        exp = 0
        if self.model.combine == "softmax" and not self.model.plan.argmax_of_outputs:
            exp = 2 * len(self.format.exp_table)
        return width * (entries + (0 if self.straight else self.n_cells)) + exp

    # -- code ----------------------------------------------------------------------------

    def _fill(self, template: str, **more: object) -> str:
        bits = self.format.bits
        model = self.model
        names = {
            "NAME": self.name,
            "public": self.public,
            "UPPER": self.name.upper(),
            "bits": bits,
            "cell": f"int{bits}_t",
            "ucell": f"uint{bits}_t",
            "acc": f"int{2 * bits}_t",
            "uacc": f"uint{2 * bits}_t",
            "mask": f"{2**bits - 1}u",
            "half": f"{2 ** (bits - 1)}u",
            "whole": 2**bits if bits == 8 else f"{2**bits}L",
            "n_outputs": model.plan.n_outputs,
            "n_trees": len(model.trees),
            "n_inputs": model.plan.n_inputs,
        }
        return Template(template).substitute(names, **more)

    def types(self) -> str:
        """Return the types and constants that users need."""
        missing = "INT8_MIN" if self.input_type == "int8_t" else "INT16_MIN"
        lines = [
            "/* A feature as a whole number: see ${NAME}_quantize. */",
            f"typedef {self.input_type} ${{NAME}}_input;",
            *([] if self.is_plain else [f"#define ${{UPPER}}_MISSING {missing}"]),
        ]
        return self._fill("\n".join(lines)) + "\n"

    def header_includes(self) -> list[str]:
        """Return the headers that the header needs."""
        return ["<stdint.h>"]

    def source_includes(self) -> list[str]:
        """Return the headers that the source needs."""
        return []

    def prototypes(self) -> list[tuple[str, str]]:
        """Return the declarations of the functions of the source, each with a comment."""
        task, k = self.model.plan.task, self.model.plan.n_outputs
        row = f"const {self.name}_input *x"
        if task == "classes":
            found = [(f"int {self.name}_predict({row})", "The position of the predicted class.")]
        elif task == "labels":
            found = [
                (f"void {self.name}_predict({row}, uint8_t *out)", "1 for each label of the row.")
            ]
        else:
            which = (
                "The predicted number, in units" if k == 1 else "The predicted numbers, in units"
            )
            of = f"{which}: see {self.name}_value."
            if k == 1:
                found = [(f"int32_t {self.name}_predict({row})", of)]
            else:
                found = [(f"void {self.name}_predict({row}, int32_t *out)", of)]
        if task != "numbers":
            found.append(
                (
                    f"void {self.name}_predict_proba({row}, uint16_t *out)",
                    "The probabilities, in units of 1 / 32768.",
                )
            )
        return found

    def helpers(self) -> str:
        """Return functions with real numbers, to come from measurements to rows and back."""
        return self._quantize() + (self._value() if self.model.plan.task == "numbers" else "")

    def source(self) -> str:
        """Return tables and functions."""
        parts = [self._memory(), self._tables(), self._arithmetic()]
        if not self.is_plain:
            parts.append(self._encode())
        parts += [self._trees(), self._combination()]
        return "\n".join(part for part in parts if part)

    def _memory(self) -> str:
        """Return how tables are read: on AVR, they are in flash memory."""
        one = ("lpm %0, Z+",) if self.format.bits == 8 else ("lpm %A0, Z+", "lpm %B0, Z+")
        letters = "AB" if self.format.bits == 8 else "ABCD"
        return self._fill(
            text.MEMORY,
            load="\\n\\t".join(one),
            load_sum="\\n\\t".join(f"lpm %{letter}0, Z+" for letter in letters),
            read="byte" if self.format.bits == 8 else "word",
            has_mul="defined(__AVR_HAVE_MUL__)" if self.format.bits == 8 else "0",
        )

    def _tables(self) -> str:
        lines = []
        for kind in sorted((self.kinds[0] | self.kinds[1]) - {"pieces"}):
            values = self.format.table(kind).values.tolist()
            place = f"static const $cell ${{NAME}}_{kind}_table[{len(values)}] ${{UPPER}}_ROM"
            lines.append(array(self._fill(place), values) + "\n")
        if self.model.combine == "softmax":
            values = self.format.exp_table.tolist()
            place = f"static const uint16_t ${{NAME}}_exp_table[{len(values)}] ${{UPPER}}_ROM"
            lines.append(array(self._fill(place), values) + "\n")
        if not self.straight:
            cells = [cell for tree in self.model.trees for cell in self.cells(tree)]
            place = f"static const $cell ${{NAME}}_cells[{len(cells)}] ${{UPPER}}_ROM"
            lines.append(array(self._fill(place), cells) + "\n")
        return "\n".join(lines)

    def _arithmetic(self) -> str:
        parts = [self._fill(text.SCALED)]
        hidden, outputs = self.kinds
        for kind in ("tanh", "bell"):
            if kind not in hidden | outputs:
                continue
            table = self.format.table(kind)
            known = {
                "kind": kind,
                "limit": f"{table.limit}u",
                "last": int(table.values[-1]),
                "difference": "{at}(e) - low" if kind == "tanh" else "low - {at}(e)",
                "sign": "+" if kind == "tanh" else "-",
                "result": "sum < 0 ? -r : r" if kind == "tanh" else "r",
            }
            known["difference"] = str(known["difference"]).format(at=f"{self.name.upper()}_AT")
            parts += [self._fill(text.COARSE, **known)] * (kind in hidden)
            parts += [self._fill(text.FINE, **known)] * (kind in outputs)
        parts += [self._fill(text.PIECES)] * ("pieces" in hidden)
        parts += [self._fill(text.OUTPUT_PIECES)] * ("pieces" in outputs)
        return "\n".join(parts)

    def _literal(self, j: int, value: float) -> str:
        """Return a real value of an input as a whole number."""
        row = self.model.inputs.middle.copy()
        row[j] = value
        return str(int(self.model.encode(row[np.newaxis])[0, j]))

    def _encode(self) -> str:
        encoding = Encoding(
            f"int{self.format.bits}_t",
            self._literal,
            lambda value: f"{value} == {self.name.upper()}_MISSING",
            lambda value: value,
            self.input_type != f"int{self.format.bits}_t",
        )
        return encode_function(self.features, self.name, f"{self.name}_input", encoding)

    # -- trees ---------------------------------------------------------------------------

    def _trees(self) -> str:
        if self.straight:
            return "\n".join(map(self._straight, range(len(self.model.trees))))
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
        loop = self._fill(
            text.LOOP,
            begin="\n        ".join(map(self._fill, lines)),
            count=self._fill("$uacc" if self.is_wide else "$ucell"),
            **shape,
            is_output=f"head & {flag}",
            index_type=self._fill("$uacc" if self.has_wide_index else "$ucell"),
            index=self._fill(pair if self.has_wide_index else cell),
            n_stacked=max(1, *(tree.n_stacked for tree in self.model.trees)),
            output=self._choice(self.kinds[1], is_output=True),
            hidden=self._choice(self.kinds[0], is_output=False),
        )
        needs_pair = self.is_wide or self.has_wide_index
        return (self._fill(text.NEXT_PAIR) + "\n") * needs_pair + loop

    def _choice(self, kinds: set[str], is_output: bool) -> str:
        """Return the expression of a node's value."""
        ends = "_output" if is_output else ""
        below = "below" if self.has_below_cell else "scale"
        calls = {
            "tanh": f"{self.name}_tanh{ends}(sum, scale)",
            "bell": f"{self.name}_bell{ends}(sum, scale)",
            "pieces": f"{self.name}_pieces{ends}(sum, scale, {below}, 0)",
            "folded": f"{self.name}_pieces{ends}(sum, scale, {below}, 1)",
        }
        if not kinds:  # trees whose outputs have leaves only
            return "0"
        found = [kind for kind in calls if kind in kinds]
        if self.has_kind_cell and "pieces" in kinds:
            found.append("folded")
        text = calls[found[-1]]
        for kind in reversed(found[:-1]):
            text = f"kind == {_KINDS[kind]} ? {calls[kind]} : {text}"
        return text

    def _straight(self, i: int) -> str:
        """Return the function that evaluates a tree, written out."""
        tree = self.model.trees[i]
        suffix = "" if self.format.bits == 8 else "L"
        lines, n, k = [], 0, 0
        for node in tree.nodes:
            terms = [f"{node.bias}{suffix}"]
            for weight in node.children:
                n -= 1
                terms.append(f"{weight}{suffix} * v{n}")
            terms += [f"{weight}{suffix} * in[{j}]" for j, weight in node.leaves]
            total = " + ".join(terms).replace("+ -", "- ")
            ends = "_output" if node.is_output else ""
            more = f", {node.scale_below}u, {int(node.folds)}" if node.kind == "pieces" else ""
            total = f"({self._fill('$acc')})({total})"
            call = f"{self.name}_{node.kind}{ends}({total}, {node.scale}u{more})"
            lines.append(f"{f'y[{k}]' if node.is_output else f'v{n}'} = {call};")
            k, n = k + node.is_output, n + (not node.is_output)
        if tree.n_stacked:
            names = ", ".join(f"v{j}" for j in range(tree.n_stacked))
            lines.insert(0, f"{self._fill('$cell')} {names};")
        body = "\n".join(f"    {line}" for line in lines)
        return self._fill(
            "static inline void ${NAME}_tree$i(const $cell *in, $acc *y)\n{\n$body\n}\n",
            i=i,
            body=body,
        )

    # -- what becomes of the outputs -----------------------------------------------------

    def _combination(self) -> str:
        plan, model = self.model.plan, self.model
        n = len(model.trees)
        row = "" if self.is_plain else self._fill("    $cell in[$n_inputs];\n")
        encode = "" if self.is_plain else f"    {self.name}_encode(x, in);\n"
        inputs = "x" if self.is_plain else "in"
        cells = "" if self.straight else self._fill("    const $cell *p = ${NAME}_cells;\n")
        parts = []
        if n == 1:
            call = (
                f"{self.name}_tree0({inputs}, y)"
                if self.straight
                else (f"{self.name}_tree(&p, {inputs}, y)")
            )
            parts.append(self._fill(text.OUTPUTS, row=row, encode=encode, cells=cells, call=call))
        if plan.argmax_of_outputs:
            parts.append(self._fill(text.ARGMAX_OF_OUTPUTS))
        parts.append(self._adder())
        sum_type = "int32_t" if model.combine == "sum" else "uint32_t"
        if n == 1:
            parts.append(self._fill(text.SUMS_OF_ONE, sum_type=sum_type))
        elif self.straight:
            calls = "".join(
                self._fill(
                    "    ${NAME}_tree$i($inputs, y);\n    ${NAME}_add(y, sums);\n",
                    i=i,
                    inputs=inputs,
                )
                for i in range(n)
            )
            parts.append(
                self._fill(
                    text.SUMS_OF_CALLS, sum_type=sum_type, row=row, encode=encode, calls=calls
                )
            )
        else:
            parts.append(
                self._fill(
                    text.SUMS, sum_type=sum_type, row=row, encode=encode, cells=cells, inputs=inputs
                )
            )
        if plan.task == "classes":
            if not plan.argmax_of_outputs:
                parts.append(self._fill(text.ARGMAX_OF_SUMS))
            parts.append(self._fill(text.PROBABILITIES))
        elif plan.task == "labels":
            parts += [self._fill(text.LABELS), self._fill(text.PROBABILITIES)]
        elif plan.order:
            order = ", ".join(map(str, plan.order))
            single = plan.n_outputs == 1
            parts.append(
                self._fill(text.ONE_NUMBER) if single else self._fill(text.SORTED, order=order)
            )
        else:
            parts.append(self._fill(text.ONE_NUMBER if plan.n_outputs == 1 else text.NUMBERS))
        return "\n".join(parts)

    def _adder(self) -> str:
        """Return the function that adds what a tree contributes to the sums."""
        model = self.model
        if model.combine == "softmax":
            assert model.exp is not None
            bits = 16 - model.format.exp_bits
            return self._fill(
                text.ADD_SOFTMAX, **model.exp._asdict(), rest_bits=bits, rest_mask=2**bits - 1
            )
        if model.combine == "sum":
            return self._fill(text.ADD_OUTPUTS)
        assert model.share is not None
        which = text.ADD_SHARES if model.combine == "shares" else text.ADD_CLIPPED
        share = self._fill(text.SHARE, shift=model.share.shift, offset=f"{model.share.offset}L")
        return share + "\n" + self._fill(which, factor=model.share.factor, down=model.share.down)

    # -- real numbers --------------------------------------------------------------------

    def _quantize(self) -> str:
        """Return the function from measurements to features."""
        middle, factor, missing = [], [], []
        for feature in self.features:
            j = feature.input
            if j is None:
                middle.append("0.0")
                factor.append("0.0")
                missing.append(f"{self.name.upper()}_MISSING")
                continue
            unit = float(self.model.inputs.unit[j])
            middle.append(real(float(self.model.inputs.middle[j])))
            factor.append(real(1.0 / unit if unit else 0.0))
            mean = feature.mean
            if self.is_plain:
                missing.append(
                    self._literal(j, 0.0 if mean is None else mean) if mean is not None else "0"
                )
            else:
                missing.append(f"{self.name.upper()}_MISSING")
        is_category = [str(int(feature.is_category)) for feature in self.features]
        size = f"[{len(self.features)}]"
        indent = "    "
        tables = [
            array(f"static const double middle{size}", middle),
            array(f"static const double factor{size}", factor),
            array(f"static const {self.name}_input missing{size}", missing),
        ]
        category = ""
        if any(feature.is_category for feature in self.features):
            tables.append(array(f"static const unsigned char is_category{size}", is_category))
            most = 127 if self.input_type == "int8_t" else 255
            category = (
                "    if (is_category[feature])\n"
                f"        return ({self.name}_input)(value >= 0 && value <= {most} ? value : -1);\n"
            )
        joined = "\n".join(tables).replace("\n", f"\n{indent}")
        return self._fill(
            text.QUANTIZE, tables=f"{indent}{joined}", category=category, top=self.format.top
        )

    def _value(self) -> str:
        k = self.model.plan.n_outputs
        offset = array(f"static const double offset[{k}]", map(real, self.model.offset.tolist()))
        unit = array(f"static const double unit[{k}]", map(real, self.model.unit.tolist()))
        result = "offset[k] + unit[k] * (double)sum"
        about = ""
        if self.model.plan.combine == "exp":
            about = " Its exponential is the prediction."
        tables = f"    {offset}\n{unit}".replace("\n", "\n    ")
        return self._fill(text.VALUE, tables=tables, result=result, about=about)
