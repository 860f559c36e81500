"""Attributions: contributions of leaves to an output, compared with a baseline row.

Every leaf has one path to one output. Along it, the difference between the leaf's input and that of
the baseline is multiplied by the weights of the path and, at each node, by the quotient of the
differences of the node's value and of its weighted sum (the rescale rule of DeepLIFT; Shrikumar et
al., 2017). The contributions of all leaves below an output add up to the difference between the
output and its value for the baseline.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import NotFiniteError, as_table
from bneuralt.tree.forward import OutputOverflow
from bneuralt.tree.neural_tree import NeuralTree
from bneuralt.tree.walk import outputs_above, sum_up

__all__ = [
    "METHODS",
    "SUMS",
    "checked_baseline",
    "contributions",
    "feature_contributions",
    "jacobian",
    "summed_contributions",
]

METHODS = ("rescale", "integrated_gradients")
SUMS = ("leaf", "input", "node", "output")


def contributions(
    tree: NeuralTree,
    X: ArrayLike,
    baseline: ArrayLike = 0.0,
    by: str = "leaf",
    *,
    method: str = "rescale",
    n_steps: int = 32,
    n_threads: int = 1,
) -> FloatArray:
    """Compute the contribution of each leaf to its output, compared with a baseline row.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
    baseline : float or array of shape (n_inputs,)
        The row to compare with, such as the mean of the training rows.
    by : {"leaf", "input", "node", "output"}
        What contributions are summed over: "leaf" nothing, "input" the leaves of an input, "node"
        the subtree of a function node, "output" the subtree of an output.
    method : {"rescale", "integrated_gradients"}
        The rescale rule is exact and takes one pass. Integrated gradients (Sundararajan et al.,
        2017) are the mean of the gradient between baseline and row, times their difference; the
        sums are as exact as the integration.
    n_steps : int
        Points of the integration (Gauss-Legendre).
    n_threads : int
        Number of threads; it never changes the result.

    Returns
    -------
    array
        In the dtype of the tree, of shape (n_rows, n_leaves), (n_rows, n_inputs, n_outputs),
        (n_rows, n_nodes) or (n_rows, n_outputs).

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree.random(4, 3, random_state=0)
    >>> x, mean = np.ones((1, 4)), np.zeros(4)
    >>> shares = tree.contributions(x, mean, by="input")
    >>> np.allclose(shares.sum(axis=1), tree.forward(x) - tree.forward(mean))
    True
    """
    if by not in SUMS:
        raise ValueError(f"by={by!r} must be one of {', '.join(map(repr, SUMS))}")
    if by == "input":
        inputs, n = np.arange(tree.n_inputs), tree.n_inputs
        return feature_contributions(
            tree, X, baseline, inputs, n, method=method, n_steps=n_steps, n_threads=n_threads
        )
    cells: IntArray = np.arange(tree.n_leaves)
    n_cells = tree.n_leaves
    if by == "output":
        cells, n_cells = outputs_above(tree.parent)[tree.leaf_parent], tree.n_outputs
    elif by == "node":
        cells, n_cells = tree.leaf_parent, tree.parent.size
    sums = summed_contributions(
        tree, X, baseline, cells, n_cells, method=method, n_steps=n_steps, n_threads=n_threads
    )
    if by == "node":  # each node with all below it
        return np.ascontiguousarray(sum_up(tree.parent, sums.T).T)
    return sums


def feature_contributions(
    tree: NeuralTree,
    X: ArrayLike,
    baseline: ArrayLike,
    feature: IntArray,
    n_features: int,
    **options: Any,
) -> FloatArray:
    """Compute the contributions of features, each being one or several inputs.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
    baseline : float or array of shape (n_inputs,)
    feature : int array of shape (n_inputs,)
        The feature to which each input belongs.
    n_features : int
    **options
        See `contributions`.

    Returns
    -------
    array of shape (n_rows, n_features, n_outputs)
    """
    k = tree.n_outputs
    output = outputs_above(tree.parent)[tree.leaf_parent]
    cells = np.asarray(feature)[tree.leaf_input] * k + output
    sums = summed_contributions(tree, X, baseline, cells, n_features * k, **options)
    return sums.reshape(len(sums), n_features, k)


def summed_contributions(
    tree: NeuralTree,
    X: ArrayLike,
    baseline: ArrayLike,
    cells: IntArray,
    n_cells: int,
    *,
    method: str = "rescale",
    n_steps: int = 32,
    n_threads: int = 1,
) -> FloatArray:
    """Compute sums of the contributions of leaves.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
    baseline : float or array of shape (n_inputs,)
    cells : int array of shape (n_leaves,)
        The sum to which each leaf belongs.
    n_cells : int
        Number of sums.
    method, n_steps, n_threads
        See `contributions`.

    Returns
    -------
    array of shape (n_rows, n_cells)
        In the dtype of the tree.
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(map(repr, METHODS))}")
    if isinstance(n_steps, bool) or not isinstance(n_steps, (int, np.integer)) or n_steps < 1:
        raise ValueError(f"n_steps={n_steps!r} must be a whole number, 1 or more")
    X = as_table(X)
    position, weight = np.zeros(0), np.zeros(0)
    if method == "integrated_gradients":
        nodes, weights = np.polynomial.legendre.leggauss(n_steps)
        position, weight = (nodes + 1) / 2, weights / 2
    result, problem = _core.attributions(
        tree.core,
        X,
        checked_baseline(baseline, tree.n_inputs).astype(tree.dtype),
        np.asarray(cells, dtype=np.int32),
        n_cells,
        position.astype(tree.dtype),
        weight.astype(tree.dtype),
        n_threads,
    )
    _raise_problem(problem, X, tree)
    return result


def checked_baseline(baseline: ArrayLike, n_inputs: int) -> FloatArray:
    """Return a baseline as one finite number for each input."""
    array = np.asarray(baseline, dtype=np.float64)
    if array.shape not in ((), (n_inputs,)):
        raise ValueError(
            f"baseline has shape {array.shape}: it must be a number, or have one for each of the "
            f"{n_inputs} inputs, shape ({n_inputs},)"
        )
    if not np.isfinite(array).all():
        raise ValueError("baseline has values that are not finite: it must be a row of numbers")
    return np.broadcast_to(array, (n_inputs,)).copy()


def jacobian(tree: NeuralTree, X: ArrayLike, n_threads: int = 1) -> FloatArray:
    """Compute the derivative of the outputs by each weight, for each row.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
    n_threads : int

    Returns
    -------
    array of shape (n_rows, n_parameters)
        Each weight has an influence on one output only, that of its subtree.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], [0.0, 0.0, 1.0, -1.0])
    >>> jacobian(tree, np.array([[3.0]]))
    array([[1., 1., 3., 3.]])
    """
    X = as_table(X)
    result, problem = _core.jacobian(tree.core, X, n_threads)
    _raise_problem(problem, X, tree)
    return result


def _raise_problem(problem: tuple[str, int, int] | None, X: Array, tree: NeuralTree) -> None:
    if problem is not None:
        kind, row, column = problem
        if kind == "input":
            raise NotFiniteError(X, row, column)
        raise OutputOverflow(row, tree.dtype)
