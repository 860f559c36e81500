"""Contributions of columns to predictions in generated code: the rescale rule of `explain`.

Every leaf has one path to one output. Its contribution is the difference to the baseline row times
the weights on the path and, at each node, the quotient of the differences of its value and its sum.
The baseline is the mean of the training rows, so that sums and values of its nodes are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.translation import Code, Define, Translator
from bneuralt.expressions import (
    OUTPUTS,
    Expression,
    absolute,
    constant,
    derivative,
    evaluate,
    greater,
    is_elementwise,
    select,
    slope,
    substitute,
    variable,
    without_order,
)
from bneuralt.model import Model
from bneuralt.training.losses import LINKS
from bneuralt.tree import NeuralTree
from bneuralt.tree.walk import outputs_above

__all__ = [
    "contribution_codes",
    "explained_link",
    "is_difference",
    "mean_row",
    "node_quotients",
    "quotient",
]

#: Below this difference of two sums, the line through the slope is more exact than the quotient.
SMALL = 1e-6

_Z, _H = variable("z"), variable("h")


def explained_link(model: Model) -> Expression:
    """Return the function from mean outputs to what contributions add up to.

    They are those of `explain`: of numbers to the predictions, before quantiles are sorted; of
    classes and labels to the scores, where these are outputs of one tree or their mean.

    Raises
    ------
    ValueError
        Predictions are means of probabilities, or not a function of single outputs.
    """
    link = without_order(model.link)
    if model.task == "numbers":
        if is_elementwise(link) and (model.averages == "outputs" or link == OUTPUTS):
            return link
    elif model.link == LINKS[model.task] and (len(model.trees) == 1 or model.averages == "outputs"):
        return OUTPUTS
    raise ValueError(
        "contributions are for means of numbers and for the scores of single trees or of forests "
        f"with interaction_cst; the predictions of this {model.kind} are neither"
    )


def mean_row(model: Model) -> FloatArray:
    """Return the inputs of the mean training row, with which predictions are compared."""
    if model.mean_inputs is None:
        raise ValueError(
            "contributions need the means of the training rows, which this model does not have: "
            "fit the model again"
        )
    return model.mean_inputs


def is_difference(model: Model) -> bool:
    """Return whether contributions are to the score of the second class against the first."""
    return model.task == "classes" and model.n_outputs == 2


def quotient(formula: Expression, start: float, small: float = SMALL) -> Expression:
    """Return the quotient of the differences of a function and of its argument.

    Parameters
    ----------
    formula : Expression
        Of z.
    start : float
        The argument that the difference is to.
    small : float
        For smaller differences of the argument, the quotient is the slope in their middle.

    Returns
    -------
    Expression
        Of z and of h, the value of the function.

    Examples
    --------
    >>> from bneuralt.expressions import square
    >>> float(evaluate(quotient(square(_Z), 1.0), {"z": 3.0, "h": 9.0}))
    4.0
    """
    if formula == _Z:
        return constant(1.0)
    at_start = {"z": np.float64(start)}
    value = float(evaluate(formula, at_start))
    first = float(slope(formula, at_start, "z"))
    second = float(evaluate(derivative(derivative(formula, "z"), "z"), at_start))
    difference = _Z - start
    near = first + (second / 2) * difference
    return select(greater(absolute(difference), small), (_H - value) / difference, near)


def node_quotients(
    tree: NeuralTree, baseline: FloatArray, small: float = SMALL
) -> list[Expression]:
    """Return the quotient of each node; see `quotient`."""
    formulas = tree.node_expressions
    sums = tree.bias.astype(np.float64)
    np.add.at(sums, tree.leaf_parent, tree.leaf_weight * baseline[tree.leaf_input])
    for node in range(tree.parent.size - 1, tree.n_outputs - 1, -1):
        value = float(evaluate(formulas[node], {"z": np.float64(sums[node])}))
        sums[tree.parent[node]] += tree.edge[node - tree.n_outputs] * value
    return [
        quotient(formula, start, small)
        for formula, start in zip(formulas, sums.tolist(), strict=True)
    ]


def contribution_codes(
    language: Translator,
    model: Model,
    nodes: Sequence[Mapping[int, tuple[Code, Code]]],
    outputs: Sequence[Code],
    input_code: Callable[[int], Code],
    define: Define,
) -> list[list[Code]]:
    """Return the code of the contribution of each column to each output that is explained.

    Parameters
    ----------
    language : Translator
    model : Model
    nodes : sequence of dict
        For each tree: position of a node -> code of its sum, and of its value.
    outputs : sequence of Code
        The mean outputs.
    input_code : callable
        From the position of an input to its code.
    define : callable
        As in `Translator.vector`.
    """
    link, baseline = explained_link(model), mean_row(model)
    k, n_columns = model.n_outputs, len(model.columns)
    totals: list[list[list[Code]]] = [[[] for _ in range(n_columns)] for _ in range(k)]
    for t, tree in enumerate(model.trees):
        factors = _factors(language, tree, node_quotients(tree, baseline), nodes[t], define, t)
        output = outputs_above(tree.parent)[tree.leaf_parent].tolist()
        terms: dict[tuple[int, int], list[tuple[float, Code | None]]] = {}
        leaves = zip(output, tree.leaf_input.tolist(), tree.leaf_weight.tolist(),
                     tree.leaf_parent.tolist(), strict=True)  # fmt: skip
        for j, i, weight, node in leaves:
            terms.setdefault((j, i), []).append((weight, factors[node]))
        for (j, i), listed in terms.items():
            bias = sum(weight for weight, factor in listed if factor is None)
            rest = [(weight, factor) for weight, factor in listed if factor is not None]
            difference = language.weighted_sum(-float(baseline[i]), [(1.0, input_code(i))])
            product = language.product(language.weighted_sum(bias, rest), difference)
            totals[j][int(model.column_of_input[i])].append(language.bounded(product))
    n_trees = language.number(float(len(model.trees)))
    zero = language.number(0.0)
    values = [
        [language.total(terms) if terms else zero for terms in of_output] for of_output in totals
    ]
    if len(model.trees) > 1:
        values = [[language.quotient(code, n_trees) for code in row] for row in values]
    if link != OUTPUTS:
        secants = _secants(language, model, link, baseline, outputs, define)
        values = [
            [language.limited_product(code, secant) for code in row]
            for row, secant in zip(values, secants, strict=True)
        ]
    if is_difference(model):
        return [[language.difference(b, a) for a, b in zip(*values, strict=True)]]
    return values


def _factors(
    language: Translator,
    tree: NeuralTree,
    quotients: list[Expression],
    nodes: Mapping[int, tuple[Code, Code]],
    define: Define,
    t: int,
) -> list[Code | None]:
    """Return the code of the factor from each node to its output; None stands for 1."""
    factors: list[Code | None] = []
    for node, formula in enumerate(quotients):
        parts: list[Code] = []
        if node >= tree.n_outputs:
            above = factors[int(tree.parent[node])]
            parts = [language.number(float(tree.edge[node - tree.n_outputs]))]
            parts += [] if above is None else [above]
        if not formula.is_constant:
            z, h = nodes[node]
            parts.append(define(f"q{t}_{node}", language.scalar(formula, {"z": z, "h": h})))
        code = parts[0] if parts else None
        for part in parts[1:]:
            assert code is not None
            code = language.product(code, part)
        factors.append(None if code is None else define(f"f{t}_{node}", code))
    return factors


def _secants(
    language: Translator,
    model: Model,
    link: Expression,
    baseline: FloatArray,
    outputs: Sequence[Code],
    define: Define,
) -> list[Code]:
    """Return the factor of an elementwise link for each output."""
    formula = substitute(link, {"outputs": _Z})
    start = model.outputs(baseline[np.newaxis]).mean(axis=0)[0]
    return [
        define(
            f"s{j}",
            language.scalar(
                quotient(formula, float(start[j])),
                {"z": output, "h": language.scalar(formula, {"z": output})},
            ),
        )
        for j, output in enumerate(outputs)
    ]
