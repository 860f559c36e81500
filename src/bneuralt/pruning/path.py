"""A tree made smaller step by step, trained a little after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.pruning.surgery import operate
from bneuralt.training.losses import Loss
from bneuralt.tree import NeuralTree
from bneuralt.tree.simplify import simplify

__all__ = ["PruningPath", "fewest_weights", "prune"]

#: Share of the weights that goes in each step.
STEP = 0.1
#: Rows that decide what goes: more hardly change the curvature.
MOST_ROWS = 2000


class PruningPath(NamedTuple):
    """Trees of decreasing size.

    Attributes
    ----------
    trees : list of NeuralTree
        The first is the simplified tree that the path starts from.
    """

    trees: list[NeuralTree]

    @property
    def n_weights(self) -> list[int]:
        """Number of weights of each tree."""
        return [tree.n_parameters for tree in self.trees]

    def smallest_above(self, n_weights: int) -> NeuralTree:
        """Return the largest tree of at most so many weights."""
        return next(tree for tree in self.trees if tree.n_parameters <= n_weights)


def fewest_weights(n_outputs: int) -> int:
    """Return the number of weights of the smallest tree: a bias and a leaf for each output.

    Examples
    --------
    >>> fewest_weights(3)
    6
    """
    return 2 * n_outputs


def prune(
    tree: NeuralTree,
    X: Array,
    loss: Loss,
    weight: FloatArray,
    refit: Callable[[NeuralTree, bool], NeuralTree],
    n_weights: int,
    *,
    sizes: tuple[int, ...] = (),
    rule: str = "surgeon",
    compensates: bool = True,
) -> PruningPath:
    """Remove weights until a tree is small enough.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
        Training rows, scaled as the tree needs them.
    loss : Loss
    weight : array of shape (n_rows,)
    refit : callable
        Trains a tree further: called with a tree, and whether it is one of the wanted sizes.
    n_weights : int
        The size to reach.
    sizes : tuple of int
        Sizes on the way at which a tree is wanted.
    rule, compensates
        See `bneuralt.pruning.surgery.operate`.
    """
    n_weights = max(n_weights, fewest_weights(tree.n_outputs))
    if len(X) > MOST_ROWS:
        chosen = np.linspace(0, len(X) - 1, MOST_ROWS).astype(np.int64)
        X, weight = X[chosen], weight[chosen]
    current = simplify(tree.astype(np.float64))
    trees = [current]
    for wanted in _wanted(sizes, n_weights):
        while current.n_parameters > wanted:
            at_once = max(1, round(STEP * current.n_parameters))
            n_remove = min(at_once, current.n_parameters - wanted)
            smaller = operate(current, X, loss, weight, n_remove, rule, compensates)
            if smaller.n_parameters >= current.n_parameters:
                return PruningPath(trees)  # nothing is left to remove
            current = simplify(refit(smaller, smaller.n_parameters <= wanted))
            trees.append(current)
    return PruningPath(trees)


def _wanted(sizes: tuple[int, ...], n_weights: int) -> Iterator[int]:
    yield from sorted({size for size in sizes if size > n_weights}, reverse=True)
    yield n_weights
