"""Weights of rows: `sample_weight` and `class_weight`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from bneuralt._sklearn import check_sample_weight
from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.inputs import refuse_masked
from bneuralt.estimators.rows import Rows

__all__ = ["class_weights", "read_weights"]


def read_weights(sample_weight: Any, X: Any) -> FloatArray:
    """Return the weight of each row of X, 1 if there are none."""
    refuse_masked(sample_weight, "sample_weight")
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("sample_weight is zero for all rows: some weight must be positive.")
    if not _has_finite_sum(weight):
        raise ValueError(
            f"sample_weight is as large as {weight.max():g}, and the sum of all weights overflows: "
            "divide the weights by a common number"
        )
    return weight


def _has_finite_sum(weight: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.isfinite(weight.sum()))


def _by_label(class_weight: Mapping[Any, float], classes: Array) -> FloatArray:
    try:
        return compute_class_weight(class_weight, classes=classes, y=classes)
    except ValueError:
        labels = classes.tolist()
        unknown = [label for label in class_weight if label not in labels]
        raise ValueError(
            f"class_weight has {', '.join(map(repr, unknown))}, which y does not have: its classes "
            f"are {', '.join(map(repr, labels))}"
        ) from None


def class_weights(class_weight: Any, classes: Array, rows: Rows) -> Array:
    """Return a factor for each row: the weight of its class.

    Parameters
    ----------
    class_weight : dict or "balanced"
    classes : array of labels
    rows : Rows
        Their targets are positions in `classes`.
    """
    if class_weight == "balanced":
        totals = np.bincount(rows.y, rows.weight, minlength=classes.size)
        per_class = rows.weight.sum() / (classes.size * np.where(totals > 0, totals, np.inf))
    else:
        per_class = _by_label(class_weight, classes)
    if not per_class.any() or (per_class < 0).any() or not np.isfinite(per_class).all():
        raise ValueError(
            f"class_weight={class_weight!r}: weights must not be negative, NaN or infinite, and "
            "not all zero."
        )
    factor: Array = per_class[rows.y]
    with np.errstate(over="ignore"):
        product = rows.weight * factor
    if not _has_finite_sum(product):
        raise ValueError(
            f"class_weight={class_weight!r}: the sum of the weights of all rows overflows; use "
            "smaller numbers."
        )
    return factor
