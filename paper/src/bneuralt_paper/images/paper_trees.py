"""Trees for images as the paper draws them: random structures, redrawn until they are large enough.

The number of nodes depends only on the number of function nodes of each level. `draw_levels` draws
these numbers for many trees at once, so that a rare size is found without growing all the trees
that are too small; then a structure with the numbers found is drawn. Together this is the same
distribution as growing trees until one has the size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import activation_code
from bneuralt_paper._typing import BoolArray, FloatArray, IntArray

__all__ = ["ImageGrowth", "Levels", "draw_levels", "draw_tree", "mean_size", "reaching"]

_TOLERANCE = 0.03
_BATCH = 20_000
_MAX_BATCHES = 500
_SIGMOID = activation_code("sigmoid")


@dataclass(frozen=True)
class ImageGrowth:
    """How the paper draws trees for MNIST: a depth, an arity, a leaf probability.

    `max_children` is the printed number; the authors' published trees have at most one child fewer.
    """

    max_depth: int = 5
    max_children: int = 10
    leaf_probability: float = 0.4
    n_classes: int = 10


@dataclass(frozen=True, eq=False)
class Levels:
    """Numbers of nodes of many trees; `children[d][i, c]` counts nodes with c + 2 children."""

    children: list[IntArray]
    functions: list[IntArray]

    @property
    def sizes(self) -> IntArray:
        """The number of nodes of each tree, including the root and all leaves."""
        arity = np.arange(2, 2 + self.children[0].shape[1])
        total: IntArray = 1 + self.functions[0]
        for counts in self.children:
            total = total + counts @ arity
        return total

    @property
    def weights(self) -> IntArray:
        """The number of weights as the paper counts them: an edge and a bias per function node."""
        return self.sizes - 1 + sum(self.functions)


def draw_levels(growth: ImageGrowth, n_trees: int, rng: np.random.Generator) -> Levels:
    """Draw the numbers of nodes on each level of `n_trees` trees.

    Examples
    --------
    >>> levels = draw_levels(ImageGrowth(5, 10, 0.4), 2000, np.random.default_rng(0))
    >>> bool(abs(levels.sizes.mean() / mean_size(ImageGrowth(5, 10, 0.4)) - 1) < 0.02)
    True
    """
    n_arities = growth.max_children - 2
    arity = np.arange(2, growth.max_children)
    functions: list[IntArray] = [np.full(n_trees, growth.n_classes)]
    children: list[IntArray] = []
    for depth in range(growth.max_depth):
        children.append(rng.multinomial(functions[-1], [1 / n_arities] * n_arities))
        if depth + 1 < growth.max_depth:
            n_children = children[-1] @ arity
            functions.append(rng.binomial(n_children, 1 - growth.leaf_probability))
    return Levels(children, functions)


def mean_size(growth: ImageGrowth) -> float:
    """Return the expected number of nodes of a tree.

    Examples
    --------
    >>> [round(mean_size(ImageGrowth(5, m, 0.5))) for m in (10, 15)]
    [4923, 27291]
    """
    mean_arity = (growth.max_children + 1) / 2
    factor = mean_arity * (1 - growth.leaf_probability)
    functions = growth.n_classes * sum(factor**depth for depth in range(growth.max_depth))
    return 1 + growth.n_classes + functions * mean_arity


def reaching(growth: ImageGrowth, weights: int, n_trees: int, seed: int = 0) -> float:
    """Return the share of `n_trees` random trees whose number of weights is near a given one."""
    drawn = draw_levels(growth, n_trees, np.random.default_rng(seed))
    return float(np.mean(_is_near(drawn.weights, weights)))


@cache  # a rare size takes a minute to find, and several runs start from the same tree
def draw_tree(growth: ImageGrowth, weights: int, n_inputs: int, seed: int) -> NeuralTree:
    """Draw trees until one has about the given number of weights, which start from [0, 1].

    Parameters
    ----------
    growth : ImageGrowth
    weights : int
        Number of weights as the paper counts them; trees that differ by more than 3 % are redrawn.
    n_inputs : int
        Number of pixels; each of them is equally likely on a leaf, as in the paper.
    seed : int

    Examples
    --------
    >>> tree = draw_tree(ImageGrowth(3, 5, 0.4), 400, n_inputs=784, seed=0)
    >>> 388 <= tree.paper_parameter_count <= 412
    True
    """
    rng = np.random.default_rng(seed)
    for levels in _batches(growth, rng):
        found = np.flatnonzero(_is_near(levels.weights, weights))
        if found.size:
            return _grow(levels, int(found[0]), growth, n_inputs, rng)
    raise ValueError(
        f"none of {_BATCH * _MAX_BATCHES:,} trees has about {weights:,} weights; {growth} draws "
        f"trees of {mean_size(growth):,.0f} nodes on average"
    )


def _is_near(drawn: IntArray, weights: int) -> BoolArray:
    return np.abs(drawn / weights - 1) <= _TOLERANCE


def _batches(growth: ImageGrowth, rng: np.random.Generator) -> Iterator[Levels]:
    for _ in range(_MAX_BATCHES):
        yield draw_levels(growth, _BATCH, rng)


def _grow(
    levels: Levels, i: int, growth: ImageGrowth, n_inputs: int, rng: np.random.Generator
) -> NeuralTree:
    """Return a random tree with the numbers of nodes of tree `i`."""
    arities = np.arange(2, growth.max_children)
    nodes = np.arange(growth.n_classes)
    parents, leaf_parents = [np.full(growth.n_classes, -1)], []
    for depth, children in enumerate(levels.children):
        n_children = rng.permutation(arities.repeat(children[i]))
        parent_of_child = nodes.repeat(n_children)
        is_leaf = np.ones(parent_of_child.size, dtype=bool)
        if depth + 1 < growth.max_depth:
            n_functions = int(levels.functions[depth + 1][i])
            is_leaf[rng.permutation(parent_of_child.size)[:n_functions]] = False
        leaf_parents.append(parent_of_child[is_leaf])
        parents.append(parent_of_child[~is_leaf])
        nodes = nodes[-1] + 1 + np.arange(parents[-1].size)
        if not nodes.size:
            break
    parent, leaf_parent = np.concatenate(parents), np.sort(np.concatenate(leaf_parents))
    leaf_input = rng.integers(n_inputs, size=leaf_parent.size)
    n_weights = 2 * parent.size - growth.n_classes + leaf_parent.size
    weights: FloatArray = rng.uniform(size=n_weights).astype(np.float32)
    codes = np.full(parent.size, _SIGMOID)
    return NeuralTree(n_inputs, growth.n_classes, parent, codes, leaf_parent, leaf_input, weights)
