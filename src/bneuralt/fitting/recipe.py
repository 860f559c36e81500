"""Automatic values of a fit, from its parameters and its rows; `trial` then improves some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bneuralt.fitting.capacity import (
    IN_FOREST,
    MAX_ROWS_JOINED,
    MAX_WEIGHTS_PER_ROW,
    MIN_EPOCHS,
    MIN_WEIGHTS_PER_OUTPUT,
    N_JOINED,
    SINGLE_TREE,
    batch_size,
    effective_share,
    learning_rate,
    n_epochs,
)
from bneuralt.fitting.linear import PENALTIES, most_leaves, n_weights_for_trees
from bneuralt.fitting.options import AT_TOP, READABLE, Options
from bneuralt.fitting.problem import Problem, bending_of
from bneuralt.fitting.row_losses import WITH_ROW_LOSS
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import MIN_ROWS_TO_SPLIT
from bneuralt.frozen_settings import is_auto
from bneuralt.model import Recipe
from bneuralt.model.tasks import Classes
from bneuralt.training import TrainingSettings
from bneuralt.tree.growing import TREE_GROWTH
from bneuralt.tree.sampling import FeatureSampler

__all__ = ["automatic_size", "resolve", "size_to_draw"]

#: Where features have several inputs, an automatic size is enough for this many leaves per output.
LEAVES_PER_OUTPUT = 10

#: Trees are joined if each of them has at least this many weights for each output.
MIN_WEIGHTS_JOINED = 20

#: Automatic values of fields of `training`.
LEAF_MOVES, PATIENCE = 20, 20

#: Up to this number of rows, half of the trees of a classifier have no ramps.
MAX_ROWS_PLAIN = 400

#: With more rows than this, or fewer epochs, there is no trial: undertrained outputs are
#: uninformative.
MAX_ROWS_FOR_TRIAL, MIN_EPOCHS_OF_TRIAL = 10_000, 20

#: Parameters that do not concern the model.
_RUNNING = ("random_state", "n_jobs", "verbose", "warm_start", "checkpoint", "client")

#: Automatic values that a model keeps when it is trained further.
_KEPT = ("n_weights", "n_joined", "ramp_fraction", "ramps", "weight_decay", "output_factor")
_KEPT_IN_PARTS = (*_KEPT, "learning_rate", "batch_size", "max_epochs")


def resolve(problem: Problem, rows: Rows | None = None) -> Recipe:
    """Return all settings of a fit, with values from its rows in place of 'auto'.

    Parameters
    ----------
    problem : Problem
    rows : Rows, optional
        The rows of one tree, from which its size and decay follow; by default all rows.
    """
    options, before = problem.options, problem.before
    rows = problem.rows if rows is None else rows
    n = rows.n_examples
    fraction = effective_fraction(problem, rows)
    capacity = IN_FOREST if options.is_forest else SINGLE_TREE
    n_weights = options.n_weights
    if isinstance(n_weights, str) and n_weights != READABLE:
        n_weights = automatic_size(problem, rows)
    about = f"rows: {n:,}"
    n_classes = problem.task.n_classes
    stops = bool(options.early_stopping)
    fewest = MIN_EPOCHS["classifier" if options.is_classifier else "regressor"]
    is_small = problem.task.kind == "numbers" or n <= MAX_ROWS_PLAIN
    automatic: dict[str, Any] = {
        "n_weights": n_weights,
        "ramps": bending_of(options, rows.table, problem.rows.n_separate).n_ramps,
        "learning_rate": learning_rate(n, n_classes),
        "weight_decay": capacity.weight_decay(fraction * n),
        "batch_size": batch_size(n),
        "max_epochs": n_epochs(n, fewest, n_classes),
        "n_joined": _n_joined(problem, n_weights, n),
        "ramp_fraction": 0.0,
        "plain_fraction": 0.5 if is_small and problem.encoder.has_ramps else 0.0,
        "linear_share": 0.0,
        "linear_penalty": PENALTIES[0],
        "output_factor": 1.0,
        "leaf_moves": LEAF_MOVES,
        "select": "epoch" if stops else None,
        "patience": PATIENCE if stops else None,
        "block_rows": rows.block_rows,
    }
    shown = ("n_weights", "n_joined", "ramps", *AT_TOP[1:])
    reasons = dict.fromkeys(shown, about)
    if before is not None and before.recipe is not None and problem.trains_further:
        for name in _KEPT_IN_PARTS if problem.in_parts else _KEPT:
            automatic[name] = getattr(before.recipe, name)
            reasons[name] = before.recipe.reasons.get(name, "default")
        if automatic["output_factor"] == 0.0 or before.recipe.linear_share > 0.0:
            automatic["output_factor"] = 1.0  # the linear part is among the weights
    names = problem.columns.names
    sentinels: dict[Any, tuple[float, ...]] = {
        j if names is None else names[j]: numbers
        for j, numbers in problem.encoder.sentinels.items()
    }
    if sentinels:
        reasons["sentinels"] = f"rows: {len(sentinels)} columns"
    categories = options.categorical_features
    if not (categories is None or isinstance(categories, str)):
        reasons["categorical_features"] = "set"
    if isinstance(categories, (str, Mapping)):  # what a list leaves open is found again
        named = categories if isinstance(categories, Mapping) else {}
        forms: dict[Any, str] = dict.fromkeys(problem.encoder.codes, "values")
        forms |= dict.fromkeys(problem.encoder.with_means, "means")
        found = {j if names is None else names[j]: form for j, form in sorted(forms.items())}
        found = {c: form for c, form in found.items() if named.get(c) in (None, "category")}
        if found:
            categories = {**named, **found}
            words = {"values": "codes", "means": "many values"}
            shown_words = [word for form, word in words.items() if form in found.values()]
            reasons["categorical_features"] = f"rows: {', '.join(shown_words)}"
    learnt = {"sentinels": sentinels, "categorical_features": categories}
    return _completed(problem, automatic, {**reasons}, learnt)


def _completed(
    problem: Problem, automatic: dict[str, Any], reasons: dict[str, str], learnt: dict[str, Any]
) -> Recipe:
    """Put automatic values in place of 'auto', in the parameters and their nested fields."""
    options = problem.options
    training = options.training.filled(automatic).complete
    if not leaves_may_move(options) or problem.trains_further:
        training = training.set_params(leaf_moves=0)
    growth = options.growth.filled(automatic)
    if options.is_forest and growth.n_joined != 1:
        raise ValueError(
            f"n_joined={growth.n_joined} of growth is for single trees, and {options.estimator} "
            "has several: use n_estimators"
        )
    if growth.n_joined > 1 and options.growth.output_activation != "linear":
        raise ValueError(
            f"n_joined={growth.n_joined} of growth needs output_activation='linear', not "
            f"{options.growth.output_activation!r}: the mean of other outputs is not a tree"
        )
    values: dict[str, Any] = {}
    for name, value in options.parameters.items():
        if name in _RUNNING:
            continue
        if name == "loss":
            if is_auto(value):
                value = training.loss if name in options.explicit else training.loss.name
        elif name in AT_TOP:
            value = getattr(training, name)
        elif name == "n_weights":
            value = automatic[name] if value != READABLE else value
        elif name == "growth":
            value = growth
        elif name == "training":
            value = training
        elif name in learnt:
            value = learnt[name]
        elif is_auto(value):
            value = automatic[name]
        values[name] = value
    for name in (*automatic, "sentinels", "loss"):
        if name in options.explicit:
            reasons[name] = "set"
    return Recipe(values, reasons, options.seed)


def effective_fraction(problem: Problem, rows: Rows) -> float:
    """Return the fraction of the rows that the capacity of a tree depends on."""
    if not isinstance(problem.task, Classes):
        return 1.0
    return effective_share(np.bincount(rows.y, rows.copies))


def automatic_size(problem: Problem, rows: Rows) -> int | None:
    """Return the automatic number of weights; None where limits of `growth` decide the size."""
    if problem.options.growth.determines_size:
        return None
    encoder, n_outputs = problem.encoder, problem.n_outputs
    capacity = IN_FOREST if problem.options.is_forest else SINGLE_TREE
    is_plain, fraction = encoder.is_plain, effective_fraction(problem, rows)
    per_leaf = 1.0 if is_plain else encoder.weights_per_leaf
    n_weights = capacity.n_weights(rows.n_examples, n_outputs, per_leaf, fraction)
    if not is_plain:
        leaves = LEAVES_PER_OUTPUT * n_outputs
        n_weights = max(n_weights, round(leaves * encoder.drawn_per_feature))
    most = int(MAX_WEIGHTS_PER_ROW * per_leaf * rows.n_different)
    return min(n_weights, max(most, MIN_WEIGHTS_PER_OUTPUT * n_outputs))


def size_to_draw(problem: Problem, recipe: Recipe) -> int | None:
    """Return the number of weights of the tree that is drawn; None where it has other limits."""
    n_weights = recipe.n_weights
    if n_weights == READABLE:
        from bneuralt.fitting.readable import first_size

        n_weights = first_size(automatic_size(problem, problem.rows), problem.n_outputs)
    elif n_weights is not None and may_be_linear(problem, recipe):
        n_weights = n_weights_for_trees(problem, n_weights)
    return None if n_weights is None else int(n_weights)


def may_try(problem: Problem, recipe: Recipe) -> bool:
    """Return whether settings and rows allow a trial."""
    options, rows = problem.options, problem.rows
    return (
        recipe.max_epochs >= MIN_EPOCHS_OF_TRIAL
        and (problem.before is None or options.is_forest)
        and not problem.in_parts
        and not options.early_stopping
        and recipe.training.select is None
        and options.growth.output_activation == "linear"
        and problem.loss.name in WITH_ROW_LOSS
        and rows.n_separate >= MIN_ROWS_TO_SPLIT
        and rows.n_examples <= MAX_ROWS_FOR_TRIAL
    )


def may_be_linear(problem: Problem, recipe: Recipe) -> bool:
    """Return whether a model may have a linear part."""
    options = problem.options
    is_off = "linear_share" in options.explicit and recipe.growth.linear_share == 0.0
    is_off = is_off or options.max_features is not None  # a linear part reads all columns
    n_weights = recipe.n_weights
    if n_weights != READABLE:  # sizes of other limits count no leaves of a linear part
        is_off = is_off or n_weights is None or most_leaves(problem, n_weights) == 0
    return not is_off and leaves_may_move(options) and may_try(problem, recipe)


def _n_joined(problem: Problem, n_weights: Any, n_rows: int) -> int:
    """Return how many trees share the weights.

    One, if the shape of the tree is limited: that of the mean is another.
    """
    options, growth = problem.options, problem.options.growth
    may_join = (
        not (options.is_forest or options.early_stopping or problem.in_parts)
        and isinstance(n_weights, (int, np.integer))
        and n_weights // N_JOINED >= MIN_WEIGHTS_JOINED * problem.n_outputs
        and problem.before is None
        and options.training.select in ("auto", None)
        and options.growth.output_activation == "linear"
        and growth.n_init == 1
        and growth.max_depth is None
        and growth.max_children == TREE_GROWTH["max_children"]
        and n_rows <= MAX_ROWS_JOINED
    )
    return N_JOINED if may_join else 1


def leaves_may_move(options: Options) -> bool:
    """Return whether leaves may move to other features during training."""
    sampling = options.growth.feature_sampling
    return not callable(sampling) or isinstance(sampling, FeatureSampler)


def training_of(problem: Problem, recipe: Recipe, **values: Any) -> TrainingSettings:
    """Return the settings of a training, with the loss of the task and some other values."""
    settings: TrainingSettings = recipe.training.set_params(loss=problem.loss, **values)
    return settings
