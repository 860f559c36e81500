"""The parameters of an estimator as plain values: what functions of `fitting` read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    get_loss,
)
from bneuralt.tree.growing import Growth

__all__ = ["AT_TOP", "READABLE", "Options"]

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
        With all fields; `growth` has the values of its kind of estimator in place of 'auto'.
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
    loss: str | Loss = "auto"
    quantiles: Any = (0.5,)
    conformal: int | float | None = None
    class_weight: Any = None
    monotonic_cst: Any = None
    interaction_cst: Any = None
    learning_rate: float | str = "auto"
    weight_decay: float | str = "auto"
    batch_size: int | str | None = "auto"
    max_epochs: int | str = "auto"
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

    @property
    def output_activation(self) -> str:
        """Activation of output nodes."""
        activation: str = self.growth.output_activation
        return activation

    def setting(self, name: str) -> Any:
        """Return a training setting, from the estimator or its `training`; 'auto' if not set."""
        value = getattr(self, name)
        return getattr(self.training, name) if is_auto(value) else value

    def is_set(self, name: str) -> bool:
        """Return whether the user has set a parameter, or a field of `growth` or `training`."""
        if name in AT_TOP:
            return not is_auto(self.setting(name))
        if name in self.parameters:
            return not is_auto(self.parameters[name])
        for owner in ("training", "growth"):
            own = self.parameters.get(owner)
            if own is not None and name in own.names:
                return not is_auto(getattr(own, name))
        return False

    def checked_loss(self) -> Loss:
        """Return the loss of rows of one class each, or of numbers."""
        parameter = self.setting("loss")
        if not self.is_classifier and isinstance(parameter, str) and parameter == "quantile":
            return Pinball(checked_quantiles(self.quantiles))
        default = "cross_entropy" if self.is_classifier else "squared_error"
        loss = get_loss(default if is_auto(parameter) else parameter)
        if self.is_classifier and loss.name not in CLASSIFICATION_LOSSES:
            raise ValueError(
                f"loss={parameter!r} is for regressors: {self.estimator} takes "
                f"{' or '.join(map(repr, CLASSIFICATION_LOSSES))}"
            )
        if not self.is_classifier and loss.name not in REGRESSION_LOSSES:
            raise ValueError(
                f"loss={parameter!r} is for classifiers: {self.estimator} takes one of "
                f"{', '.join(map(repr, (*REGRESSION_LOSSES, 'quantile')))}"
            )
        return loss

    def loss_of_labels(self) -> Loss:
        """Return the loss of several labels for each row."""
        loss = self.checked_loss()
        per_label = loss.traits.per_label
        if per_label is None:
            raise ValueError(f"loss={loss.name!r} is for rows of one class each, not for labels")
        loss = LOSSES[per_label](*loss.values)
        if not loss.entry.needs_linear_outputs and self.output_activation != "sigmoid":
            raise ValueError(
                f"loss={loss.name!r} with several labels needs output_activation='sigmoid', not "
                f"{self.output_activation!r}: outputs must be probabilities"
            )
        return loss


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
