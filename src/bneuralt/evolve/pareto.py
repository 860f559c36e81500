"""Pareto dominance."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray, IntArray

__all__ = ["non_dominated"]


def non_dominated(objectives: FloatArray) -> IntArray:
    """Return the positions of candidates that no other one dominates; of equal ones, the first.

    Parameters
    ----------
    objectives : array of shape (n, n_objectives)
        To be minimised.

    Examples
    --------
    >>> import numpy as np
    >>> non_dominated(np.array([[1, 3], [2, 2], [2, 3], [3, 1], [1, 3]]))
    array([0, 1, 3])
    """
    below = (objectives[:, np.newaxis] <= objectives).all(axis=2)
    strictly = (objectives[:, np.newaxis] < objectives).any(axis=2)
    is_dominated = (below & strictly).any(axis=0)
    earlier_twin = np.triu(below & below.T, 1).any(axis=0)
    return np.flatnonzero(~is_dominated & ~earlier_twin)
