"""Trees to be read: as small as their scores allow, with weights of few digits.

`n_weights="readable"` trains a tree of medium size and removes weights from it. Cross-validation
finds the smallest size whose score is within one standard error, and within .015, of that of the
tree which `n_weights="auto"` would give. In the end, weights are rounded in the form that is
drawn, so that drawings and formulas show the numbers that predictions use.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.estimators.fitting import FitBatch, TreeFit
from bneuralt.estimators.retraining import smaller_models, unfold
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.splits import divided, fold_of_each
from bneuralt.shrinking import BYTES, WEIGHTS, Compaction, round_weights
from bneuralt.shrinking.compaction import mean_scores
from bneuralt.training import TrainingDiverged
from bneuralt.tree.forward import OutputOverflow

__all__ = [
    "READABLE",
    "ReadableTreeWarning",
    "first_size",
    "largest_size",
    "make_readable",
]

#: The value of `n_weights`.
READABLE = "readable"

#: Largest number of weights with up to two outputs, and for each more.
MOST_WEIGHTS, PER_OUTPUT = 60, 20
#: Smallest number of weights for each output.
FEWEST_PER_OUTPUT = 8
#: Weights are removed from a tree of this many times the largest size, and at most of the second
#: number, unless the largest size is above it.
FIRST, MOST_FIRST = 3, 600
#: Share of the weights that is removed between two trainings.
STEP = 0.2
#: Ratio of each size that is tried to the previous one.
RATIO = 0.7
#: Largest loss of score that is accepted, where one standard error is more than that.
MOST_LOSS = 0.015
#: Folds of the cross-validation, and the largest number of rows of which all folds are held out;
#: of more rows, only one is.
FOLDS, MOST_ROWS = 5, 4_000
#: With fewer rows than this, there is no cross-validation.
FEWEST_ROWS = 20


class _Curve(NamedTuple):
    """Numbers of weights, of which the first is the usual one, and scores with standard errors."""

    size: IntArray
    score: FloatArray
    standard_error: FloatArray


_NO_CURVE = _Curve(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


class ReadableTreeWarning(UserWarning):
    """Warning that the largest readable tree is worse than a larger one; its text says by what."""


def largest_size(n_outputs: int) -> int:
    """Return the largest number of weights of a readable tree.

    Examples
    --------
    >>> [largest_size(n) for n in (1, 2, 3, 10)]
    [60, 60, 80, 220]
    """
    return MOST_WEIGHTS + PER_OUTPUT * max(0, n_outputs - 2)


def first_size(n_weights: int | None, n_outputs: int) -> int | None:
    """Return the size of the tree from which weights are removed; `n_weights` is the automatic one.

    Examples
    --------
    >>> first_size(300, 1), first_size(100, 1)
    (180, 100)
    """
    most = largest_size(n_outputs)
    return None if n_weights is None else min(n_weights, FIRST * most, max(MOST_FIRST, most))


def make_readable(model: Any, rows: Rows) -> None:
    """Remove weights of a trained tree, and round the others.

    Parameters
    ----------
    model : estimator of one tree
        It has been trained on these rows.
    rows : Rows
        Training rows.
    """
    n_outputs = model._n_outputs()
    before = model.tree_.n_parameters
    cap = min(largest_size(n_outputs), model.max_weights or before)
    sizes = _sizes(cap, FEWEST_PER_OUTPUT * n_outputs)
    size, curve = cap, _NO_CURVE
    if rows.n_separate >= FEWEST_ROWS and np.isfinite(model.tree_.parameters).all():
        size, curve = _choose_size(model, rows, sizes)
    (smaller,) = smaller_models(model, rows, [size], step=STEP)
    model.__dict__.update(_rounded(smaller, rows).__dict__)
    model.compaction_ = Compaction(
        before,
        model.tree_.n_parameters,
        BYTES.size_of(model.tree_),
        WEIGHTS.name,
        size,
        *curve,
    )


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


def _choose_size(model: Any, rows: Rows, sizes: list[int]) -> tuple[int, _Curve]:
    """Return the smallest good size, and all sizes with their scores."""
    rng = np.random.default_rng([5, model._draw_seed()])
    separate = rows.separate
    folds = fold_of_each(separate.y, FOLDS, rng)
    parts = [divided(separate, folds == k) for k in range(FOLDS if len(folds) <= MOST_ROWS else 1)]
    pairs = [_planned_pair(model, training, rng) for training, _ in parts]
    fits = [fit for pair in pairs for _, fit in pair]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingDiverged)  # the fit on all rows warns
        FitBatch(fits, sum(len(fit.starts) for fit in fits)).train(
            separate, None, model._n_threads()
        )
    by_row, weights, n_usual = [], [], 0
    for (training, held_out), pair in zip(parts, pairs, strict=True):
        for tree, fit in pair:
            tree._keep(fit)
        (usual, _), (first, _) = pair
        n_usual = usual.tree_.n_parameters
        models = [usual, *smaller_models(first, training, sizes, step=STEP)]
        try:
            by_row.append([other._row_scores(held_out, rows) for other in models])
        except OutputOverflow:  # a training diverged
            continue
        weights.append(held_out.weight)
    if not by_row:
        return sizes[0], _NO_CURVE
    mean, error = mean_scores(np.concatenate(by_row, axis=1), np.concatenate(weights))
    chosen = _smallest_good(mean, error[0])
    loss = mean[0] - mean[chosen]
    if loss > error[0]:
        warnings.warn(
            f"n_weights='readable': a tree of {sizes[chosen - 1]} weights scores {loss:.3f} less "
            f"than the automatic one of {n_usual} weights in cross-validation ({mean[chosen]:.3f} "
            f"and {mean[0]:.3f}, with a standard error of {error[0]:.3f}): use n_weights='auto' if "
            "that matters more than a small tree",
            ReadableTreeWarning,
            stacklevel=2,
        )
    return sizes[chosen - 1], _Curve(np.array([n_usual, *sizes]), mean, error)


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
    good = score[0] - score[1:] <= min(standard_error, MOST_LOSS)
    if not good.any():
        return 1 + int(np.argmax(score[1:]))
    first = int(np.argmax(good))
    return first + int(np.argmin(np.append(good[first:], False)))


def _planned_pair(
    model: Any, training: Rows, rng: np.random.Generator
) -> list[tuple[Any, TreeFit]]:
    """Return the usual tree and the first readable one, and the training of both."""
    seed = int(rng.integers(2**31))
    pair = []
    for n_weights in ("auto", READABLE):
        tree = model._new_tree(seed, n_weights=n_weights)
        pair.append((tree, tree._plan(training, None)))
    return pair


def _rounded(model: Any, rows: Rows) -> Any:
    """Return a copy of an estimator with rounded weights."""
    target = model._output_scaling()
    unit = 1.0 if target is None else np.where(target.factor == 0.0, 1.0, target.factor)
    tree = round_weights(
        model.tree_,
        rows.inputs,
        model._loss(),
        rows.weight,
        unit,
        compensates=model._input_signs() is None,
    )
    return model._with_trees([tree], [unfold(tree, model._input_scaling, target)])
