"""Outputs of many trees in one pass over a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import FloatArray
from bneuralt.arrays import NotFiniteError, as_table
from bneuralt.lines import InputLines

if TYPE_CHECKING:
    from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["OutputOverflow", "forward_many", "mean_forward", "not_finite"]


def forward_many(
    trees: Sequence[NeuralTree | _core.WeightedTree], X: ArrayLike, n_threads: int = 1
) -> FloatArray:
    """Compute the outputs of many trees in one pass over a table.

    Parameters
    ----------
    trees : sequence of NeuralTree
        All with the same number of inputs and outputs, and of one dtype; their structures may
        differ. Compiled trees (`NeuralTree.core`, `NeuralTree.compiled`) are accepted as well.
    X : array of shape (n_rows, n_inputs)
    n_threads : int
        Number of threads; it never changes the result.

    Returns
    -------
    array of shape (n_trees, n_rows, n_outputs)
        The outputs of each tree, as `NeuralTree.forward` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree, forward_many
    >>> trees = [NeuralTree.random(4, 3, random_state=seed) for seed in range(5)]
    >>> forward_many(trees, np.ones((2, 4))).shape
    (5, 2, 3)
    """
    return _evaluate(trees, X, n_threads, softmax=False)


def mean_forward(
    trees: Sequence[NeuralTree],
    X: ArrayLike,
    n_threads: int = 1,
    softmax: bool = False,
    lines: InputLines | None = None,
) -> FloatArray:
    """Compute the mean of the outputs, or of the class probabilities, of many trees.

    Parameters
    ----------
    trees : sequence of NeuralTree
        As for `forward_many`, but their dtypes may differ.
    X : array of shape (n_rows, n_inputs)
    n_threads : int
    softmax : bool
        Whether to take the mean of probabilities, the softmax of each tree's outputs.
    lines : InputLines, optional
        The inputs that the columns of X become; by default each column is an input.

    Returns
    -------
    float64 array of shape (n_rows, n_outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> from bneuralt.tree import mean_forward
    >>> trees = [NeuralTree.random(4, 3, random_state=seed) for seed in range(5)]
    >>> mean_forward(trees, np.ones((2, 4)), softmax=True).sum(axis=1)
    array([1., 1.])
    """
    return _evaluate(trees, X, n_threads, softmax, mean=True, lines=lines)


class OutputOverflow(ValueError):
    """An output of a tree is not finite; `row` is the position of its row."""

    def __init__(self, row: int, dtype: np.dtype[Any]) -> None:
        super().__init__(
            f"row {row} of X has values too large for a tree that computes in {dtype}: they are "
            "far beyond those that it was trained on"
        )
        self.row = row


def _evaluate(
    trees: Sequence[Any],
    X: ArrayLike,
    n_threads: int,
    softmax: bool,
    mean: bool = False,
    lines: InputLines | None = None,
) -> FloatArray:
    of_core = None if lines is None else lines.core
    compiled = [getattr(tree, "core", tree) for tree in trees]
    try:
        result, problem = _core.forward(compiled, X, n_threads, softmax, mean, of_core)
    except TypeError:  # not an array that the core can read without a copy
        X = as_table(X)
        result, problem = _core.forward(compiled, X, n_threads, softmax, mean, of_core)
    if problem is not None:
        if problem[0] == "input":
            raise not_finite(X, problem)
        if mean:
            # The core names the first row of a block.
            first = problem[1]
            outputs, _ = _core.forward(
                compiled, np.asarray(X)[first : first + 512], 1, False, False, of_core
            )
            overflows = ~np.isfinite(outputs).all(axis=(0, 2))
            raise OutputOverflow(first + int(overflows.argmax()), trees[0].dtype)
    return result


def not_finite(X: ArrayLike, problem: tuple[str, int, int]) -> NotFiniteError:
    """Return the error for a value of X that the core found not to be finite."""
    _, row, column = problem
    return NotFiniteError(np.atleast_2d(np.asarray(X)), row, column)
