"""Rows divided so that every class, or every range of a numeric target, gives its share."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array, IntArray

__all__ = ["by_target", "fold_of_each"]


def by_target(y: Array, rng: np.random.Generator) -> IntArray:
    """Return the positions of rows sorted by their target, at random among equals.

    With several targets, all rows are in random order.

    Examples
    --------
    >>> import numpy as np
    >>> by_target(np.array([2, 0, 1]), np.random.default_rng(0)).tolist()
    [1, 2, 0]
    """
    key = y if y.ndim == 1 else np.zeros(len(y))
    return np.lexsort((rng.random(len(y)), key))


def fold_of_each(y: Array, n_folds: int, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> folds = fold_of_each(y, 3, np.random.default_rng(0))
    >>> [sorted(y[folds == k].tolist()) for k in range(3)]
    [[0, 1], [0, 1], [0, 1]]
    """
    folds = np.empty(len(y), dtype=np.intp)
    folds[by_target(y, rng)] = np.arange(len(y)) % n_folds
    return folds
