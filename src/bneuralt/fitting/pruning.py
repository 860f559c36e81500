"""Smaller models: weights are removed, and those that remain are trained briefly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.recipe import training_of
from bneuralt.model import Model, Recipe
from bneuralt.shrinking import prune
from bneuralt.training import TrainingJob, train_many
from bneuralt.tree import NeuralTree
from bneuralt.tree.monotonic import Signs, node_signs

__all__ = ["smaller_models"]

#: Training after each step: epochs as a fraction of those of a fit, and the learning rate likewise.
REFIT_EPOCHS, REFIT_RATE = 0.1, 0.5
#: The same once a size is reached.
LAST_EPOCHS, LAST_RATE = 0.5, 0.5


def smaller_models(
    problem: Problem, recipe: Recipe, model: Model, sizes: Sequence[int], **options: Any
) -> list[Model]:
    """Return pruned models of one tree.

    Parameters
    ----------
    problem : Problem
        Its rows are those that the tree was trained on.
    recipe : Recipe
        Of the training.
    model : Model
        Of one tree.
    sizes : sequence of int
        From large to small.
    **options
        Options of `bneuralt.shrinking.prune`.
    """
    if model.is_raw:
        model = replace(
            model,
            scaling=problem.scaling,
            target_scaling=problem.target_scaling,
            can_learn=True,
            folded=None,
        )
    model = model.in_scaled_units()
    rows, (whole,) = problem.rows, model.trees
    X: FloatArray = np.asarray(rows.inputs, dtype=np.float64)
    if problem.scaling is not None:
        X = problem.scaling.apply(X)
    input_signs = problem.input_signs
    once = rows.one_epoch().with_mean_weight_one()
    settings = training_of(problem, recipe, leaf_moves=0, select=None, patience=None)
    table = rows.checked_table

    def refit(smaller: NeuralTree, is_last: bool) -> NeuralTree:
        epochs, rate = (LAST_EPOCHS, LAST_RATE) if is_last else (REFIT_EPOCHS, REFIT_RATE)
        signs = None
        if input_signs is not None:
            signs = Signs(node_signs(smaller, problem.task.output_signs()), input_signs)
        job = TrainingJob(
            smaller.astype(whole.dtype),
            settings.set_params(
                max_epochs=max(1, round(epochs * settings.max_epochs)),
                learning_rate=rate * settings.learning_rate,
            ),
            rows=once.index,
            sample_weight=once.sample_weight,
            input_scaling=problem.scaling,
            target_scaling=problem.target_scaling,
            signs=signs,
        )
        (result,) = train_many([job], table, rows.target, n_threads=problem.options.n_threads)
        return result.tree.astype(np.float64)

    tree = whole.astype(np.float64)
    compensates = input_signs is None  # a compensation may change the sign of a weight
    weight = rows.weight
    trees = prune(tree, X, problem.loss, weight, refit, sizes, compensates=compensates, **options)
    return [model.with_trees([smaller.astype(whole.dtype)]) for smaller in trees]
