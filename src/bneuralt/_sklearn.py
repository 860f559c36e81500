"""Private names of scikit-learn, which depend on its version."""

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
from sklearn.utils.validation import _check_feature_names as check_feature_names
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_monotonic_cst as check_monotonic_cst
from sklearn.utils.validation import _check_n_features as check_n_features
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _get_feature_names as get_feature_names

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder of a class that this version of scikit-learn does not have."""


class _Named:
    """A table that has only a shape and names of columns, for scikit-learn before 1.9."""

    def __init__(self, shape: tuple[int, int], names: Sequence[Any]) -> None:
        self.shape = shape
        self._names = names

    def __dataframe__(self) -> _Named:
        return self

    def column_names(self) -> Sequence[Any]:
        return self._names


def with_names(X: Any, names: Sequence[Any]) -> Any:
    """Return a data frame in which scikit-learn finds the names of columns.

    Before 1.9 it uses a protocol that polars no longer supports.
    """
    return _Named(X.shape, names) if get_feature_names(X) is None else X


__all__ = [
    "CallbackSupportMixin",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "check_feature_names",
    "check_feature_names_in",
    "check_monotonic_cst",
    "check_n_features",
    "check_sample_weight",
    "check_y",
    "fit_context",
    "validate_parameter_constraints",
    "with_names",
]
