"""The parameters of the estimators: default, meaning and allowed values of each.

Estimators are dataclasses: their fields, and those of `TreeParameters` and `ForestParameters`, have
the defaults. `PARAMETERS` defines the meaning and the allowed values of every parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import wraps
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._sklearn import Interval, RealNotInt, StrOptions
from bneuralt.declaring import (
    Parameter,
    at_least,
    described,
    real_interval,
    with_attributes,
)
from bneuralt.estimators.base import OBJECTS
from bneuralt.estimators.kinds import register_kind
from bneuralt.fitting.capacity import (
    BATCH_SIZES,
    LEARNING_RATE,
    MANY_CLASSES,
    MANY_ROWS,
    MAX_EXAMPLES,
    MIN_EPOCHS,
    MIN_EPOCHS_OF_MANY,
    MIN_EXAMPLES,
    N_RAMPS,
    ROWS_PER_TREE,
    SUFFICIENT_EXAMPLES,
)
from bneuralt.fitting.recipe import LEAF_MOVES, PATIENCE
from bneuralt.tables.bends import LIMIT
from bneuralt.training import TrainingSettings
from bneuralt.training.losses import CLASSIFICATION_LOSSES, LOSSES, REGRESSION_LOSSES, Loss
from bneuralt.training.settings import SETTINGS, type_text
from bneuralt.tree.growing import Growth

__all__ = [
    "PAPER_SETTINGS",
    "PARAMETERS",
    "ForestParameters",
    "TreeParameters",
    "declared",
]

RandomState = int | np.random.RandomState | None

#: Losses that estimators accept by name; "quantile" is the pinball loss of `quantiles`.
LOSS_OBJECTS = tuple(dict.fromkeys((*CLASSIFICATION_LOSSES, *REGRESSION_LOSSES)))
LOSS_NAMES = (*LOSS_OBJECTS, "quantile")

#: What replaces `{losses}` in the documentation of classifiers and of regressors.
LOSS_TEXTS = {
    True: "'cross_entropy' (the default; "
    "`bneuralt.training.losses.CrossEntropy(label_smoothing=0.1)` smooths labels) "
    "or 'squared_error'; for several labels, the cross-entropy of each label",
    False: "'squared_error' (the default), 'absolute_error' (the median), 'huber' (less sensitive "
    "to outliers; `bneuralt.training.losses.Huber(delta=0.5)` sets the point where it becomes "
    "linear, in standard deviations of the target), 'poisson' (counts and other non-negative "
    "numbers: trees predict the logarithm of the mean) or 'quantile' (see `quantiles`)",
}

LARGE_TASK = f"{MANY_ROWS:,} or more rows of more than {MANY_CLASSES} classes"


@dataclass(kw_only=True, eq=False)
class TreeParameters:
    """Parameters of all trees and forests."""

    n_weights: int | str | None = "auto"
    max_weights: int | None = None
    loss: str | Loss = "auto"
    monotonic_cst: ArrayLike | Mapping[str, int] | None = None
    interaction_cst: str | Sequence[Any] | None = None
    learning_rate: float | str = "auto"
    weight_decay: float | str = "auto"
    batch_size: int | str | None = "auto"
    max_epochs: int | str = "auto"
    output_factor: float | str = "auto"
    early_stopping: bool | str = False
    validation_fraction: float = 0.15
    growth: Growth | None = None
    training: TrainingSettings | None = None
    scale: str | None = "robust"
    ramps: int | str = "auto"
    sentinels: str | Mapping[Any, Any] | None = "auto"
    categorical_features: Any = "from_dtype"
    identifiers: Any = "drop"
    warm_start: bool = False
    dtype: str = "float32"
    random_state: RandomState = None
    n_jobs: int | None = None
    verbose: int = 0


@dataclass(kw_only=True, eq=False)
class ForestParameters(TreeParameters):
    """Parameters of forests only."""

    n_estimators: int = 10
    max_samples: int | float | None = None
    bootstrap: bool = False
    max_features: int | float | None = None


#: Names of parameters that only forests have.
OF_FORESTS = tuple(vars(ForestParameters)["__annotations__"])

#: The settings of the paper, for classifiers and regressors. According to its text, nodes have up
#: to 5 children; its published trees have 2, 3 or 4. The selected weights are the best on
#: validation rows after any update; the paper used rows of the test set for this, we do not.
PAPER_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "n_weights": None,
        "loss": "squared_error",
        "learning_rate": 0.1,
        "weight_decay": 0.0,
        "batch_size": 1,
        "max_epochs": 500,
        "scale": "minmax",
        "growth": Growth(
            max_depth=5,
            max_children=4,
            leaf_probability=0.4,
            min_size=None,
            n_init=1,
            activation="sigmoid",
            output_activation="sigmoid",
            init="uniform",
        ),
        "training": TrainingSettings(
            optimizer="rmsprop", schedule="constant", leaf_moves=0, select="update", monitor="error"
        ),
    }
)


def by_rows(values: Sequence[tuple[int, int]]) -> str:
    """Return the text of values that depend on the number of rows, as (rows, value from there on).

    Examples
    --------
    >>> by_rows(((0, 16), (1_000, 32)))
    '16, 32 from 1,000 rows on'
    """
    (_, first), *others = values
    return ", ".join([f"{first}", *(f"{value} from {rows:,} rows on" for rows, value in others)])


def setting_parameter(name: str, auto: str) -> Parameter:
    """Return the parameter of a setting of the core that may also be 'auto'."""
    setting = SETTINGS[name]
    number = Real if setting.kind == "number" else Integral
    high = None if setting.high > 1e300 else setting.high
    closed = "neither" if setting.is_above_low else "left" if high is None else "both"
    allowed = [Interval(number, setting.low, high, closed=closed), StrOptions({"auto"})]
    kind = type_text(setting).split(" or ")
    return Parameter(
        [*allowed, None] if setting.may_be_none else allowed,
        f"{kind[0]}, 'auto' or None" if setting.may_be_none else f"{kind[0]} or 'auto'",
        f"{setting.about} 'auto': {auto}",
    )


PARAMETERS: dict[str, Parameter] = {
    "n_weights": Parameter(
        [at_least(3), StrOptions({"auto", "readable"}), None],
        "int, 'auto', 'readable' or None",
        "Number of weights of the tree, or slightly fewer; `max_depth` of `growth` remains a "
        "limit. Branches that contribute nothing are removed after training (not with "
        "`warm_start`). 'auto': it grows with the number of rows and classes (see the settings "
        "page), unless `growth` has a `leaf_probability`, a `max_size` or a whole number for "
        "`min_size`. None: the size follows from these. 'readable' (not for forests): the "
        "smallest tree whose score in cross-validation is within one standard error (and 0.015) of "
        "that with 'auto', with at most 60 weights and 20 more for each output beyond two, all "
        "rounded to the two or three digits that matter; a `ReadableTreeWarning` says if this "
        "costs more.",
    ),
    "max_weights": Parameter(
        [at_least(2), None],
        "int or None",
        "Largest number of weights of the tree (of a forest: of each tree). After training, those "
        "weights are removed whose removal raises the loss least; see the method `compact`. At "
        "least 2 for each output. None: no weights are removed.",
    ),
    "loss": Parameter(
        [StrOptions({*LOSS_NAMES, "auto"}), *(LOSSES[name] for name in LOSS_OBJECTS)],
        "str or Loss",
        "The loss that training minimises: {losses}.",
    ),
    "quantiles": Parameter(
        ["array-like", real_interval(0, 1, "neither")],
        "float or sequence of float in (0, 1)",
        "Quantiles to predict with `loss='quantile'`; each tree predicts all of them.",
    ),
    "conformal": Parameter(
        [at_least(1), Interval(RealNotInt, 0, 1, closed="neither"), None],
        "int, float in (0, 1) or None",
        "Number of rows, or share of the training rows, that are held out to calibrate "
        "`predict_interval`. None: all rows are used for training.",
    ),
    "monotonic_cst": Parameter(
        ["array-like", dict, None],
        "array of shape (n_features,), dict or None",
        "Direction of the effect of each feature on the prediction (with two classes: on the "
        "probability of the second one): 1 for increasing, -1 for decreasing, 0 for no constraint. "
        "One number for each feature, or a dict from names to numbers. The signs of the weights "
        "guarantee it; `check_monotonic` returns the proof.",
    ),
    "interaction_cst": Parameter(
        [StrOptions({"no_interactions", "pairwise"}), list, tuple, None],
        "{'no_interactions', 'pairwise'}, sequence of sets of int or str, or None",
        "Features that may interact, as in scikit-learn's histogram gradient boosting: sets (or "
        "tuples, or lists) of names or positions of columns. Columns that no set has are one more "
        "set. 'no_interactions': each column alone; 'pairwise': all pairs. The structure "
        "guarantees it for the outputs of the trees, before the link: below an output, no node has "
        "features without a common set; `check_interactions` returns the proof. Outputs must be "
        "linear, and a forest averages outputs instead of probabilities.",
    ),
    "learning_rate": setting_parameter(
        "learning_rate", f"{LEARNING_RATE}, and half of it for {LARGE_TASK}."
    ),
    "weight_decay": setting_parameter(
        "weight_decay",
        "it falls with the number of rows (see the settings page).",
    ),
    "output_factor": Parameter(
        [real_interval(0, None, "left"), StrOptions({"auto"})],
        "float or 'auto'",
        "Factor of the outputs of trained trees, around the mean of the target: the less there is "
        "to learn, the smaller is the best one. 'auto': on 60 to 10,000 rows, a trial (a "
        "cross-validation of some trees) finds the one with the lowest loss on held-out rows, "
        "together with that of the linear part (`linear_share` of `growth`); 1 with early stopping "
        "or fewer than 20 epochs.",
    ),
    "batch_size": setting_parameter(
        "batch_size",
        f"{by_rows(BATCH_SIZES)}.",
    ),
    "max_epochs": setting_parameter(
        "max_epochs",
        f"{MIN_EXAMPLES:,} divided by the number of rows, and at least "
        f"{MIN_EPOCHS['classifier']} for classifiers and {MIN_EPOCHS['regressor']} for "
        f"regressors, unless that is more than {MAX_EXAMPLES:,} divided by the number of rows; "
        f"but at least {MIN_EPOCHS_OF_MANY}, or as many as give {SUFFICIENT_EXAMPLES:,} examples; "
        f"twice as many for {LARGE_TASK}.",
    ),
    "growth": Parameter(
        [Growth, None],
        "Growth or None",
        "Distribution from which trees are drawn: shape, activations, initial weights. None: all "
        "values are automatic.",
    ),
    "training": Parameter(
        [TrainingSettings, None],
        "TrainingSettings or None",
        "Settings of training: optimizer, schedule, moving leaves, selection and more. 'auto' "
        f"values are those of `train`, except for leaf_moves={LEAF_MOVES} and, with early "
        f"stopping, select='epoch' and patience={PATIENCE}. A value is set either here or as a "
        "parameter. None: all values are automatic.",
    ),
    "early_stopping": Parameter(
        [StrOptions({"refit"}), "boolean"],
        "bool or 'refit'",
        "True: training stops when the loss on validation rows has not improved for `patience` "
        "(of `training`) epochs, and the best weights are restored. 'refit': the tree is then "
        "trained again on all rows, for the best number of epochs. Validation rows are `X_val` and "
        "`y_val` of `fit`, or else are held out of the training rows.",
    ),
    "validation_fraction": Parameter(
        [real_interval(0, 1, "neither")],
        "float in (0, 1)",
        "Share of the training rows that are held out as validation rows, if some are needed. The "
        "split is stratified by the class or the range of the target.",
    ),
    "scale": Parameter(
        [StrOptions({"robust", "standard", "minmax"}), None],
        "{'robust', 'standard', 'minmax'} or None",
        "Scaling of features: to mean 0 and variance 1 ('standard'), to [0, 1] ('minmax'), or "
        "none. 'robust' is 'standard' after numbers have been limited to the median plus and minus "
        f"{LIMIT:g} times the distance of the quartiles, so that a single wrong number does no "
        "harm. Scaling is learnt on the training rows and folded into the weights.",
    ),
    "ramps": Parameter(
        [at_least(0), StrOptions({"auto"})],
        "int or 'auto'",
        "Number of ramps of each column of numbers: inputs that rise from 0 to 1 between two "
        "neighbouring quantiles of the column, and are constant elsewhere. Leaves can move to "
        f"them. 0: none. 'auto': {by_rows(N_RAMPS)}, with scale='robust', unless X is of type "
        "uint8 or `feature_sampling` is a function; otherwise 0.",
    ),
    "sentinels": Parameter(
        [StrOptions({"auto"}), dict, None],
        "'auto', dict or None",
        "Numbers that stand for missing values, such as -999. 'auto': with scale='robust', those "
        "that repeat and lie far outside of all others of their column are treated as missing, and "
        "a `SentinelWarning` names them. A dict from names or positions of columns to numbers (of "
        "dates: years), such as {'age': [-999]}: these. None: no number stands for that.",
    ),
    "identifiers": Parameter(
        [StrOptions({"drop", "keep"}), "array-like"],
        "'drop', 'keep' or array-like",
        "Columns that identify rows. 'drop': those of whole numbers that are all different, with "
        "the name of an identifier (such as `id` or `order_no`), and those of texts that are "
        "nearly all different are not used, and an `IdentifierWarning` names them. 'keep': all "
        "columns are used. A list of names or indices: these are not used.",
    ),
    "categorical_features": Parameter(
        ["array-like", dict, StrOptions({"from_dtype"}), None],
        "'from_dtype', array-like, dict or None",
        "Which features are categories. 'from_dtype': columns of a data frame with text or of a "
        "categorical type. A list of names or indices, or a mask: these columns, and those with "
        "text. None: no column; then text raises an error. A leaf of a categorical feature has a "
        "weight for each category, of which there are at most 255. Values in less than 0.2 % of "
        "the rows (but not more than 20 rows, and always those in a single row) share one weight. "
        "In tables of 2,000 rows or more, a column whose rare values are in 5 % of the rows or "
        "more has means of the target by value instead, cross-fitted in training. A dict from "
        "names or positions of columns to 'means' or 'values' says which of both a column has, "
        "such as {'shop': 'means'}; other columns are as with 'from_dtype'. Values in a single "
        "row have the mean of all rows, unless a column has 'all means'; with a number of rows in "
        "place of 'means', so have all values in fewer rows, which are then not in model files. "
        "With 'from_dtype' and dicts, columns of whole numbers are categories where their values "
        "predict the target and neighbouring values do not, with a CodeWarning; 'number' in a dict "
        "forbids that, and 'category' confirms it. "
        "A column of text whose values are all dates is a date.",
    ),
    "class_weight": Parameter(
        [dict, StrOptions({"balanced"}), None],
        "dict, 'balanced' or None",
        "Weight of each class, 1 if it is not in the dict; 'balanced' gives all classes the same "
        "total weight.",
    ),
    "warm_start": Parameter(
        ["boolean"],
        "bool",
        "A tree: `fit` continues from the weights of the previous call. A forest: existing trees "
        "are kept, and `n_estimators` includes them.",
    ),
    "dtype": Parameter(
        [StrOptions({"float32", "float64"})],
        "{'float32', 'float64'}",
        "Precision of training and of `tree_`. `tree_` is float64 if folding the scaling into "
        "float32 weights would lose digits (features whose mean is large for their spread).",
    ),
    "random_state": Parameter(
        ["random_state"],
        "int, RandomState or None",
        "Seed of all random numbers. The same seed gives the same model, for any `n_jobs` and "
        "any order of the rows.",
    ),
    "n_jobs": Parameter(
        [at_least(1), Interval(Integral, None, -1, closed="right"), None],
        "int or None",
        "Number of threads, -1 for all; None means 1.",
    ),
    "verbose": Parameter(
        ["verbose"], "int", "1 shows the progress of training, and which features are not used."
    ),
    "n_estimators": Parameter([at_least(1)], "int", "Number of trees."),
    "max_samples": Parameter(
        [at_least(1), Interval(RealNotInt, 0, 1, closed="right"), None],
        "int, float in (0, 1] or None",
        "Number of rows, or share of the training rows, that are drawn for each tree. None: all, "
        f"or about {ROWS_PER_TREE:,} of more than that.",
    ),
    "bootstrap": Parameter(["boolean"], "bool", "Whether rows are drawn with replacement."),
    "max_features": Parameter(
        [at_least(1), Interval(RealNotInt, 0, 1, closed="right"), None],
        "int, float in (0, 1] or None",
        "Number or share of the features that each tree may use. None: all.",
    ),
}


T = TypeVar("T", bound=type)


def declared(cls: T, parameters: Mapping[str, Parameter] = PARAMETERS) -> T:
    """Set the parameter constraints and the docstring of an estimator class, and register it.

    Parameters
    ----------
    cls : class
        A dataclass. The description of its parameters replaces `{parameters}` in its docstring,
        and those of common attributes their names in braces. Model files refer to the class by its
        name.
    parameters : mapping of str to Parameter
        Allowed values and meaning of each parameter.
    """
    names = [(field.name, field.default, parameters[field.name]) for field in fields(cls)]
    allowed = {name: parameter.allowed for name, _, parameter in names}
    cls._parameter_constraints = allowed  # type: ignore[attr-defined]
    if cls.__doc__:
        losses = LOSS_TEXTS["class_weight" in allowed]
        names = [
            (name, default, entry._replace(meaning=entry.meaning.replace("{losses}", losses)))
            for name, default, entry in names
        ]
        cls.__doc__ = with_attributes(cls.__doc__).replace("{parameters}", described(names))
    cls.__init__ = _with_hints(cls)  # type: ignore[misc]
    return register_kind(cls)


def _with_hints(cls: type) -> Callable[..., None]:
    """Return the constructor of a class, whose error messages name the class and a parameter."""
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]
    names = {field.name for field in fields(cls)}
    nested = {
        name: (owner, value)
        for owner, value in OBJECTS.items()
        if owner in names
        for name in value.names
    }

    @wraps(init)
    def __init__(self: Any, *unnamed: Any, **values: Any) -> None:
        if unnamed:
            raise TypeError(
                f"{cls.__name__}.__init__() takes no positional arguments, and got "
                f"{unnamed[0]!r:.50}: name each parameter, such as random_state=0"
            )
        for name in values:
            if name in names:
                continue
            message = f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}"
            similar = get_close_matches(name, [*sorted(names), *nested], 1)
            if name in nested:
                owner, value = nested[name]
                example = f"{owner}={type(value).__name__}({name}={values[name]!r})"
                message += f": it is a field of {owner}, {example}"
            elif similar:
                message += f": did you mean {similar[0]!r}?"
            elif get_close_matches(name, OF_FORESTS, 1):
                message += ": it is for forests, such as BNeuralForestClassifier"
            else:
                message += f"; it has: {', '.join(sorted(names))}"
            raise TypeError(message)
        init(self, **values)

    __init__.__qualname__ = f"{cls.__name__}.__init__"  # not that of a base class
    return __init__
