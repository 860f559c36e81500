"""Losses: the functions that training minimises.

The compiled core registers them. Each is a class here; ``Huber(delta=0.5)`` is a loss with another
value of its parameter. A loss compares the K outputs of a tree with the class of a row, with K
numbers, or with a single number for all outputs (`Pinball`, one output for each quantile).
`tests/reference` has the formulas with their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bneuralt import _core
from bneuralt._typing import FloatArray
from bneuralt.expressions import (
    OUTPUTS,
    Expression,
    evaluate,
    exp,
    greater,
    is_elementwise,
    largest,
    maximum,
    minimum,
    ordered,
    select,
    sigmoid,
    slope,
    substitute,
    total,
    variable,
)
from bneuralt.registry import Registered, classes_of, find

__all__ = [
    "CLASSIFICATION_LOSSES",
    "LINKS",
    "LOSSES",
    "NAMES",
    "REGRESSION_LOSSES",
    "SOFTMAX",
    "TARGETS",
    "TASKS",
    "TRAITS",
    "AbsoluteError",
    "BinaryCrossEntropy",
    "CrossEntropy",
    "Huber",
    "Loss",
    "Pinball",
    "Poisson",
    "SquaredError",
    "Traits",
    "check_loss",
    "check_targets",
    "get_loss",
    "shares",
]


#: Kinds of outputs: scores of classes, scores of independent labels, or numbers.
TASKS = ("classes", "labels", "numbers")

_POWERS = exp(OUTPUTS - largest(OUTPUTS))
SOFTMAX = _POWERS / total(_POWERS)

#: Links: functions of the linear outputs of a tree, unless a loss has its own.
LINKS: dict[str, Expression] = {
    "classes": SOFTMAX,
    "labels": sigmoid(OUTPUTS),
    "numbers": OUTPUTS,
}


def shares(smallest: float) -> Expression:
    """Return the link of outputs that are shares: each, at least `smallest`, of their sum."""
    positive = maximum(OUTPUTS, smallest)
    return positive / total(positive)


#: The target of each output; of classes 1 for the class of the row and 0 for the others.
TARGETS = variable("targets")

#: The second derivatives of a loss by outputs are ``diag(diagonal) - common common'``.
Curvature = tuple[FloatArray, FloatArray | None]


class Traits(NamedTuple):
    """Properties of a loss that the core does not need, or as expressions that exports need.

    Attributes
    ----------
    tasks : tuple of str
        The entries of `TASKS` that it can be used for.
    slope : Expression
        The derivative by each output: a vector expression of `OUTPUTS`, `TARGETS`, the parameters
        of the loss and ``n_outputs``.
    link : Expression, or callable from the loss to one
        Function of the linear outputs in the task "numbers".
    per_label : str or None
        The loss that replaces it for several labels.
    scaling : {"standard", "mean"} or None
        How numbers are scaled for training: to mean 0 and variance 1, to mean 1 (for outputs that
        are logarithms), or not at all.
    curvature : callable or None
        From the outputs to the second derivatives of the loss. By default the slope of the link,
        as for every loss whose link is its canonical one.
    """

    tasks: tuple[str, ...]
    slope: Expression
    link: Expression | Callable[[Any], Expression] = OUTPUTS
    per_label: str | None = None
    scaling: str | None = "standard"
    curvature: Callable[[FloatArray], Curvature] | None = None


def _softmax_curvature(outputs: FloatArray) -> Curvature:
    p = evaluate(SOFTMAX, {"outputs": outputs})
    return p, p


def _sigmoid_curvature(outputs: FloatArray) -> Curvature:
    return slope(LINKS["labels"], {"outputs": outputs}, "outputs"), None


def _sorted_quantiles(loss: Any) -> Expression:
    """Return the link of quantiles: they are sorted row by row.

    Where those of the trees cross, this can only lower the pinball loss (Chernozhukov,
    Fernandez-Val and Galichon, 2010).
    """
    if len(loss.quantiles) == 1:
        return OUTPUTS
    places = np.argsort(np.argsort(loss.quantiles, kind="stable"), kind="stable")
    return ordered(OUTPUTS, places.tolist())


_ABOVE, _BELOW = greater(OUTPUTS, TARGETS), greater(TARGETS, OUTPUTS)
_DIFFERENCE = OUTPUTS - TARGETS
_SMOOTHING, _DELTA, _QUANTILES = map(variable, ("label_smoothing", "delta", "quantiles"))


def _smoothed(n_classes: Expression | float) -> Expression:
    """Return targets of which a share is distributed evenly over the classes."""
    return (1.0 - _SMOOTHING) * TARGETS + _SMOOTHING / n_classes


TRAITS: dict[str, Traits] = {
    "squared_error": Traits(TASKS, _DIFFERENCE, per_label="squared_error"),
    "cross_entropy": Traits(
        ("classes",),
        SOFTMAX - _smoothed(variable("n_outputs")),
        per_label="binary_cross_entropy",
        curvature=_softmax_curvature,
    ),
    "binary_cross_entropy": Traits(
        ("labels",), sigmoid(OUTPUTS) - _smoothed(2.0), curvature=_sigmoid_curvature
    ),
    "absolute_error": Traits(("numbers",), select(_ABOVE, 1.0, select(_BELOW, -1.0, 0.0))),
    "huber": Traits(("numbers",), minimum(maximum(_DIFFERENCE, -_DELTA), _DELTA)),
    "pinball": Traits(
        ("numbers",),
        select(_ABOVE, 1.0 - _QUANTILES, select(_BELOW, -_QUANTILES, 0.0)),
        link=_sorted_quantiles,
    ),
    "poisson": Traits(("numbers",), exp(OUTPUTS) - TARGETS, link=exp(OUTPUTS), scaling="mean"),
}


class Loss(Registered):
    """A loss with values for its parameters.

    Examples
    --------
    >>> CrossEntropy(label_smoothing=0.1)
    CrossEntropy(label_smoothing=0.1)
    """

    @property
    def compares(self) -> str:
        """Kind of targets that the outputs are compared with.

        "labels": class numbers; "values": one number for each output; "either" of the two;
        "shared": one number for all outputs.
        """
        return self.entry.compares

    @property
    def target_range(self) -> tuple[float, float]:
        """Smallest and largest valid target."""
        return self.entry.lowest_target, self.entry.highest_target

    @property
    def traits(self) -> Traits:
        """Link, tasks and curvature of the loss."""
        return TRAITS[self.name]

    def link(self, task: str) -> Expression:
        """Return the function from linear outputs to probabilities or numbers.

        Examples
        --------
        >>> Poisson().link("numbers") == exp(OUTPUTS)
        True
        """
        if task != "numbers":
            return LINKS[task]
        link = self.traits.link
        return link if isinstance(link, Expression) else link(self)

    def slope(self, n_outputs: int) -> Expression:
        """Return the derivative of the loss by each output.

        It is a vector expression of `OUTPUTS`, `TARGETS` and parameters that are sequences; single
        parameters have their values.

        Parameters
        ----------
        n_outputs : int
            Number of outputs of the tree.

        Examples
        --------
        >>> Poisson().slope(1) == exp(OUTPUTS) - TARGETS
        True
        """
        values = {
            parameter.name: value
            for parameter, value in zip(self.entry.parameters, self.values, strict=True)
            if not parameter.is_list
        }
        return substitute(self.traits.slope, {"n_outputs": float(n_outputs), **values})

    def curvature(self, outputs: FloatArray) -> Curvature:
        """Return the second derivatives of the loss by the outputs of each row.

        A loss without curvature has that of the squared error.

        Returns
        -------
        diagonal, common : array of shape (n_rows, n_outputs), or None
            The matrix is ``diag(diagonal) - common common'``.

        Examples
        --------
        >>> Poisson().curvature(np.zeros((1, 1)))
        (array([[1.]]), None)
        """
        if self.traits.curvature is not None:
            return self.traits.curvature(outputs)
        link = self.link("numbers")
        if not is_elementwise(link):
            link = OUTPUTS
        return np.ones_like(outputs) * slope(link, {"outputs": outputs}, "outputs"), None


#: Every loss class by name.
LOSSES: dict[str, type[Loss]] = classes_of(_core.losses(), Loss, __name__)
globals().update({cls.__name__: cls for cls in LOSSES.values()})

# By name, for readers and type checkers.
SquaredError = LOSSES["squared_error"]
CrossEntropy = LOSSES["cross_entropy"]
AbsoluteError = LOSSES["absolute_error"]
Huber = LOSSES["huber"]
Pinball = LOSSES["pinball"]
Poisson = LOSSES["poisson"]
BinaryCrossEntropy = LOSSES["binary_cross_entropy"]

NAMES: tuple[str, ...] = tuple(LOSSES)

#: Losses of classifiers and of regressors; regressors select losses of quantiles by a separate
#: parameter.
CLASSIFICATION_LOSSES = tuple(name for name in NAMES if "classes" in TRAITS[name].tasks)
REGRESSION_LOSSES = tuple(
    name
    for name, loss in LOSSES.items()
    if "numbers" in TRAITS[name].tasks and loss.entry.compares != "shared"
)


def get_loss(loss: str | Loss | dict[str, Any]) -> Loss:
    """Return a loss given its name, or the object itself.

    Examples
    --------
    >>> get_loss("huber")
    Huber(delta=1.0)
    """
    return find(LOSSES, Loss, loss, "loss")


def check_targets(numbers: FloatArray, loss: Loss, name: str) -> None:
    """Raise an error if numbers are not valid targets of a loss.

    Parameters
    ----------
    numbers : array
    loss : Loss
    name : str
        Name of the targets, for the error message.

    Examples
    --------
    >>> check_targets(np.array([0.0, 2.0]), Poisson(), "y")
    """
    low, high = loss.target_range
    outside = (numbers < low) | (numbers > high)
    if outside.any():
        allowed = "that are not negative" if np.isinf(high) else f"from {low:g} to {high:g}"
        raise ValueError(
            f"{name} has the value {numbers[outside][0]:g}: loss={loss.name!r} needs targets "
            f"{allowed}"
        )


def check_loss(loss: str | Loss, n_outputs: int, output_activation: str) -> Loss:
    """Return the loss if it can be used for a tree with these outputs; raise an error otherwise.

    Parameters
    ----------
    loss : str or Loss
    n_outputs : int
        Number of outputs of the tree.
    output_activation : str
        Activation of the output nodes.

    Examples
    --------
    >>> check_loss("cross_entropy", 3, "linear").name
    'cross_entropy'
    """
    loss = get_loss(loss)
    if loss.compares == "labels" and n_outputs < 2:
        raise ValueError(
            f"loss={loss.name!r} needs a classification tree (n_outputs >= 2), this one has "
            f"n_outputs={n_outputs}: use loss='squared_error'"
        )
    if loss.entry.needs_linear_outputs and output_activation != "linear":
        raise ValueError(
            f"loss={loss.name!r} needs linear output nodes, these are "
            f"{output_activation!r}: draw the tree with output_activation='linear', "
            "or use loss='squared_error'"
        )
    if loss.compares == "shared" and len(loss.numbers) != n_outputs:
        raise ValueError(
            f"{loss} needs one output for each of its {len(loss.numbers)} numbers, the tree has "
            f"n_outputs={n_outputs}"
        )
    return loss
