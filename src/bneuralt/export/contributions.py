"""Contributions of columns to predictions in exports: the rescale rule of `explain`.

Every leaf has one path to one output. Its contribution is the difference to the baseline row times
the weights on the path and, at each node, the quotient of the differences of its value and its sum.
The baseline is the mean of the training rows, so that sums and values of its nodes are constants.
"""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray
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
    variable,
    without_order,
)
from bneuralt.model import Model
from bneuralt.training.losses import LINKS
from bneuralt.tree import NeuralTree

__all__ = [
    "SMALL",
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
