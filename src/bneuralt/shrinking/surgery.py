"""Optimal Brain Surgeon (Hassibi and Stork, 1992) for trees.

Three kinds of units can be removed: a leaf, a subtree (by the edge above it), and the activation of
a node, which is replaced by a straight line so that the node can be merged with its parent. The
cost of a removal is the second-order increase of the loss after the optimal adjustment of all other
weights. Units with the lowest cost per weight are removed first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.shrinking.curvature import WeightCurvature
from bneuralt.training.losses import Loss
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import NAMES, n_activation_parameters
from bneuralt.tree.node_values import node_sums, node_values
from bneuralt.tree.simplify import simplify
from bneuralt.tree.walk import outputs_above, sum_up

__all__ = ["operate"]

#: Added to the diagonal of the Gauss-Newton matrix, as a share of its mean.
DAMPING = 1e-2


@dataclass(frozen=True)
class _Units:
    """Units that can be removed: weights of leaves and edges, and activations.

    Attributes
    ----------
    parameter : int array
        Position of the weight that becomes 0, -1 for an activation.
    node : int array
        The subtree below an edge, or the node of an activation; -1 for a leaf.
    saved : int array
        Number of weights that are removed.
    cost : array
        Increase of the loss.
    """

    parameter: IntArray
    node: IntArray
    saved: IntArray
    cost: FloatArray


def operate(
    tree: NeuralTree,
    X: Array,
    loss: Loss,
    weight: FloatArray,
    n_remove: int,
    rule: str = "surgeon",
    compensates: bool = True,
) -> NeuralTree:
    """Return a tree without its least important units.

    Parameters
    ----------
    tree : NeuralTree
        A float64 tree from which `simplify` removes nothing.
    X : array of shape (n_rows, n_inputs)
        Scaled rows.
    loss : Loss
    weight : array of shape (n_rows,)
    n_remove : int
        Number of weights to remove; it may be a few more.
    rule : {"surgeon", "magnitude"}
        Cost of a removal: the increase of the loss, or the absolute value of the weight.
    compensates : bool
        Whether the other weights are adjusted to compensate for the removal.
    """
    if rule == "magnitude":
        return _without_smallest(tree, n_remove)
    curvature = WeightCurvature.of(tree, X, loss, weight)
    matrix = curvature.matrix()
    diagonal = np.einsum("ii->i", matrix)
    diagonal += DAMPING * max(float(diagonal.mean()), 1e-12)
    factor = cho_factor(matrix, check_finite=False)
    inverse = cho_solve(factor, np.eye(len(matrix)), check_finite=False)
    zeros = _zeros(tree)
    squares = np.square(tree.parameters[zeros.parameter])
    costs = squares / (2 * np.diag(inverse)[zeros.parameter])
    lines = _Lines.of(tree, X, curvature, inverse)
    units = _Units(
        np.concatenate([zeros.parameter, np.full(lines.node.size, -1)]),
        np.concatenate([zeros.node, lines.node]),
        np.concatenate([zeros.saved, lines.saved]),
        np.concatenate([costs, lines.cost]),
    )
    chosen = _chosen(tree, units, n_remove)
    parameters = tree.parameters.copy()
    removed = units.parameter[chosen][units.parameter[chosen] >= 0]
    straight = chosen[units.parameter[chosen] < 0] - zeros.parameter.size
    if compensates:
        step = -inverse @ lines.gradients[:, straight].sum(axis=1)
        if removed.size:
            columns = inverse[:, removed]
            values = parameters[removed] + step[removed]
            step -= columns @ np.linalg.solve(columns[removed], values)
        parameters += step
    parameters[removed] = 0.0
    return simplify(lines.inserted(tree.with_parameters(parameters), straight))


def _zeros(tree: NeuralTree) -> _Units:
    """Return the leaves and edges whose weights may become 0, with costs of 0."""
    k, n_nodes = tree.n_outputs, tree.parent.size
    first_leaf = 2 * n_nodes - k
    inner = np.arange(k, n_nodes)
    n_children = np.bincount(tree.parent[k:], minlength=n_nodes) + np.diff(tree.leaf_start)
    # the only child of a node is removed with its node, and that of an output is kept
    leaves = np.flatnonzero(n_children[tree.leaf_parent] > 1)
    phi = n_activation_parameters(tree.activation) if tree.trains_activations else 0
    sizes = sum_up(tree.parent, 2 + np.diff(tree.leaf_start) + phi)
    return _Units(
        np.concatenate([first_leaf + leaves, n_nodes + inner - k]),
        np.concatenate([np.full(leaves.size, -1), inner]),
        np.concatenate([np.ones(leaves.size, dtype=np.int64), sizes[inner]]),
        np.zeros(leaves.size + inner.size),
    )


def _chosen(tree: NeuralTree, units: _Units, n_remove: int) -> IntArray:
    """Return the positions of the units to remove, in the order of their cost per weight."""
    n_nodes, k = tree.parent.size, tree.n_outputs
    first_leaf = 2 * n_nodes - k
    is_removed = np.zeros(n_nodes, dtype=bool)
    chosen: list[int] = []
    n_saved = 0
    for unit in np.argsort(units.cost / units.saved, kind="stable").tolist():
        if n_saved >= n_remove:
            break
        place, node = int(units.parameter[unit]), int(units.node[unit])
        above = int(tree.leaf_parent[place - first_leaf]) if node < 0 else node
        while above >= 0 and not is_removed[above]:
            above = int(tree.parent[above])
        too_large = units.saved[unit] > 2 * n_remove and chosen
        if above >= 0 or too_large:
            continue
        chosen.append(unit)
        n_saved += int(units.saved[unit])
        if place >= 0 and node >= 0:
            is_removed[node] = True
    return np.array(chosen, dtype=np.int64)


def _without_smallest(tree: NeuralTree, n_remove: int) -> NeuralTree:
    """Return the tree without the leaves and edges of the smallest absolute weights."""
    zeros = _zeros(tree)
    size = np.abs(tree.parameters[zeros.parameter])
    units = _Units(zeros.parameter, zeros.node, zeros.saved, size * zeros.saved)
    parameters = tree.parameters.copy()
    parameters[zeros.parameter[_chosen(tree, units, n_remove)]] = 0.0
    return simplify(tree.with_parameters(parameters))


@dataclass(frozen=True)
class _Lines:
    """Straight lines in place of the activations of nodes.

    Attributes
    ----------
    node : int array
    intercept, slope : array
        The least-squares line of each node, weighted by the influence on the loss.
    saved : int array
    cost : array
    gradients : array of shape (n_parameters, n_lines)
        Mixed second derivatives of the loss by weights and the change to the line.
    """

    node: IntArray
    intercept: FloatArray
    slope: FloatArray
    saved: IntArray
    cost: FloatArray
    gradients: FloatArray

    @classmethod
    def of(
        cls, tree: NeuralTree, X: Array, curvature: WeightCurvature, inverse: FloatArray
    ) -> _Lines:
        k = tree.n_outputs
        inner = np.arange(k, tree.parent.size)
        node = inner[tree.activation[inner] != NAMES.index("linear")]
        values = node_values(tree, X)
        sums = node_sums(tree, X, values)[:, node]
        output = outputs_above(tree.parent)[node]
        above = curvature.jacobian[:, tree.parent[node]] * tree.edge[node - k]
        influence = curvature.weight[:, np.newaxis] * curvature.diagonal[:, output]
        influence *= np.square(above)
        influence += 1e-12
        influence /= influence.sum(axis=0)
        mean_sum = (influence * sums).sum(axis=0)
        mean_value = (influence * values[:, node]).sum(axis=0)
        spread = (influence * np.square(sums - mean_sum)).sum(axis=0)
        joint = (influence * (sums - mean_sum) * (values[:, node] - mean_value)).sum(axis=0)
        slope = joint / np.maximum(spread, 1e-12)
        intercept = mean_value - slope * mean_sum
        change = above * (intercept + slope * sums - values[:, node])
        gradients, curvatures = curvature.slopes_along(change, output)
        compensation = np.einsum("pn,pn->n", gradients, inverse @ gradients)
        phi = n_activation_parameters(tree.activation[node]) if tree.trains_activations else 0
        cost = np.maximum(curvatures - compensation, 0.0) / 2
        return cls(node, intercept, slope, 2 + _n_merged(tree, node) + phi, cost, gradients)

    def inserted(self, tree: NeuralTree, chosen: IntArray) -> NeuralTree:
        """Return the tree with some of the lines in place of activations."""
        if not chosen.size:
            return tree
        k, n_nodes = tree.n_outputs, tree.parent.size
        node = self.node[chosen]
        bias, edge = tree.bias.copy(), tree.edge.copy()
        np.add.at(bias, tree.parent[node], edge[node - k] * self.intercept[chosen])
        edge[node - k] *= self.slope[chosen]
        activation = tree.activation.copy()
        activation[node] = NAMES.index("linear")
        kept = np.repeat(
            ~np.isin(np.arange(n_nodes), node), np.diff(tree.activation_parameter_start)
        )
        phi = tree.activation_parameters[kept]
        trained = [phi] if tree.trains_activations else []
        return NeuralTree(
            tree.n_inputs,
            k,
            tree.parent,
            activation,
            tree.leaf_parent,
            tree.leaf_input,
            np.concatenate([bias, edge, tree.leaf_weight, *trained]),
            phi,
            tree.trains_activations,
        )


def _n_merged(tree: NeuralTree, nodes: IntArray) -> IntArray:
    """Return the number of leaves of each node whose input is also on a leaf of its parent."""
    has = np.zeros((tree.parent.size, tree.n_inputs), dtype=bool)
    has[tree.leaf_parent, tree.leaf_input] = True
    merged: IntArray = (has[nodes] & has[tree.parent[nodes]]).sum(axis=1)
    return merged
