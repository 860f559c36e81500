"""The linear part of a model: penalised regression on the inputs that leaves are drawn on.

Trees learn a sum of columns slowly, and badly from few rows. So the outputs of a model are those of
its trees plus a share of those of a linear model, which is a leaf for each column under the root.
A `trial` chooses penalty and share. The experiments behind the numbers are in the lab book
(`docs/lab/lab_book.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.arrays import one_blas_thread
from bneuralt.fitting.capacity import MIN_WEIGHTS_PER_OUTPUT
from bneuralt.fitting.minimize import minimize
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.row_losses import RowLoss, row_loss
from bneuralt.fitting.rows import Rows
from bneuralt.tree import NeuralTree
from bneuralt.tree.joining import with_output_leaves

__all__ = [
    "LinearFit",
    "LinearPart",
    "fit_path",
    "most_leaves",
    "n_weights_for_trees",
    "refitted",
]

#: Penalties, from a strong one on. Each begins at the weights of the one before, and is used if it
#: lowers the loss on held-out rows.
PENALTIES = (100.0, 10.0, 1.0)
#: Iterations for each penalty, then for all rows, and for rows without a path before them.
PATH_ITERATIONS, LAST_ITERATIONS, ALL_ITERATIONS = (3, 4, 6), 4, 30
#: Fewer are enough where one of them lowers the loss by less than this fraction.
TOLERANCE = 1e-5
#: Iterations where weights are limited, in coordinates in which the problem is less round.
LIMITED_ITERATIONS = 8
#: Largest number of leaves of the linear part, as a fraction of `n_weights`.
LARGEST_FRACTION = 0.6
#: In the trees of a forest, the leaves of the linear part are beside `n_weights` up to this
#: fraction of it.
FRACTION_BESIDE = 0.1


@dataclass(frozen=True, eq=False)
class LinearPart:
    """A linear function of scaled inputs.

    Attributes
    ----------
    inputs : int array of shape (n_used,)
        Positions of the inputs.
    weight : array of shape (n_outputs, n_used)
        0 where an output has no leaf for an input.
    bias : array of shape (n_outputs,)
    penalty : float or None
        None: it is a constant.
    """

    inputs: IntArray
    weight: FloatArray
    bias: FloatArray
    penalty: float | None

    def added_to(self, tree: NeuralTree, share: float, factor: float = 1.0) -> NeuralTree:
        """Return a tree of linear outputs, times a factor, with a share of this function as leaves.

        Parameters
        ----------
        tree : NeuralTree
        share : float
            Of this function.
        factor : float
            Of the outputs of the tree.
        """
        output, leaf_input, weight = self._leaves
        return with_output_leaves(
            tree, factor, output, leaf_input, share * weight, share * self.bias
        )

    @cached_property
    def _leaves(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Output, input and weight of each leaf."""
        output, place = np.nonzero(self.weight)
        leaf_input = self.inputs[place]
        return output.astype(np.int32), leaf_input.astype(np.int32), self.weight[output, place]


class LinearFit(NamedTuple):
    """The linear part of all rows, and outputs of the models without the rows of each fold."""

    part: LinearPart
    outputs: FloatArray  # of shape (n_folds, n_columns, n_rows), as the loss reads them


def n_weights_for_trees(problem: Problem, n_weights: int) -> int:
    """Return how many of the weights of a model its trees have, besides a linear part."""
    n_leaves = _n_columns(problem) * inputs_of(problem).size
    n_beside = int(FRACTION_BESIDE * n_weights) if problem.options.is_forest else 0
    return n_weights - max(0, min(n_leaves, most_leaves(problem, n_weights)) - n_beside)


def most_leaves(problem: Problem, n_weights: int) -> int:
    """Return the largest number of leaves of the linear part of a model."""
    left = n_weights - MIN_WEIGHTS_PER_OUTPUT * problem.n_outputs
    return max(0, min(left, int(LARGEST_FRACTION * n_weights)))


def inputs_of(problem: Problem) -> IntArray:
    """Return the inputs of the linear part: those that random trees have, unless constant."""
    drawn, scaling = problem.encoder.drawn_groups, problem.scaling
    is_used = np.ones(problem.rows.n_inputs, dtype=bool) if drawn is None else drawn >= 0
    if scaling is not None:
        is_used &= scaling.factor != 0.0
    chances = np.asarray(problem.options.growth.feature_sampling)
    if chances.shape == (problem.columns.n_columns,):  # others are checked when a tree is drawn
        is_used &= (chances > 0)[problem.encoder.groups]
    return np.flatnonzero(is_used)


def fit_path(problem: Problem, folds: IntArray, n_folds: int, most: int | None) -> LinearFit:
    """Fit linear models without each of some folds, and one with all rows.

    Parameters
    ----------
    problem : Problem
        Its rows are separate.
    folds : int array of shape (n_rows,)
        The fold of each row.
    n_folds : int
        The first so many folds are held out.
    most : int or None
        Largest number of leaves.
    """
    rows = problem.rows
    weight = rows.weight / rows.weight.mean()
    is_held_out = folds == np.arange(n_folds)[:, np.newaxis]
    fold_weight = np.where(is_held_out, 0.0, weight)
    held_weight = np.where(is_held_out, weight, 0.0)
    model = _Models(problem, rows)
    at = best = model.at(model.constants(fold_weight), fold_weight)
    penalty, lowest = PENALTIES[0], np.inf
    for each, n_iterations in zip(PENALTIES, PATH_ITERATIONS, strict=True):
        at = model.minimised(at, fold_weight, each, n_iterations)
        loss = float(np.vdot(held_weight, at.losses))
        if loss >= lowest:
            break
        best, penalty, lowest = at, each, loss
    coefficients = best.coefficients
    if most is not None and model.n_weights > most:
        model, coefficients = model.limited(coefficients, most)
        at = model.at(coefficients, fold_weight)
        coefficients = model.minimised(at, fold_weight, penalty, LIMITED_ITERATIONS).coefficients
    weight = weight[np.newaxis]
    at = model.at(coefficients.mean(axis=0, keepdims=True), weight)
    whole = model.minimised(at, weight, penalty, LAST_ITERATIONS).coefficients
    return LinearFit(model.part(whole[0], penalty), model.outputs(coefficients))


@one_blas_thread()
def refitted(problem: Problem, part: LinearPart, penalty: float | None) -> LinearPart:
    """Return the linear part with the same leaves for other rows, or with another penalty."""
    rows = problem.rows
    weight = (rows.weight / rows.weight.mean())[np.newaxis]
    kept = part.weight[-_n_columns(problem) :] != 0.0
    model = _Models(problem, rows, part.inputs, None if kept.all() else kept)
    found = model.constants(weight)
    if penalty is not None:
        at = model.at(found, weight)
        found = model.minimised(at, weight, penalty, ALL_ITERATIONS).coefficients
    return model.part(found[0], penalty)


def _scaled_inputs(problem: Problem, rows: Rows, inputs: IntArray) -> FloatArray:
    """Return some inputs of rows, as trees are trained on them."""
    lines = rows.lines
    X = rows.X[:, inputs] if lines is None else lines.take(inputs).apply(rows.X)
    X = X.astype(np.float64, copy=False)
    if problem.scaling is None:
        return X
    offset, factor = problem.scaling
    scaled: FloatArray = (X - offset[inputs]) * factor[inputs]
    return scaled


def _n_columns(problem: Problem) -> int:
    """Return the number of linear functions: one for each output, and one for two classes."""
    is_binary = problem.task.kind == "classes" and problem.n_outputs == 2
    return 1 if is_binary and problem.loss.name == "cross_entropy" else problem.n_outputs


class _Point(NamedTuple):
    """Coefficients of models, the loss of each row, and the slopes of the sum of losses."""

    coefficients: FloatArray  # of shape (n_models, n_columns, n_inputs + 1)
    losses: FloatArray  # of shape (n_models, n_rows)
    slope: FloatArray  # of the shape of the coefficients


class _Models:
    """Penalised linear models of the same rows, each with other weights of these.

    They are minimised together, by L-BFGS in the directions of the eigenvectors of the covariances
    of the inputs, divided by the root of the second derivatives. Where signs are constrained, or
    only some leaves are used, the directions are the inputs.

    Coefficients have the shape (n_models, n_columns, n_inputs + 1): those of the directions, and
    the output at the mean of the inputs.
    """

    def __init__(
        self,
        problem: Problem,
        rows: Rows,
        inputs: IntArray | None = None,
        kept: Array | None = None,
    ) -> None:
        self.problem, self.rows = problem, rows
        self.inputs = inputs_of(problem) if inputs is None else inputs
        X = _scaled_inputs(problem, rows, self.inputs)
        self.mean: FloatArray = X.mean(axis=0)
        X -= self.mean
        self.loss: RowLoss = row_loss(problem.loss, problem.task, problem.scaled_target(rows))
        self.signs = problem.input_signs
        self.kept = kept
        if kept is None and self.signs is None:
            square, self.basis = np.linalg.eigh(X.T @ X)
            X = X @ self.basis
        else:
            square, self.basis = np.einsum("ij,ij->j", X, X), np.eye(X.shape[1])
        self.columns = np.vstack([X.T, np.ones(len(X))])
        self.square = np.append(np.maximum(square, 0.0), len(X))

    @property
    def n_weights(self) -> int:
        """Number of leaves of a model."""
        return self.inputs.size * len(self.loss.target)

    def constants(self, weight: FloatArray) -> FloatArray:
        """Return the coefficients of the best constants."""
        each = np.array([self.loss.constant(w) for w in weight])
        result = np.zeros((*each.shape, self.square.size))
        result[..., -1] = each
        return result

    def outputs(self, coefficients: FloatArray) -> FloatArray:
        """Return the values of the linear functions, of shape (n_models, n_columns, n_rows)."""
        flat = coefficients.reshape(-1, self.square.size) @ self.columns
        result: FloatArray = flat.reshape(*coefficients.shape[:-1], -1)
        return result

    def at(self, coefficients: FloatArray, weight: FloatArray) -> _Point:
        """Return losses of coefficients, with the slopes of their weighted sum."""
        losses, slopes = self.loss(self.outputs(coefficients))
        slopes *= weight[:, np.newaxis]
        flat = slopes.reshape(-1, slopes.shape[-1]) @ self.columns.T
        return _Point(coefficients, losses, flat.reshape(coefficients.shape))

    def minimised(
        self, start: _Point, weight: FloatArray, penalty: float, n_iterations: int
    ) -> _Point:
        """Return coefficients with a lower sum of losses and penalties."""
        at, shape = start, start.coefficients.shape
        penalties = np.full(self.square.size, penalty * self.loss.unit)
        penalties[-1] = 0.0
        scale = 1.0 / np.sqrt(self.loss.curvature * self.square + penalties)
        if self.kept is not None:
            scale = scale * np.column_stack([self.kept, np.ones(shape[1])])
        scale = np.broadcast_to(scale, shape)

        def penalized(point: _Point) -> tuple[float, FloatArray]:
            terms = penalties * point.coefficients
            value = np.vdot(weight, point.losses) + 0.5 * np.vdot(terms, point.coefficients)
            return float(value), ((point.slope + terms) * scale).ravel()

        def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
            nonlocal at
            at = self.at(scaled.reshape(shape) * scale, weight)
            return penalized(at)

        limits = None if self.signs is None else self._limits(shape[0] * shape[1])
        begin = np.zeros(shape)
        np.divide(start.coefficients, scale, out=begin, where=scale != 0.0)
        first = penalized(start)
        found, _ = minimize(objective, begin.ravel(), n_iterations, limits, TOLERANCE, first)
        coefficients = found.reshape(shape) * scale
        is_last = np.array_equal(coefficients, at.coefficients)
        return at if is_last else self.at(coefficients, weight)

    def _limits(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the limits of coefficients whose signs are constrained, of n functions."""
        assert self.signs is not None
        signs = np.tile(np.append(self.signs[self.inputs], 0), n)
        return np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)

    def limited(self, coefficients: FloatArray, n_weights: int) -> tuple[_Models, FloatArray]:
        """Return models of the largest weights only, and their coefficients to begin with."""
        weights = coefficients[..., :-1] @ self.basis.T
        size = np.abs(weights.mean(axis=0))
        smallest = np.partition(size.ravel(), -n_weights)[-n_weights]
        kept = size >= smallest
        models = _Models(self.problem, self.rows, self.inputs, kept)
        return models, np.concatenate([weights * kept, coefficients[..., -1:]], axis=-1)

    def part(self, coefficients: FloatArray, penalty: float | None) -> LinearPart:
        """Return a model as a linear part."""
        n_outputs, n = self.problem.n_outputs, len(coefficients)
        weight, bias = np.zeros((n_outputs, self.inputs.size)), np.zeros(n_outputs)
        if penalty is not None:
            weight[-n:] = coefficients[:, :-1] @ self.basis.T
        bias[-n:] = coefficients[:, -1] - weight[-n:] @ self.mean
        return LinearPart(self.inputs, weight, bias, penalty)
