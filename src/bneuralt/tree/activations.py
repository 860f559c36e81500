"""Activations: functions of the weighted sum of a node.

The compiled core registers them. Each is a class here; ``LeakyReLU(slope=0.2)`` is an activation
with another value of its parameter. A node stores its activation as a code, the position of its
name in `NAMES`. `EXPRESSIONS` has the formula of each, from which the reference implementation, all
exports, drawn formulas, pages and proofs of monotone effects follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from bneuralt import _core
from bneuralt._typing import FloatArray, IntArray
from bneuralt.expressions import (
    Expression,
    absolute,
    exp,
    maximum,
    minimum,
    sigmoid,
    square,
    substitute,
    tanh,
    variable,
)
from bneuralt.registry import Registered, classes_of, find

__all__ = [
    "ACTIVATIONS",
    "EXPRESSIONS",
    "NAMES",
    "Activation",
    "Bipolar",
    "Gaussian",
    "LeakyReLU",
    "Linear",
    "LinearSigmoid",
    "LinearTanh",
    "ReLU",
    "Sigmoid",
    "Tanh",
    "Unipolar",
    "activation_code",
    "default_parameters",
    "expression_of",
    "get_activation",
    "get_activation_mixture",
    "n_activation_parameters",
    "node_expressions",
]


class Activation(Registered):
    """An activation with values for its parameters.

    Examples
    --------
    >>> from bneuralt.tree.activations import get_activation
    >>> get_activation("leaky_relu")
    LeakyReLU(slope=0.01)
    """

    @property
    def code(self) -> int:
        """Position in `NAMES`."""
        return NAMES.index(self.name)

    @property
    def expression(self) -> Expression:
        """The formula of z, the weighted sum of a node, with the values of the parameters."""
        return expression_of(self.code, self.values)


#: Every activation class by name, in the order of the codes.
ACTIVATIONS: dict[str, type[Activation]] = classes_of(_core.activations(), Activation, __name__)
globals().update({cls.__name__: cls for cls in ACTIVATIONS.values()})

# By name, for readers and type checkers.
Linear = ACTIVATIONS["linear"]
Sigmoid = ACTIVATIONS["sigmoid"]
Tanh = ACTIVATIONS["tanh"]
ReLU = ACTIVATIONS["relu"]
LeakyReLU = ACTIVATIONS["leaky_relu"]
Gaussian = ACTIVATIONS["gaussian"]
LinearSigmoid = ACTIVATIONS["linear_sigmoid"]
LinearTanh = ACTIVATIONS["linear_tanh"]
Bipolar = ACTIVATIONS["bipolar"]
Unipolar = ACTIVATIONS["unipolar"]

_Z = variable("z")
_SLOPE, _CENTER, _WIDTH, _SCALE, _OFFSET, _STEEPNESS = map(
    variable, ("slope", "center", "width", "scale", "offset", "steepness")
)

#: The formula of each activation: an expression of z, the weighted sum of a node, and parameters.
EXPRESSIONS: dict[str, Expression] = {
    "linear": _Z,
    "sigmoid": sigmoid(_Z),
    "tanh": tanh(_Z),
    "relu": maximum(_Z, 0.0),
    "leaky_relu": maximum(_Z, 0.0) + _SLOPE * minimum(_Z, 0.0),
    "gaussian": exp(-square((_Z - _CENTER) / _WIDTH)),
    "linear_sigmoid": _SCALE * sigmoid(_Z) + _OFFSET,
    "linear_tanh": _SCALE * tanh(_Z) + _OFFSET,
    "bipolar": tanh(_STEEPNESS * _Z) / _STEEPNESS,
    "unipolar": 2.0 * absolute(_STEEPNESS) * sigmoid(2.0 * absolute(_STEEPNESS) * _Z),
}

#: Names in the order of their codes.
NAMES: tuple[str, ...] = tuple(ACTIVATIONS)

_N_PARAMETERS = np.array([len(cls.entry.parameters) for cls in ACTIVATIONS.values()])


def get_activation(
    activation: str | Activation | Mapping[str, Any], what: str = "activation"
) -> Activation:
    """Return an activation given its name, or the object itself.

    Parameters
    ----------
    activation : str, Activation or dict
        A name stands for the activation with its default parameters, a dict of `to_dict` for the
        activation with these parameters.
    what : str
        Name of the parameter, for the error message.

    Examples
    --------
    >>> from bneuralt.tree.activations import get_activation
    >>> get_activation("gaussian")
    Gaussian(center=0.0, width=1.0)
    """
    return find(ACTIVATIONS, Activation, activation, what)


def get_activation_mixture(activation: Any) -> tuple[list[Activation], FloatArray]:
    """Return the activations that nodes are drawn from, and the probability of each.

    Parameters
    ----------
    activation : str, Activation, list or dict
        One activation; several that are equally likely; or several with their probabilities (any
        non-negative numbers, they are normalised).

    Examples
    --------
    >>> get_activation_mixture({"tanh": 3, "relu": 1})
    ([Tanh(), ReLU()], array([0.75, 0.25]))
    """
    if isinstance(activation, Mapping) and "name" not in activation:
        names, chances = list(activation), np.array(list(activation.values()), dtype=np.float64)
    elif isinstance(activation, (list, tuple)):
        names, chances = list(activation), np.ones(len(activation))
    else:
        return [get_activation(activation)], np.ones(1)
    valid = chances.ndim == 1 and bool(np.all(np.isfinite(chances) & (chances >= 0)))
    if not valid or not 0 < chances.sum() < np.inf:
        raise ValueError(
            f"activation={activation!r} must have at least one activation, and probabilities that "
            "are not negative and not all 0"
        )
    return [get_activation(name) for name in names], chances / chances.sum()


def activation_code(activation: str | Activation) -> int:
    """Return the code of an activation.

    Examples
    --------
    >>> activation_code("tanh")
    2
    """
    return get_activation(activation).code


@cache
def expression_of(code: int, parameters: tuple[float, ...]) -> Expression:
    """Return the formula of a node's activation: an expression of z alone.

    Parameters
    ----------
    code : int
    parameters : tuple of float
        Values of the parameters; trained ones may be outside of their declared ranges.

    Examples
    --------
    >>> expression_of(NAMES.index("leaky_relu"), (1.0,)) == EXPRESSIONS["linear"]
    True
    """
    names = (parameter.name for parameter in ACTIVATIONS[NAMES[code]].entry.parameters)
    return substitute(EXPRESSIONS[NAMES[code]], dict(zip(names, parameters, strict=True)))


def node_expressions(codes: IntArray, parameters: FloatArray, start: IntArray) -> list[Expression]:
    """Return the formula of each node's activation.

    Parameters
    ----------
    codes : int array of shape (n_nodes,)
    parameters : float array
        Of all nodes.
    start : int array of shape (n_nodes + 1,)
        Where the parameters of each node begin.
    """
    phi, ends = parameters.tolist(), pairwise(start.tolist())
    return [
        expression_of(code, tuple(phi[a:b]))
        for code, (a, b) in zip(codes.tolist(), ends, strict=True)
    ]


def n_activation_parameters(codes: IntArray) -> IntArray:
    """Return the number of parameters of each node's activation."""
    return _N_PARAMETERS[codes]


def default_parameters(codes: IntArray) -> FloatArray:
    """Return the parameters of all nodes' activations at their defaults.

    Examples
    --------
    >>> default_parameters(np.array([0, 4, 5]))
    array([0.01, 0.  , 1.  ])
    """
    defaults = [[p.default for p in cls.entry.parameters] for cls in ACTIVATIONS.values()]
    return np.array(
        [value for code in codes.tolist() for value in defaults[code]], dtype=np.float64
    )
