"""The forward and the backward pass, for one row and for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._typing import Array, FloatArray
from bneuralt.training.losses import Loss, get_loss
from bneuralt.tree.neural_tree import NeuralTree
from tests.reference.activations import PARAMETER_SLOPES, SLOPE, VALUE
from tests.reference.losses import LOSS, LOSS_GRADIENT, targets
from tests.reference.tree_nodes import TreeNode, Vector, build, numbers

__all__ = [
    "Example",
    "backward_pass",
    "batch_gradient",
    "batch_loss",
    "examples",
    "forward",
    "forward_pass",
    "gradient",
    "mean_gradient",
]


def forward_pass(node: TreeNode, theta: Vector, x: Vector) -> float:
    """Compute the value of a node, after the values of its children."""
    if node.is_leaf:
        node.value = x[node.input]
    else:
        z = theta[node.bias_at]
        for child in node.children:
            z += theta[child.weight_at] * forward_pass(child, theta, x)
        node.sum = z
        node.value = VALUE[node.activation](z, *node.parameters(theta))
    return node.value


def backward_pass(node: TreeNode, theta: Vector, slope: float, gradient: list[float]) -> None:
    """Compute the error term of a neuron, then those of its children.

    Parameters
    ----------
    node : TreeNode
        Its values must be those of a forward pass with the same theta.
    theta : sequence of float
        All weights.
    slope : float
        dE/dh of this node.
    gradient : list of float
        Receives the entries of the subtree.
    """
    phi = node.parameters(theta)
    node.delta = SLOPE[node.activation](node.sum, *phi) * slope
    gradient[node.bias_at] = node.delta
    if node.phi_at >= 0 and phi:
        for i, by_parameter in enumerate(PARAMETER_SLOPES[node.activation](node.sum, *phi)):
            gradient[node.phi_at + i] = slope * by_parameter
    for child in node.children:
        gradient[child.weight_at] = node.delta * child.value
        if not child.is_leaf:
            backward_pass(child, theta, node.delta * theta[child.weight_at], gradient)


def forward(tree: NeuralTree, x: ArrayLike) -> FloatArray:
    """Return the outputs of a tree for one row of inputs.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> forward(tree, [1.0, 1.0])
    array([1.5])
    """
    theta, row = numbers(tree.parameters), numbers(x)
    return np.array([forward_pass(output, theta, row) for output in build(tree)])


def gradient(tree: NeuralTree, x: ArrayLike, y: Any, loss: str | Loss) -> FloatArray:
    """Return the gradient of the loss of one example, in the order of `tree.parameters`.

    Parameters
    ----------
    tree : NeuralTree
    x : array of shape (n_inputs,)
    y : float
        The class index, the number or the numbers to predict.
    loss : str or Loss

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> gradient(tree, [1.0, 3.0], 0.0, "squared_error")
    array([-0.5, -0.5, -1.5])
    """
    return batch_gradient(tree, np.asarray(x)[np.newaxis], [y], loss)


class Example(NamedTuple):
    """One row: its inputs, its targets and its weight."""

    x: Vector
    target: Vector
    weight: float


def examples(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    loss: Loss,
    sample_weight: ArrayLike | None = None,
) -> list[Example]:
    """Return the rows of a table as examples for a tree."""
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    weights = np.ones(len(rows)) if sample_weight is None else sample_weight
    return [
        Example(x, targets(y, tree.n_outputs, loss), weight)
        for x, y, weight in zip(rows.tolist(), labels.tolist(), numbers(weights), strict=True)
    ]


def batch_loss(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    loss: str | Loss,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over the rows of `weight * loss`."""
    loss = get_loss(loss)
    batch = examples(tree, X, y, loss, sample_weight)
    cost = LOSS[loss.name]
    return sum(
        weight * cost(forward(tree, x).tolist(), target, *loss.numbers)
        for x, target, weight in batch
    ) / len(batch)


def batch_gradient(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    loss: str | Loss,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return the gradient of `batch_loss`: the mean of `weight * gradient` over the rows."""
    loss = get_loss(loss)
    batch = examples(tree, X, y, loss, sample_weight)
    return mean_gradient(build(tree), tree.parameters, batch, loss)


def mean_gradient(
    outputs: list[TreeNode], theta: Array, batch: Sequence[Example], loss: Loss
) -> FloatArray:
    """Run both passes over every example of a batch, and average the gradients."""
    weights = numbers(theta)
    total = np.zeros(len(weights))
    for x, target, weight in batch:
        values = [forward_pass(output, weights, x) for output in outputs]
        one = [0.0] * len(weights)
        slopes = LOSS_GRADIENT[loss.name](values, target, *loss.numbers)
        for output, slope in zip(outputs, slopes, strict=True):
            backward_pass(output, weights, slope, one)
        total += weight * np.array(one)
    return total / len(batch)
