"""Random structures whose subtrees below the outputs have features of one set each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tree.interactions import InteractionSets
from bneuralt.tree.walk import breadth_first

if TYPE_CHECKING:
    from bneuralt.tree.growth import GrowthRule

__all__ = ["grow_blocks"]

#: Share of the weights of an output that are those of its own leaves.
DIRECT_SHARE = 0.15
#: Probability of a child to be a node rather than a leaf, where a set has several features.
NESTED = 0.35
#: So many subtrees in succession may be too large for the weights that are left.
MAX_MISSES = 8


def grow_blocks(
    growth: GrowthRule,
    rng: np.random.Generator,
    n_weights: int,
    interactions: InteractionSets,
    chances: Array,
    n_edges: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """Draw a structure of many small subtrees, each with the features of one set.

    All outputs get the same number of weights. Every set gets its share of the subtrees of an
    output, in random order, and a node has no feature twice: a set of one feature has subtrees of
    a single node with one leaf.

    Parameters
    ----------
    growth : GrowthRule
        Its depth and its numbers of children are those of the subtrees.
    rng : numpy Generator
    n_weights : int
    interactions : InteractionSets
    chances : array of shape (n_features,)
        Relative probability of each feature.
    n_edges : int array of shape (n_features,)
        Number of weights of a leaf of each feature.

    Returns
    -------
    parent, leaf_parent, leaf_feature : int arrays
    """
    k, budget = growth.n_outputs, n_weights // growth.n_outputs
    weights = np.zeros(interactions.n_features)
    weights[: len(chances)] = chances
    sets = [np.array([f for f in group if weights[f] > 0]) for group in interactions.sets]
    sets = [group for group in sets if group.size]
    n_levels = growth.max_depth - growth.top_depth
    parent, leaves = [-1] * k, []
    for output in range(k):
        n_direct = max(1, min(int(np.count_nonzero(weights)), int(DIRECT_SHARE * budget)))
        direct = _drawn(rng, np.arange(weights.size), weights, n_direct)
        leaves += [(output, feature) for feature in direct.tolist()]
        total, n_misses = 1 + int(n_edges[direct].sum()), 0
        for group in _rounds(rng, sets, weights):
            above, below = _subtree(rng, growth, group, weights, n_levels)
            cost = 2 * len(above) + int(n_edges[[feature for _, feature in below]].sum())
            if total + cost > budget or not n_levels:
                n_misses += 1
                if n_misses == MAX_MISSES:
                    break
                continue
            total, n_misses, first = total + cost, 0, len(parent)
            parent += [output if node < 0 else first + node for node in above]
            leaves += [(first + node, feature) for node, feature in below]
    numbered, place = breadth_first(parent, k)
    nodes, features = np.array(leaves).T
    order = np.argsort(place[nodes], kind="stable")
    return numbered, place[nodes][order], features[order]


def _rounds(
    rng: np.random.Generator, sets: list[IntArray], weights: FloatArray
) -> Iterator[IntArray]:
    """Yield sets without end; in each round, a set comes as often as its chances say."""
    shares = np.array([weights[group].sum() for group in sets])
    ends = np.cumsum(shares / shares.sum())
    while True:
        places = (np.arange(len(sets)) + rng.random()) / len(sets)
        chosen = np.searchsorted(ends, places).clip(max=len(sets) - 1)
        for i in rng.permutation(chosen).tolist():
            yield sets[i]


def _subtree(
    rng: np.random.Generator,
    growth: GrowthRule,
    group: IntArray,
    weights: FloatArray,
    n_levels: int,
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the parent of each node of a subtree, -1 for the first, and its leaves."""
    above, below = [-1], []
    depths = [1]
    for node, depth in enumerate(depths):  # grows during the loop
        n_children = int(rng.integers(growth.min_children, growth.most_children + 1))
        features = _drawn(rng, group, weights[group], min(n_children, group.size))
        for feature in features.tolist():
            if group.size > 1 and depth < n_levels and rng.random() < NESTED:
                above.append(node)
                depths.append(depth + 1)
            else:
                below.append((node, feature))
    return above, below


def _drawn(rng: np.random.Generator, group: IntArray, weights: FloatArray, n: int) -> IntArray:
    drawn: IntArray = rng.choice(group, n, replace=False, p=weights / weights.sum())
    return drawn
