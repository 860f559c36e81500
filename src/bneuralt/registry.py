"""Python classes of the activations, losses and optimizers that the core registers.

The core declares the name of each entry, its parameters with their defaults and ranges, and a line
of documentation. `classes_of` makes a class of each entry: an object of it is the entry with
values for its parameters, such as ``Adam(beta2=0.99)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

from bneuralt import _core

__all__ = ["Registered", "classes_of", "find"]

#: Range of a parameter -> (whether a finite number is in it, its description).
_RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "any": (lambda x: True, "a finite number"),
    "nonzero": (lambda x: x != 0, "a finite number other than 0"),
    "positive": (lambda x: x > 0, "a positive number"),
    "fraction": (lambda x: 0 <= x < 1, "in [0, 1)"),
    "probability": (lambda x: 0 < x < 1, "in (0, 1)"),
}


class Registered:
    """An entry of the core's registry, with values for its parameters.

    Objects are values: they do not change, and equal parameters make equal objects.
    """

    name: ClassVar[str]
    entry: ClassVar[_core.Entry]
    values: tuple[Any, ...]

    def __init__(self, *args: Any, **values: Any) -> None:
        names = [parameter.name for parameter in self.entry.parameters]
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes {len(names)} parameters, got {len(args)}")
        arguments = dict(zip(names, args, strict=False))
        for key in values:
            if key not in names or key in arguments:
                all_names = ", ".join(names) or "none"
                raise TypeError(
                    f"{type(self).__name__} has no parameter {key!r} left; it has: {all_names}"
                )
        arguments |= values
        checked = tuple(
            self._check(parameter, arguments.get(parameter.name, parameter.default))
            for parameter in self.entry.parameters
        )
        object.__setattr__(self, "values", checked)

    def _check(self, parameter: _core.Parameter, value: Any) -> Any:
        if parameter.is_list:
            numbers = tuple(value) if isinstance(value, Iterable) else (value,)
            if not numbers:
                raise ValueError(f"{type(self).__name__}: {parameter.name} is empty")
            return tuple(self._check_number(parameter, number) for number in numbers)
        return self._check_number(parameter, value)

    def _check_number(self, parameter: _core.Parameter, value: Any) -> float:
        is_valid, description = _RANGES[parameter.range]
        try:
            number = math.nan if isinstance(value, str) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not (math.isfinite(number) and is_valid(number)):
            raise ValueError(
                f"{type(self).__name__}: {parameter.name}={value!r} is not {description}"
            )
        return number

    @property
    def numbers(self) -> list[float]:
        """Values of all parameters, as the core takes them."""
        flat: list[float] = []
        for value in self.values:
            flat.extend(value if isinstance(value, tuple) else (value,))
        return flat

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the parameters as JSON values."""
        pairs = zip(self.entry.parameters, self.values, strict=True)
        plain = {p.name: list(v) if isinstance(v, tuple) else v for p, v in pairs}
        return {"name": self.name, **plain}

    def __getattr__(self, name: str) -> Any:
        for position, parameter in enumerate(type(self).entry.parameters):
            if parameter.name == name:
                return self.values[position]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} objects do not change: make a new one")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registered) and (type(self), self.values) == (
            type(other),
            other.values,
        )

    def __hash__(self) -> int:
        return hash((type(self), self.values))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.values

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        pairs = zip(self.entry.parameters, self.values, strict=True)
        return f"{type(self).__name__}({', '.join(f'{p.name}={v!r}' for p, v in pairs)})"


R = TypeVar("R", bound=Registered)


def classes_of(entries: Iterable[_core.Entry], base: type[R], module: str) -> dict[str, type[R]]:
    """Return a class for each entry, by the entry's name.

    Parameters
    ----------
    entries : list of entries
        Entries of the core.
    base : type
        Base class of all classes.
    module : str
        Module that defines the classes under their names.
    """
    return {
        entry.name: type(
            entry.title,
            (base,),
            {"name": entry.name, "entry": entry, "__doc__": _describe(entry), "__module__": module},
        )
        for entry in entries
    }


def _describe(entry: _core.Entry) -> str:
    about = entry.about[0].upper() + entry.about[1:]
    lines = [about if about.endswith(".") else f"{about}."]
    if entry.parameters:
        lines += ["", "Parameters", "----------"]
    for parameter in entry.parameters:
        kind = "sequence of float" if parameter.is_list else "float"
        lines += [
            f"{parameter.name} : {kind}, default={parameter.default!r}",
            f"    {'Each ' if parameter.is_list else ''}{_RANGES[parameter.range][1]}.",
        ]
    return "\n".join(lines)


@cache
def _with_defaults(cls: Any) -> Any:
    return cls()


def find(classes: dict[str, type[R]], base: type[R], value: Any, what: str) -> R:
    """Return the object that a name, an object or its `to_dict` stands for.

    Parameters
    ----------
    classes : dict
        The classes by name.
    base : type
        Their base class.
    value : str, Registered or dict
        A name stands for the entry with its default parameters.
    what : str
        Name of the parameter, for the error message.
    """
    if isinstance(value, base) and type(value) in classes.values():
        return value
    if isinstance(value, str) and value in classes:
        entry: R = _with_defaults(classes[value])  # type: ignore[arg-type]
        return entry
    if isinstance(value, dict) and value.get("name") in classes:
        return classes[value["name"]](**{k: v for k, v in value.items() if k != "name"})
    raise ValueError(f"{what}={value!r} is not known: choose one of {', '.join(classes)}")
