"""The plan of the training of a tree: random starts, rows, settings, and where leaves may move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bneuralt._typing import Array
from bneuralt.fitting.capacity import MIN_WEIGHTS_PER_OUTPUT
from bneuralt.fitting.linear import LinearPart
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.recipe import automatic_size, leaves_may_move, size_to_draw, training_of
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import hold_out
from bneuralt.fitting.train import TreeFit
from bneuralt.model import Recipe
from bneuralt.training import TrainingSettings
from bneuralt.tree.growing import LEAF_PROBABILITY, MAX_DEPTH
from bneuralt.tree.growth import TreeGrower
from bneuralt.tree.monotonic import Signs, constrained
from bneuralt.tree.neural_tree import AnyTree, PlannedTree, grown
from bneuralt.tree.sampling import FeatureSampler, chances_of_varying

__all__ = [
    "drawn_seed",
    "drawn_seeds",
    "new_fit",
    "plan_another",
    "plan_tree",
    "split_rng",
    "tree_grower",
]


def drawn_seed(random_state: Any) -> int:
    """Return a seed that is drawn with a `random_state`."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def drawn_seeds(seeds: Sequence[int]) -> list[int]:
    """Return `drawn_seed` of each of some numbers.

    Examples
    --------
    >>> drawn_seeds([3, 4]) == [drawn_seed(3), drawn_seed(4)]
    True
    """
    rng, drawn = np.random.RandomState(0), []  # a new one takes as long as to grow ten trees
    for seed in seeds:
        rng.seed(seed)
        drawn.append(drawn_seed(rng))
    return drawn


def plan_tree(
    problem: Problem,
    recipe: Recipe,
    seed: int,
    *,
    starts: Sequence[AnyTree] | None = None,
    signs: list[Signs] | None = None,
    sampling: Any = None,
    trial_fraction: float | None = None,
    settings: TrainingSettings | None = None,
    linear: LinearPart | None = None,
    place: int = 0,
) -> TreeFit:
    """Draw the starts of a tree, and hold out validation rows where some are needed.

    Parameters
    ----------
    problem : Problem
        Its rows are those of the tree.
    recipe : Recipe
    seed : int
    starts : sequence of trees, optional
        Trees to train; by default they are drawn.
    signs : list of Signs, optional
        Signs that the weights of these trees must keep; by default they are chosen.
    sampling : array or callable, optional
        Probability of each feature for a leaf, or a sampler; by default `feature_sampling` of the
        growth.
    trial_fraction : float, optional
        Plan a single tree with this fraction of the weights.
    settings : TrainingSettings, optional
        Those of the recipe by default.
    linear : LinearPart, optional
        Added to the outputs of the trained tree.
    place : int
        Place of the tree in its forest, which decides whether its leaves move to ramps.
    """
    settings = training_of(problem, recipe) if settings is None else settings
    growth = recipe.growth
    rows, validation = problem.rows, problem.validation
    if validation is None and settings.select is not None:
        rows, validation = hold_out(rows, problem.options.validation_fraction, split_rng(seed))
    if validation is None and (settings.select or settings.patience):
        settings = settings.set_params(select=None, patience=None)
    sampling = growth.feature_sampling if sampling is None else sampling
    is_joined = growth.n_joined > 1 and trial_fraction is None
    if starts is None:
        n_weights, n_starts = size_to_draw(problem, recipe), 1
        if trial_fraction is not None:
            if problem.options.is_readable:  # weights are removed after training
                n_weights = automatic_size(problem, problem.rows)
            n_weights = _part_of(n_weights, trial_fraction, problem)
        elif is_joined:
            n_weights, n_starts = _part_of(n_weights, 1 / growth.n_joined, problem), growth.n_joined
        else:
            n_starts = growth.n_init
        sampler = leaf_sampler(problem, rows, sampling)
        grower = tree_grower(problem, recipe, sampler, n_weights)
        starts = [PlannedTree(grower, each) for each in structure_seeds(seed, n_starts)]
        if not grower.grows_by_itself:
            starts = [grown(start) for start in starts]
    fit = new_fit(problem, starts, rows, settings, seed, validation, sampling, signs)
    fit.may_move_to = _without_ramps(problem, recipe, fit, fit.may_move_to, place)
    fit.linear, fit.linear_share = linear, growth.linear_share
    fit.whole = problem.rows
    fit.is_mean = is_joined and len(starts) > 1
    fit.output_factor = recipe.output_factor
    return fit


def plan_another(
    problem: Problem, recipe: Recipe, fit: TreeFit, seed: int, place: int
) -> TreeFit | None:
    """Return the plan of another tree, of which only the random numbers differ.

    Parameters
    ----------
    problem : Problem
    recipe : Recipe
    fit : TreeFit
        The plan of a tree of the same rows, by `plan_tree`.
    seed, place : int
        As in `plan_tree`.

    Returns
    -------
    TreeFit or None
        None if more than random numbers differ: `plan_tree` plans such trees.
    """
    first = fit.starts[0]
    if not isinstance(first, PlannedTree) or fit.validation_is_in_table:
        return None
    starts: list[AnyTree] = [
        PlannedTree(first.grower, each) for each in structure_seeds(seed, len(fit.starts))
    ]
    other = replace(fit, starts=starts, seed=seed, results=[])
    allowed = _moves(problem, fit.rows, starts, recipe.growth.feature_sampling, fit.settings)
    other.may_move_to = _without_ramps(problem, recipe, other, allowed, place)
    return other


def structure_seeds(seed: int, n_starts: int) -> list[int]:
    """Return the seeds by which the starts of a tree are grown."""
    seeds: list[int] = np.random.SeedSequence(seed).generate_state(n_starts, np.uint64).tolist()
    return seeds


def split_rng(seed: int) -> np.random.Generator:
    """Return what draws the validation rows of a tree."""
    return np.random.default_rng(seed).spawn(3)[1]


def _without_ramps(
    problem: Problem, recipe: Recipe, fit: TreeFit, allowed: list[Array] | None, place: int
) -> list[Array] | None:
    """Return where leaves may move to, if those of a fraction of the trees may not move to ramps.

    The starts of a tree have the places from `place` on.
    """
    drawn, fraction = problem.encoder.drawn_groups, recipe.growth.plain_fraction
    if drawn is None or fraction == 0.0 or not fit.settings.leaf_moves:
        return allowed
    n = len(fit.starts)
    allowed = [np.ones(drawn.size, dtype=bool)] * n if allowed is None else allowed
    is_plain = np.diff(np.floor(fraction * (place + np.arange(n + 1)))) > 0
    return [
        each & (drawn >= 0) if plain else each
        for each, plain in zip(allowed, is_plain, strict=True)
    ]


def _part_of(n_weights: int | None, fraction: float, problem: Problem) -> int | None:
    """Return a part of a number of weights, but enough for each output."""
    if n_weights is None:
        return None
    return max(int(fraction * n_weights), MIN_WEIGHTS_PER_OUTPUT * problem.n_outputs)


def new_fit(
    problem: Problem,
    starts: Sequence[AnyTree],
    rows: Rows,
    settings: TrainingSettings,
    seed: int,
    validation: Rows | None = None,
    sampling: Any = None,
    signs: list[Signs] | None = None,
) -> TreeFit:
    """Return the training of trees that meet the constraints of a problem.

    Parameters
    ----------
    problem : Problem
    starts : sequence of trees
    rows : Rows
        The rows of the trees.
    settings : TrainingSettings
    seed : int
    validation : Rows, optional
    sampling : optional
        As in `plan_tree`.
    signs : list of Signs, optional
        Those of trees that are trained further; by default they are chosen.
    """
    if problem.input_signs is not None or problem.interactions is not None:
        starts = [grown(start) for start in starts]  # signs and sets belong to nodes
    if problem.input_signs is not None and signs is None:
        starts, signs = constrained(
            [grown(start) for start in starts], problem.input_signs, problem.task.output_signs()
        )
    return TreeFit(
        list(starts),
        rows.one_epoch().with_mean_weight_one(),
        validation,
        settings,
        seed,
        problem.scaling,
        problem.target_scaling,
        may_move_to=_moves(problem, rows, starts, sampling, settings),
        signs=signs,
    )


def tree_grower(
    problem: Problem, recipe: Recipe, sampler: Any, n_weights: int | None
) -> TreeGrower:
    """Return what grows trees of features that are not constant.

    Parameters
    ----------
    problem : Problem
    recipe : Recipe
    sampler : array, callable or None
        See `leaf_sampler`.
    n_weights : int or None
        Number of weights; None where `growth` has other limits.
    """
    growth, encoder = recipe.growth, problem.encoder
    min_size = growth.min_size
    if isinstance(min_size, float) and not (growth.max_size is None and n_weights is None):
        min_size = None  # a share of the mean size has no meaning where the size is limited
    return TreeGrower(
        problem.rows.n_inputs,
        problem.n_outputs,
        MAX_DEPTH if growth.max_depth is None else growth.max_depth,
        growth.max_children,
        LEAF_PROBABILITY if growth.leaf_probability is None else growth.leaf_probability,
        min_children=growth.min_children,
        min_size=min_size,
        max_size=growth.max_size,
        n_weights=n_weights,
        deepen=growth.max_depth is None,
        init=growth.init,
        init_scale=growth.init_scale,
        activation=growth.activation,
        output_activation=growth.output_activation,
        train_activations=growth.train_activations,
        feature_sampling=sampler,
        groups=encoder.drawn_groups,
        interactions=problem.interactions,
        dtype=problem.options.dtype,
        ramp_fraction=growth.ramp_fraction,
        n_ramps=encoder.n_ramps if growth.ramp_fraction > 0.0 and encoder.has_ramps else None,
    )


def leaf_sampler(problem: Problem, rows: Rows, sampling: Any) -> Any:
    """Return `feature_sampling`, with probability 0 for constant features."""
    encoder, scaling = problem.encoder, problem.scaling
    if isinstance(sampling, FeatureSampler):
        rows = rows.in_memory
        X = rows.X
        if not encoder.is_plain:  # use the first number of each feature
            X = X[:, encoder.first_numbers[:-1]]
        return sampling.learn(X, rows.weight)
    if callable(sampling) or (scaling is None and encoder.is_plain):
        return sampling
    varies = np.ones(rows.n_inputs, dtype=bool)
    if scaling is not None:
        varies = scaling.factor != 0.0
    n_features = problem.columns.n_columns
    chances = np.ones(n_features) if sampling is None else sampling
    return chances_of_varying(chances, encoder.groups, varies, n_features)


def _moves(
    problem: Problem,
    rows: Rows,
    starts: Sequence[AnyTree],
    sampling: Any,
    settings: TrainingSettings,
) -> list[Array] | None:
    """Return which inputs the leaves of each tree may move to: those that could be drawn."""
    interactions = problem.interactions
    is_free = sampling is None or callable(sampling)
    can_move = settings.leaf_moves and leaves_may_move(problem.options)
    if not can_move or (is_free and interactions is None):
        return None
    groups = problem.encoder.groups
    allowed: Array = np.ones(groups.size, dtype=bool)
    if not is_free:
        allowed = (np.asarray(leaf_sampler(problem, rows, sampling)) > 0)[groups]
    if interactions is None:
        return [allowed] * len(starts)
    return [
        interactions.allowed(tree.parent, tree.leaf_parent, groups[tree.leaf_input])[:, groups]
        & allowed
        for tree in map(grown, starts)
    ]
