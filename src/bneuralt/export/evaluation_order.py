"""The order in which generated code evaluates the nodes of a tree."""

from __future__ import annotations

from typing import NamedTuple

from bneuralt.tree import NeuralTree

__all__ = ["EvaluationOrder", "evaluation_order"]


class EvaluationOrder(NamedTuple):
    """The order of evaluation: children before parents, large subtrees first.

    Attributes
    ----------
    nodes : list of int
        All function nodes; the outputs are in the order of the outputs.
    children : list of list of int
        The function nodes below each node, in the order of evaluation.
    """

    nodes: list[int]
    children: list[list[int]]


def evaluation_order(tree: NeuralTree) -> EvaluationOrder:
    """Return an order of evaluation in which few values have to be kept at a time.

    Examples
    --------
    >>> tree = NeuralTree(1, 1, [-1, 0, 0, 2], [0, 1, 1, 1], [1, 3], [0, 0], [1.0] * 9)
    >>> evaluation_order(tree).nodes
    [1, 3, 2, 0]
    """
    n, k = tree.parent.size, tree.n_outputs
    children: list[list[int]] = [[] for _ in range(n)]
    for i in range(k, n):
        children[tree.parent[i]].append(i)
    needs = [1] * n  # how many values have to be kept while a subtree is evaluated
    for i in reversed(range(n)):
        children[i].sort(key=lambda c: -needs[c])
        needs[i] = max([1, *(needs[c] + j for j, c in enumerate(children[i]))])
    nodes: list[int] = []
    for output in range(k):
        reverse, waiting = [], [output]
        while waiting:  # parents first, the last child first: the opposite of what is wanted
            i = waiting.pop()
            reverse.append(i)
            waiting += children[i]
        nodes += reversed(reverse)
    return EvaluationOrder(nodes, children)
