"""Trees to be read: as small as their scores allow, with weights of few digits.

`n_weights="readable"` trains a tree of medium size and removes weights from it. Cross-validation
finds the smallest size whose score is within one standard error, and within .015, of that of the
tree which `n_weights="auto"` would give. In the end, weights are rounded in the form that is
drawn, so that drawings and formulas show the numbers that predictions use.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.fitting.capacity import n_epochs_joined
from bneuralt.fitting.finish import new_model
from bneuralt.fitting.linear import LinearPart, refitted
from bneuralt.fitting.plan import plan_tree
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.pruning import smaller_models
from bneuralt.fitting.recipe import may_try, resolve, training_of
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import divided, fold_of_each
from bneuralt.fitting.train import TreeFit, train_fits
from bneuralt.model import Model, Recipe
from bneuralt.model.predict import predictions_of_rows
from bneuralt.shrinking import BYTES, WEIGHTS, Compaction, round_weights
from bneuralt.shrinking.compaction import mean_scores
from bneuralt.training import TrainingDiverged
from bneuralt.tree.forward import OutputOverflow
from bneuralt.warnings import ReadableTreeWarning, warn_user

__all__ = [
    "ReadableTreeWarning",
    "first_size",
    "largest_size",
    "make_readable",
]

#: Largest number of weights with up to two outputs, and for each more.
MAX_READABLE_WEIGHTS, PER_OUTPUT = 60, 20
#: Smallest number of weights for each output.
MIN_WEIGHTS_PER_OUTPUT = 8
#: Weights are removed from a tree of this many times the largest size, and at most of the second
#: number, unless the largest size is above it.
FIRST, MAX_FIRST_WEIGHTS = 3, 600
#: Share of the weights that is removed between two trainings.
STEP = 0.2
#: Ratio of each size that is tried to the previous one.
RATIO = 0.7
#: Largest loss of score that is accepted, where one standard error is more than that.
MAX_LOST_SCORE = 0.015
#: A larger loss than this, or than one standard error, gives a warning.
MAX_LOSS_WITHOUT_WARNING = 0.01
#: Folds of the cross-validation, and the largest number of rows of which all folds are held out;
#: of more rows, only one is.
FOLDS, MAX_ROWS_FOR_FOLDS = 5, 4_000
#: With fewer rows than this, there is no cross-validation.
MIN_ROWS_TO_COMPARE_SIZES = 20


class _Curve(NamedTuple):
    """Numbers of weights, of which the first is the usual one, and scores with standard errors."""

    size: IntArray
    score: FloatArray
    standard_error: FloatArray


_NO_CURVE = _Curve(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


def largest_size(n_outputs: int) -> int:
    """Return the largest number of weights of a readable tree.

    Examples
    --------
    >>> [largest_size(n) for n in (1, 2, 3, 10)]
    [60, 60, 80, 220]
    """
    return MAX_READABLE_WEIGHTS + PER_OUTPUT * max(0, n_outputs - 2)


def first_size(n_weights: int | None, n_outputs: int) -> int | None:
    """Return the size of the tree from which weights are removed; `n_weights` is the automatic one.

    Examples
    --------
    >>> first_size(300, 1), first_size(100, 1)
    (180, 100)
    """
    most = largest_size(n_outputs)
    return None if n_weights is None else min(n_weights, FIRST * most, max(MAX_FIRST_WEIGHTS, most))


def make_readable(
    problem: Problem, recipe: Recipe, model: Model, linear: LinearPart | None
) -> Model:
    """Remove weights of a trained tree, and round the others.

    Parameters
    ----------
    problem : Problem
    recipe : Recipe
    model : Model
        Of the trained tree.
    linear : LinearPart or None
        Its linear part, whose weights are removed like others.
    """
    rows = problem.rows.in_memory
    problem = replace(problem, rows=rows)
    n_outputs, (tree,) = problem.n_outputs, model.trees
    before = tree.n_parameters
    limit = problem.options.max_weights
    cap = min(largest_size(n_outputs), limit if isinstance(limit, int) else before)
    sizes = _sizes(cap, MIN_WEIGHTS_PER_OUTPUT * n_outputs)
    size, curve = cap, _NO_CURVE
    if rows.n_separate >= MIN_ROWS_TO_COMPARE_SIZES and np.isfinite(tree.parameters).all():
        size, curve = _choose_size(problem, recipe, sizes, linear)
    (smaller,) = smaller_models(problem, recipe, model, [size], step=STEP)
    rounded = _rounded(problem, smaller)
    (tree,) = rounded.trees
    compaction = Compaction(
        before, tree.n_parameters, BYTES.size_of(tree), WEIGHTS.name, size, *curve
    )
    return replace(rounded, compaction=compaction)


def _sizes(largest: int, smallest: int) -> list[int]:
    """Return the numbers of weights that are tried.

    Examples
    --------
    >>> _sizes(60, 10)
    [60, 42, 29, 20, 14]
    """
    sizes = [largest]
    while int(sizes[-1] * RATIO) >= smallest:
        sizes.append(int(sizes[-1] * RATIO))
    return sizes


def _choose_size(
    problem: Problem, recipe: Recipe, sizes: list[int], linear: LinearPart | None
) -> tuple[int, _Curve]:
    """Return the smallest good size, and all sizes with their scores."""
    rng = np.random.default_rng([5, problem.options.seed])
    separate = problem.rows.separate
    folds = fold_of_each(separate.y, FOLDS, rng)
    parts = [
        divided(separate, folds == k)
        for k in range(FOLDS if len(folds) <= MAX_ROWS_FOR_FOLDS else 1)
    ]
    usual_recipe = _usual(problem, recipe)
    pairs = [
        _planned_pair(replace(problem, rows=training), usual_recipe, recipe, rng, linear)
        for training, _ in parts
    ]
    fits = [fit for pair in pairs for fit in pair]
    n_threads = problem.options.n_threads
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingDiverged)  # the fit on all rows warns
        train_fits(fits, separate, n_threads)
    by_row, weights, n_usual = [], [], 0
    unit = problem.task.error_unit(problem.rows.y, problem.rows.weight)
    for (training, held_out), (usual, first) in zip(parts, pairs, strict=True):
        n_usual = usual.tree.n_parameters
        part = replace(problem, rows=training)
        whole = new_model(part, recipe, [first.tree])
        smaller = smaller_models(part, recipe, whole, sizes, step=STEP)
        models = [new_model(part, usual_recipe, [usual.tree]), *smaller]
        try:
            by_row.append([_row_scores(problem, other, held_out, unit) for other in models])
        except OutputOverflow:  # a training diverged
            continue
        weights.append(held_out.weight)
    if not by_row:
        return sizes[0], _NO_CURVE
    mean, error = mean_scores(np.concatenate(by_row, axis=1), np.concatenate(weights))
    chosen = _smallest_good(mean, error[0])
    loss = mean[0] - mean[chosen]
    if loss > min(error[0], MAX_LOSS_WITHOUT_WARNING):
        warn_user(
            f"n_weights='readable': a tree of {sizes[chosen - 1]} weights scores {loss:.3f} less "
            f"than the automatic one of {n_usual} weights in cross-validation ({mean[chosen]:.3f} "
            f"and {mean[0]:.3f}, with a standard error of {error[0]:.3f}): use n_weights='auto' if "
            "that matters more than a small tree",
            ReadableTreeWarning,
        )
    return sizes[chosen - 1], _Curve(np.array([n_usual, *sizes]), mean, error)


def _row_scores(problem: Problem, model: Model, rows: Rows, unit: float) -> FloatArray:
    """Return numbers whose mean over rows is the score of a model."""
    raw, n_threads = model.in_raw_units(), problem.options.n_threads
    predictions = predictions_of_rows(raw, rows.X, n_threads)
    return problem.task.row_scores(predictions, rows.y, unit)


def _usual(problem: Problem, recipe: Recipe) -> Recipe:
    """Return the recipe of the automatic tree that a readable one is compared with."""
    parameters = {**problem.options.parameters, "n_weights": "auto"}
    options = replace(problem.options, n_weights="auto", parameters=parameters)
    usual = resolve(replace(problem, options=options))
    kept = {
        name: getattr(recipe, name)
        for name in ("weight_decay", "output_factor", "linear_share", "linear_penalty")
    }
    return usual.replaced(kept, {})


def _smallest_good(score: FloatArray, standard_error: float) -> int:
    """Return the position of the score to choose; the first one is that of the usual tree.

    Sizes are reduced while scores are good: a smaller tree after bad ones may be a matter of luck.

    Examples
    --------
    >>> _smallest_good(np.array([0.9, 0.88, 0.9, 0.89, 0.8, 0.9]), 0.02)
    3
    >>> _smallest_good(np.array([0.9, 0.8, 0.7]), 0.02)
    1
    """
    good = score[0] - score[1:] <= min(standard_error, MAX_LOST_SCORE)
    if not good.any():
        return 1 + int(np.argmax(score[1:]))
    first = int(np.argmax(good))
    return first + int(np.argmin(np.append(good[first:], False)))


def _planned_pair(
    problem: Problem,
    usual: Recipe,
    readable: Recipe,
    rng: np.random.Generator,
    linear: LinearPart | None,
) -> tuple[TreeFit, TreeFit]:
    """Return the training of the usual tree and of the first readable one."""
    seed = int(rng.integers(2**31))
    problem = replace(problem, validation=None)
    settings = training_of(problem, usual)
    if usual.growth.n_joined > 1:
        n_epochs = n_epochs_joined(settings.max_epochs, may_try(problem, usual))
        settings = settings.set_params(max_epochs=n_epochs)
    if linear is not None:
        linear = refitted(problem, linear, linear.penalty)
    return (
        plan_tree(problem, usual, seed, settings=settings, linear=linear),
        plan_tree(problem, readable, seed, linear=linear),
    )


def _rounded(problem: Problem, model: Model) -> Model:
    """Return a model whose weights are rounded in raw units, in which they are drawn."""
    raw, rows = model.in_raw_units(), problem.rows
    target = model.output_scaling
    unit = 1.0 if target is None else np.where(target.factor == 0.0, 1.0, target.factor)
    tree = round_weights(
        raw.trees[0],
        rows.inputs,
        problem.loss,
        rows.weight,
        unit,
        compensates=problem.input_signs is None,
    )
    return raw.with_trees([tree])
