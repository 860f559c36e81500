"""Parameters of the random structure and the initial weights of trees: `Growth`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from bneuralt._sklearn import Interval, RealNotInt, StrOptions, validate_parameter_constraints
from bneuralt.declaring import Parameter, at_least, described, real_interval
from bneuralt.frozen_settings import FrozenSettings
from bneuralt.tree.activations import ACTIVATIONS, Activation

__all__ = ["EVOLVED_GROWTH", "GROWTH_PARAMETERS", "TREE_GROWTH", "Growth"]

#: Activations for which estimators can scale targets.
OUTPUT_ACTIVATIONS = ("linear", "sigmoid")

#: Values of `max_depth=None` and, where it is used, `leaf_probability=None`.
MAX_DEPTH = 5
LEAF_PROBABILITY = 0.35

#: Automatic values in trees and forests, and in evolved trees, which do not use the other fields.
TREE_GROWTH: Mapping[str, Any] = MappingProxyType(
    {
        "max_depth": None,
        "max_children": 4,
        "min_children": 2,
        "leaf_probability": None,
        "min_size": 0.8,
        "max_size": None,
        "n_init": 1,
        "feature_sampling": None,
        "activation": "tanh",
        "output_activation": "linear",
        "train_activations": False,
        "init": "normal",
        "init_scale": 2.0,
    }
)
EVOLVED_GROWTH: Mapping[str, Any] = MappingProxyType(
    {
        "max_depth": 4,
        "max_children": 4,
        "min_children": 1,
        "max_size": None,
        "activation": ("tanh", "gaussian"),
        "init_scale": 1.5,
    }
)

GROWTH_PARAMETERS: dict[str, Parameter] = {
    "max_depth": Parameter(
        [at_least(0), None],
        "int or None",
        "Edges from the root down to the deepest possible function node; classifiers need 1 or "
        f"more. None: {MAX_DEPTH}, or as deep as the number of weights needs.",
    ),
    "max_children": Parameter(
        [at_least(2)], "int", "Largest number of children of a function node."
    ),
    "min_children": Parameter(
        [at_least(1)],
        "int",
        "Smallest number of children of a function node; all numbers up to `max_children` are "
        "equally likely.",
    ),
    "leaf_probability": Parameter(
        [real_interval(0, 1, "both"), None],
        "float in [0, 1] or None",
        "Probability of a child to be a leaf rather than a function node. The smaller, the larger "
        f"the tree. None: {LEAF_PROBABILITY} where `n_weights` does not decide the size.",
    ),
    "min_size": Parameter(
        [at_least(1), Interval(RealNotInt, 0, 1, closed="both"), None],
        "int, float in [0, 1] or None",
        "Trees with fewer nodes than this are drawn again. A float is a share of the mean size of "
        "such trees, and has no effect if `max_size` or `n_weights` is set.",
    ),
    "max_size": Parameter(
        [at_least(1), None], "int or None", "Trees with more nodes than this are drawn again."
    ),
    "n_init": Parameter(
        [at_least(1)],
        "int",
        "Number of trees to draw and train. The one with the lowest loss is kept, on validation "
        "rows if weights are selected on them, else on training rows.",
    ),
    "feature_sampling": Parameter(
        ["array-like", callable, None],
        "array of shape (n_features,), callable or None",
        "Probability of each feature for a leaf, or a sampler: one of "
        "`bneuralt.tree.sampling`, such as `ReceptiveFields((28, 28))` for images, or any "
        "`bneuralt.tree.growth.LeafSampler`. None: all features that are not constant in the "
        "training rows are equally likely.",
    ),
    "activation": Parameter(
        [StrOptions(set(ACTIVATIONS)), Activation, list, tuple, dict],
        "str, Activation, list or dict",
        f"Activation of the inner function nodes: {', '.join(ACTIVATIONS)}, or an object of "
        "`bneuralt.tree.activations` such as `LeakyReLU(slope=0.2)`. A list: one of them for each "
        "node, all equally likely. A dict: the same with the probability of each.",
    ),
    "output_activation": Parameter(
        [StrOptions(set(OUTPUT_ACTIVATIONS))],
        "{'linear', 'sigmoid'}",
        "Activation of the output nodes. Cross-entropy needs linear outputs.",
    ),
    "train_activations": Parameter(
        ["boolean"], "bool", "Whether training changes the parameters of the activations."
    ),
    "init": Parameter(
        [StrOptions({"normal", "uniform"})],
        "{'normal', 'uniform'}",
        "'normal': initial weights are normally distributed with standard deviation `init_scale` "
        "/ sqrt(number of children of the parent), biases are 0. 'uniform': all are uniform on "
        "[0, 1].",
    ),
    "init_scale": Parameter([real_interval(0, None, "left")], "float", "See `init`."),
    "n_joined": Parameter(
        [at_least(1)],
        "int",
        "Number of trees that share the weights, are trained separately and are joined into their "
        "mean, which is one tree. Averaging independent trees reduces variance at equal size. They "
        "need linear outputs. Not for forests.",
    ),
    "ramp_fraction": Parameter(
        [real_interval(0, 1, "both")],
        "float in [0, 1]",
        "Fraction of the leaves of columns with `ramps` that start at one of the ramps.",
    ),
    "plain_fraction": Parameter(
        [real_interval(0, 1, "both")],
        "float in [0, 1]",
        "Fraction of the trees (those of a forest, or those that are joined) whose leaves do not "
        "move to ramps.",
    ),
    "linear_share": Parameter(
        [real_interval(0, None, "left")],
        "float",
        "Factor of the linear part, a leaf for each column under the outputs; 0: there is none. It "
        "is fitted by penalised regression where the trial of some trees takes place, and needs "
        "linear outputs.",
    ),
    "linear_penalty": Parameter(
        [real_interval(0, None, "neither"), None],
        "float or None",
        "Factor of the penalty of the linear part, half of the sum of its squared weights. None: "
        "it is a constant.",
    ),
}

#: What 'auto' means for fields whose value depends on the table.
AUTOMATIC = {
    "n_joined": "2 for tables of up to 10,000 rows, unless the tree is small, its shape is limited "
    "or validation rows are used; 1 for forests",
    "ramp_fraction": "0, or 0.8 if the trial of some trees finds that they learn much more with it",
    "plain_fraction": "0, 0.5 or 1: for single trees by the task and the number of rows, for "
    "forests by the trial",
    "linear_share": "by the trial",
    "linear_penalty": "100, 10 or 1 by the trial, or None if no column lowers the loss",
}


class Growth(FrozenSettings):
    """Distribution from which trees are drawn: shape, activations and initial weights.

    It is the parameter `growth` of estimators. Objects are immutable: `set_params` returns a new
    one, and ``estimator.set_params(growth__max_depth=3)`` replaces that of the estimator.

    {parameters}

    Examples
    --------
    >>> from bneuralt import BNeuralTClassifier, Growth
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BNeuralTClassifier(growth=Growth(max_depth=2), random_state=0).fit(X, y)
    >>> clf.tree_.depth
    2
    """

    names: ClassVar[tuple[str, ...]] = tuple(GROWTH_PARAMETERS)

    @property
    def determines_size(self) -> bool:
        """Whether a probability of leaves, or limits of the size, are given."""
        has_limits = self.max_size is not None or isinstance(self.min_size, int)
        return self.leaf_probability is not None or has_limits

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed from the values."""
        return self.get_params()

    def _checked(self, name: str, value: Any) -> Any:
        allowed = {name: GROWTH_PARAMETERS[name].allowed}
        validate_parameter_constraints(allowed, {name: value}, "Growth")
        return value


def _with_auto(name: str) -> Parameter:
    """Return a parameter whose meaning includes the value of 'auto'."""
    parameter = GROWTH_PARAMETERS[name]
    auto = f"'auto': {AUTOMATIC[name] if name in AUTOMATIC else repr(TREE_GROWTH[name])}"
    if name not in EVOLVED_GROWTH:
        auto += "; not for evolved trees"
    elif EVOLVED_GROWTH[name] != TREE_GROWTH[name]:
        auto += f", {EVOLVED_GROWTH[name]!r} for evolved trees"
    return parameter._replace(meaning=f"{parameter.meaning} {auto}.")


if Growth.__doc__:
    Growth.__doc__ = Growth.__doc__.replace(
        "{parameters}", described((name, "auto", _with_auto(name)) for name in GROWTH_PARAMETERS)
    )
