"""C code that attributes predictions to features: the rescale rule of `explain`.

Every leaf has one path to one output. Its contribution is the difference to the baseline row times
the weights on the path and, at each node, the quotient of the differences of its value and its sum.
"""

from __future__ import annotations

import numpy as np

from bneuralt.export.c.literals import array, c_templates
from bneuralt.export.c.model_code import PublicFunction
from bneuralt.export.c.real_code import RealCode
from bneuralt.export.cell_reads import cell_reads
from bneuralt.export.contributions import (
    SMALL,
    baseline_sums,
    explained_link,
    mean_row,
    start_of,
)
from bneuralt.expressions import OUTPUTS, substitute, variable
from bneuralt.tree.walk import outputs_above

__all__ = ["contributions_code"]

templates = c_templates("model.c")


def contributions_code(code: RealCode) -> tuple[str, PublicFunction]:
    """Return tables and functions, and the function that attributes predictions to features."""
    model, number = code.model, code.math.number
    link = explained_link(model)
    baseline = mean_row(model) - code.centers
    kinds = dict.fromkeys(node.activation for nodes in code.trees for node in nodes)
    number_of = {activation: i for i, activation in enumerate(kinds)}
    tables, calls = [], []
    for t, nodes in enumerate(code.trees):
        by_number = sorted(nodes, key=lambda node: node.position)
        above = {c: (node.position, weight) for node in nodes for weight, c in node.children}
        top, sums = outputs_above(model.trees[t].parent), baseline_sums(nodes, baseline)
        node_rows, number_rows, leaf_rows, weights = [], [], [], []
        for node in by_number:
            j = node.position
            parent, weight = above.get(j, (0, 1.0))
            node_rows.append(f"{{{number_of[node.activation]}, {parent}, {top[j]}}}")
            row = (node.bias, weight, *start_of(node.activation, sums[j]))
            number_rows.append("{" + ", ".join(map(number, row)) + "}")
            leaf_rows += [f"{{{j}, {i}}}" for _, i in node.leaves]
            weights += [number(weight) for weight, _ in node.leaves]
        n, m = len(nodes), len(weights)
        if max(n, m) > 2**16 - 1:
            raise ValueError(f"a tree has {n:,} nodes and {m:,} leaves: too many for contributions")
        prefix = f"{code.name}_c{t}"
        tables += [
            f"static const uint16_t {prefix}_size[2] = {{{n}, {m}}};",
            array(f"static const uint16_t {prefix}_node[{n}][3]", node_rows),
            array(f"static const {code.math.type} {prefix}_number[{n}][6]", number_rows),
            array(f"static const uint16_t {prefix}_leaf[{m}][2]", leaf_rows),
            array(f"static const {code.math.type} {prefix}_weight[{m}]", weights),
        ]
        parts = ", ".join(f"{prefix}_{t}" for t in ("size", "node", "number", "leaf", "weight"))
        calls.append(f"    {code.name}_add_contributions({parts}, in, out, mean);\n")
    *cases, last = map(code.math.text, kinds)
    chosen = "".join(f"kind == {i} ? {text}\n           : " for i, text in enumerate(cases))
    names: dict[str, object] = {
        "small": number(SMALL[4 if code.math.is_float else 8]),
        "activations": chosen + last,
        "n_features": len(code.row.features),
        "most_nodes": max(tree.parent.size for tree in model.trees),
        "baseline": ", ".join(map(number, baseline.tolist())),
        "feature": ", ".join(map(str, _feature_of_inputs(code))),
        "tables": "\n".join(tables),
        "calls": "".join(calls),
        "link": "",
    }
    if link != OUTPUTS:
        formula = substitute(link, {"outputs": variable("z")})
        means = model.outputs(mean_row(model)[np.newaxis]).mean(axis=0)[0]
        starts = (map(number, start_of(formula, mean)) for mean in means.tolist())
        listed = ", ".join("{" + ", ".join(start) + "}" for start in starts)
        text = code.math.text(formula)
        names["link"] = code.fill(templates.THROUGH_LINK, **names, starts=listed, of_mean=text)
    scores = {"classes": "score of each class", "labels": "score of each label"}
    what = scores.get(model.task, "prediction")
    size = "N_FEATURES" if model.n_outputs == 1 else "N_OUTPUTS][N_FEATURES"
    function = PublicFunction(
        code.fill("void ${NAME}_contributions(const $real *x, $real *out)"),
        f"How much each feature adds to the {what}, compared with the mean of the training rows: "
        f"out[{size}].",
        code.fill(templates.CONTRIBUTIONS.rstrip("\n"), **names),
    )
    return code.fill(templates.CODE, **names), function


def _feature_of_inputs(code: RealCode) -> list[int]:
    """Return the position of the feature in a row of C to which each input belongs."""
    features = []
    for column, inputs in enumerate(entry.inputs for entry in code.model.columns):
        for j in inputs:
            reads = cell_reads(code.model.inputs[j].expression)
            features.append(code.row.place(column, (*reads.values, *reads.gaps, None)[0]))
    return features
