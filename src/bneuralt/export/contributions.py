"""Contributions of columns to predictions in exports: the rescale rule of `explain`.

Every leaf has one path to one output. Its contribution is the difference to the baseline row times
the weights on the path and, at each node, the quotient of the differences of its value and its sum.
The baseline is the mean of the training rows, so that sums and values of its nodes are constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.export.nodes import Node
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
    variable,
    without_order,
)
from bneuralt.model import Model
from bneuralt.training.losses import LINKS

__all__ = [
    "SMALL",
    "Start",
    "baseline_sums",
    "explained_link",
    "is_difference",
    "mean_row",
    "quotient",
    "start_of",
]

#: Below these differences of two sums, by the bytes of a number, the line through the slope is more
#: exact than the quotient.
SMALL = {4: 1e-2, 8: 1e-6}

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


class Start(NamedTuple):
    """Where the difference of a function begins: argument, value, slope, and half its change."""

    argument: float
    value: float
    slope: float
    bend: float


def start_of(formula: Expression, argument: float) -> Start:
    """Return what the quotient of a function of z needs to know of its beginning.

    Examples
    --------
    >>> from bneuralt.expressions import square
    >>> start_of(square(_Z), 3.0)
    Start(argument=3.0, value=9.0, slope=6.0, bend=1.0)
    """
    at = {"z": np.float64(argument)}
    first = derivative(formula, "z")
    value, slope, change = (
        float(evaluate(each, at)) for each in (formula, first, derivative(first, "z"))
    )
    return Start(float(argument), value, slope, change / 2)


def quotient(formula: Expression, start: float, small: float = SMALL[8]) -> Expression:
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
    _, value, first, bend = start_of(formula, start)
    difference = _Z - start
    near = first + bend * difference
    return select(greater(absolute(difference), small), (_H - value) / difference, near)


def baseline_sums(nodes: Sequence[Node], baseline: FloatArray) -> dict[int, float]:
    """Return the sum of each node, by its position, for a row of inputs."""
    sums: dict[int, float] = {}
    values: dict[int, float] = {}
    for node in nodes:
        total = node.bias + sum(weight * float(baseline[i]) for weight, i in node.leaves)
        total += sum(weight * values[child] for weight, child in node.children)
        sums[node.position] = total
        values[node.position] = float(evaluate(node.activation, {"z": np.float64(total)}))
    return sums
