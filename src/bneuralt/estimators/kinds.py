"""Registry of the estimator classes that model files can hold."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["ENTRY_POINTS", "find_class", "kind_of", "register_kind", "registered_kinds"]

#: Other distributions name their estimators in this group of entry points: the name of an entry
#: is that of the class.
ENTRY_POINTS = "bneuralt.estimators"

_CLASSES: dict[str, type] = {}

T = TypeVar("T", bound=type)


def register_kind(cls: T) -> T:
    """Register an estimator class under its name."""
    _CLASSES[cls.__name__] = cls
    return cls


def registered_kinds() -> list[str]:
    """Return the names of the classes that are registered so far.

    Examples
    --------
    >>> import bneuralt.estimators
    >>> "BNeuralTClassifier" in registered_kinds()
    True
    """
    return list(_CLASSES)


def kind_of(model: object) -> str:
    """Return the name of the registered class that an estimator is, or derives from."""
    return next(cls.__name__ for cls in type(model).__mro__ if _CLASSES.get(cls.__name__) is cls)


def find_class(kind: Any) -> type | None:
    """Return the class of a name that comes from a file, or None.

    The name is compared with registered classes, then with the entry points of installed
    distributions. Loading a matching entry point imports its module, which registers its classes.
    """
    if not isinstance(kind, str):
        return None
    if kind not in _CLASSES:
        from importlib.metadata import entry_points  # slow to import, and rarely needed

        for entry in entry_points(group=ENTRY_POINTS, name=kind):
            entry.load()
    return _CLASSES.get(kind)
