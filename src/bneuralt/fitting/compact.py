"""Smaller models of a fitted one: simplified exactly, or pruned to a size that scores choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.fitting.finish import with_importances
from bneuralt.fitting.forest import rows_of_tree
from bneuralt.fitting.options import Options
from bneuralt.fitting.problem import Problem, problem_of
from bneuralt.fitting.progress import Listen, silent
from bneuralt.fitting.pruning import smaller_models
from bneuralt.fitting.recipe import resolve
from bneuralt.fitting.rows import Rows
from bneuralt.model import Model, Recipe
from bneuralt.model.predict import predictions_of_rows
from bneuralt.shrinking import (
    BYTES,
    Compaction,
    SaturatedNode,
    SizeUnit,
    bend_leaves,
    simplify_trees,
)
from bneuralt.shrinking.compaction import (
    checked_limit,
    curve_sizes,
    held_out_folds,
    mean_scores,
    smallest_good_size,
)

__all__ = ["compact", "simplified"]


def simplified(model: Model, constants: Sequence[SaturatedNode] = ()) -> Model:
    """Return a model of fewer weights with the same predictions, up to rounding.

    Parameters
    ----------
    model : Model
        In raw units.
    constants : sequence of SaturatedNode
        Nodes that are replaced by constants, which is not exact.
    """
    smaller = model.with_trees(simplify_trees(model, constants).trees)
    bent = bend_leaves(smaller)
    return smaller if bent is None else bent.model


def compact(
    model: Model,
    options: Options,
    fit: Callable[[Problem, Listen], Model],
    table: tuple[Any, Any, Any],
    max_weights: int | None,
    max_bytes: int | None,
    cv: int | None,
) -> Model:
    """Return a model with fewer weights, which are trained briefly after each removal.

    Parameters
    ----------
    model : Model
    options : Options
        Of the estimator.
    fit : callable
        Fits such a model.
    table : tuple
        X, y and weights of the training rows.
    max_weights, max_bytes, cv
        As the arguments of the method `compact`.
    """
    n_outputs = model.n_outputs * len(model.trees)
    unit, limit = checked_limit(max_weights, max_bytes, cv, n_outputs)
    if not options.trains_trees:
        raise TypeError(
            f"{options.estimator} cannot be pruned, since it does not train single trees: limit "
            "the size of the trees in the search"
        )
    problem = problem_of(model, options, *table)
    recipe = model.recipe or resolve(problem)
    sizes_of = [unit.size_of(tree) for tree in model.in_raw_units().trees]
    size: IntArray = np.zeros(0, dtype=np.int64)
    curve: tuple[FloatArray, FloatArray] = np.zeros(0), np.zeros(0)
    if cv is not None:
        whole = sum(sizes_of)
        fewest = unit.per_output * n_outputs
        sizes = curve_sizes(whole, fewest if limit is None else min(limit, whole))
        size, curve = np.array(sizes), _score_sizes(problem, recipe, fit, sizes, unit, cv)
        limit = smallest_good_size(size, *curve) if limit is None else limit
    assert limit is not None
    steps = [step for step in size[1:].tolist() if step > limit]
    smaller = _pruned(problem, recipe, model, limit, steps, unit)
    raw = smaller.in_raw_units()
    compaction = Compaction(
        model.in_raw_units().n_parameters,
        raw.n_parameters,
        sum(BYTES.size_of(tree) for tree in raw.trees),
        unit.name,
        limit,
        size,
        *curve,
    )
    smaller = replace(smaller, calibration=None, compaction=compaction)
    return with_importances(smaller, problem.rows)


def _pruned(
    problem: Problem, recipe: Recipe, model: Model, limit: int, steps: list[int], unit: SizeUnit
) -> Model:
    """Return the model of a size: pruned at once or, if that is better, by steps.

    Each step ends with a longer training, as the steps of the curve do. Either way may fail;
    the training rows tell, because few weights hardly overfit.
    """
    (at_once,) = _smaller(problem, recipe, model, [limit], unit)
    if not steps:
        return at_once
    by_steps = _smaller(problem, recipe, model, [*steps, limit], unit)[-1]
    by_row = [_row_scores(problem, smaller, problem.rows) for smaller in (at_once, by_steps)]
    scores, _ = mean_scores(np.array(by_row), problem.rows.weight)
    return by_steps if scores[1] > scores[0] else at_once


def _smaller(
    problem: Problem, recipe: Recipe, model: Model, sizes: Sequence[int], unit: SizeUnit
) -> list[Model]:
    """Return models of these sizes; each tree of a forest keeps its part of the size."""
    if len(model.trees) == 1:
        return smaller_models(problem, recipe, model, sizes, unit=unit)
    raw = model.in_raw_units()
    whole = sum(unit.size_of(tree) for tree in raw.trees)
    by_tree = []
    for i, tree in enumerate(raw.trees):
        part = unit.size_of(tree) / whole
        seed = model.states[i].seed if model.states else None
        rows = problem.rows
        if seed is not None:
            rows = rows_of_tree(problem.options, rows, seed)
        limits = [int(size * part) for size in sizes]
        members = smaller_models(
            replace(problem, rows=rows), recipe, model.member(i), limits, unit=unit
        )
        by_tree.append([member.trees[0] for member in members])
    scaled = model.in_scaled_units()
    return [scaled.with_trees(trees) for trees in zip(*by_tree, strict=True)]


def _score_sizes(
    problem: Problem,
    recipe: Recipe,
    fit: Callable[[Problem, Listen], Model],
    sizes: Sequence[int],
    unit: SizeUnit,
    cv: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the mean scores of smaller models on held-out rows, and their standard errors."""
    separate = problem.rows.separate
    fresh = replace(problem.options, max_weights=None, warm_start=False)
    scores, weights = [], []
    for training, held_out in held_out_folds(separate.y, cv, problem.task.kind == "classes"):
        rows, test_rows = separate.take(training).merged(), separate.take(held_out)
        part = replace(problem, options=fresh, rows=rows, fingerprints=None).scaled()
        whole = fit(part, silent)
        models = [whole, *_smaller(part, recipe, whole, sizes[1:], unit)]
        scores.append([_row_scores(problem, model, test_rows) for model in models])
        weights.append(test_rows.weight)
    return mean_scores(np.concatenate(scores, axis=1), np.concatenate(weights))


def _row_scores(problem: Problem, model: Model, rows: Rows) -> FloatArray:
    """Return numbers whose mean over rows is the score of a model."""
    predictions = predictions_of_rows(model.in_raw_units(), rows.X, problem.options.n_threads)
    unit = problem.task.error_unit(problem.rows.y, problem.rows.weight)
    return problem.task.row_scores(predictions, rows.y, unit)
