"""C code of models with floating-point arithmetic.

Scales and offsets of activations are part of the weights: nodes compute ``1 / (1 + exp(z))``,
``exp(-z * z)``, or z with another slope below 0, and nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from string import Template
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from bneuralt._typing import FloatArray
from bneuralt.export import c_real_text as text
from bneuralt.export.arithmetic import Form, activation_form
from bneuralt.export.c_features import CFeature, Encoding, encode_function
from bneuralt.export.c_text import array, real
from bneuralt.export.order import evaluation_order
from bneuralt.export.plan import Plan
from bneuralt.tables.features import DateFeature, NumberFeature
from bneuralt.tree import NeuralTree

__all__ = ["RealCode", "RealNode"]

_KINDS = {"linear": 0, "logistic": 1, "bell": 2, "pieces": 3}
_IS_OUTPUT = 4

#: Nodes with more children or leaves than this cannot be described by 16 bits.
MOST_CHILDREN = 2**13 - 1
MOST_LEAVES = 2**16 - 1


class RealNode(NamedTuple):
    """A function node, with the scales and offsets of activations as part of its weights."""

    number: int  # in the tree, outputs first
    kind: str
    bias: float
    children: list[tuple[int, float]]  # number and weight, the last evaluated one first
    leaves: list[tuple[int, float]]
    slope: float
    is_output: bool
    offset: float  # an output is offset + unit * value
    unit: float

    def value(self, z: float) -> float:
        """Return the value of the node for a weighted sum."""
        if self.kind == "logistic":
            return float(expit(-z))
        if self.kind == "bell":
            return math.exp(-z * z)
        return self.slope * z if self.kind == "pieces" and z <= 0 else z


@dataclass(frozen=True, eq=False)
class RealCode:
    """The C code of a model with floating-point arithmetic.

    Attributes
    ----------
    plan : Plan
    features : list of CFeature
    name : str
    straight : bool
        Whether trees are written out as statements.
    is_float : bool
        Whether numbers are of type float, otherwise double.
    has_libm : bool
        Whether ``exp`` is taken from ``<math.h>``.
    public : str
        What the definitions of the functions that users call begin with.
    """

    plan: Plan
    features: list[CFeature]
    name: str
    straight: bool
    is_float: bool
    has_libm: bool
    public: str = ""

    @property
    def type(self) -> str:
        """The type of numbers."""
        return "float" if self.is_float else "double"

    @cached_property
    def centers(self) -> FloatArray:
        """What is subtracted from inputs: float loses digits of numbers far from 0."""
        ranges = self.plan.input_ranges() if self.is_float else None
        centers = np.zeros(self.plan.n_inputs)
        if ranges is None:
            return centers
        for column in self.plan.columns:
            feature = column.feature
            n = len(feature.parts) if isinstance(feature, DateFeature) else 0
            n = 1 if isinstance(feature, NumberFeature) else n
            for j in list(column.inputs)[:n]:
                centers[j] = np.float32(ranges[j].mean())
        return centers

    @cached_property
    def trees(self) -> list[list[RealNode]]:
        """The nodes of each tree in the order of evaluation."""
        return [self._nodes(tree) for tree in self.plan.trees]

    def _nodes(self, tree: NeuralTree) -> list[RealNode]:
        """Return the nodes, with the scales and offsets of activations as part of the weights."""
        order, k = evaluation_order(tree), tree.n_outputs
        forms = [activation_form(tree, i) for i in range(tree.parent.size)]
        found = []
        for i in order.nodes:
            form = forms[i]
            kind, gain, shift = form.kind, form.gain, form.shift
            if kind == "tanh":  # 2 / (1 + exp(-2 t)) - 1
                kind, gain, shift = "logistic", -2.0 * gain, -2.0 * shift
            elif kind == "pieces" and form.slope == 1.0:
                kind = "linear"
            bias = float(tree.bias[i])
            children = []
            for c in order.children[i]:
                weight = float(tree.edge[c - k])
                offset, unit = _affine(forms[c])
                bias += weight * offset
                children.append((c, gain * weight * unit))
            leaves = []
            for j in range(tree.leaf_start[i], tree.leaf_start[i + 1]):
                at, weight = int(tree.leaf_input[j]), float(tree.leaf_weight[j])
                bias += weight * float(self.centers[at])
                leaves.append((at, gain * weight))
            found.append(
                RealNode(
                    i,
                    kind,
                    gain * bias + shift,
                    children[::-1],
                    leaves,
                    form.slope,
                    i < k,
                    *(_affine(form) if i < k else (0.0, 1.0)),
                )
            )
        return found

    @cached_property
    def kinds(self) -> set[str]:
        """The activations."""
        return {node.kind for tree in self.trees for node in tree}

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(len(tree) for tree in self.trees)

    # -- code ----------------------------------------------------------------------------

    def _real(self, value: float) -> str:
        return real(value, self.is_float)

    @property
    def exp(self) -> str:
        """The name of the exponential function."""
        if not self.has_libm:
            return f"{self.name}_exp"
        return "expf" if self.is_float else "exp"

    def _fill(self, template: str, **more: object) -> str:
        names = {
            "NAME": self.name,
            "UPPER": self.name.upper(),
            "public": self.public,
            "real": self.type,
            "one": self._real(1.0),
            "half": self._real(0.5),
            "exp": self.exp,
            "n_outputs": self.plan.n_outputs,
            "n_trees": len(self.plan.trees),
        }
        return Template(template).substitute(names, **more)

    def types(self) -> str:
        """Return the types and constants that users need."""
        return self._fill(
            "/* A feature; NaN is a missing value. */\ntypedef $real ${NAME}_input;\n"
        )

    def header_includes(self) -> list[str]:
        """Return the headers that the header needs."""
        return []

    def source_includes(self) -> list[str]:
        """Return the headers that the source needs."""
        return ["<math.h>"] * self.has_libm + ["<stdint.h>"] * (not self.straight)

    def prototypes(self) -> list[tuple[str, str]]:
        """Return the declarations of the functions of the source, each with a comment."""
        row = f"const {self.type} *x"
        task, k = self.plan.task, self.plan.n_outputs
        if task == "classes":
            found = [(f"int {self.name}_predict({row})", "The position of the predicted class.")]
        elif task == "labels":
            declaration = f"void {self.name}_predict({row}, unsigned char *out)"
            found = [(declaration, "1 for each label of the row.")]
        elif k == 1:
            found = [(f"{self.type} {self.name}_predict({row})", "The predicted number.")]
        else:
            declaration = f"void {self.name}_predict({row}, {self.type} *out)"
            found = [(declaration, "The predicted numbers.")]
        if task != "numbers":
            declaration = f"void {self.name}_predict_proba({row}, {self.type} *out)"
            found.append((declaration, "The probabilities."))
        return found

    def helpers(self) -> str:
        """Return functions that are not part of the source."""
        return ""

    def source(self) -> str:
        """Return tables and functions."""
        parts = [self._own_exp()] if not self.has_libm else []
        parts += [self._fill(text.LOGISTIC)] * ("logistic" in self.kinds)
        parts += [self._fill(text.BELL)] * ("bell" in self.kinds)
        parts += [
            self._encode(),
            self._tables_and_loop() if not self.straight else self._written_out(),
        ]
        parts.append(self._combination())
        return "\n".join(part for part in parts if part)

    def _own_exp(self) -> str:
        degree = 6 if self.is_float else 13
        polynomial = self._real(1.0 / math.factorial(degree))
        for i in reversed(range(degree)):
            polynomial = f"({polynomial} * r + {self._real(1.0 / math.factorial(i))})"
        high = float(np.float32(0.693359375)) if self.is_float else 6.93147180369123816490e-01
        low = math.log(2) - high if self.is_float else 1.90821492927058770002e-10
        return self._fill(
            text.OWN_EXP,
            lowest=self._real(-87.0 if self.is_float else -708.0),
            highest=self._real(88.0 if self.is_float else 709.0),
            infinity=self._real(3.0e38 if self.is_float else 1.7e308),
            per_ln2=self._real(1.0 / math.log(2)),
            minus_half=self._real(-0.5),
            ln2_high=self._real(high),
            ln2_low=self._real(low),
            polynomial=polynomial,
            two=self._real(2.0),
        )

    def _encode(self) -> str:
        centers = self.centers

        def literal(j: int, value: float) -> str:
            return self._real(value - float(centers[j]))

        encoding = Encoding(
            self.type,
            literal,
            lambda value: f"{value} != {value}",
            lambda value: f"(int){value}",
            centers=tuple(self._real(c) if c else "" for c in centers.tolist()),
        )
        return encode_function(self.features, self.name, self.type, encoding)

    def _written_out(self) -> str:
        """Return a function for each tree, with a statement for each node."""
        parts = []
        for t, tree in enumerate(self.trees):
            lines = []
            for node in self._by_level(tree):
                terms = [self._real(node.bias)]
                terms += [f"{self._real(w)} * v{c}" for c, w in node.children]
                terms += [f"{self._real(w)} * in[{j}]" for j, w in node.leaves]
                value = " + ".join(terms).replace("+ -", "- ")
                place = f"y[{node.number}]" if node.is_output else f"v{node.number}"
                if node.kind in ("logistic", "bell"):
                    value = f"{self.name}_{node.kind}({value})"
                begin = "" if node.is_output else f"{self.type} "
                lines.append(f"{begin}{place} = {value};")
                if node.kind == "pieces":
                    slope = self._real(node.slope)
                    lines.append(f"{place} = {place} > 0 ? {place} : {slope} * {place};")
                if (node.offset, node.unit) != (0.0, 1.0):
                    unit, offset = self._real(node.unit), self._real(node.offset)
                    lines.append(f"{place} = {offset} + {unit} * {place};")
            body = "\n".join(f"    {line}" for line in lines)
            head = f"static inline void ${{NAME}}_tree{t}(const $real *in, $real *y)"
            parts.append(self._fill(head) + f"\n{{\n{body}\n}}\n")
        return "\n".join(parts)

    def _by_level(self, tree: list[RealNode]) -> list[RealNode]:
        """Return the nodes in the order of their statements.

        Processors of computers evaluate nodes of the same level side by side. Those that have no
        double evaluate one after the other, and memory is scarce: few values are kept at a time.
        """
        return tree if self.is_float else sorted(tree, key=lambda node: -node.number)

    def _tables_and_loop(self) -> str:
        """Return all trees as two arrays, and the function that evaluates one."""
        shapes: list[int] = []
        weights: list[float] = []
        has_affine = any(
            (node.offset, node.unit) != (0.0, 1.0) for tree in self.trees for node in tree
        )
        most = 0
        for tree in self.trees:
            n = 0
            for node in tree:
                if len(node.children) > MOST_CHILDREN or len(node.leaves) > MOST_LEAVES:
                    raise ValueError(
                        f"a node has {len(node.children)} children and {len(node.leaves)} leaves: "
                        "too many for C code"
                    )
                kind = _KINDS[node.kind] + _IS_OUTPUT * node.is_output
                shapes += [len(node.children) * 8 + kind, len(node.leaves)]
                shapes += [j for j, _ in node.leaves]
                weights += [node.bias, *(w for _, w in node.children + node.leaves)]
                weights += [node.slope] * (node.kind == "pieces")
                weights += [node.offset, node.unit] * (has_affine and node.is_output)
                n += (not node.is_output) - len(node.children)
                most = max(most, n)
        cases = {
            "linear": "case 0:\n            break;",
            "logistic": "case 1:\n            z = ${NAME}_logistic(z);\n            break;",
            "bell": "case 2:\n            z = ${NAME}_bell(z);\n            break;",
            "pieces": "case 3:\n            z = z > 0 ? z : *w * z;\n            w++;\n"
            "            break;",
        }
        listed = "\n".join(
            f"        {self._fill(case)}" for kind, case in cases.items() if kind in self.kinds
        )
        loop = self._fill(
            text.LOOP,
            n_stacked=max(1, most),
            cases=listed,
            affine=" * w[1] + w[0];\n            w += 2" if has_affine else "",
        )
        return "\n".join(
            [
                array(f"static const uint16_t {self.name}_shapes[{len(shapes)}]", shapes),
                array(
                    f"static const {self.type} {self.name}_weights[{len(weights)}]",
                    map(self._real, weights),
                ),
                "",
                loop,
            ]
        )

    # -- what becomes of the outputs -----------------------------------------------------

    def _combination(self) -> str:
        plan, n = self.plan, len(self.plan.trees)
        row = self._fill("    $real in[$n_inputs];\n", n_inputs=plan.n_inputs)
        encode = f"    {self.name}_encode(x, in);\n"
        begin = (
            ""
            if self.straight
            else self._fill(
                "    const uint16_t *shape = ${NAME}_shapes;\n"
                "    const $real *weight = ${NAME}_weights;\n"
            )
        )
        parts = []
        if plan.argmax_of_outputs:
            call = self._fill(
                "${NAME}_tree0(in, y);"
                if self.straight
                else "${NAME}_tree(&shape, &weight, in, y);"
            )
            parts.append(self._fill(text.OUTPUTS, begin=begin, row=row, encode=encode, call=call))
            parts.append(self._fill(text.ARGMAX_OF_OUTPUTS))
        combine = plan.combine if plan.combine in text.ADD else "sum"
        smallest = max(plan.smallest, float(np.finfo(np.float32).tiny) if self.is_float else 0.0)
        parts.append(self._fill(text.ADD[combine], smallest=self._real(smallest)))
        calls = (
            self._fill(text.ALL_TREES)
            if not self.straight
            else "".join(
                self._fill("    ${NAME}_tree$i(in, y);\n    ${NAME}_add(y, out);\n", i=i)
                for i in range(n)
            )
        )
        parts.append(
            self._fill(
                text.MEANS,
                begin=begin,
                row=row,
                encode=encode,
                calls=calls,
                tree="" if self.straight else ", tree",
            )
        )
        if plan.task == "classes":
            parts += [] if plan.argmax_of_outputs else [self._fill(text.ARGMAX_OF_MEANS)]
            parts.append(self._fill(text.PROBABILITIES))
        elif plan.task == "labels":
            parts += [self._fill(text.LABELS), self._fill(text.PROBABILITIES)]
        elif plan.n_outputs == 1:
            result = f"{self.exp}(y)" if plan.combine == "exp" else "y"
            parts.append(self._fill(text.ONE_NUMBER, result=result))
        elif plan.order:
            parts.append(self._fill(text.SORTED, order=", ".join(map(str, plan.order))))
        else:
            result = f"{self.exp}(out[k])" if plan.combine == "exp" else "out[k]"
            parts.append(self._fill(text.NUMBERS, result=result))
        return "\n".join(parts)


def _affine(form: Form) -> tuple[float, float]:
    """Return offset and unit of an activation whose nodes compute 1 / (1 + exp(z)) and the like."""
    if form.kind == "pieces":
        return form.offset, form.unit
    return form.offset - form.unit, 2.0 * form.unit  # 0 and 1 for sigmoids: no digits are lost
