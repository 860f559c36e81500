"""Rounding of weights to few digits, with the other weights adjusted after each of them.

Weights are rounded one after the other; those that are not yet rounded are adjusted such that the
outputs change least, by the Gauss-Newton matrix of the loss (Frantar and Alistarh, 2022, round
matrices in the same way). Biases come last, and take up what is left.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from bneuralt._typing import Array, FloatArray
from bneuralt.shrinking.curvature import WeightCurvature, outputs_of_parameters
from bneuralt.training.losses import Loss
from bneuralt.tree import NeuralTree
from bneuralt.tree.contributions import jacobian
from bneuralt.tree.node_values import node_sums, node_values

__all__ = ["MAX_DIGITS", "MIN_DIGITS", "round_weights"]

#: Numbers of significant digits that are tried.
MIN_DIGITS, MAX_DIGITS = 2, 6
#: Largest second-order change of the loss by rounding.
TOLERANCE = 1e-3
#: Added to the diagonal of the Gauss-Newton matrix, which is scaled to 1.
DAMPING = 1e-3
#: Largest number of rows for the Gauss-Newton matrix.
MAX_ROWS = 1000


def round_weights(
    tree: NeuralTree,
    X: Array,
    loss: Loss,
    weight: FloatArray,
    unit: FloatArray | float = 1.0,
    compensates: bool = True,
) -> NeuralTree:
    """Round all weights of a tree to two significant digits, or to more where these matter.

    A bias has the decimals that matter for the sum of its node, so a bias that is large in
    comparison with the spread of this sum has more digits.

    Parameters
    ----------
    tree : NeuralTree
        Tree for unscaled inputs, as it is drawn.
    X : array of shape (n_rows, n_inputs)
        Training rows.
    loss : Loss
    weight : array of shape (n_rows,)
    unit : array of shape (n_outputs,)
        Factor by which the loss multiplies outputs.
    compensates : bool
        Whether other weights are adjusted, which may change their signs.

    Returns
    -------
    NeuralTree
        A float64 tree.

    Examples
    --------
    >>> from bneuralt.training.losses import SquaredError
    >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [1 / 3, 2 / 3])
    >>> X = np.linspace(-1, 1, 9)[:, np.newaxis]
    >>> round_weights(tree, X, SquaredError(), np.ones(9)).parameters
    array([0.33, 0.67])
    """
    if len(X) > MAX_ROWS:
        sample = np.linspace(0, len(X) - 1, MAX_ROWS).astype(np.int64)
        X, weight = X[sample], weight[sample]
    exact = tree.astype(np.float64)
    X = np.asarray(X, dtype=np.float64)
    before = exact.forward(X)
    diagonal, common = loss.curvature(before * unit)
    diagonal = diagonal * np.square(unit)
    common = None if common is None else common * unit
    curvature = WeightCurvature(
        jacobian(exact, X), outputs_of_parameters(exact), diagonal, common, weight / weight.sum()
    )
    factors = _factors(curvature.matrix()) if compensates else None
    spread = np.sqrt(np.average(np.square(_centred(exact, X, weight)), axis=0, weights=weight))
    for digits in range(MIN_DIGITS, MAX_DIGITS + 1):
        rounded = exact.with_parameters(_rounded(exact, spread, digits, factors))
        if _change(rounded.forward(X) - before, curvature) <= TOLERANCE:
            break
    return rounded


def _rounded(
    tree: NeuralTree, spread: FloatArray, digits: int, factors: FloatArray | None
) -> FloatArray:
    """Return rounded weights, from the last one, a leaf, to the first one, a bias."""
    parameters, n_nodes = tree.parameters.copy(), tree.parent.size
    for i in reversed(range(parameters.size)):
        value = parameters[i]
        size = spread[i] if i < n_nodes and spread[i] > 0 else abs(value)
        parameters[i] = _to_digits(value, size, digits)
        if factors is not None and i:
            parameters[:i] -= (value - parameters[i]) * factors[i, :i]
    return parameters


def _to_digits(value: float, size: float, digits: int) -> float:
    """Return a number with the decimals that a number of another size needs for so many digits.

    Examples
    --------
    >>> _to_digits(0.12345, 0.12345, 2), _to_digits(1990.123, 0.5, 2), _to_digits(4567.0, 4567.0, 2)
    (0.12, 1990.12, 4600.0)
    """
    if size == 0.0 or not np.isfinite(value):
        return value
    decimals = digits - 1 - int(np.floor(np.log10(size)))
    return float(round(value, decimals)) + 0.0  # not -0.0


def _factors(matrix: FloatArray) -> FloatArray:
    """Return by how much weights before another one change for each unit that is cut from it."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-12 * max(float(matrix.max()), 1e-300)))
    scaled = matrix / np.outer(scale, scale)
    np.einsum("ii->i", scaled)[:] += DAMPING
    # The best change of the weights before i, given that those after it are fixed.
    lower = cholesky(scaled, lower=True)
    factors = np.zeros_like(matrix)
    for i in range(1, len(matrix)):
        block = lower[:i, :i]
        half = solve_triangular(block, scaled[:i, i], lower=True)
        factors[i, :i] = -solve_triangular(block.T, half, lower=False) * scale[i] / scale[:i]
    return factors


def _centred(tree: NeuralTree, X: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the difference of the sums of all nodes to their means."""
    sums = node_sums(tree, X, node_values(tree, X))
    return sums - np.average(sums, axis=0, weights=weight)


def _change(difference: FloatArray, curvature: WeightCurvature) -> float:
    """Return the second-order change of the loss if outputs differ."""
    squares = (curvature.diagonal * np.square(difference)).sum(axis=1)
    if curvature.common is not None:
        squares = squares - np.square((curvature.common * difference).sum(axis=1))
    return float(curvature.weight @ squares) / 2
