"""Moves of leaves to other inputs during training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import FloatArray
from bneuralt.training.losses import Loss
from bneuralt.tree.neural_tree import NeuralTree
from tests.reference.passes import gradient

__all__ = ["LeafMover", "Moved"]

#: From this number of rows on, ramps have a smaller chance.
MANY_ROWS = 10_000


class Moved(NamedTuple):
    """A tree after moves of leaves, and the positions of their weights in theta."""

    tree: NeuralTree
    places: list[int]


class LeafMover:
    """Move leaves of little weight to other inputs.

    The leaves that move are those whose weight times the deviation of their input is smallest. A
    new input is one that the node does not have yet, drawn with a probability proportional to the
    fourth power of the gradient of a leaf of weight 0, for inputs scaled to deviation 1. With many
    rows, the further inputs of a column (its ramps) have together the chance of one input;
    `first_inputs` are the positions of the first input of each column.
    """

    def __init__(
        self,
        tree: NeuralTree,
        X: ArrayLike,
        y: ArrayLike,
        loss: Loss,
        sample_weight: ArrayLike | None = None,
        may_move_to: ArrayLike | None = None,
        first_inputs: Sequence[int] | None = None,
    ) -> None:
        self.X, self.y, self.loss = np.asarray(X, dtype=np.float64), np.asarray(y), loss
        self.weight = np.ones(len(self.X)) if sample_weight is None else np.asarray(sample_weight)
        allowed = np.ones(tree.n_inputs) if may_move_to is None else may_move_to
        shape = (tree.parent.size, tree.n_inputs)  # a row for each node
        self.allowed = np.broadcast_to(np.asarray(allowed, dtype=bool), shape)
        self.prior = np.ones(tree.n_inputs)
        if first_inputs is not None and len(self.X) >= MANY_ROWS:
            for first, end in pairwise([*first_inputs, tree.n_inputs]):
                self.prior[first + 1 : end] = 1 / max(1, end - first - 1)
        self.deviation: FloatArray | None = None  # computed at the first move

    def move(
        self,
        tree: NeuralTree,
        order: Sequence[int],
        n_moving: int,
        seed: int,
        rows_between: int,
        share: float,
    ) -> Moved:
        """Move `n_moving` leaves; the first rows of an epoch score the inputs.

        Training uses `rows_between` rows between two moves. `share` is the number of leaves that
        move relative to the first time: fewer leaves need fewer rows.
        """
        enough = min(max(32 * tree.n_inputs, 1024), 16384)
        affordable = max(512, rows_between * max(100, tree.n_inputs) // 400)
        n_rows = share * min(len(order), enough, affordable)
        rows = list(order)[: max(256, math.floor(n_rows + 0.5))]
        X = self.X[rows]
        if self.deviation is None:
            self.mean, self.deviation = X.mean(axis=0), X.std(axis=0)
        theta = tree.parameters.copy()
        first = theta.size - tree.n_leaves
        if tree.trains_activations:
            first -= tree.activation_parameters.size
        worth = np.abs(tree.leaf_weight) * self.deviation[tree.leaf_input]
        moving = np.lexsort((np.arange(tree.n_leaves), worth))[:n_moving]
        deltas = np.array(
            [
                self.weight[i] * gradient(tree, self.X[i], self.y[i], self.loss)[: tree.bias.size]
                for i in rows
            ]
        )
        slopes = (
            deltas.T @ (X - self.mean) / len(rows) / np.where(self.deviation, self.deviation, 1)
        )
        leaf_input, places = tree.leaf_input.copy(), []
        for i, leaf in enumerate(moving.tolist()):
            node = tree.leaf_parent[leaf]
            may = self.allowed[node] & (self.deviation > 0)
            chance = np.where(may, self.prior * slopes[node] ** 4, 0.0)
            chance[leaf_input[tree.leaf_parent == node]] = 0.0  # the node has it already
            if chance.sum() > 0:
                below = np.cumsum(chance)
                leaf_input[leaf] = np.searchsorted(
                    below, _core.uniform(seed, i) * below[-1], side="right"
                )
                theta[first + leaf] = 0.0
                places.append(first + leaf)
        return Moved(tree.with_leaf_inputs(leaf_input, theta), places)
