"""Sets of features that may interact, and which features each subtree may use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.tree.walk import tops_above

__all__ = ["InteractionSets"]


@dataclass(frozen=True)
class InteractionSets:
    """The sets of features that may interact.

    Each child of an output, with all nodes and leaves below it, has features of one of the sets
    only. Outputs are sums of these, so two features without a common set never interact. Leaves of
    the outputs themselves are terms of the sum and may have any feature.

    Attributes
    ----------
    n_features : int
    sets : tuple of tuple of int
        Every feature is in at least one of them.
    """

    n_features: int
    sets: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls,
        constraint: Any,
        n_features: int,
        name: str = "interaction_cst",
        names: Sequence[str] | None = None,
    ) -> InteractionSets:
        """Return the sets that a constraint stands for, as in scikit-learn's histogram boosting.

        Parameters
        ----------
        constraint : {"no_interactions", "pairwise"} or sequence of sets, tuples or lists
            Each item has positions or names of features that may interact with each other.
            Features that no item has are one more set.
        n_features : int
        name : str
            Name of the parameter, for error messages.
        names : sequence of str, optional
            Names of the features.

        Examples
        --------
        >>> InteractionSets.of([{0, 1}], 5).sets
        ((0, 1), (2, 3, 4))
        >>> InteractionSets.of([{"age", "city"}], 3, names=["age", "size", "city"]).sets
        ((0, 2), (1,))
        >>> InteractionSets.of("pairwise", 3).sets
        ((0, 1), (0, 2), (1, 2))
        """
        if isinstance(constraint, str):
            sizes = {"no_interactions": 1, "pairwise": 2}
            if constraint not in sizes:
                raise ValueError(
                    f"{name}={constraint!r} must be 'no_interactions', 'pairwise' or a list of sets"
                )
            sets = list(combinations(range(n_features), min(n_features, sizes[constraint])))
            return cls(n_features, tuple(sets))
        if not isinstance(constraint, (list, tuple)):
            raise TypeError(
                f"{name}={constraint!r:.100} must be 'no_interactions', 'pairwise' or a list of "
                "sets of column positions"
            )
        sets = [_checked_set(group, n_features, name, names) for group in constraint]
        rest = set(range(n_features)).difference(*sets)
        if rest:
            sets.append(tuple(sorted(rest)))
        return cls(n_features, tuple(dict.fromkeys(sets)))

    @cached_property
    def _sets_of(self) -> list[set[int]]:
        """The positions of the sets of each feature."""
        positions: list[set[int]] = [set() for _ in range(self.n_features)]
        for i, group in enumerate(self.sets):
            for feature in group:
                positions[feature].add(i)
        return positions

    def containing(self, features: Iterable[int]) -> list[int]:
        """Return the positions of the sets that have all of these features.

        Examples
        --------
        >>> InteractionSets.of([{0, 1}, {1, 2}], 3).containing([1])
        [0, 1]
        """
        each = [self._sets_of[feature] for feature in features]
        return sorted(set.intersection(*each)) if each else list(range(len(self.sets)))

    def allowed(self, parent: IntArray, leaf_parent: IntArray, leaf_feature: IntArray) -> Array:
        """Return the features that the leaves of each node may have.

        The leaves of a subtree get the features of a set that has all those which it has now.

        Parameters
        ----------
        parent : int array of shape (n_nodes,)
        leaf_parent, leaf_feature : int array of shape (n_leaves,)

        Returns
        -------
        bool array of shape (n_nodes, n_features)
        """
        top = tops_above(parent)
        used: dict[int, set[int]] = {int(node): set() for node in np.unique(top)}
        for node, feature in zip(top[leaf_parent].tolist(), leaf_feature.tolist(), strict=True):
            used[node].add(feature)
        allowed = np.zeros((parent.size, self.n_features), dtype=bool)
        for node, features in used.items():
            places = np.flatnonzero(top == node)
            group: Iterable[int] = features
            if node < 0:  # outputs
                group = range(self.n_features)
            elif fitting := self.containing(features):  # several: not the same one for all nodes
                group = self.sets[fitting[node % len(fitting)]]
            allowed[np.ix_(places, np.array([*group], dtype=np.int64))] = True
        return allowed


def _checked_set(
    group: Any, n_features: int, name: str, names: Sequence[str] | None
) -> tuple[int, ...]:
    if not isinstance(group, (set, frozenset, list, tuple, range)):
        raise TypeError(
            f"{name} has {group!r:.50}, which must be a set, tuple or list of column positions"
        )
    if len(group) == 0:
        raise ValueError(f"{name} has an empty set: a set needs at least one column")
    if names is not None:
        unknown = [f for f in group if isinstance(f, str) and f not in names]
        if unknown:
            raise ValueError(
                f"{name} has the column {unknown[0]!r:.50}, which X does not have; it has: "
                f"{', '.join(map(repr, names[:20]))}"
            )
        group = [names.index(f) if isinstance(f, str) else f for f in group]
    for feature in group:
        if isinstance(feature, bool) or not isinstance(feature, Integral):
            raise TypeError(
                f"{name} has {feature!r:.50}, which must be the name of a column, or its position, "
                f"0 to {n_features - 1}"
            )
        if not 0 <= int(feature) < n_features:
            raise ValueError(
                f"{name} has column {feature}, which does not exist: positions are 0 to "
                f"{n_features - 1}"
            )
    return tuple(sorted({int(feature) for feature in group}))
