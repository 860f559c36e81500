"""Selection of the parts of a tree to draw: all, or the strongest and summaries of the others.

An `Outline` lists the items of a drawing in the order of a depth-first walk: a parent comes before
its children, leaves come before branches, and both are sorted by their signed strength: the linear
part of a model is on top, and what adds to the sum is above what subtracts from it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.drawing.view import ExampleView, TreeView
from bneuralt.tree.walk import outputs_above, sum_up

__all__ = ["NODE", "REST", "ROOT", "SUMMARY", "TERM", "Outline", "outline_of"]

#: Kinds of items: the root above several outputs, a function node, a term, a subtree that is not
#: drawn, and the weakest terms of a node with very many.
ROOT, NODE, TERM, SUMMARY, REST = range(5)

#: Largest number of terms that are drawn at one node of a summarised tree.
MAX_TERMS = 24
#: Terms and subtrees with a smaller share in their output do nothing and are not drawn.
NO_SHARE = 1e-4


@dataclass(frozen=True)
class Outline:
    """The items of a drawing, as arrays in depth-first order.

    Attributes
    ----------
    kind : int array of shape (n_items,)
    index : int array of shape (n_items,)
        The node or term; for summaries and rests, the node.
    parent : int array of shape (n_items,)
        The item above, -1 for the topmost.
    depth : int array of shape (n_items,)
        Edges above the item.
    strength : float array of shape (n_items,)
        Of the edge above, signed: with an example, its effect.
    n_hidden : int array of shape (n_items,)
        Number of terms that a summary or rest stands for.
    share : float array of shape (n_items,)
        Share of a summary or rest in its output, by weights; 0 for other items.
    main_features : dict
        The features of each summary that matter most in it.
    """

    kind: IntArray
    index: IntArray
    parent: IntArray
    depth: IntArray
    strength: FloatArray
    n_hidden: IntArray
    share: FloatArray
    main_features: dict[int, list[int]]

    @property
    def has_children(self) -> Array:
        """Whether each item has others below it."""
        above = self.parent[self.parent >= 0]
        return np.isin(np.arange(self.kind.size), above)

    @property
    def n_rows(self) -> int:
        """Number of items without others below them."""
        return int(self.kind.size - np.unique(self.parent[self.parent >= 0]).size)


def outline_of(view: TreeView, example: ExampleView | None, most: int | None) -> Outline:
    """Decide what is drawn.

    Parameters
    ----------
    view : TreeView
    example : ExampleView or None
        Strengths are then the effects of this example.
    most : int or None
        Approximate limit on the items without others below them. The strongest subtrees are drawn,
        and terms that do nothing are not. None draws all.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> view = TreeView.of(NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0]))
    >>> outline_of(view, None, None).strength.tolist()
    [0.0, 2.0, -1.0]
    """
    tree, k = view.tree, view.tree.n_outputs
    term_strength = view.term_strength if example is None else example.term_effect
    node_strength = view.node_strength if example is None else example.node_effect
    term_start = np.searchsorted(view.term_node, np.arange(tree.parent.size + 1))
    n_terms_below = sum_up(tree.parent, np.diff(term_start))
    is_open = _opened(view, term_strength, node_strength, term_start, most)
    weights = {NODE: view.node_strength, TERM: view.term_strength}
    crowded = most is not None and view.n_terms > most
    node_share, term_share = _shares_in_outputs(view)
    least = -1.0 if most is None else NO_SHARE

    items: list[tuple[int, int, int, int, float, int, float]] = []
    has_root = k > 1 and view.task == "classes"
    if has_root:
        items.append((ROOT, -1, -1, 0, 0.0, 0, 0.0))
    above = 0 if has_root else -1
    outputs = [(NODE, i, above, int(has_root), float(node_strength[i]), 0, 0.0) for i in range(k)]
    pending = outputs[::-1]
    while pending:
        item = pending.pop()
        kind, node, _, depth, strength, *_ = item
        if kind == NODE and not is_open[node]:
            hidden = int(n_terms_below[node])
            share = float(node_share[node])
            items.append((SUMMARY, node, item[2], depth, strength, hidden, share))
            continue
        items.append(item)
        if kind != NODE:
            continue
        place = len(items) - 1
        children = np.arange(tree.child_start[node], tree.child_start[node + 1])
        active = children[node_share[children] > least]
        below = [
            (NODE, int(child), place, depth + 1, float(node_strength[child]), 0, 0.0)
            for child in active
        ]
        every = np.arange(term_start[node], term_start[node + 1])
        terms = every[term_share[every] > least]
        if not (terms.size or active.size):  # a node has something below it
            terms = every
        if crowded and terms.size > MAX_TERMS:
            by_size = np.argsort(-np.abs(term_strength[terms]), kind="stable")
            terms = terms[by_size[:MAX_TERMS]]
        below += [(TERM, int(t), place, depth + 1, float(term_strength[t]), 0, 0.0) for t in terms]
        # by weight, so that drawings of several examples have the same order
        below.sort(key=lambda entry: (entry[0] == NODE, -weights[entry[0]][entry[1]]))
        unused = np.setdiff1d(children, active)
        if hidden := int(every.size - terms.size + n_terms_below[unused].sum()):
            share = term_share[every].sum() - term_share[terms].sum() + node_share[unused].sum()
            below.append((REST, node, place, depth + 1, 0.0, hidden, float(share)))
        pending += below[::-1]
    arrays = [np.array(column) for column in zip(*items, strict=True)]
    features = _main_features(view, arrays[0], arrays[1], node_strength, term_strength)
    return Outline(
        arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5], arrays[6], features
    )


def _shares_in_outputs(view: TreeView) -> tuple[FloatArray, FloatArray]:
    """Return the share of each node and of each term in its output, by weights."""
    node, term = view.shares(view.node_strength.copy(), view.term_strength)
    whole = node[outputs_above(view.tree.parent)]
    whole = np.where(whole > 0, whole, 1.0)
    return node / whole, term / whole[view.term_node]


def _main_features(
    view: TreeView,
    kind: IntArray,
    index: IntArray,
    node_strength: FloatArray,
    term_strength: FloatArray,
    most: int = 3,
) -> dict[int, list[int]]:
    """Return the features with the largest shares in each summary."""
    summaries = np.flatnonzero(kind == SUMMARY)
    if not summaries.size:
        return {}
    tree = view.tree
    owner = np.full(tree.parent.size, -1)  # the summary that a node is part of
    owner[index[summaries]] = summaries
    for start, stop in zip(tree.level_start[1:-1], tree.level_start[2:], strict=True):
        above = owner[tree.parent[start:stop]]
        owner[start:stop] = np.where(above >= 0, above, owner[start:stop])
    _, share = view.shares(node_strength, term_strength)
    found: dict[int, list[int]] = {}
    for item in summaries.tolist():
        terms = owner[view.term_node] == item
        total = np.bincount(view.term_feature[terms], share[terms])
        found[item] = [int(i) for i in np.argsort(-total, kind="stable")[:most] if total[i] > 0]
    return found


def _opened(
    view: TreeView,
    term_strength: FloatArray,
    node_strength: FloatArray,
    term_start: IntArray,
    most: int | None,
) -> list[bool]:
    """Return for each node whether its children are drawn: the strongest paths first."""
    tree, k = view.tree, view.tree.n_outputs
    if most is None or view.n_terms <= most:
        return [True] * tree.parent.size
    total = np.bincount(view.term_node, np.abs(term_strength), minlength=tree.parent.size)
    total += np.bincount(tree.parent[k:], np.abs(node_strength[k:]), minlength=total.size)
    is_open = [False] * tree.parent.size
    waiting = [(-np.inf, i) for i in range(k)]  # outputs are always open
    n_rows = k
    while waiting:
        size, node = heapq.heappop(waiting)
        n_terms = min(int(term_start[node + 1] - term_start[node]), MAX_TERMS + 1)
        children = range(tree.child_start[node], tree.child_start[node + 1])
        if node >= k and n_rows + n_terms + len(children) - 1 > most:
            continue
        n_rows += n_terms + len(children) - 1
        is_open[node] = True
        share = 1.0 if np.isinf(size) else -size
        for child in children:
            part = abs(float(node_strength[child])) / (float(total[node]) or 1.0)
            heapq.heappush(waiting, (-share * part, child))
    return is_open
