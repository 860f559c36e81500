"""What depends on scikit-learn's version: its private names, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    Interval,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_monotonic_cst as check_monotonic_cst
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _get_feature_names as get_feature_names

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for a part of scikit-learn that this version does not have."""


class _Named:
    """A table of which scikit-learn before 1.9 sees the shape and the names of the columns."""

    def __init__(self, shape: tuple[int, int], names: Sequence[Any]) -> None:
        self.shape = shape
        self._names = names

    def __dataframe__(self) -> _Named:
        return self

    def column_names(self) -> Sequence[Any]:
        return self._names


def with_names(X: Any, names: Sequence[Any]) -> Any:
    """Return a data frame, or what stands for it where scikit-learn does not find its names.

    Before 1.9 it finds them by a protocol that polars does not have any more.
    """
    return _Named(X.shape, names) if get_feature_names(X) is None else X


__all__ = [
    "CallbackSupportMixin",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "check_feature_names_in",
    "check_monotonic_cst",
    "check_sample_weight",
    "check_y",
    "fit_context",
    "validate_parameter_constraints",
    "with_names",
]
