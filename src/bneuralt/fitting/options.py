"""The parameters of an estimator as plain values: what functions of `fitting` read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bneuralt.frozen_settings import is_auto
from bneuralt.model.tasks import Classes, Labels
from bneuralt.training import TrainingSettings
from bneuralt.training.losses import (
    CLASSIFICATION_LOSSES,
    LOSSES,
    REGRESSION_LOSSES,
    Loss,
    Pinball,
)
from bneuralt.tree.growing import Growth

__all__ = ["AT_TOP", "READABLE", "Options", "merged_training"]

#: Training settings that are also parameters of estimators.
AT_TOP = ("loss", "learning_rate", "weight_decay", "batch_size", "max_epochs")

#: The value of `n_weights` for trees to be read.
READABLE = "readable"

MAX_QUANTILES = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """Parameters of an estimator, with 'auto' for values that are not set.

    Attributes
    ----------
    estimator : str
        Name of its class, for messages and files.
    is_classifier : bool
    seed : int
        Seed of all random numbers of this fit.
    n_threads : int
    growth, training
        `growth` has the values of its kind of estimator in place of 'auto'; `training` has the
        settings that are parameters of the estimator too, and a loss.
    parameters : dict
        The parameters as the estimator has them, for the recipe.
    tables_in_blocks : bool
        Whether tables of several blocks can be fitted.
    trains : bool
        Whether trees are trained by gradients, for which the loss must fit the outputs.
    class_task, label_task : type of task
        Tasks of classifiers.

    The other attributes are parameters of estimators; those that an estimator does not have are
    at the value that switches them off.
    """

    estimator: str
    is_classifier: bool
    seed: int = 0
    n_threads: int = 1
    n_jobs: int | None = None
    growth: Growth = field(default_factory=Growth)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tables_in_blocks: bool = False
    trains: bool = True
    class_task: type[Classes] = Classes
    label_task: type[Labels] = Labels
    n_weights: int | str | None = None
    max_weights: int | str | None = None
    quantiles: Any = (0.5,)
    conformal: int | float | None = None
    class_weight: Any = None
    monotonic_cst: Any = None
    interaction_cst: Any = None
    output_factor: float | str = "auto"
    early_stopping: bool | str = False
    validation_fraction: float = 0.15
    scale: str | None = None
    ramps: int | str | None = None
    sentinels: Any = None
    categorical_features: Any = "from_dtype"
    identifiers: Any = "drop"
    warm_start: bool = False
    dtype: str = "float32"
    n_estimators: int | None = None
    max_samples: int | float | None = None
    bootstrap: bool = False
    max_features: int | float | None = None

    @property
    def is_forest(self) -> bool:
        """Whether several trees are averaged."""
        return self.n_estimators is not None

    @property
    def trains_trees(self) -> bool:
        """Whether the weights of single trees are trained."""
        return "n_weights" in self.parameters

    @property
    def is_readable(self) -> bool:
        """Whether the tree is made small, with weights of few digits."""
        return isinstance(self.n_weights, str) and self.n_weights == READABLE

    @cached_property
    def explicit(self) -> frozenset[str]:
        """Names of the parameters, and fields of `growth` and `training`, that the user has set."""
        nested = [self.parameters.get(owner) for owner in ("growth", "training")]
        values = [self.parameters, *(each.get_params() for each in nested if each is not None)]
        return frozenset(name for each in values for name in each if not is_auto(each[name]))

    def loss_of_labels(self) -> Loss:
        """Return the loss of several labels for each row."""
        loss, activation = self.training.loss, self.growth.output_activation
        per_label = loss.traits.per_label
        if per_label is None:
            raise ValueError(f"loss={loss.name!r} is for rows of one class each, not for labels")
        loss = LOSSES[per_label](*loss.values)
        if not loss.entry.needs_linear_outputs and activation != "sigmoid":
            raise ValueError(
                f"loss={loss.name!r} with several labels needs output_activation='sigmoid', not "
                f"{activation!r}: outputs must be probabilities"
            )
        return loss


def merged_training(
    parameters: Mapping[str, Any], training: TrainingSettings, is_classifier: bool, estimator: str
) -> TrainingSettings:
    """Return the training settings of an estimator: those of `training`, and its own parameters.

    Parameters
    ----------
    parameters : mapping
        Parameters of the estimator.
    training : TrainingSettings
    is_classifier : bool
    estimator : str
        Name of its class, for messages.

    Returns
    -------
    TrainingSettings
        Its loss is that of rows of one class each, or of numbers.
    """
    given = {name: parameters[name] for name in AT_TOP if not is_auto(parameters.get(name, "auto"))}
    loss = given.get("loss", training.loss)
    is_quantile = not is_classifier and isinstance(loss, str) and loss == "quantile"
    if is_quantile:
        given["loss"] = Pinball(checked_quantiles(parameters["quantiles"]))
    elif is_auto(loss):
        given["loss"] = "cross_entropy" if is_classifier else "squared_error"
    merged = training.set_params(**given)
    for name in given:
        nested = getattr(training, name)
        if not is_auto(nested) and nested != getattr(merged, name):
            raise ValueError(
                f"{name}={parameters[name]!r} and training=TrainingSettings({name}={nested!r}) are "
                "both given: leave one of them out"
            )
    allowed = CLASSIFICATION_LOSSES if is_classifier else REGRESSION_LOSSES
    if merged.loss.name not in allowed and not is_quantile:
        names = allowed if is_classifier else (*allowed, "quantile")
        raise ValueError(
            f"loss={loss!r} is for {'regressors' if is_classifier else 'classifiers'}: {estimator} "
            f"takes one of {', '.join(map(repr, names))}"
        )
    return merged


def checked_quantiles(quantiles: Any) -> list[float]:
    """Return the parameter `quantiles` as a list of numbers between 0 and 1.

    Examples
    --------
    >>> checked_quantiles(0.5)
    [0.5]
    """
    try:
        numbers = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    inside = (numbers > 0) & (numbers < 1)
    if numbers.ndim != 1 or not 1 <= numbers.size <= MAX_QUANTILES or not inside.all():
        raise ValueError(
            f"quantiles={quantiles!r} must be 1 to {MAX_QUANTILES} numbers between 0 and "
            "1, such as (0.05, 0.5, 0.95)"
        )
    checked: list[float] = numbers.tolist()
    return checked
