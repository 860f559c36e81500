"""Pruning of a tree in steps, with training after each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.arrays import one_blas_thread
from bneuralt.shrinking.sizes import WEIGHTS, SizeUnit
from bneuralt.shrinking.surgery import operate
from bneuralt.training.losses import Loss
from bneuralt.tree import NeuralTree
from bneuralt.tree.simplify import simplify

__all__ = ["prune"]

#: Share of the weights that is removed in each step.
STEP = 0.1
#: Largest number of rows for the curvature; more rows hardly change it.
MAX_ROWS = 2000


def prune(
    tree: NeuralTree,
    X: Array,
    loss: Loss,
    weight: FloatArray,
    refit: Callable[[NeuralTree, bool], NeuralTree],
    sizes: Sequence[int],
    *,
    unit: SizeUnit = WEIGHTS,
    step: float = STEP,
    rule: str = "surgeon",
    compensates: bool = True,
) -> list[NeuralTree]:
    """Remove weights until a tree has each of several sizes.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
        Training rows, scaled for the tree.
    loss : Loss
    weight : array of shape (n_rows,)
    refit : callable
        Function that trains a tree, called with the tree and whether it has reached a size.
    sizes : sequence of int
        From large to small.
    unit : SizeUnit
        Unit of the sizes.
    step : float
        Share of the weights that is removed between two trainings.
    rule, compensates
        See `bneuralt.shrinking.surgery.operate`.

    Returns
    -------
    list of NeuralTree
        A float64 tree for each size, at most as large. The simplified `tree` if it is small
        enough; the smallest possible tree if a size cannot be reached.
    """
    if len(X) > MAX_ROWS:
        sample = np.linspace(0, len(X) - 1, MAX_ROWS).astype(np.int64)
        X, weight = X[sample], weight[sample]
    current, size_of = simplify(tree.astype(np.float64)), unit.size_of
    trees = []
    for limit in sizes:
        while size_of(current) > limit:
            excess = (size_of(current) - limit) * current.n_parameters / size_of(current)
            n_remove = min(max(1, round(step * current.n_parameters)), max(1, math.ceil(excess)))
            with one_blas_thread():
                smaller = operate(current, X, loss, weight, n_remove, rule, compensates)
            if smaller.n_parameters >= current.n_parameters:
                break  # nothing is left to remove
            current = simplify(refit(smaller, size_of(smaller) <= limit))
        trees.append(current)
    return trees
