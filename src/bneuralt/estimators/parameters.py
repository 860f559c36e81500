"""The parameters of the estimators: default, meaning and allowed values of each.

The dataclasses hold the defaults, one for each kind of estimator, and are the only place where
defaults stand. `PARAMETERS` says once for all what every parameter means and may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from textwrap import fill, indent
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._sklearn import Interval, RealNotInt, StrOptions
from bneuralt._typing import Array
from bneuralt.estimators.capacity import (
    BATCH_SIZES,
    FEWEST_EPOCHS,
    FEWEST_EXAMPLES,
    LEARNING_RATE,
    MANY_CLASSES,
    MANY_ROWS,
    MOST_EXAMPLES,
)
from bneuralt.estimators.kinds import register_kind
from bneuralt.training.losses import LOSSES, Loss
from bneuralt.training.optimizers import OPTIMIZERS, Optimizer
from bneuralt.tree.activations import ACTIVATIONS, Activation

__all__ = [
    "PAPER_SETTINGS",
    "ClassifierParameters",
    "ForestClassifierParameters",
    "ForestRegressorParameters",
    "RegressorParameters",
    "TreeParameters",
]

RandomState = int | np.random.RandomState | None

#: What estimators know how to scale targets for.
OUTPUT_ACTIVATIONS = ("linear", "sigmoid")
#: All that some estimator takes by name; "quantile" is the pinball loss of `quantiles`.
LOSS_OBJECTS = ("cross_entropy", "squared_error", "absolute_error", "huber", "poisson")
LOSS_NAMES = (*LOSS_OBJECTS, "quantile")

#: What `max_depth=None` and, where it matters, `leaf_probability=None` stand for.
MAX_DEPTH = 5
LEAF_PROBABILITY = 0.35

LARGE_TASK = f"{MANY_ROWS:,} or more rows of more than {MANY_CLASSES} classes"


@dataclass(kw_only=True, eq=False)
class TreeParameters:
    """Parameters of every estimator, with the defaults that do not depend on the task."""

    max_depth: int | None = None
    max_children: int = 4
    min_children: int = 2
    leaf_probability: float | None = None
    min_size: int | float | None = 0.8
    max_size: int | None = None
    n_weights: int | str | None = "auto"
    max_weights: int | None = None
    n_init: int = 1
    feature_sampling: ArrayLike | Callable[..., Array] | None = None
    activation: Any = "tanh"
    output_activation: str = "linear"
    train_activations: bool = False
    init: str = "normal"
    init_scale: float = 2.0
    loss: str | Loss = "squared_error"
    monotonic_cst: ArrayLike | Mapping[str, int] | None = None
    optimizer: str | Optimizer = "adam"
    learning_rate: float | str = "auto"
    schedule: str = "cosine"
    weight_decay: float | str = "auto"
    leaf_moves: int = 20
    moving_share: float = 0.3
    clip_norm: float | None = None
    batch_size: int | str | None = "auto"
    max_epochs: int | None = None
    early_stopping: bool | str = False
    validation_fraction: float = 0.15
    n_iter_no_change: int = 20
    select: str | None = None
    monitor: str = "loss"
    scale: str | None = "standard"
    categorical_features: Any = "from_dtype"
    warm_start: bool = False
    dtype: str = "float32"
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False)
class ClassifierParameters(TreeParameters):
    """Parameters of `BNeuralTClassifier`."""

    loss: str | Loss = "cross_entropy"
    label_smoothing: float = 0.0
    class_weight: Mapping[Any, float] | str | None = None

    _fewest_epochs: ClassVar[int] = FEWEST_EPOCHS["classifier"]


@dataclass(kw_only=True, eq=False)
class RegressorParameters(TreeParameters):
    """Parameters of `BNeuralTRegressor`."""

    quantiles: ArrayLike = (0.05, 0.5, 0.95)
    conformal: int | float | None = None

    _fewest_epochs: ClassVar[int] = FEWEST_EPOCHS["regressor"]


@dataclass(kw_only=True, eq=False)
class ForestParameters(TreeParameters):
    """Parameters that forests have and single trees do not."""

    n_estimators: int = 10
    max_samples: int | float | None = None
    bootstrap: bool = False
    max_features: int | float | None = None


@dataclass(kw_only=True, eq=False)
class ForestClassifierParameters(ClassifierParameters, ForestParameters):
    """Parameters of `BNeuralForestClassifier`."""


@dataclass(kw_only=True, eq=False)
class ForestRegressorParameters(RegressorParameters, ForestParameters):
    """Parameters of `BNeuralForestRegressor`."""


#: The settings of the paper, for classifiers and regressors alike. It says that nodes have up to
#: 5 children; its published trees have 2, 3 or 4. The weights are those that did best on
#: validation rows after any update, which the paper took from the test set, and we do not.
PAPER_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "max_depth": 5,
        "max_children": 4,
        "leaf_probability": 0.4,
        "min_size": None,
        "n_weights": None,
        "n_init": 1,
        "activation": "sigmoid",
        "output_activation": "sigmoid",
        "init": "uniform",
        "loss": "squared_error",
        "optimizer": "rmsprop",
        "learning_rate": 0.1,
        "schedule": "constant",
        "weight_decay": 0.0,
        "leaf_moves": 0,
        "batch_size": 1,
        "max_epochs": 500,
        "select": "update",
        "monitor": "error",
        "scale": "minmax",
    }
)


class Parameter(NamedTuple):
    """What a parameter may be, in the language of scikit-learn's validation, and what it means."""

    allowed: list[Any]
    kind: str
    meaning: str


def _whole(least: int) -> Interval:
    return Interval(Integral, least, None, closed="left")


def _real(low: float, high: float | None, closed: str) -> Interval:
    return Interval(Real, low, high, closed=closed)


PARAMETERS: dict[str, Parameter] = {
    "max_depth": Parameter(
        [_whole(0), None],
        "int or None",
        "Edges from the root down to the deepest possible function node; classifiers need 1 or "
        f"more. None: {MAX_DEPTH}, or what the number of weights needs.",
    ),
    "max_children": Parameter([_whole(2)], "int", "Most children that a function node can have."),
    "min_children": Parameter(
        [_whole(1)],
        "int",
        "Fewest children that a function node can have; all numbers up to `max_children` are "
        "equally likely.",
    ),
    "leaf_probability": Parameter(
        [_real(0, 1, "both"), None],
        "float in [0, 1] or None",
        "Probability of a child to be a leaf rather than a function node. The smaller, the larger "
        f"the tree. None: {LEAF_PROBABILITY} where `n_weights` does not decide the size.",
    ),
    "min_size": Parameter(
        [_whole(1), Interval(RealNotInt, 0, 1, closed="both"), None],
        "int, float in [0, 1] or None",
        "Trees with fewer nodes than this are drawn again. A float is a share of the mean size of "
        "such trees, and has no effect where `max_size` or `n_weights` is given.",
    ),
    "max_size": Parameter(
        [_whole(1), None], "int or None", "Trees with more nodes than this are drawn again."
    ),
    "n_weights": Parameter(
        [_whole(3), StrOptions({"auto"}), None],
        "int, 'auto' or None",
        "Grow a tree of so many weights, or slightly fewer; a given `max_depth` stays the limit. "
        "'auto': the more, the more rows and classes there are (see the settings page), unless "
        "`leaf_probability`, `max_size` or a number for `min_size` is given. None: the size "
        "follows from these.",
    ),
    "max_weights": Parameter(
        [_whole(2), None],
        "int or None",
        "After training, remove weights until the tree (of a forest: each tree) has at most so "
        "many, those first whose removal raises the loss least; see `bneuralt.compact`. At least "
        "2 for each output. None: all weights stay.",
    ),
    "n_init": Parameter(
        [_whole(1)],
        "int",
        "Number of trees to draw and train, of which the one with the lowest loss is kept: on "
        "validation rows if weights are selected on them, else on training rows.",
    ),
    "feature_sampling": Parameter(
        ["array-like", callable, None],
        "array of shape (n_features,), callable or None",
        "Probability of each feature to be on a leaf, or a sampler: one of "
        "`bneuralt.tree.sampling`, such as `ReceptiveFields((28, 28))` for images, or any "
        "`bneuralt.tree.generate.LeafSampler`. None: all features are equally likely, those that "
        "are constant in the training rows excepted.",
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
        "Activation of the output nodes. Cross-entropy goes with linear ones.",
    ),
    "train_activations": Parameter(
        ["boolean"], "bool", "Whether training changes the parameters of the activations."
    ),
    "init": Parameter(
        [StrOptions({"normal", "uniform"})],
        "{'normal', 'uniform'}",
        "'normal': weights start normally distributed with standard deviation `init_scale` / "
        "sqrt(number of children of the parent), biases at 0. 'uniform': all uniform on [0, 1].",
    ),
    "init_scale": Parameter([_real(0, None, "left")], "float", "See `init`."),
    "loss": Parameter(
        [StrOptions(set(LOSS_NAMES)), *(LOSSES[name] for name in LOSS_OBJECTS)],
        "str or Loss",
        "What training minimises. Classifiers: 'cross_entropy' or 'squared_error'; for several "
        "labels, the former is that of each label by itself. Regressors: 'squared_error', "
        "'absolute_error' (the median), 'huber' (less sensitive to outliers; "
        "`bneuralt.training.losses.Huber(delta=0.5)` to choose where it becomes linear, in "
        "standard deviations of the target), 'poisson' (counts and other numbers that are not "
        "negative: the logarithm of the mean is learnt) or 'quantile' (see `quantiles`).",
    ),
    "quantiles": Parameter(
        ["array-like", _real(0, 1, "neither")],
        "float or sequence of float in (0, 1)",
        "Quantiles to predict with `loss='quantile'`, all by one tree.",
    ),
    "conformal": Parameter(
        [_whole(1), Interval(RealNotInt, 0, 1, closed="neither"), None],
        "int, float in (0, 1) or None",
        "Rows to hold out of training and to calibrate `predict_interval` on: their number, or "
        "their share of the training rows. None: all rows are trained on.",
    ),
    "monotonic_cst": Parameter(
        ["array-like", dict, None],
        "array of shape (n_features,), dict or None",
        "Features whose effect on the prediction (with two classes: on the probability of the "
        "second one) must not decrease (1), must not increase (-1), or is free (0): one number for "
        "each feature, or a dict of names of features. Guaranteed by the signs of the weights; "
        "`check_monotonic` returns the proof.",
    ),
    "label_smoothing": Parameter(
        [_real(0, 1, "left")],
        "float in [0, 1)",
        "Share of the target that is spread evenly over the classes; cross-entropy only.",
    ),
    "optimizer": Parameter(
        [StrOptions(set(OPTIMIZERS)), Optimizer],
        "str or Optimizer",
        f"One of {', '.join(OPTIMIZERS)}, or an object of `bneuralt.training.optimizers` such as "
        "`Adam(beta2=0.99)`.",
    ),
    "learning_rate": Parameter(
        [_real(0, None, "neither"), StrOptions({"auto"})],
        "float or 'auto'",
        f"Rate of the first updates. 'auto': {LEARNING_RATE}, and half of it for {LARGE_TASK}.",
    ),
    "schedule": Parameter(
        [StrOptions({"cosine", "constant"})],
        "{'cosine', 'constant'}",
        "How the rate changes: down to 0 along a cosine within `max_epochs`, or not at all.",
    ),
    "weight_decay": Parameter(
        [_real(0, None, "left"), StrOptions({"auto"})],
        "float or 'auto'",
        "Each update shrinks all weights, biases excepted, by this share of the rate. 'auto': the "
        "less, the more rows there are (see the settings page). A forest of a classifier tries "
        "four times as much, by a cross-validation, on up to 1,000 rows with categories.",
    ),
    "leaf_moves": Parameter(
        [_whole(0)],
        "int",
        "How often leaves move during the first half of the training: those of the smallest "
        "weights are given the features that their nodes have most use for. 0: every leaf keeps "
        "the feature that was drawn for it.",
    ),
    "moving_share": Parameter(
        [_real(0, 1, "both")],
        "float in [0, 1]",
        "Share of the leaves that move the first time; it falls to 0 along a cosine.",
    ),
    "clip_norm": Parameter(
        [_real(0, None, "neither"), None],
        "float or None",
        "Gradients longer than this are shortened to it.",
    ),
    "batch_size": Parameter(
        [_whole(1), StrOptions({"auto"}), None],
        "int, 'auto' or None",
        "Rows per update; None takes all rows at once. 'auto': "
        + ", ".join(f"{size} from {rows:,} rows on" for rows, size in BATCH_SIZES)
        + ".",
    ),
    "max_epochs": Parameter(
        [_whole(1), None],
        "int or None",
        f"Passes over the training rows, at most. None: as many as make for {FEWEST_EXAMPLES:,} "
        f"examples, and not fewer than {FEWEST_EPOCHS['classifier']} for classifiers, "
        f"{FEWEST_EPOCHS['regressor']} for regressors, unless that makes for more than "
        f"{MOST_EXAMPLES:,} examples; twice as many for {LARGE_TASK}.",
    ),
    "early_stopping": Parameter(
        [StrOptions({"refit"}), "boolean"],
        "bool or 'refit'",
        "True: training stops when `n_iter_no_change` epochs in a row were no better than the best "
        "one on validation rows, whose weights are restored. 'refit': the tree is then trained "
        "anew on all rows for as many epochs as the best one took. Validation rows are `X_val` and "
        "`y_val` of `fit`, or else are taken out of the training rows.",
    ),
    "validation_fraction": Parameter(
        [_real(0, 1, "neither")],
        "float in (0, 1)",
        "Share of the training rows to hold out as validation rows, where some are needed. Every "
        "class, or every range of the target, gives its share.",
    ),
    "n_iter_no_change": Parameter([_whole(1)], "int", "See `early_stopping`."),
    "select": Parameter(
        [StrOptions({"epoch", "update"}), None],
        "{'epoch', 'update'} or None",
        "Restore the weights that did best on validation rows at the end of any epoch, or after "
        "any update. None: 'epoch' with early stopping, else the last weights are kept.",
    ),
    "monitor": Parameter(
        [StrOptions({"loss", "error"})],
        "{'loss', 'error'}",
        "What 'best on validation rows' means: lowest loss, or lowest error rate (mean squared "
        "error for regressors).",
    ),
    "scale": Parameter(
        [StrOptions({"standard", "minmax"}), None],
        "{'standard', 'minmax'} or None",
        "How features are scaled: to mean 0 and variance 1, to [0, 1], or not. Learnt on the "
        "training rows only, then folded into the weights, so that `tree_` works on raw features.",
    ),
    "categorical_features": Parameter(
        ["array-like", StrOptions({"from_dtype"}), None],
        "'from_dtype', array-like or None",
        "Which features are categories. 'from_dtype': columns of a data frame with text or of a "
        "categorical type. A list of names or indices, or a mask: these columns, and those with "
        "text. None: no column; text is refused then. A leaf of a categorical feature has a weight "
        "for each category. Values in less than 0.2 % of the rows (but not more than 20 rows, and "
        "always those in a single row) share one weight, and there are at most 255. Texts that are "
        "all dates are taken for dates.",
    ),
    "class_weight": Parameter(
        [dict, StrOptions({"balanced"}), None],
        "dict, 'balanced' or None",
        "Weight of each class, 1 where the dict has none; 'balanced' makes all classes count the "
        "same.",
    ),
    "warm_start": Parameter(
        ["boolean"],
        "bool",
        "A tree: `fit` goes on from the weights of the previous call. A forest: trees already "
        "there are kept, and `n_estimators` counts them.",
    ),
    "dtype": Parameter(
        [StrOptions({"float32", "float64"})],
        "{'float32', 'float64'}",
        "Precision of training. `tree_` has it too, unless folding the scaling into float32 "
        "weights would lose digits (features far from 0 for their spread): then it is float64.",
    ),
    "random_state": Parameter(
        ["random_state"],
        "int, RandomState or None",
        "Seed of all that is drawn. The same seed gives the same model, for any `n_jobs` and "
        "any order of the rows.",
    ),
    "n_jobs": Parameter(
        [_whole(1), Interval(Integral, None, -1, closed="right"), None],
        "int or None",
        "Number of threads, -1 for all; None means 1.",
    ),
    "verbose": Parameter(
        ["verbose"], "int", "1 shows the progress of training, and which features are not used."
    ),
    "n_estimators": Parameter([_whole(1)], "int", "Number of trees."),
    "max_samples": Parameter(
        [_whole(1), Interval(RealNotInt, 0, 1, closed="right"), None],
        "int, float in (0, 1] or None",
        "Rows drawn for each tree: their number, or their share of the training rows. None: all.",
    ),
    "bootstrap": Parameter(["boolean"], "bool", "Whether rows are drawn with replacement."),
    "max_features": Parameter(
        [_whole(1), Interval(RealNotInt, 0, 1, closed="right"), None],
        "int, float in (0, 1] or None",
        "Features each tree may use: their number, or their share. None: all.",
    ),
}


T = TypeVar("T", bound=type)


def declared(cls: T, parameters: Mapping[str, Parameter] = PARAMETERS) -> T:
    """Declare an estimator class: what scikit-learn checks, what its users read, its model files.

    Parameters
    ----------
    cls : class
        A dataclass. The description of its parameters goes where its docstring says `{parameters}`;
        model files refer to it by its name.
    parameters : mapping of str to Parameter
        What each parameter may be, and what it means.
    """
    names = [(field.name, field.default, parameters[field.name]) for field in fields(cls)]
    allowed = {name: parameter.allowed for name, _, parameter in names}
    cls._parameter_constraints = allowed  # type: ignore[attr-defined]
    if cls.__doc__:
        entries = "\n".join(
            f"{name} : {parameter.kind}, default={default!r}\n"
            + indent(fill(parameter.meaning, 90), "    ")
            for name, default, parameter in names
        )
        section = indent(f"Parameters\n----------\n{entries}", "    ").lstrip()
        cls.__doc__ = cls.__doc__.replace("{parameters}", section)
    return register_kind(cls)
