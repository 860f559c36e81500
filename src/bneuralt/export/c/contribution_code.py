"""C code that attributes predictions to features: the rescale rule of `explain`.

Every leaf has one path to one output. Its contribution is the difference to the baseline row times
the weights on the path and, at each node, the quotient of the differences of its value and its sum.
"""

from __future__ import annotations

from bneuralt._typing import FloatArray
from bneuralt.export.c.literals import array, c_templates
from bneuralt.export.c.model_code import PublicFunction
from bneuralt.export.c.real_code import FUNCTIONS, RealCode, RealNode
from bneuralt.export.cell_reads import cell_reads
from bneuralt.export.contributions import explained_link, mean_row
from bneuralt.expressions import OUTPUTS
from bneuralt.tree.walk import outputs_above

__all__ = ["contributions_code"]

templates = c_templates("model.c")


def contributions_code(code: RealCode) -> tuple[str, PublicFunction]:
    """Return tables and functions, and the function that attributes predictions to features."""
    model, number = code.model, code.math.number
    if explained_link(model) != OUTPUTS:
        raise ValueError(
            f"contributions in C are to sums of trees, and the predictions of this {model.kind} "
            "are a function of them: use another target, or explain"
        )
    baseline = mean_row(model)
    numbers = {kind: i for i, kind in enumerate(FUNCTIONS)}
    curves: dict[tuple[str, tuple[float, ...]], int] = {}  # with their constants
    tables, calls = [], []
    for t, nodes in enumerate(code.trees):
        by_number = sorted(nodes, key=lambda node: node.number)
        n = len(by_number)
        above = {c: (node.number, weight) for node in by_number for c, weight in node.children}
        top = outputs_above(model.trees[t].parent)
        sums = _sums(by_number, above, baseline - code.centers)
        node_rows, number_rows, leaf_rows, weights = [], [], [], []
        for node in by_number:
            parent, weight = above.get(node.number, (0, node.unit))
            slope = node.constants[0] if node.kind == "pieces" else 1.0
            kind = numbers.get(node.kind)
            if kind is None:
                curve = node.kind, node.constants
                kind = curves.setdefault(curve, len(numbers) + len(curves))
            node_rows.append(f"{{{kind}, {parent}, {top[node.number]}}}")
            row = (node.bias, weight, slope, sums[node.number])
            number_rows.append("{" + ", ".join(map(number, row)) + "}")
            leaf_rows += [f"{{{node.number}, {j}}}" for j, _ in node.leaves]
            weights += [number(weight) for _, weight in node.leaves]
        m = len(weights)
        if max(n, m) > 2**16 - 1:
            raise ValueError(f"a tree has {n:,} nodes and {m:,} leaves: too many for contributions")
        prefix = f"{code.name}_c{t}"
        tables += [
            f"static const uint16_t {prefix}_size[2] = {{{n}, {m}}};",
            array(f"static const uint16_t {prefix}_node[{n}][3]", node_rows),
            array(f"static const {code.math.type} {prefix}_number[{n}][4]", number_rows),
            array(f"static const uint16_t {prefix}_leaf[{m}][2]", leaf_rows),
            array(f"static const {code.math.type} {prefix}_weight[{m}]", weights),
        ]
        parts = ", ".join(f"{prefix}_{t}" for t in ("size", "node", "number", "leaf", "weight"))
        calls.append(f"    {code.name}_add_contributions({parts}, in, out);\n")
    cases = [
        f"           : kind == {i} ? {code.name}_{kind}({', '.join(['z', *map(number, values)])})\n"
        for (kind, values), i in curves.items()
    ]
    names: dict[str, object] = {
        "small": number(1e-3 if code.math.is_float else 1e-5),
        "curves": "".join(cases),
        "n_features": len(code.row.features),
        "most_nodes": max(tree.parent.size for tree in model.trees),
        "baseline": ", ".join(map(number, (baseline - code.centers).tolist())),
        "feature": ", ".join(map(str, _feature_of_inputs(code))),
        "tables": "\n".join(tables),
        "calls": "".join(calls),
    }
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


def _feature_of_inputs(code: RealCode) -> list[int]:
    """Return the position of the feature in a row of C to which each input belongs."""
    features = []
    for column, inputs in enumerate(entry.inputs for entry in code.model.columns):
        for j in inputs:
            reads = cell_reads(code.model.inputs[j].expression)
            features.append(code.row.place(column, (*reads.values, *reads.gaps, None)[0]))
    return features
