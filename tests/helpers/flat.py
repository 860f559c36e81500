"""Estimators made of bare names: those of `growth` and `training` need no object and no prefix."""

from __future__ import annotations

from typing import Any


def flat(cls: Any, **parameters: Any) -> Any:
    """Return an estimator, as `cls(**parameters)` does where no name is that of a nested field."""
    names = cls().get_params()
    bare = {name.rpartition("__")[2]: name for name in names} | {name: name for name in names}
    return cls().set_params(**{bare[name]: value for name, value in parameters.items()})
