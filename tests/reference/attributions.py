"""Attributions of outputs to leaves, by recursion.

With z and h for a row, and z0 and h0 for the baseline, a node passes on a difference of its
weighted sum multiplied by

    (h - h0) / (z - z0)            (the rescale rule),

or by its slope where the two sums are almost equal. The contribution of a leaf is the difference of
its input times all these factors and all weights on its path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._typing import FloatArray
from bneuralt.expressions import Expression
from bneuralt.tree.activations import EXPRESSIONS
from bneuralt.tree.neural_tree import NeuralTree
from tests.reference.activations import SLOPE
from tests.reference.passes import backward_pass, forward_pass
from tests.reference.tree_nodes import TreeNode, Vector, build, numbers

__all__ = ["integrated_gradients", "jacobian", "rescaled_contributions"]

#: For a smaller difference of sums, rounding errors dominate the quotient.
SMALL_DIFFERENCE = 3e-5


def rescaled_contributions(tree: NeuralTree, x: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """Return the contribution of each leaf to its output, for one row.

    Parameters
    ----------
    tree : NeuralTree
    x : array of shape (n_inputs,)
    baseline : array of shape (n_inputs,)

    Returns
    -------
    array of shape (n_leaves,)

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> rescaled_contributions(tree, [1.0, 1.0], [0.0, 3.0])
    array([2., 2.])
    """
    theta, row, start = numbers(tree.parameters), numbers(x), numbers(baseline)
    first_leaf = 2 * tree.parent.size - tree.n_outputs
    contributions = np.zeros(tree.n_leaves)

    def go_down(node: TreeNode, at_baseline: TreeNode, factor: float) -> None:
        factor *= _secant(node, at_baseline, node.parameters(theta))
        for child, child_at_baseline in zip(node.children, at_baseline.children, strict=True):
            below = factor * theta[child.weight_at]
            if child.is_leaf:
                difference = child.value - child_at_baseline.value
                contributions[child.weight_at - first_leaf] = below * difference
            else:
                go_down(child, child_at_baseline, below)

    for output, output_at_baseline in zip(build(tree), build(tree), strict=True):
        forward_pass(output, theta, row)
        forward_pass(output_at_baseline, theta, start)
        go_down(output, output_at_baseline, 1.0)
    return contributions


def _is_piecewise_linear(expression: Expression) -> bool:
    inner = all(_is_piecewise_linear(part) for part in expression.arguments)
    return inner and expression.operation in (
        *("variable", "constant", "add", "subtract", "multiply", "minimum", "maximum"),
    )


def _secant(node: TreeNode, at_baseline: TreeNode, phi: Vector) -> float:
    slope = SLOPE[node.activation]
    slopes = slope(node.sum, *phi), slope(at_baseline.sum, *phi)
    difference = node.sum - at_baseline.sum
    if _is_piecewise_linear(EXPRESSIONS[node.activation]):  # slopes jump at its bends
        is_close = slopes[0] == slopes[1]
    else:
        is_close = abs(difference) < SMALL_DIFFERENCE
    if is_close:
        return sum(slopes) / 2
    return (node.value - at_baseline.value) / difference


def jacobian(tree: NeuralTree, x: ArrayLike) -> FloatArray:
    """Return the derivative of the outputs by each weight, for one row.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], [0.0, 0.0, 1.0, -1.0])
    >>> jacobian(tree, [3.0])
    array([1., 1., 3., 3.])
    """
    theta, row = numbers(tree.parameters), numbers(x)
    derivatives = [0.0] * tree.n_parameters
    for output in build(tree):
        forward_pass(output, theta, row)
        backward_pass(output, theta, 1.0, derivatives)
    return np.array(derivatives)


def integrated_gradients(
    tree: NeuralTree, x: ArrayLike, baseline: ArrayLike, n_steps: int
) -> FloatArray:
    """Return the integrated gradients of each leaf between a baseline and a row.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> integrated_gradients(tree, [1.0, 1.0], [0.0, 3.0], n_steps=2)
    array([2., 2.])
    """
    row, start = np.asarray(x, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    n_nodes = tree.parent.size
    contributions = np.zeros(tree.n_leaves)
    positions, weights = np.polynomial.legendre.leggauss(n_steps)
    for position, weight in zip((positions + 1) / 2, weights / 2, strict=True):
        deltas = jacobian(tree, start + position * (row - start))[:n_nodes]
        by_input = deltas[tree.leaf_parent] * tree.leaf_weight
        contributions += weight * by_input * (row - start)[tree.leaf_input]
    return contributions
