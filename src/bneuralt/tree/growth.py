"""Random generation of trees: parameters are checked here, and the core grows the trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tree.activations import get_activation, get_activation_mixture
from bneuralt.tree.checks import checked_count
from bneuralt.tree.interactions import InteractionSets

__all__ = ["GrowthRule", "LeafSampler", "TreeGrower", "seed_of"]

#: Largest size of a tree.
LARGEST_SIZE = 20_000_000


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


class TreeGrower:
    """Grows random trees, each a function of a seed.

    Parameters
    ----------
    n_inputs, n_outputs, max_depth, max_children, leaf_probability, rule, min_children, min_size, \
max_size, n_weights, deepen, init, init_scale, activation, output_activation, train_activations, \
feature_sampling, groups, interactions, dtype
        See `NeuralTree.random`.
    ramp_fraction : float
        Probability that a leaf starts at a ramp of its input.
    n_ramps : int array of shape (n_inputs,), optional
        Number of ramps of each input, which are the inputs after it.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int = 1,
        max_depth: int = 5,
        max_children: int = 5,
        leaf_probability: float = 0.4,
        *,
        rule: str = "inclusive",
        min_children: int = 2,
        min_size: int | float | None = None,
        max_size: int | None = None,
        n_weights: int | None = None,
        deepen: bool = True,
        init: str = "normal",
        init_scale: float = 1.5,
        activation: Any = "sigmoid",
        output_activation: Any = "sigmoid",
        train_activations: bool = False,
        feature_sampling: ArrayLike | LeafSampler | None = None,
        groups: ArrayLike | None = None,
        interactions: InteractionSets | None = None,
        dtype: DTypeLike = np.float64,
        ramp_fraction: float = 0.0,
        n_ramps: IntArray | None = None,
    ) -> None:
        checked_count("n_inputs", n_inputs, 1)
        inner, chances = get_activation_mixture(activation)
        top = get_activation(output_activation, "output_activation")
        growth = GrowthRule(
            n_outputs, max_depth, max_children, leaf_probability, rule, min_children
        )
        features = None if groups is None else checked_groups(groups, n_inputs)
        n_features = n_inputs if features is None else int(features.max()) + 1
        if init not in ("normal", "uniform"):
            raise ValueError(f"init={init!r} is not known: choose 'normal' or 'uniform'")
        if not 0.0 <= init_scale < np.inf:
            raise ValueError(f"init_scale={init_scale!r} must be finite and not negative")
        self.n_inputs, self.n_outputs = n_inputs, n_outputs
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.sampler: LeafSampler | None = None
        self.n_features = n_features
        self.fields: dict[str, Any] = {
            "n_inputs": n_inputs,
            "n_outputs": n_outputs,
            "max_depth": max_depth,
            "min_children": min_children,
            "max_children": min(growth.most_children, LARGEST_SIZE),
            "deepen": deepen,
            "leaf_probability": leaf_probability,
            "mean_size": min(growth.expected_size(), 1e300),
            "groups": features,
            "output": (top.code, 1.0, top.numbers),
            "inner": [
                (entry.code, chance, entry.numbers)
                for entry, chance in zip(inner, chances.tolist(), strict=True)
            ],
            "trains_activations": train_activations,
            "is_uniform": init == "uniform",
            "init_scale": init_scale,
            **_limits(growth, n_weights, min_size, max_size),
        }
        if n_ramps is not None:
            self.fields |= {"n_ramps": n_ramps, "ramp_fraction": ramp_fraction}
        if interactions is not None:
            self.fields["sets"] = [np.array(group, dtype=np.int32) for group in interactions.sets]
            if callable(feature_sampling):
                raise ValueError(
                    "feature_sampling chooses features by itself, which cannot be combined with "
                    "interactions: use probabilities, or None"
                )
        core_fields = getattr(feature_sampling, "core_fields", None)
        if core_fields is not None:
            self.fields |= core_fields(n_features)
        elif callable(feature_sampling):
            self.sampler = feature_sampling
        elif feature_sampling is not None:
            self.fields["chances"] = checked_chances(feature_sampling, n_features)
        self.rule = _core.GrowthRule(**self.fields)

    @property
    def grows_by_itself(self) -> bool:
        """Whether the core grows all trees without calling Python, and none is refused."""
        return self.sampler is None and self.fields["n_weights"] > 0

    def grow(self, seed: int) -> tuple[_core.Structure, FloatArray]:
        """Return structure and weights of the tree of a seed."""
        sample = None if self.sampler is None else self._sample_with(seed)
        structure, weights = _core.grow(self.rule, seed, sample)
        return structure, weights.astype(self.dtype, copy=False)

    def _sample_with(self, seed: int) -> Callable[..., NDArray[np.int32]]:
        """Return what the core calls to choose features, where a callable does that."""
        assert self.sampler is not None
        rng, sampler = np.random.default_rng(seed), self.sampler

        def sample(leaf_parent: IntArray, parent: IntArray) -> NDArray[np.int32]:
            drawn = sampler(rng, leaf_parent, parent, self.n_features)
            return np.ascontiguousarray(drawn, dtype=np.int32)

        return sample


def seed_of(random_state: int | np.random.Generator | None) -> int:
    """Return the seed of a tree: the number itself, or one that a generator draws."""
    if isinstance(random_state, (int, np.integer)) and 0 <= random_state < 2**64:
        return int(random_state)
    return int(np.random.default_rng(random_state).integers(2**64, dtype=np.uint64))


def _limits(
    growth: GrowthRule, n_weights: int | None, min_size: int | float | None, max_size: int | None
) -> dict[str, int]:
    """Return the number of weights (0: none is given) and the limits of the size."""
    if n_weights is not None:
        if (min_size, max_size) != (None, None):
            raise ValueError("n_weights cannot be combined with min_size or max_size")
        checked_count("n_weights", n_weights, 3)
        k, low = growth.n_outputs, growth.min_children
        least = k * (1 + low)
        if n_weights < least:
            raise ValueError(
                f"n_weights={n_weights} is too few: with n_outputs={k} and min_children={low}, a "
                f"tree has {least} weights or more"
            )
        return {"n_weights": n_weights, "min_size": 1, "max_size": LARGEST_SIZE}
    if isinstance(min_size, float) and 0.0 <= min_size <= 1.0:  # a share of the mean size
        min_size = max(1, int(min_size * min(growth.expected_size(), LARGEST_SIZE)))
    least = 1 if min_size is None else checked_count("min_size", min_size, 1)
    most = LARGEST_SIZE if max_size is None else checked_count("max_size", max_size, 1)
    if least > most:
        raise ValueError(f"min_size={least} is above the largest size allowed, {most}")
    return {"n_weights": 0, "min_size": least, "max_size": min(most, LARGEST_SIZE)}


def checked_groups(groups: ArrayLike, n_inputs: int) -> IntArray:
    """Return the feature of each input, checked: in ascending order, or -1."""
    feature = np.asarray(groups)
    valid = feature.shape == (n_inputs,) and feature.dtype.kind in "iu"
    ascending = feature[feature >= 0] if valid else np.empty(0)
    if ascending.size == 0 or np.any(np.diff(ascending) < 0):
        raise ValueError(
            f"groups must be the number of the feature of each of the {n_inputs} inputs, in "
            f"ascending order, or -1, not {groups!r:.100}"
        )
    return np.ascontiguousarray(feature, dtype=np.int32)


def checked_chances(feature_sampling: ArrayLike, n_features: int) -> Array:
    """Return the probability of each feature, checked."""
    weights = np.array(feature_sampling, dtype=np.float64)
    if weights.shape != (n_features,):
        raise ValueError(
            f"feature_sampling has shape {weights.shape}, it needs one probability for each of "
            f"the n_inputs={n_features} inputs"
        )
    valid = np.isfinite(weights) & (weights >= 0)
    if not valid.all():
        i = int(np.argmin(valid))
        raise ValueError(f"feature_sampling[{i}] is {weights[i]}, not a probability")
    if not 0 < weights.sum() < np.inf:
        raise ValueError(f"feature_sampling adds up to {weights.sum()}: no input can be drawn")
    return weights
