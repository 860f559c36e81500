"""Trees as they are drawn: their size, the features of their leaves, and where these may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from bneuralt._typing import Array
from bneuralt.estimators.base import NeuralTreeEstimator
from bneuralt.estimators.capacity import FEWEST_PER_OUTPUT, MOST_PER_ROW, SINGLE_TREE, Capacity
from bneuralt.estimators.growing import LEAF_PROBABILITY, MAX_DEPTH
from bneuralt.estimators.nested import NestedParameters
from bneuralt.estimators.parameters import TreeParameters
from bneuralt.estimators.readable import READABLE, first_size
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import learn_scaling
from bneuralt.estimators.trials import USUAL, Choice
from bneuralt.tree import NeuralTree
from bneuralt.tree.sampling import FeatureSampler, chances_of_varying

__all__ = ["DrawnTree"]

#: Where features have several inputs, `n_weights="auto"` is enough for this many leaves per output.
LEAVES_PER_OUTPUT = 10


class DrawnTree(NestedParameters, NeuralTreeEstimator, TreeParameters):
    """Base class of estimators whose structure is drawn at random."""

    _choice: Choice = USUAL

    @property
    def _is_readable(self) -> bool:
        return isinstance(self.n_weights, str) and self.n_weights == READABLE

    def _n_weights(self, rows: Rows, capacity: Capacity = SINGLE_TREE) -> int | None:
        """Return the number of weights of the tree, None where other limits decide its size."""
        if not isinstance(self.n_weights, str):
            return self.n_weights
        if not self._has_automatic_size:
            return None
        is_plain, share = self.encoder_.is_plain, self._effective_share(rows)
        per_leaf = 1.0 if is_plain else self.encoder_.weights_per_leaf
        n_weights = capacity.n_weights(rows.n_examples, self._n_outputs(), per_leaf, share)
        if not is_plain:
            leaves = LEAVES_PER_OUTPUT * self._n_outputs()
            n_weights = max(n_weights, round(leaves * self.encoder_.drawn_per_feature))
        most = int(MOST_PER_ROW * per_leaf * rows.n_different)
        n_weights = min(n_weights, max(most, FEWEST_PER_OUTPUT * self._n_outputs()))
        return first_size(n_weights, self._n_outputs()) if self._is_readable else n_weights

    def _with_share_of_weights(self, rows: Rows, share: float) -> Self:
        """Return itself with a share of its weights and one start."""
        if self._growth.n_init > 1:
            self.set_params(growth__n_init=1)
        n_weights = self._n_weights(rows)
        if n_weights is not None:
            self.n_weights = max(int(share * n_weights), FEWEST_PER_OUTPUT * self._n_outputs())
        return self

    def _learn_scaling(self, rows: Rows, constant: float = 0.0) -> None:
        key = self.scale, self._output_activation, constant
        if key not in rows.scalings:
            inputs = learn_scaling(
                self.scale, rows.input_moments, constant, categories=self.encoder_.one_hot_inputs
            )
            rows.scalings[key] = inputs, self._learn_target_scaling(rows, constant)
        self._input_scaling, self._target_scaling = rows.scalings[key]

    def _draw_tree(self, rows: Rows, rng: np.random.Generator) -> NeuralTree:
        """Draw a tree of features that are not constant."""
        growth, n_weights = self._growth, self._n_weights(rows)
        min_size = growth.min_size
        if isinstance(min_size, float) and not (growth.max_size is None and n_weights is None):
            min_size = None  # a share of the mean size has no meaning where the size is limited
        tree = NeuralTree.random(
            rows.n_inputs,
            self._n_outputs(),
            MAX_DEPTH if growth.max_depth is None else growth.max_depth,
            growth.max_children,
            LEAF_PROBABILITY if growth.leaf_probability is None else growth.leaf_probability,
            min_children=growth.min_children,
            min_size=min_size,
            max_size=growth.max_size,
            n_weights=n_weights,
            deepen=growth.max_depth is None,
            init=growth.init,
            init_scale=growth.init_scale,
            activation=growth.activation,
            output_activation=growth.output_activation,
            train_activations=growth.train_activations,
            feature_sampling=self._leaf_probabilities(rows),
            groups=self.encoder_.drawn_groups,
            interactions=self._interactions(),
            dtype=self.dtype,
            random_state=rng,
        )
        share = self._choice.ramp_share
        if share == 0.0 or not self.encoder_.has_ramps:
            return tree
        return tree.with_leaf_inputs(
            self.encoder_.on_ramps(tree.leaf_input, share, rng), tree.parameters
        )

    def _leaf_probabilities(self, rows: Rows) -> Any:
        """Return `feature_sampling`, with probability 0 for constant features."""
        groups, is_plain = self.encoder_.groups, self.encoder_.is_plain
        sampling = self._growth.feature_sampling
        if isinstance(sampling, FeatureSampler):
            rows = rows.in_memory
            X = rows.X
            if not is_plain:  # use the first number of each feature
                X = X[:, self.encoder_.first_numbers[:-1]]
            return sampling.learn(X, rows.weight)
        if callable(sampling) or (self._input_scaling is None and is_plain):
            return sampling
        varies = np.ones(rows.n_inputs, dtype=bool)
        if self._input_scaling is not None:
            varies = self._input_scaling.factor != 0.0
        chances = np.ones(self.n_features_in_) if sampling is None else sampling
        return chances_of_varying(chances, groups, varies, self.n_features_in_)

    def _leaves_may_move(self) -> bool:
        """Return whether leaves may move to other features during training."""
        sampling = self._growth.feature_sampling
        is_custom = callable(sampling) and not isinstance(sampling, FeatureSampler)
        return not self._is_warm_start() and not is_custom

    def _may_move_to(self, rows: Rows, starts: Sequence[NeuralTree]) -> list[Array] | None:
        """Return which inputs the leaves of each tree may move to: those that could be drawn."""
        sampling, interactions = self._growth.feature_sampling, self._interactions()
        is_free = sampling is None or callable(sampling)
        if not self._leaves_may_move() or (is_free and interactions is None):
            return None
        groups = self.encoder_.groups
        allowed: Array = np.ones(groups.size, dtype=bool)
        if not is_free:
            allowed = (np.asarray(self._leaf_probabilities(rows)) > 0)[groups]
        if interactions is None:
            return [allowed] * len(starts)
        return [
            interactions.allowed(tree.parent, tree.leaf_parent, groups[tree.leaf_input])[:, groups]
            & allowed
            for tree in starts
        ]
