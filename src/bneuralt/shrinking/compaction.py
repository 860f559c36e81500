"""Choice of the size of a model by scores on held-out rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.shrinking.sizes import BYTES, WEIGHTS, SizeUnit

__all__ = [
    "Compaction",
    "checked_limit",
    "curve_sizes",
    "held_out_folds",
    "mean_scores",
    "smallest_good_size",
]

#: Ratio of each size of the curve to the previous one.
RATIO = 0.75


@dataclass(frozen=True, eq=False)
class Compaction:
    """The size of a pruned model, and the scores of models of other sizes.

    Attributes
    ----------
    n_weights_before, n_weights : int
        Number of weights of the original model and of this one.
    n_bytes : int
        Size of the model as tables of 16-bit integers, as exported to C.
    unit : {"weights", "bytes"}
    chosen : int
        The largest size that the model may have, in this unit.
    size : int array
        Sizes for which there are scores, from large to small. The first is that of the whole model.
        Empty with ``cv=None``.
    score : array
        Mean score of models of these sizes on held-out rows: accuracy or r2 (for quantiles: the
        explained share of the pinball loss).
    standard_error : array
        Standard errors of these means.
    """

    n_weights_before: int
    n_weights: int
    n_bytes: int
    unit: str
    chosen: int
    size: IntArray
    score: FloatArray
    standard_error: FloatArray

    def __repr__(self) -> str:
        share = self.n_weights / self.n_weights_before
        return (
            f"Compaction(n_weights={self.n_weights}, of {self.n_weights_before} ({share:.0%}), "
            f"n_bytes={self.n_bytes})"
        )


def checked_limit(
    max_weights: Any, max_bytes: Any, cv: Any, n_outputs: int
) -> tuple[SizeUnit, int | None]:
    """Return the unit of a size limit and the limit; None if it is chosen by scores.

    Examples
    --------
    >>> unit, limit = checked_limit(20, None, 5, n_outputs=3)
    >>> unit.name, limit
    ('weights', 20)
    """
    if max_weights is not None and max_bytes is not None:
        raise ValueError("max_weights and max_bytes exclude each other: pass one of them")
    unit, limit = (WEIGHTS, max_weights) if max_bytes is None else (BYTES, max_bytes)
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)):
            raise TypeError(f"max_{unit.name} must be an int, not {type(limit).__name__}")
        unit.check(int(limit), n_outputs)
    if cv is None and limit is None:
        raise ValueError("cv=None computes no scores to choose a size by: pass max_weights or cv")
    if cv is not None and (not isinstance(cv, (int, np.integer)) or cv < 2):
        raise ValueError(f"cv={cv!r} must be a whole number, 2 or more, or None")
    return unit, None if limit is None else int(limit)


def curve_sizes(whole: int, last: int) -> list[int]:
    """Return sizes from that of a model down to the last one.

    Examples
    --------
    >>> curve_sizes(100, 30)
    [100, 75, 56, 42, 31, 30]
    """
    sizes = [whole]
    while sizes[-1] * RATIO > last:
        sizes.append(int(sizes[-1] * RATIO))
    return sizes if sizes[-1] == last else [*sizes, last]


def held_out_folds(y: Array, n_folds: int, has_classes: bool) -> list[tuple[IntArray, IntArray]]:
    """Return the positions of the training rows and of the held-out rows of each fold.

    Parameters
    ----------
    y : array of shape (n_rows,) or (n_rows, n_targets)
    n_folds : int
    has_classes : bool
        Whether y has class numbers, by which folds are stratified.

    Examples
    --------
    >>> len(held_out_folds(np.array([0, 1, 0, 1]), 2, has_classes=True))
    2
    """
    n_folds = min(n_folds, len(y))
    if n_folds < 2:
        raise ValueError(f"cv={n_folds}: there is only one row; pass max_weights and cv=None")
    splitter: Any = KFold(n_folds, shuffle=True, random_state=0)
    if has_classes and np.bincount(y).max() >= n_folds:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes of fewer rows than folds
        return list(splitter.split(np.zeros(len(y)), y))


def mean_scores(by_row: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean scores and their standard errors.

    Parameters
    ----------
    by_row : array of shape (n_sizes, n_rows)
    weight : array of shape (n_rows,)
    """
    mean = np.average(by_row, axis=1, weights=weight)
    variance = np.average(np.square(by_row - mean[:, np.newaxis]), axis=1, weights=weight)
    return mean, np.sqrt(variance / len(weight))


def smallest_good_size(size: IntArray, score: FloatArray, standard_error: FloatArray) -> int:
    """Return the smallest size whose score is within one standard error of the best.

    Examples
    --------
    >>> smallest_good_size(
    ...     np.array([100, 50, 20]), np.array([0.9, 0.91, 0.6]), np.array([0.02] * 3)
    ... )
    50
    """
    best = int(np.argmax(score))
    good = score >= score[best] - standard_error[best]
    return int(size[np.flatnonzero(good)[-1]])
