"""Weights of rows: `sample_weight` and `class_weight`.

Whole weights whose total is at most `MAX_COPIES_PER_ROW` times the number of rows count equal rows:
a row of weight 2 is two equal rows. All other weights are relative: they are divided by their mean,
so multiplying all of them by a constant changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from bneuralt._sklearn import check_sample_weight
from bneuralt._typing import Array, FloatArray
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.target import refuse_masked
from bneuralt.warnings import RelativeWeightWarning, warn_user

__all__ = ["RelativeWeightWarning", "RowWeights", "class_weights", "read_weights"]

#: Whole weights with a larger mean than this are relative.
MAX_COPIES_PER_ROW = 10


class RowWeights(NamedTuple):
    """Weight of each row, and the number of rows that it counts as.

    Attributes
    ----------
    weight : float64 array
        How much a row matters; the mean is 1 unless weights are counts.
    counts : float64 array
        Number of equal rows that a row stands for; rules that count rows use it. 0 where the weight
        is 0.
    """

    weight: FloatArray
    counts: FloatArray

    @classmethod
    def ones(cls, n_rows: int) -> RowWeights:
        """Return equal weights."""
        return cls(np.ones(n_rows), np.ones(n_rows))

    @classmethod
    def of(cls, weight: FloatArray) -> RowWeights:
        """Decide what weights mean.

        Examples
        --------
        >>> RowWeights.of(np.array([1.0, 3.0])).counts.tolist()
        [1.0, 3.0]
        >>> RowWeights.of(np.array([0.5, 1.5])).weight.tolist()
        [0.5, 1.5]
        >>> RowWeights.of(np.array([1e-6, 3e-6, 0.0]))
        RowWeights(weight=array([0.5, 1.5, 0. ]), counts=array([1., 1., 0.]))
        """
        used = weight > 0
        n_used = np.count_nonzero(used)
        is_whole = bool(np.all(weight == np.floor(weight)))
        if is_whole and weight.sum() <= MAX_COPIES_PER_ROW * n_used:
            return cls(weight, weight)
        counts = used.astype(np.float64)
        positive = weight[used]
        if np.ptp(positive) == 0.0:
            return cls(counts, counts)
        if is_whole:
            warn_user(
                f"sample_weight has whole numbers with a mean of {positive.mean():.6g}: they are "
                "taken as relative weights, since as numbers of equal rows they would be more than "
                f"{MAX_COPIES_PER_ROW} times the rows of the table. Repeat rows instead of "
                "weighing them if they are counts; divide them by their mean to silence this "
                "warning.",
                RelativeWeightWarning,
            )
        scale = float(positive.max())  # first by this: the sum of large weights may overflow
        relative = weight / scale
        return cls(relative / (relative.sum() / n_used), counts)


def read_weights(sample_weight: Any, X: Any, is_part: bool = False) -> RowWeights:
    """Return the weight of each row of X, 1 if there are none.

    Weights of a part of a table stay as they are, since their mean is not that of the table.
    """
    if sample_weight is None:
        return RowWeights.ones(X.shape[0])
    refuse_masked(sample_weight, "sample_weight")
    weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("sample_weight is zero for all rows: some weight must be positive.")
    if not _has_finite_sum(weight):
        raise ValueError(
            f"sample_weight is as large as {weight.max():g}, and the sum of all weights overflows: "
            "divide the weights by a common number"
        )
    return RowWeights(weight, RowWeights.of(weight).counts) if is_part else RowWeights.of(weight)


def _has_finite_sum(weight: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.isfinite(weight.sum()))


def _by_label(class_weight: Mapping[Any, float], classes: Array) -> FloatArray:
    try:
        weights: FloatArray = compute_class_weight(class_weight, classes=classes, y=classes)
        return weights
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
