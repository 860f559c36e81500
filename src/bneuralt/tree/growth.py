"""Random generation of trees.

A tree grows level by level, all nodes of a level at once, so that a few array operations per level
are enough for trees of any size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heapify, heappop, heapreplace
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bneuralt._typing import FloatArray, IntArray
from bneuralt.tree.activations import Activation, get_activation, get_activation_mixture
from bneuralt.tree.checks import checked_count
from bneuralt.tree.constrained_growth import grow_blocks
from bneuralt.tree.interactions import InteractionSets
from bneuralt.tree.layout import TreeArrays
from bneuralt.tree.walk import breadth_first

__all__ = ["GrowthRule", "LeafSampler", "draw_tree_arrays"]

#: Largest size of a tree, and largest total size of all draws of one tree.
LARGEST_SIZE = 20_000_000
MAX_TRIES = 1000

#: A tree does not get deeper once it has this share of the requested weights.
SUFFICIENT_WEIGHTS = 0.97

#: Number of draws of a tree whose features have several weights each.
GROUP_TRIES = 16


class LeafSampler(Protocol):
    """Protocol of callables that choose the input of each leaf.

    They get the whole structure, so that neighbouring leaves can have related inputs.
    """

    def __call__(
        self,
        rng: np.random.Generator,
        leaf_parent: IntArray,
        parent: IntArray,
        n_inputs: int,
    ) -> IntArray:
        """Return the input of each leaf, an int array of the shape of `leaf_parent`."""


@dataclass(frozen=True)
class GrowthRule:
    """Distribution of the structures of random trees.

    Parameters
    ----------
    n_outputs, max_depth, max_children, leaf_probability, rule, min_children
        See `NeuralTree.random`.

    Examples
    --------
    >>> round(GrowthRule(n_outputs=1, rule="paper").expected_size(), 1)
    124.8
    """

    n_outputs: int = 1
    max_depth: int = 5
    max_children: int = 5
    leaf_probability: float = 0.4
    rule: str = "inclusive"
    min_children: int = 2

    def __post_init__(self) -> None:
        checked_count("n_outputs", self.n_outputs, 1)
        if self.rule not in ("inclusive", "paper"):
            raise ValueError(f"rule={self.rule!r} is not known: choose 'inclusive' or 'paper'")
        checked_count("max_depth", self.max_depth, self.top_depth)
        checked_count("min_children", self.min_children, 1)
        least = self.min_children + (self.rule == "paper")
        checked_count("max_children", self.max_children, least)
        if not 0.0 <= self.leaf_probability <= 1.0:
            raise ValueError(f"leaf_probability={self.leaf_probability!r} is not in [0, 1]")

    @property
    def top_depth(self) -> int:
        """Depth of the outputs: a regression root is at 0, class nodes are below the root."""
        return 0 if self.n_outputs == 1 else 1

    @property
    def most_children(self) -> int:
        """Largest number of children a node can get."""
        return self.max_children - 1 if self.rule == "paper" else self.max_children

    @property
    def mean_children(self) -> float:
        """Mean number of children of a function node."""
        return (self.min_children + self.most_children) / 2

    def expected_nodes(self) -> float:
        """Mean number of function nodes of the trees this rule draws."""
        growth = self.mean_children * (1.0 - self.leaf_probability)
        n_levels = float(self.max_depth - self.top_depth + 1)
        with np.errstate(over="ignore"):  # infinite is near enough
            nodes_per_output = (
                n_levels if growth == 1.0 else (np.float64(growth) ** n_levels - 1) / (growth - 1)
            )
        return float(self.n_outputs * nodes_per_output)

    def expected_size(self) -> float:
        """Mean size of the trees this rule draws."""
        n_children = self.mean_children * self.expected_nodes()
        return self.top_depth + self.n_outputs + n_children

    def draw(
        self, rng: np.random.Generator, largest_size: int = LARGEST_SIZE
    ) -> tuple[IntArray, IntArray] | None:
        """Draw `(parent, leaf_parent)`, or None if the tree outgrows `largest_size`."""
        level = np.arange(self.n_outputs)
        parents, leaf_parents = [np.full(self.n_outputs, -1)], []
        size = self.top_depth + self.n_outputs
        for depth in range(self.top_depth, self.max_depth + 1):
            n_children = rng.integers(self.min_children, self.most_children + 1, level.size)
            size += int(n_children.sum())
            if size > largest_size:
                return None
            child_parent = np.repeat(level, n_children)
            if depth == self.max_depth:
                leaf_parents.append(child_parent)
                break
            is_leaf = rng.random(child_parent.size) < self.leaf_probability
            leaf_parents.append(child_parent[is_leaf])
            parents.append(child_parent[~is_leaf])
            if parents[-1].size == 0:
                break
            first = level[-1] + 1
            level = np.arange(first, first + parents[-1].size)
        return np.concatenate(parents), np.concatenate(leaf_parents)


def draw_tree_arrays(
    n_inputs: int,
    n_outputs: int,
    max_depth: int,
    max_children: int,
    leaf_probability: float,
    *,
    rule: str,
    min_children: int,
    min_size: int | float | None,
    max_size: int | None,
    n_weights: int | None,
    deepen: bool,
    init: str,
    init_scale: float,
    activation: Any,
    output_activation: Any,
    train_activations: bool,
    feature_sampling: ArrayLike | LeafSampler | None,
    groups: ArrayLike | None,
    interactions: InteractionSets | None,
    dtype: DTypeLike,
    random_state: int | np.random.Generator | None,
) -> TreeArrays:
    """Draw the arrays of a random tree; see `bneuralt.NeuralTree.random` for the parameters."""
    checked_count("n_inputs", n_inputs, 1)
    inner, chances = get_activation_mixture(activation)
    top = get_activation(output_activation, "output_activation")
    growth = GrowthRule(n_outputs, max_depth, max_children, leaf_probability, rule, min_children)
    features = None if groups is None else FeatureGroups(groups, n_inputs)
    n_features = n_inputs if features is None else features.n_features
    sampler = _leaf_sampler(feature_sampling, n_features)
    rng = np.random.default_rng(random_state)

    if n_weights is not None:
        if (min_size, max_size) != (None, None):
            raise ValueError("n_weights cannot be combined with min_size or max_size")
        if interactions is not None:
            parent, leaf_parent, leaf_input = _grow_constrained(
                growth, rng, n_weights, feature_sampling, n_features, features, interactions
            )
        elif features is None:
            parent, leaf_parent = _grow_to(growth, rng, n_weights, deepen)
            leaf_input = sampler(rng, leaf_parent, parent, n_features)
        else:
            parent, leaf_parent, leaf_input = _grow_groups_to(
                growth, rng, n_weights, deepen, features, sampler
            )
    else:
        parent, leaf_parent = _draw_between(growth, rng, min_size, max_size)
        if interactions is None:
            leaf_input = sampler(rng, leaf_parent, parent, n_features)
        else:  # the structure says how many weights there are
            n_drawn = 2 * parent.size - n_outputs + leaf_parent.size
            parent, leaf_parent, leaf_input = _grow_constrained(
                growth, rng, n_drawn, feature_sampling, n_features, features, interactions
            )
    share: FloatArray = np.ones(leaf_parent.size)
    n_children = np.bincount(np.concatenate([parent[n_outputs:], leaf_parent]))
    if features is not None:
        leaf_parent, leaf_input, share = features.expand(leaf_parent, leaf_input)
    weights = _initial_weights(
        init, init_scale, rng, parent, leaf_parent, n_outputs, n_children, share
    )
    codes, phi = _draw_activations(rng, parent.size, n_outputs, top, inner, chances)
    if train_activations:
        weights = np.concatenate([weights, phi])
    return TreeArrays(
        n_inputs,
        n_outputs,
        parent,
        codes,
        leaf_parent,
        leaf_input,
        weights.astype(dtype),
        phi,
        train_activations,
    )


def _draw_activations(
    rng: np.random.Generator,
    n_nodes: int,
    n_outputs: int,
    top: Activation,
    inner: list[Activation],
    chances: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """Return the code of each node's activation, and the parameters of all activations."""
    n_inner = n_nodes - n_outputs
    choices = np.array([top.code, *(activation.code for activation in inner)], dtype=np.uint8)
    drawn = np.zeros(n_nodes, dtype=np.intp)
    # no random numbers are drawn for a single activation: a seed gives the same structure
    drawn[n_outputs:] = 1 + (rng.choice(len(inner), n_inner, p=chances) if len(inner) > 1 else 0)
    numbers = [top.numbers, *(activation.numbers for activation in inner)]
    if not any(numbers):
        return choices[drawn], np.empty(0)
    return choices[drawn], np.array([number for i in drawn.tolist() for number in numbers[i]])


def _draw_between(
    growth: GrowthRule,
    rng: np.random.Generator,
    min_size: int | float | None,
    max_size: int | None,
) -> tuple[IntArray, IntArray]:
    """Draw structures until one has a size within the limits."""
    if isinstance(min_size, float) and 0.0 <= min_size <= 1.0:  # a share of the mean size
        min_size = max(1, int(min_size * min(growth.expected_size(), LARGEST_SIZE)))
    least = 1 if min_size is None else checked_count("min_size", min_size, 1)
    most = LARGEST_SIZE if max_size is None else checked_count("max_size", max_size, 1)
    if least > most:
        raise ValueError(f"min_size={least} is above the largest size allowed, {most}")
    sizes: list[int] = []
    while len(sizes) < MAX_TRIES and sum(sizes) < LARGEST_SIZE:
        drawn = growth.draw(rng, most)
        if drawn is None:
            sizes.append(most + 1)
            continue
        parent, leaf_parent = drawn
        sizes.append(growth.top_depth + parent.size + leaf_parent.size)
        if sizes[-1] >= least:
            return drawn
    median = int(np.median(sizes))
    raise ValueError(
        f"no tree of size {least} to {most} in {len(sizes)} draws: the typical size drawn was "
        f"{f'above {most}' if median > most else median}, and the mean of these settings is "
        f"{growth.expected_size():.6g}; change min_size or max_size, or max_depth, max_children "
        "or leaf_probability"
    )


def _grow_to(
    growth: GrowthRule, rng: np.random.Generator, n_weights: int, deepen: bool
) -> tuple[IntArray, IntArray]:
    """Grow a structure until it has `n_weights` weights, or slightly fewer.

    Every output starts with leaves only. Then the output with the fewest weights turns one of its
    leaves, drawn at random, into a node with leaves, and so on: all outputs get the same share. If
    `max_depth` does not allow enough weights, trees get deeper with `deepen`.
    """
    k, low, high = growth.n_outputs, growth.min_children, growth.most_children
    checked_count("n_weights", n_weights, 3)
    least = k * (1 + low)
    if n_weights < least:
        raise ValueError(
            f"n_weights={n_weights} is too few: with n_outputs={k} and min_children={low}, a tree "
            f"has {least} weights or more"
        )
    high = min(high, n_weights // k - 1)
    parent, depth = [-1] * k, [growth.top_depth] * k
    leaves: list[list[int]] = [[] for _ in range(k)]  # parents of the leaves that can grow
    too_deep: list[int] = []  # parents of the other leaves
    weights = [(0, output) for output in range(k)]  # a heap: the smallest comes first
    total = 0
    max_depth, integers = growth.max_depth, rng.integers
    for output in range(k):
        n_children = int(integers(low, high + 1))
        (leaves[output] if growth.top_depth < max_depth else too_deep).extend([output] * n_children)
        weights[output] = (1 + n_children, output)
        total += 1 + n_children
    heapify(weights)
    while weights and total + 1 + low <= n_weights:
        before, output = weights[0]
        growing = leaves[output]
        if not growing:  # all leaves of this output have the largest depth
            heappop(weights)
            continue
        i = int(integers(len(growing)))
        above, growing[i] = growing[i], growing[-1]
        growing.pop()
        n_children = min(int(integers(low, high + 1)), n_weights - total - 1)
        node_depth = depth[above] + 1
        (growing if node_depth < max_depth else too_deep).extend([len(parent)] * n_children)
        parent.append(above)
        depth.append(node_depth)
        total += 1 + n_children
        heapreplace(weights, (before + 1 + n_children, output))
    if deepen and total + 1 + low <= n_weights and total < SUFFICIENT_WEIGHTS * n_weights:
        return _grow_to(replace(growth, max_depth=growth.max_depth + 1), rng, n_weights, True)
    leaf_parent = [node for growing in leaves for node in growing] + too_deep
    numbered, place = breadth_first(parent, k)
    return numbered, np.sort(place[leaf_parent])


def _grow_groups_to(
    growth: GrowthRule,
    rng: np.random.Generator,
    n_weights: int,
    deepen: bool,
    features: FeatureGroups,
    sampler: LeafSampler,
) -> tuple[IntArray, IntArray, IntArray]:
    """Grow structures and draw their features, which have a weight for each of their inputs.

    The number of weights depends on the features that are drawn; of `GROUP_TRIES` draws, the one
    nearest to `n_weights` is kept. It has more only if all draws have more.
    """
    least = growth.n_outputs * (1 + growth.min_children)
    n_grown = n_weights
    best, best_total = None, 0
    for _ in range(GROUP_TRIES):
        parent, leaf_parent = _grow_to(growth, rng, n_grown, deepen)
        leaf_feature = sampler(rng, leaf_parent, parent, features.n_features)
        total = 2 * parent.size - growth.n_outputs + features.n_edges(leaf_feature)
        is_better = best_total < total <= n_weights or n_weights < best_total > total
        if best is None or is_better:
            best, best_total = (parent, leaf_parent, leaf_feature), total
        if SUFFICIENT_WEIGHTS * n_weights <= best_total <= n_weights:
            break
        n_grown = max(least, min(n_weights, int(n_grown * n_weights / total)))
    assert best is not None
    return best


def _grow_constrained(
    growth: GrowthRule,
    rng: np.random.Generator,
    n_weights: int,
    feature_sampling: Any,
    n_features: int,
    features: FeatureGroups | None,
    interactions: InteractionSets,
) -> tuple[IntArray, IntArray, IntArray]:
    """Grow a structure whose subtrees below the outputs have features of one set each."""
    if callable(feature_sampling):
        raise ValueError(
            "feature_sampling chooses features by itself, which cannot be combined with "
            "interactions: use probabilities, or None"
        )
    chances = np.ones(n_features) if feature_sampling is None else np.asarray(feature_sampling)
    size = np.ones(n_features, dtype=np.int64) if features is None else features.size
    return grow_blocks(growth, rng, n_weights, interactions, np.where(size > 0, chances, 0.0), size)


def _leaf_sampler(feature_sampling: Any, n_inputs: int) -> LeafSampler:
    """Return the sampler that the parameter `feature_sampling` stands for."""
    if callable(feature_sampling):
        return cast(LeafSampler, feature_sampling)
    if feature_sampling is None:
        return lambda rng, leaf_parent, parent, n: rng.integers(n, size=leaf_parent.size)
    weights = np.asarray(feature_sampling, dtype=np.float64)
    if weights.shape != (n_inputs,):
        raise ValueError(
            f"feature_sampling has shape {weights.shape}, it needs one probability for each of "
            f"the n_inputs={n_inputs} inputs"
        )
    valid = np.isfinite(weights) & (weights >= 0)
    if not valid.all():
        i = int(np.argmin(valid))
        raise ValueError(f"feature_sampling[{i}] is {weights[i]}, not a probability")
    if not 0 < weights.sum() < np.inf:
        raise ValueError(f"feature_sampling adds up to {weights.sum()}: no input can be drawn")
    p = weights / weights.sum()
    return lambda rng, leaf_parent, parent, n: rng.choice(n, size=leaf_parent.size, p=p)


class FeatureGroups:
    """Features that are groups of inputs: a leaf of a feature is an edge to each of them.

    Parameters
    ----------
    groups : array of shape (n_inputs,)
        The feature of each input, in ascending order; -1 for inputs that no leaf is drawn with.
    n_inputs : int
    """

    def __init__(self, groups: ArrayLike, n_inputs: int) -> None:
        self.feature = np.asarray(groups)
        valid = self.feature.shape == (n_inputs,) and self.feature.dtype.kind in "iu"
        self.drawn = np.flatnonzero(self.feature >= 0) if valid else np.empty(0, dtype=np.intp)
        ascending = self.feature[self.drawn] if valid else self.drawn
        if ascending.size == 0 or np.any(np.diff(ascending) < 0):
            raise ValueError(
                f"groups must be the number of the feature of each of the {n_inputs} inputs, in "
                f"ascending order, or -1, not {groups!r:.100}"
            )
        self.n_features = int(ascending[-1]) + 1
        self.size = np.bincount(ascending)
        self.first = np.cumsum(self.size) - self.size

    def _usable(self, leaf_feature: IntArray) -> IntArray:
        """Replace a feature without inputs, which is constant, by its neighbour."""
        usable = np.flatnonzero(self.size)
        nearest: IntArray = usable[np.searchsorted(usable, leaf_feature).clip(max=usable.size - 1)]
        return nearest

    def n_edges(self, leaf_feature: IntArray) -> int:
        """Return the number of edges of some leaves."""
        return int(self.size[self._usable(leaf_feature)].sum())

    def expand(
        self, leaf_parent: IntArray, leaf_feature: IntArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return parent and input of each edge, and its share in the weight of its leaf."""
        leaf_feature = self._usable(leaf_feature)
        size = self.size[leaf_feature]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        leaf_input = self.drawn[np.repeat(self.first[leaf_feature], size) + within]
        return np.repeat(leaf_parent, size), leaf_input, np.repeat(1.0 / np.sqrt(size), size)


def _initial_weights(
    init: str,
    scale: float,
    rng: np.random.Generator,
    parent: IntArray,
    leaf_parent: IntArray,
    n_outputs: int,
    n_children: IntArray,
    share: FloatArray,
) -> FloatArray:
    """Draw biases, edges and leaf weights, in the order of `NeuralTree.parameters`.

    The edges of a feature that is a group of inputs vary together as much as one edge would.
    """
    above = np.concatenate([parent[n_outputs:], leaf_parent])  # the parent of each weight
    if init == "uniform":
        return rng.random(parent.size + above.size)
    if init != "normal":
        raise ValueError(f"init={init!r} is not known: choose 'normal' or 'uniform'")
    if not 0.0 <= scale < np.inf:
        raise ValueError(f"init_scale={scale!r} must be finite and not negative")
    spread = scale / np.sqrt(n_children)
    drawn = rng.normal(size=above.size) * spread[above]
    drawn[drawn.size - share.size :] *= share
    return np.concatenate([np.zeros(parent.size), drawn])
