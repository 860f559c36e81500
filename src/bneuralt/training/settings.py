"""`TrainingSettings`, made of the settings that the core declares."""

from __future__ import annotations

from functools import cached_property
from textwrap import indent
from typing import Any, ClassVar

from bneuralt import _core
from bneuralt.frozen_settings import FrozenSettings
from bneuralt.training.losses import get_loss
from bneuralt.training.optimizers import get_optimizer

__all__ = ["SETTINGS", "TrainingSettings", "type_text"]

#: Every setting as the core declares it, by name.
SETTINGS: dict[str, _core.Setting] = {setting.name: setting for setting in _core.settings()}
_REGISTERED = {"loss": get_loss, "optimizer": get_optimizer}
_TYPES = {"loss": "Loss or str", "optimizer": "Optimizer or str", "number": "float",
          "whole": "int", "flag": "bool"}  # fmt: skip


class TrainingSettings(FrozenSettings):
    """Settings of a training.

    The default of each setting is 'auto': as `training` of an estimator, the value that the
    estimator chooses; for `train` and `train_many`, the value named below. Objects do not change;
    `set_params` returns a new one.

    {parameters}

    Examples
    --------
    >>> from bneuralt.training import TrainingSettings
    >>> settings = TrainingSettings(optimizer="rmsprop", max_epochs=50)
    >>> settings.optimizer
    RMSprop(beta=0.9, epsilon=1e-08)
    >>> settings.set_params(max_epochs=20)
    TrainingSettings(optimizer=RMSprop(beta=0.9, epsilon=1e-08), max_epochs=20)
    """

    names: ClassVar[tuple[str, ...]] = tuple(SETTINGS)

    def _checked(self, name: str, value: Any) -> Any:
        return (_REGISTERED.get(name) or SETTINGS[name].checked)(value)

    @property
    def complete(self) -> TrainingSettings:
        """The same settings, with the defaults of the core in place of 'auto'."""
        return self.filled(_DEFAULTS)

    @cached_property
    def for_core(self) -> _core.Settings:
        """The settings as the compiled core takes them."""
        values = self.complete.get_params()
        for name in _REGISTERED:
            values[name] = values[name].name, values[name].numbers
        return _core.Settings(values)

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings without the object of the core, which cannot be pickled."""
        return self.get_params()


_DEFAULTS = TrainingSettings(
    **{name: setting.default for name, setting in SETTINGS.items()}
).get_params()


def type_text(setting: _core.Setting) -> str:
    """Return the type of a setting, as documentation writes it.

    Examples
    --------
    >>> [type_text(SETTINGS[name]) for name in ("max_epochs", "clip_norm", "select")]
    ['int', 'float or None', "{'epoch', 'update'} or None"]
    """
    choices = ", ".join(map(repr, setting.choices))
    kind = _TYPES.get(setting.kind) or f"{{{choices}}}"
    return f"{kind} or None" if setting.may_be_none else kind


def _describe(setting: _core.Setting) -> str:
    about = setting.about
    if setting.kind in _REGISTERED:
        about += f" One of `{_REGISTERED[setting.name].__module__}`, or its name."
    elif setting.kind in ("number", "whole"):
        about += f" {setting.allowed[0].upper()}{setting.allowed[1:]}."
    about += f" 'auto': {setting.default!r}."
    return f"{setting.name} : {type_text(setting)}, default='auto'\n    {about}"


if TrainingSettings.__doc__:
    _section = "Parameters\n----------\n" + "\n".join(map(_describe, SETTINGS.values()))
    TrainingSettings.__doc__ = TrainingSettings.__doc__.replace(
        "{parameters}", indent(_section, "    ").lstrip()
    )
