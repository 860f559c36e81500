"""Kinds of columns: what becomes of a column of numbers, categories or dates.

Each kind is a class in a module of its own. A feature describes a column as it was in training,
with plain data only, and encodes later columns in the same way. A value that training could not
prepare for, because it is missing or unknown, becomes the mean of the training rows: after scaling
that is 0, so the value has no influence.
"""

from __future__ import annotations

from typing import Any

from bneuralt._typing import Array, FloatArray
from bneuralt.tables.columns import Column
from bneuralt.tables.features.category import MOST_CATEGORIES, RARE, CategoryFeature
from bneuralt.tables.features.date import DateFeature
from bneuralt.tables.features.feature import MISSING, ColumnError, Feature, Input, Range
from bneuralt.tables.features.means import MeansFeature
from bneuralt.tables.features.number import NumberFeature
from bneuralt.tables.features.unused import UnusedFeature

__all__ = [
    "KINDS",
    "MISSING",
    "MOST_CATEGORIES",
    "RARE",
    "CategoryFeature",
    "ColumnError",
    "DateFeature",
    "Feature",
    "Input",
    "MeansFeature",
    "NumberFeature",
    "Range",
    "UnusedFeature",
    "feature_from_plain",
    "learn_feature",
]

#: All kinds. A column is of the first one that recognises it.
KINDS: tuple[type[Feature], ...] = (NumberFeature, DateFeature, CategoryFeature)


def learn_feature(
    column: Column,
    weight: FloatArray,
    target: Array | None = None,
    counts: FloatArray | None = None,
) -> Feature:
    """Describe a column of training rows; see `Feature.learn`.

    Examples
    --------
    >>> import numpy as np
    >>> column = Column("text", np.array([0, 1, 0]), ("2024-01-31", "2024-02-29"))
    >>> learn_feature(column, np.ones(3)).kind
    'date'
    """
    counts = weight if counts is None else counts
    learnt = (kind.learn_counted(column, weight, target, counts) for kind in KINDS)
    return next(feature for feature in learnt if feature is not None)


def feature_from_plain(data: Any) -> Feature:
    """Read what `Feature.to_plain` returned.

    Raises
    ------
    ValueError
        The description is damaged.
    """
    name = data.get("kind") if isinstance(data, dict) else NumberFeature.kind
    if name == MeansFeature.kind and "means" in data:
        return MeansFeature.from_plain(data)
    kinds: tuple[type[Feature], ...] = (*KINDS, UnusedFeature)
    for kind in kinds:
        if kind.kind == name:
            return kind.from_plain(data)
    raise ValueError(f"unknown kind {name!r:.50}")
