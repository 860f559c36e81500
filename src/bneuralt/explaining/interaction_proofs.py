"""Proofs about interactions: which columns meet below a node that is not linear."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.expressions import OUTPUTS
from bneuralt.model import Model
from bneuralt.tree import NeuralTree

__all__ = ["InteractionProof", "Meeting", "check_interactions"]

#: Pairs that the text of a proof lists.
MAX_LISTED = 20


class Meeting(NamedTuple):
    """A node at which two columns meet.

    Attributes
    ----------
    tree : int
        Position of the tree in the model.
    node : int
        Position of the node in the tree.
    """

    tree: int
    node: int


@dataclass(frozen=True, eq=False)
class InteractionProof:
    """Which pairs of columns can interact, from the structure of the trees.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    meetings : dict of (int, int) to tuple of Meeting
        For each pair of columns (the smaller position first) that can interact, the nodes at which
        they meet: those that are not linear and have the two below different children. Empty if
        they meet only in the mean of the probabilities of several trees.
    explains : {"prediction", "score"}
        The scale of the proof. "score": the outputs of the trees, before the link; predictions are
        a function of their sums.
    is_allowed : bool array of shape (n_columns, n_columns), or None
        The pairs that `interaction_cst` allows; None without such a constraint.
    """

    names: tuple[str, ...]
    meetings: dict[tuple[int, int], tuple[Meeting, ...]]
    explains: str
    is_allowed: Array | None = None

    @property
    def can_interact(self) -> Array:
        """Whether each pair of columns can interact; a symmetric matrix, true on its diagonal."""
        matrix = np.eye(len(self.names), dtype=bool)
        for i, j in self.meetings:
            matrix[i, j] = matrix[j, i] = True
        return matrix

    @property
    def holds(self) -> bool:
        """Whether no pair can interact that `interaction_cst` excludes."""
        return self.is_allowed is None or bool(np.all(self.is_allowed | ~self.can_interact))

    @property
    def is_additive(self) -> bool:
        """Whether no columns interact: predictions, or scores, are a sum of curves."""
        return not self.meetings

    def __getitem__(self, pair: tuple[int | str, int | str]) -> tuple[Meeting, ...]:
        """Return the nodes at which two columns meet, given by positions or names."""
        positions = []
        for column in pair:
            if isinstance(column, str):
                if column not in self.names:
                    raise KeyError(f"{column!r} is not a column; they are {', '.join(self.names)}")
                column = self.names.index(column)
            positions.append(column)
        low, high = sorted(positions)
        return self.meetings.get((low, high), ())

    def __str__(self) -> str:
        n = len(self.names)
        scale = "predictions are" if self.explains == "prediction" else "scores are"
        if self.is_additive:
            lines = [f"no columns interact: {scale} a sum of functions of one column each"]
        else:
            lines = [f"{len(self.meetings)} of {n * (n - 1) // 2} pairs of columns can interact"]
        for (i, j), nodes in list(self.meetings.items())[:MAX_LISTED]:
            places = [f"node {node} of tree {tree}" for tree, node in nodes[:3]]
            if len(nodes) > 3:
                places.append(f"{len(nodes) - 3} more")
            where = f"at {', '.join(places)}" if nodes else "in the mean of the probabilities"
            lines.append(f"{self.names[i]}, {self.names[j]}: {where}")
        if len(self.meetings) > MAX_LISTED:
            lines.append(f"... and {len(self.meetings) - MAX_LISTED} more pairs")
        if self.is_allowed is not None:
            lines.append(f"interaction_cst {'holds' if self.holds else 'DOES NOT HOLD'}")
        return "\n".join(lines)


def check_interactions(model: Model) -> InteractionProof:
    """Prove which columns can interact; see `ExplainingMethods.check_interactions`.

    Examples
    --------
    >>> tree = NeuralTree.random(3, 1, 1, random_state=2, output_activation="linear")
    >>> print(check_interactions(Model.of_tree(tree)))
    2 of 3 pairs of columns can interact
    x0, x1: at node 2 of tree 0
    x1, x2: at node 1 of tree 0
    """
    model = model.in_raw_units()
    meetings: dict[tuple[int, int], list[Meeting]] = {}
    for t, tree in enumerate(model.trees):
        for node, pairs in _meetings(tree, model.column_of_input, len(model.columns)):
            for pair in pairs:
                meetings.setdefault(pair, []).append(Meeting(t, node))
    is_linear = model.link == OUTPUTS and not model.has_scores
    if model.averages == "predictions" and len(model.trees) > 1 and model.link != OUTPUTS:
        used = np.unique(np.concatenate([_used(tree, model) for tree in model.trees]))
        for pair in combinations(used.tolist(), 2):  # the link mixes all columns of a tree
            meetings.setdefault(pair, [])
    allowed = None
    if model.interaction_sets is not None:
        allowed = np.eye(len(model.columns), dtype=bool)
        for group in model.interaction_sets:
            allowed[np.ix_(group, group)] = True
    return InteractionProof(
        tuple(column.name for column in model.columns),
        {pair: tuple(meetings[pair]) for pair in sorted(meetings)},
        "prediction" if is_linear else "score",
        allowed,
    )


def _used(tree: NeuralTree, model: Model) -> IntArray:
    return np.unique(model.column_of_input[tree.leaf_input[tree.leaf_weight != 0]])


def _meetings(
    tree: NeuralTree, column_of_input: IntArray, n_columns: int
) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return the nodes at which columns meet, with the pairs of columns.

    A linear node is a part of the sum of its parent. The terms of the sum of any other node are
    leaves and nodes that are not linear; two columns meet if they are in two different terms.
    """
    leaf_column = column_of_input[tree.leaf_input]
    terms: list[list[set[int]]] = [[] for _ in tree.parent]
    for node, column, weight in zip(
        tree.leaf_parent.tolist(), leaf_column.tolist(), tree.leaf_weight.tolist(), strict=True
    ):
        if weight != 0:
            terms[node].append({column})
    is_linear = [expression.operation == "variable" for expression in tree.node_expressions]
    found = []
    for node in range(tree.parent.size - 1, -1, -1):
        if not is_linear[node]:
            pairs = _pairs(terms[node])
            if pairs:
                found.append((node, pairs))
        if node >= tree.n_outputs and tree.edge[node - tree.n_outputs] != 0:
            above = terms[int(tree.parent[node])]
            above.extend(terms[node] if is_linear[node] else [set().union(*terms[node])])
    return found[::-1]


def _pairs(terms: list[set[int]]) -> list[tuple[int, int]]:
    """Return the pairs of columns that are in two different terms."""
    columns = sorted(set().union(*terms))
    n_terms = {column: sum(column in term for term in terms) for column in columns}
    pairs = []
    for i, j in combinations(columns, 2):
        together = n_terms[i] == n_terms[j] == 1 and any({i, j} <= term for term in terms)
        if not together:
            pairs.append((i, j))
    return pairs
