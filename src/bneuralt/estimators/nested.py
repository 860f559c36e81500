"""Parameters that are objects with parameters: `growth` and `training`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from bneuralt.estimators.growing import Growth
from bneuralt.training import TrainingSettings
from bneuralt.training.losses import Loss, check_loss
from bneuralt.values import Values, is_auto

__all__ = ["AT_TOP", "OBJECTS", "NestedParameters", "setting_of"]

#: Training settings that are also parameters of estimators.
AT_TOP = ("loss", "learning_rate", "weight_decay", "batch_size", "max_epochs")


#: The objects that None stands for.
OBJECTS: Mapping[str, Values] = MappingProxyType(
    {"growth": Growth(), "training": TrainingSettings()}
)


class NestedParameters:
    """Base class of estimators that have the parameters `growth` and `training`."""

    growth: Growth | None
    training: TrainingSettings | None

    #: Fields of `growth` and `training` that the estimator does not use.
    _unused_growth: ClassVar[tuple[str, ...]] = ()
    _unused_training: ClassVar[tuple[str, ...]] = ()

    _n_outputs: Callable[[], int]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to include nested parameters, such as `growth__max_depth`.
        """
        parameters: dict[str, Any] = super().get_params(deep=deep)  # type: ignore[misc]
        if deep:
            for owner in OBJECTS:
                inner = _object(self, owner).get_params()
                parameters |= {f"{owner}__{name}": value for name, value in inner.items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; a nested one, such as `growth__max_depth`, replaces the whole object.

        Parameters
        ----------
        **parameters
            Values by name.

        Returns
        -------
        self
        """
        plain: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for name, value in parameters.items():
            owner, _, field = name.partition("__")
            if field and owner in OBJECTS:
                inner.setdefault(owner, {})[field] = value
            else:
                plain[name] = value
        super().set_params(**plain)  # type: ignore[misc]
        for owner, values in inner.items():
            setattr(self, owner, _object(self, owner).set_params(**values))
        return self

    def _validate_params(self) -> None:
        """Check all parameters; raise an error if a setting is set twice, or is not used."""
        super()._validate_params()  # type: ignore[misc]
        for name in AT_TOP:
            value, nested = getattr(self, name, "auto"), getattr(_object(self, "training"), name)
            if not is_auto(value) and not is_auto(nested):
                raise ValueError(
                    f"{name}={value!r} and training=TrainingSettings({name}={nested!r}) are both "
                    "given: leave one of them out"
                )
        unused = {"growth": self._unused_growth, "training": self._unused_training}
        for owner, names in unused.items():
            for name in names:
                value = getattr(_object(self, owner), name)
                if not is_auto(value):
                    raise ValueError(
                        f"{name}={value!r} of {owner} has no meaning for {type(self).__name__}: "
                        "leave it out"
                    )

    @property
    def _growth(self) -> Growth:
        """The growth, with the automatic values of this estimator in place of 'auto'."""
        growth: Growth = _object(self, "growth")
        return growth.for_trees

    @property
    def _has_automatic_size(self) -> bool:
        """Whether no parameter determines the size of trees."""
        n_weights: Any = getattr(self, "n_weights", None)
        return isinstance(n_weights, str) and not self._growth.determines_size

    @property
    def _training(self) -> TrainingSettings:
        training: TrainingSettings = _object(self, "training")
        return training

    @property
    def _output_activation(self) -> str:
        activation: str = self._growth.output_activation
        return activation

    def _completed_training(self, loss: Loss, automatic: Mapping[str, Any]) -> TrainingSettings:
        """Return all settings of a training.

        Parameters
        ----------
        loss : Loss
            The loss to minimise.
        automatic : mapping
            Values of settings that are 'auto' in the estimator and in `training`.
        """
        loss = check_loss(loss, self._n_outputs(), self._output_activation)
        at_top = {name: getattr(self, name) for name in AT_TOP[1:]}
        values = {name: value for name, value in at_top.items() if not is_auto(value)}
        return self._training.set_params(loss=loss, **values).filled(automatic).complete


def setting_of(estimator: Any, name: str) -> Any:
    """Return a training setting of an estimator or of its `training`; 'auto' if neither is set.

    Parameters
    ----------
    estimator : estimator
    name : str
        One of `AT_TOP`.
    """
    value = getattr(estimator, name)
    return getattr(_object(estimator, "training"), name) if is_auto(value) else value


def _object(estimator: Any, name: str) -> Any:
    value = getattr(estimator, name)
    return (
        value if isinstance(value, Values) else OBJECTS[name]
    )  # fit raises an error for other types
