"""C code that attributes predictions to features: the rescale rule of `bneuralt.explain`.

Every leaf has one path to one output. Its contribution is the difference to the baseline row times
the weights on the path and, at each node, the quotient of the differences of its value and its sum.
"""

from __future__ import annotations

from string import Template

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.c_features import CFeature
from bneuralt.export.c_real import RealCode, RealNode
from bneuralt.export.c_text import array
from bneuralt.export.plan import Plan
from bneuralt.tables.features import CategoryFeature, DateFeature
from bneuralt.tree.walk import outputs_above

__all__ = ["can_attribute", "contributions_code", "contributions_prototype"]

_KINDS = {"linear": 0, "logistic": 1, "bell": 2, "pieces": 3}

CODE = """\
static inline $real ${NAME}_activation(int kind, $real slope, $real z)
{
    return kind == 1   ? $one / ($one + $exp(z))
           : kind == 2 ? $exp(-z * z)
           : kind == 3 ? (z > 0 ? z : slope * z)
                       : z;
}

/* The quotient of differences of an activation, or its slope where they are almost 0. */
static inline $real ${NAME}_quotient(int kind, $real slope, $real z, $real from)
{
    const $real dz = z - from, middle = (z + from) * $half;
    if (dz > $small || dz < -$small)
        return (${NAME}_activation(kind, slope, z) - ${NAME}_activation(kind, slope, from)) / dz;
    if (kind == 1) {
        const $real s = ${NAME}_activation(1, slope, middle);
        return -s * ($one - s);
    }
    return kind == 2 ? -2 * middle * $exp(-middle * middle) : kind == 3 && z <= 0 ? slope : $one;
}

/* Adds the contributions of one tree: numbers of nodes and leaves, nodes, leaves, numbers. */
static inline void ${NAME}_add_contributions(const uint16_t *size, const uint16_t (*node)[3],
                                             const $real (*number)[4], const uint16_t (*leaf)[2],
                                             const $real *weight, const $real *in, $real *out)
{
    static const $real baseline[$n_inputs] = {$baseline};
    static const uint16_t feature[$n_inputs] = {$feature};
    $real z[$most_nodes], factor[$most_nodes];
    int i;
    for (i = 0; i < size[0]; i++)
        z[i] = number[i][0];
    for (i = 0; i < size[1]; i++)
        z[leaf[i][0]] += weight[i] * in[leaf[i][1]];
    for (i = size[0] - 1; i >= $n_outputs; i--)
        z[node[i][1]] += number[i][1] * ${NAME}_activation(node[i][0], number[i][2], z[i]);
    for (i = 0; i < size[0]; i++) {
        factor[i] = number[i][1] * ${NAME}_quotient(node[i][0], number[i][2], z[i], number[i][3]);
        if (i >= $n_outputs)
            factor[i] *= factor[node[i][1]];
    }
    for (i = 0; i < size[1]; i++) {
        const int j = leaf[i][1];
        out[node[leaf[i][0]][2] * $n_features + feature[j]] +=
            factor[leaf[i][0]] * weight[i] * (in[j] - baseline[j]) / $n_trees;
    }
}

$tables
${public}void ${NAME}_contributions(const $real *x, $real *out)
{
    $real in[$n_inputs];
    int i;
    for (i = 0; i < $n_features * $n_outputs; i++)
        out[i] = 0;
    ${NAME}_encode(x, in);
$calls}
"""


def can_attribute(plan: Plan) -> bool:
    """Return whether predictions are sums or means of linear outputs."""
    return plan.combine == "mean" or plan.argmax_of_outputs


def contributions_prototype(code: RealCode) -> tuple[str, str]:
    """Return the declaration of the function, with a comment."""
    what = "score of each class" if code.plan.task == "classes" else "prediction"
    size = "N_FEATURES" if code.plan.n_outputs == 1 else "N_OUTPUTS][N_FEATURES"
    return (
        f"void {code.name}_contributions(const {code.type} *x, {code.type} *out)",
        f"How much each feature adds to the {what}, compared with the mean of the training rows: "
        f"out[{size}].",
    )


def contributions_code(code: RealCode) -> str:
    """Return the function that attributes predictions, and its tables."""
    plan = code.plan
    if not can_attribute(plan):
        raise ValueError(
            "contributions are for single trees with scores and for means of numbers; the outputs "
            f"of this model are combined by {plan.combine!r}"
        )
    baseline = _baseline(plan)
    tables, calls = [], []
    for t, nodes in enumerate(code.trees):
        by_number = sorted(nodes, key=lambda node: node.number)
        n = len(by_number)
        above = {c: (node.number, weight) for node in by_number for c, weight in node.children}
        tree = plan.trees[t]
        top = outputs_above(tree.parent)
        sums = _sums(by_number, above, baseline - code.centers)
        node_rows, number_rows, leaf_rows, weights = [], [], [], []
        for node in by_number:
            parent, weight = above.get(node.number, (0, node.unit))
            node_rows.append(f"{{{_KINDS[node.kind]}, {parent}, {top[node.number]}}}")
            numbers = (node.bias, weight, node.slope, sums[node.number])
            number_rows.append("{" + ", ".join(map(code._real, numbers)) + "}")
            leaf_rows += [f"{{{node.number}, {j}}}" for j, _ in node.leaves]
            weights += [code._real(weight) for _, weight in node.leaves]
        m = len(weights)
        if max(n, m) > 2**16 - 1:
            raise ValueError(f"a tree has {n:,} nodes and {m:,} leaves: too many for contributions")
        prefix = f"{code.name}_c{t}"
        tables += [
            f"static const uint16_t {prefix}_size[2] = {{{n}, {m}}};",
            array(f"static const uint16_t {prefix}_node[{n}][3]", node_rows),
            array(f"static const {code.type} {prefix}_number[{n}][4]", number_rows),
            array(f"static const uint16_t {prefix}_leaf[{m}][2]", leaf_rows),
            array(f"static const {code.type} {prefix}_weight[{m}]", weights),
        ]
        names = ("size", "node", "number", "leaf", "weight")
        parts = ", ".join(f"{prefix}_{part}" for part in names)
        calls.append(f"    {code.name}_add_contributions({parts}, in, out);\n")
    return Template(CODE).substitute(
        NAME=code.name,
        public=code.public,
        real=code.type,
        exp=code.exp,
        one=code._real(1.0),
        half=code._real(0.5),
        small=code._real(1e-3 if code.is_float else 1e-5),
        n_inputs=plan.n_inputs,
        n_features=len(code.features),
        n_outputs=plan.n_outputs,
        n_trees=len(plan.trees),
        most_nodes=max(tree.parent.size for tree in plan.trees),
        baseline=", ".join(map(code._real, (baseline - code.centers).tolist())),
        feature=", ".join(map(str, _feature_of_inputs(plan, code.features))),
        tables="\n".join(tables) + "\n",
        calls="".join(calls),
    )


def _sums(
    nodes: list[RealNode], above: dict[int, tuple[int, float]], inputs: FloatArray
) -> list[float]:
    """Return the weighted sum of each node, numbered from the outputs on, for a row of inputs."""
    sums = [node.bias + sum(w * float(inputs[j]) for j, w in node.leaves) for node in nodes]
    for node in reversed(nodes):
        if node.number in above:
            parent, weight = above[node.number]
            sums[parent] += weight * node.value(sums[node.number])
    return sums


def _baseline(plan: Plan) -> FloatArray:
    """Return the mean of each input in training."""
    means = np.zeros(plan.n_inputs)
    for column in plan.columns:
        feature, inputs = column.feature, list(column.inputs)
        if isinstance(feature, CategoryFeature):
            means[inputs] = feature.shares[len(feature.shares) - len(inputs) :]
        elif isinstance(feature, DateFeature):
            means[inputs[: len(feature.parts)]] = feature.means
        elif feature.mean is None:
            raise ValueError("contributions need the means of training rows: fit the model again")
        else:
            means[inputs[0]] = feature.mean
    return means


def _feature_of_inputs(plan: Plan, features: list[CFeature]) -> list[int]:
    """Return the feature, as the C code has them, to which each input belongs."""
    found = [0] * plan.n_inputs
    for i, feature in reversed(list(enumerate(features))):
        inputs = list(feature.column.inputs)
        for j in inputs if feature.input is None or not feature.part else [feature.input]:
            found[j] = i
    for i, feature in enumerate(features):
        if feature.part:
            found[feature.column.inputs[feature.part]] = i
    return found
