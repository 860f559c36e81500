"""Base class of settings objects: named values that do not change, in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

__all__ = ["Values"]


class Values:
    """Named values that are checked when the object is made, and do not change.

    A subclass has the names with their defaults in `defaults`. As an estimator of scikit-learn, it
    has `get_params` and `set_params`; but as the object itself never changes, `set_params` returns
    a new one, and several estimators can share an object.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    __signature__: ClassVar[Signature]

    def __init_subclass__(cls) -> None:
        cls.__signature__ = Signature(
            [Parameter(name, Parameter.KEYWORD_ONLY, default=value)
             for name, value in cls.defaults.items()]
        )  # fmt: skip

    def __init__(self, **values: Any) -> None:
        for name in values:
            if name not in self.defaults:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}; it has: "
                    + ", ".join(self.defaults)
                )
        self.__dict__.update(self.defaults)
        for name, value in values.items():
            self.__dict__[name] = self._checked(name, value)

    def _checked(self, name: str, value: Any) -> Any:
        """Return the value as it is kept, or raise an error that names it."""
        return value

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the value of this name."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all values by name.

        Parameters
        ----------
        deep : bool
            For scikit-learn; there are no parameters inside of the values.
        """
        return {name: getattr(self, name) for name in self.defaults}

    def set_params(self, **values: Any) -> Self:
        """Return a new object with other values for some names; this one stays as it is.

        Parameters
        ----------
        **values
            The values to replace.
        """
        return type(self)(**{**self._changed(), **values})

    def _changed(self) -> dict[str, Any]:
        """Return the values that are not the default ones."""
        return {
            name: value
            for name, value in self.get_params().items()
            if not _are_equal(value, self.defaults[name])
        }

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(
            f"{type(self).__name__} objects do not change: set_params({name}=...) returns a new one"
        )

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{type(self).__name__} objects do not change")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_are_equal(getattr(self, name), getattr(other, name)) for name in self.defaults)

    def __hash__(self) -> int:
        return hash((type(self), *self._changed()))

    def __sklearn_clone__(self) -> Self:
        return self

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self._changed().items())
        return f"{type(self).__name__}({changed})"


def _are_equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b) and type(a) is type(b)
