"""The table encoder: columns of any kind in, numbers out.

`learn_encoder` decides from the training rows how each column becomes inputs of the trees
(`features` has the rules), and the `TableEncoder` does so for all later tables. Its description is
plain data, which model files store. A table of numbers without gaps passes unchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tables.columns import Column, Frame, parse_dates
from bneuralt.tables.features import (
    CategoryFeature,
    ColumnError,
    DateFeature,
    Feature,
    NumberFeature,
    rounded_means,
)
from bneuralt.tables.ranges import Range, column_range, number_range

__all__ = [
    "MissingValuesWarning",
    "RareValuesWarning",
    "TableEncoder",
    "UnseenValuesWarning",
    "categorical_mask",
    "learn_encoder",
]


class UnseenValuesWarning(UserWarning):
    """A column of categories has values that did not occur in training."""


class RareValuesWarning(UserWarning):
    """All values of a column of categories are rare."""


class MissingValuesWarning(UserWarning):
    """Values are missing in a column that had none missing in training, or only such."""


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a table become the inputs of trees.

    Attributes
    ----------
    features : tuple of Feature
        One for each column.
    names : tuple of str or None
        Names of the columns.
    ranges : tuple of (tuple of two float or str, or None), or None
        Smallest and largest value of each column in training: numbers, dates as text, and None
        for categories and columns without values. None if they are not known. Encoding does not
        depend on them.
    """

    features: tuple[Feature, ...]
    names: tuple[str, ...] | None = None
    ranges: tuple[Range | None, ...] | None = field(default=None, compare=False)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every column is one number, so that tables of finite numbers stay as they are."""
        return all(type(f) is NumberFeature and not f.has_gaps for f in self.features)

    @cached_property
    def groups(self) -> IntArray | None:
        """The column from which each input comes; None if inputs and columns are the same."""
        if self.is_plain:
            return None
        return np.repeat(np.arange(len(self.features)), [f.n_columns for f in self.features])

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return sum(feature.n_columns for feature in self.features)

    def inputs_of(self, i: int) -> range:
        """Return the positions of the inputs that a column becomes."""
        first = sum(feature.n_columns for feature in self.features[:i])
        return range(first, first + self.features[i].n_columns)

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs, such as ``colour=red`` or ``height is missing``."""
        names = (feature.names(self.name(i)) for i, feature in enumerate(self.features))
        return [name for group in names for name in group]

    def name(self, i: int) -> str:
        """Return the name of a column."""
        return f"x{i}" if self.names is None else self.names[i]

    def encode(self, X: Array | Frame) -> Array:
        """Return the inputs for each row.

        Parameters
        ----------
        X : array of numbers or Frame
            With the columns of the training rows, in their order.

        Returns
        -------
        array of shape (n_rows, n_inputs)
            X itself where nothing has to be done.

        Raises
        ------
        ValueError
            A column does not fit the one in training.

        Warns
        -----
        UnseenValuesWarning, MissingValuesWarning
            Some values become the mean of the training rows, since training had none of the kind.
        """
        dtype: type[np.floating[Any]] = np.float64
        if isinstance(X, Frame):
            columns = X.columns
        elif self.is_plain and not _may_have_gaps(X):
            return X
        else:
            columns = [_number_column(X, j) for j in range(X.shape[1])]
            dtype = np.float32 if X.dtype == np.float32 else np.float64
        encoded = np.empty((len(X), self.n_inputs), dtype=dtype)
        surprises: list[tuple[str, int, int, str]] = []
        at = 0
        for i, (feature, column) in enumerate(zip(self.features, columns, strict=True)):
            out = encoded[:, at : at + feature.n_columns]
            at += feature.n_columns
            try:
                if column.kind == "number":
                    _refuse_infinite(column.values)
                feature.encode(
                    column,
                    out,
                    lambda what, n, text, i=i: surprises.append((what, i, n, text)),  # type: ignore[misc]
                )
            except ColumnError as error:
                raise ValueError(f"{self._place(i)} {error}") from None
        self._warn(surprises)
        return encoded

    def _place(self, i: int) -> str:
        return f"column {i} of X" if self.names is None else f"column {self.names[i]!r} of X"

    def _warn(self, surprises: list[tuple[str, int, int, str]]) -> None:
        unseen = [(i, n, text) for what, i, n, text in surprises if what == "unseen"]
        missing = [(i, n) for what, i, n, _ in surprises if what == "missing"]
        if unseen:
            parts = [
                f"{_count(n, 'value')} of {self._place(i)}, such as {text!r:.50}"
                for i, n, text in unseen[:5]
            ]
            warnings.warn(
                f"not seen in training: {_listed(parts, len(unseen))}. They are treated as rare "
                "values are, or as the mean of the training rows where no value was rare.",
                UnseenValuesWarning,
                stacklevel=4,
            )
        if missing:
            parts = [f"{_count(n, 'value')} of {self._place(i)}" for i, n in missing[:5]]
            warnings.warn(
                f"missing, though none was in training: {_listed(parts, len(missing))}. They are "
                "treated as the mean of the training rows.",
                MissingValuesWarning,
                stacklevel=4,
            )

    def to_plain(self) -> list[Any]:
        """Return the description of each column as JSON has it."""
        return [feature.to_plain() for feature in self.features]

    @classmethod
    def from_plain(cls, data: Any, names: Sequence[str] | None = None) -> TableEncoder:
        """Read what `to_plain` returned.

        Raises
        ------
        ValueError
            The description is damaged.

        Examples
        --------
        >>> TableEncoder.from_plain([1.5, {"kind": "number", "mean": 2.0}]).input_names
        ['x0', 'x1', 'x1 is missing']
        """
        if not isinstance(data, list):
            raise ValueError("it is not a list")
        features = []
        for i, entry in enumerate(data):
            kind = entry.get("kind") if isinstance(entry, dict) else "number"
            reader = _KINDS.get(kind) if isinstance(kind, str) else None
            if reader is None:
                raise ValueError(f"column {i}: unknown kind {kind!r:.50}")
            try:
                features.append(reader.from_plain(entry))
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {i}: {error}") from None
        return cls(tuple(features), None if names is None else tuple(names))


_KINDS: dict[str, Any] = {cls.kind: cls for cls in (NumberFeature, CategoryFeature, DateFeature)}


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _listed(parts: list[str], total: int) -> str:
    more = f"; and {total - len(parts)} more columns" if total > len(parts) else ""
    return "; ".join(parts) + more


def _number_column(X: Array, j: int) -> Column:
    return Column("number", X[:, j].astype(np.float64))


def _may_have_gaps(X: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(X.sum(dtype=np.float64)))


def _refuse_infinite(values: Array) -> None:
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ColumnError(
            f"has infinity in row {row}: numbers must be finite; correct it, or make it NaN, which "
            "stands for a missing value"
        )


# -- learning -----------------------------------------------------------------------------


def categorical_mask(
    categorical_features: Any, n_columns: int, names: Collection[str] | None
) -> Array:
    """Return for each column whether it is listed as a category.

    Parameters
    ----------
    categorical_features : "from_dtype", None, or a list of names, indices or bools
    n_columns : int
    names : collection of str or None
        Names of the columns.

    Examples
    --------
    >>> categorical_mask(["b"], 2, ["a", "b"]).tolist(), categorical_mask([0], 2, None).tolist()
    ([False, True], [True, False])
    """
    mask = np.zeros(n_columns, dtype=bool)
    if categorical_features is None or isinstance(categorical_features, str):
        return mask
    listed = np.asarray(categorical_features)
    if listed.size == 0:
        return mask
    if listed.dtype.kind == "b":
        if listed.shape != (n_columns,):
            raise ValueError(
                f"categorical_features is a mask of shape {listed.shape}, and X has {n_columns} "
                f"columns: its shape must be ({n_columns},)"
            )
        return listed
    if listed.dtype.kind in "iu":
        if listed.min() < 0 or listed.max() >= n_columns:
            raise ValueError(
                f"categorical_features={listed.tolist()!r:.100}: indices must be in 0 to "
                f"{n_columns - 1}"
            )
        mask[listed] = True
        return mask
    for name in listed.tolist():
        if not isinstance(name, str) or names is None or name not in list(names):
            problem = "X has no column names" if names is None else "X has no such column"
            raise ValueError(f"categorical_features has {name!r:.50}, but {problem}")
        mask[list(names).index(name)] = True
    return mask


def learn_encoder(
    X: Array | Frame,
    weight: FloatArray | None = None,
    categorical_features: Any = "from_dtype",
    names: Sequence[str] | None = None,
) -> TableEncoder:
    """Decide how the columns of a table become the inputs of trees.

    Parameters
    ----------
    X : array of numbers or Frame
        The training rows.
    weight : array of shape (n_rows,), optional
        How much each row counts; rows of weight 0 are ignored.
    categorical_features : "from_dtype", None, or a list of names, indices or bools
        Columns of numbers that are categories. Columns of text are categories in any case; with
        None they are errors.
    names : sequence of str, optional
        Names of the columns.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [np.nan, 1.0], [2.0, 0.0], [3.0, 2.0], [2.0, 2.0], [1.0, 1.0]])
    >>> encoder = learn_encoder(X, categorical_features=[1])
    >>> encoder.input_names
    ['x0', 'x0 is missing', 'x1=0', 'x1=1', 'x1=2']
    >>> encoder.encode(X)[:2]
    array([[1. , 0. , 1. , 0. , 0. ],
           [1.8, 1. , 0. , 1. , 0. ]])
    """
    weight = np.ones(len(X)) if weight is None else weight
    listed = categorical_mask(categorical_features, X.shape[1], names)
    features: list[Feature] = []
    ranges: list[Range | None] = []
    empty: list[int] = []
    if not isinstance(X, Frame) and not listed.any() and not _may_have_gaps(X):
        for mean, low, high in _mean_low_high(X, weight):
            features.append(NumberFeature(mean))
            ranges.append(number_range(low, high))
    else:
        for j in range(X.shape[1]):
            column = X.columns[j] if isinstance(X, Frame) else _number_column(X, j)
            place = f"column {j} of X" if names is None else f"column {names[j]!r} of X"
            if listed[j] or (column.is_category and isinstance(categorical_features, str)):
                features.append(CategoryFeature.learn(column, weight))
            else:
                features.append(_learn_feature(column, weight, place, categorical_features))
            ranges.append(column_range(column, features[-1], weight))
            if column.is_missing[weight > 0].all():
                empty.append(j)
    encoder = TableEncoder(tuple(features), None if names is None else tuple(names), tuple(ranges))
    for j, feature in enumerate(features):
        if type(feature) is CategoryFeature and feature.has_other and not feature.categories:
            warnings.warn(
                f"all values of {encoder._place(j)} are rare, which identifies rows rather than "
                "categories: they share one weight; drop the column.",
                RareValuesWarning,
                stacklevel=4,
            )
    if encoder.n_inputs == 0:
        raise ValueError("no column of X varies in the training rows: there is nothing to learn")
    if empty:
        shown = ", ".join(encoder._place(j) for j in empty[:5])
        warnings.warn(
            f"no values at all: {shown}. The column has no influence; drop it.",
            MissingValuesWarning,
            stacklevel=4,
        )
    return encoder


def _learn_feature(column: Column, weight: FloatArray, place: str, wanted: Any) -> Feature:
    if column.kind == "date":
        return DateFeature.learn(column, weight)
    if column.kind == "number":
        return NumberFeature.learn(column, weight)
    if not column.texts:
        return NumberFeature(0.0, True)
    found = parse_dates(column.texts)
    if found is not None:
        dates = np.append(found[0], np.datetime64("NaT"))[column.values]
        return DateFeature.learn(Column("date", dates), weight, found[1])
    if wanted is None:
        raise ValueError(
            f"{place} has text, such as {column.texts[0]!r:.50}, and categorical_features=None "
            "allows none: use 'from_dtype'"
        )
    return CategoryFeature.learn(column, weight)


def _mean_low_high(X: Array, weight: FloatArray) -> Iterator[tuple[float, float, float]]:
    """Yield mean, minimum and maximum of each column, computed in blocks of columns."""
    width = max(1, 1_000_000 // max(1, len(X)))
    used = weight > 0
    for start in range(0, X.shape[1], width):
        block = X[:, start : start + width].astype(np.float64)[used]
        low, high = block.min(axis=0), block.max(axis=0)
        means = rounded_means(block, weight[used], low, high)
        yield from zip(means.tolist(), low.tolist(), high.tolist(), strict=True)
