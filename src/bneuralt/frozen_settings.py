"""Base class of `Growth` and `TrainingSettings`: named values that do not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

__all__ = ["FrozenSettings", "is_auto"]


def is_auto(value: Any) -> bool:
    """Return whether a value is 'auto', which means that it is not set."""
    return isinstance(value, str) and value == "auto"


class FrozenSettings:
    """Named values that are checked when the object is made, and do not change.

    A value that is not set is 'auto'. Like estimators of scikit-learn, objects have `get_params`
    and `set_params`. Objects never change: `set_params` returns a new one, so that several
    estimators can share an object.
    """

    #: Names of the values, which a subclass declares.
    names: ClassVar[tuple[str, ...]] = ()
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls) -> None:
        cls.__signature__ = Signature(
            [Parameter(name, Parameter.KEYWORD_ONLY, default="auto") for name in cls.names]
        )

    def __init__(self, **values: Any) -> None:
        if unknown := [name for name in values if name not in self.names]:
            raise TypeError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has: "
                + ", ".join(self.names)
            )
        self.__dict__.update({**dict.fromkeys(self.names, "auto"), **self._all_checked(values)})

    def _all_checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value if is_auto(value) else self._checked(name, value)
            for name, value in values.items()
        }

    def _checked(self, name: str, value: Any) -> Any:
        """Return the value as it is stored, or raise an error that names it."""
        return value

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the value of this name."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all values by name.

        Parameters
        ----------
        deep : bool
            For scikit-learn; it has no effect.
        """
        values = self.__dict__
        return {name: values[name] for name in self.names}

    def set_params(self, **values: Any) -> Self:
        """Return a new object with other values for some names; this one does not change.

        Parameters
        ----------
        **values
            The values to replace, 'auto' to leave one out.
        """
        if unknown := [name for name in values if name not in self.names]:
            raise ValueError(
                f"Invalid parameter {unknown[0]!r} for {type(self).__name__}. Valid parameters "
                f"are: {', '.join(self.names)}"
            )
        return self._twin(self._all_checked(values))

    def filled(self, values: Mapping[str, Any]) -> Self:
        """Return a new object with these values in place of 'auto'.

        Parameters
        ----------
        values : mapping
            Values by name, which are not checked.
        """
        return self._twin(
            {
                name: values[name]
                for name in self.names
                if name in values and is_auto(vars(self)[name])
            }
        )

    def _twin(self, values: Mapping[str, Any]) -> Self:
        """Return an object with other values for some names, which are not checked."""
        if not values:
            return self
        twin = object.__new__(type(self))
        twin.__dict__.update({**self.get_params(), **values})
        return twin

    def _set_values(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params().items() if not is_auto(value)}

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(
            f"{type(self).__name__} objects do not change: set_params({name}=...) returns a new one"
        )

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} objects do not change")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_are_equal(getattr(self, name), getattr(other, name)) for name in self.names)

    def __hash__(self) -> int:
        return hash((type(self), *self._set_values()))  # values may be arrays

    def __sklearn_clone__(self) -> Self:
        return self

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self._set_values().items())
        return f"{type(self).__name__}({values})"


def _are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return a is b or bool(a == b)
