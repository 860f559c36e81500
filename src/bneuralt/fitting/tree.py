"""Fit of one tree: recipe, trial, plan, training, and what is removed afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bneuralt.fitting.capacity import n_epochs_joined
from bneuralt.fitting.finish import FitInterrupted, finished, new_model, state_of
from bneuralt.fitting.linear import LinearPart
from bneuralt.fitting.plan import leaf_sampler, new_fit, plan_tree, split_rng, tree_grower
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.progress import Listen, Report, Step, describe_epoch, silent
from bneuralt.fitting.pruning import smaller_models
from bneuralt.fitting.readable import make_readable
from bneuralt.fitting.recipe import may_try, resolve, size_to_draw, training_of
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import MIN_ROWS_TO_SPLIT, hold_out
from bneuralt.fitting.train import TreeFit, train_fits
from bneuralt.fitting.trial import Trial, run_trial
from bneuralt.model import Model, Recipe
from bneuralt.model.scaling import Scaling
from bneuralt.shrinking import WEIGHTS, without_idle_branches
from bneuralt.training import EpochState
from bneuralt.tree import NeuralTree
from bneuralt.tree.neural_tree import PlannedTree

__all__ = ["fit_part_of_tree", "fit_tree"]


def fit_tree(problem: Problem, listen: Listen = silent) -> Model:
    """Fit a tree.

    Parameters
    ----------
    problem : Problem
    listen : callable
        Opens the reports of progress.

    Raises
    ------
    FitInterrupted
        On Ctrl-C; its `model` has the weights up to then.
    """
    check_max_weights(problem)
    recipe = resolve(problem)
    trial = run_trial(problem, recipe)
    recipe = trial.recipe
    searched = with_validation(problem, recipe)
    fit = _final_fit(searched, recipe, trial)
    fit.whole = problem.rows
    refits = problem.options.early_stopping == "refit"
    refits = refits and problem.rows.n_separate >= MIN_ROWS_TO_SPLIT
    before = None if problem.before is None else problem.before.states[0]

    def kept(done: TreeFit) -> Model:
        state = state_of(searched, done, problem.options.seed, before)
        return new_model(searched, recipe, [done.tree], [state])

    n_steps = fit.settings.max_epochs * (len(fit.starts) + refits)
    describe = partial(
        describe_epoch,
        score_name=problem.task.score_name,
        n_trees=len(fit.starts),
        refits=refits,
    )
    try:
        with listen(Step("epoch", n_steps, describe)) as report:
            _train(searched, fit, report)
            model = kept(fit)
            again = plan_refit(problem, fit) if refits else None
            if again is not None:
                _train(problem, again, report)
                # what was searched is described by the first training
                state = replace(model.states[0], n_iter=again.n_epochs)
                model = new_model(problem, recipe, [again.tree], [state])
        return finished(problem, _reduced(problem, recipe, model, trial.linear))
    except KeyboardInterrupt as interruption:
        is_begun = any(result is not None for result in fit.results)
        raise FitInterrupted(kept(fit) if is_begun else None) from interruption


def _reduced(problem: Problem, recipe: Recipe, model: Model, linear: LinearPart | None) -> Model:
    """Return a model without branches that contribute nothing, or of a limited size."""
    options, rows = problem.options, problem.rows
    if options.is_readable:
        return make_readable(
            replace(problem, scaling=model.scaling, target_scaling=model.target_scaling),
            recipe,
            model,
            linear,
        )
    if recipe.n_weights is not None and not options.warm_start:
        tree = without_idle(problem, model.trees[0], model.scaling)
        model = model if tree is model.trees[0] else model.with_trees([tree])
    if options.max_weights is None:
        return model
    return limited(problem, recipe, model, rows.in_memory)


def with_validation(problem: Problem, recipe: Recipe) -> Problem:
    """Return the problem with rows held out for validation, where some are needed.

    Its scaling is that of the other rows.
    """
    if problem.validation is not None or recipe.training.select is None:
        return problem
    split = split_rng(problem.options.seed)
    rows, held_out = hold_out(problem.rows, problem.options.validation_fraction, split)
    problem = replace(problem, rows=rows, validation=held_out)
    return problem if problem.before is not None or held_out is None else problem.scaled()


def check_max_weights(problem: Problem) -> None:
    """Raise an error if `max_weights` is too small for the outputs."""
    if isinstance(problem.options.max_weights, int):
        WEIGHTS.check(problem.options.max_weights, problem.n_outputs)


def without_idle(problem: Problem, tree: NeuralTree, scaling: Scaling | None) -> NeuralTree:
    """Return a trained tree without leaves and branches that contribute nothing."""
    moments = problem.rows.input_moments
    ends = np.stack([moments.low, moments.high])
    if scaling is not None:
        ends = scaling.apply(ends)
    return without_idle_branches(tree, *ends)


def limited(problem: Problem, recipe: Recipe, model: Model, rows: Rows) -> Model:
    """Return the model with at most `max_weights` weights in its tree."""
    limit = problem.options.max_weights
    if not isinstance(limit, int) or limit >= model.trees[0].n_parameters:
        return model
    problem = replace(
        problem, rows=rows, scaling=model.scaling, target_scaling=model.target_scaling
    )
    (smaller,) = smaller_models(problem, recipe, model, [limit], unit=WEIGHTS)
    return smaller


def _final_fit(problem: Problem, recipe: Recipe, trial: Trial) -> TreeFit:
    """Return the training with all rows, of trees that are drawn or whose training has begun."""
    seed, before = problem.options.seed, problem.before
    if before is not None:
        start = before.trees[0].with_output_scaling(0.0, 1.0 / recipe.output_factor)
        signs = before.signs_of(0)
        return plan_tree(
            problem, recipe, seed, starts=[start], signs=None if signs is None else [signs]
        )
    settings = training_of(problem, recipe)
    if recipe.growth.n_joined > 1:
        n_epochs = n_epochs_joined(settings.max_epochs, may_try(problem, recipe))
        settings = settings.set_params(max_epochs=n_epochs)
    starts = None
    if trial.plan is not None:
        starts = [result.tree for result in trial.results] or trial.plan.starts
    fit = plan_tree(problem, recipe, seed, starts=starts, settings=settings, linear=trial.linear)
    fit.earlier = list(trial.results)
    return fit


def plan_refit(problem: Problem, fit: TreeFit) -> TreeFit | None:
    """Return the training on all rows that follows early stopping; None if there is none."""
    if problem.options.early_stopping != "refit" or not fit.validation_is_in_table:
        return None
    result, rows = fit.result, fit.whole
    if result.status == "callback" or result.best_epoch is None:
        return None
    assert rows is not None
    settings = fit.settings.set_params(max_epochs=result.best_epoch + 1, select=None, patience=None)
    start = [fit.starts[fit.best]]
    signs = None if fit.signs is None else [fit.signs[fit.best]]
    return new_fit(problem, start, rows, settings, fit.seed, signs=signs)


def _train(problem: Problem, fit: TreeFit, report: Report | None) -> None:
    """Train one tree, and leave the results in `fit`, also after Ctrl-C."""
    stopped, unit = False, 1.0
    if report is not None:
        rows = fit.rows if fit.validation is None else fit.validation
        unit = fit.error_unit(rows, problem.task.error_unit)

    def report_epoch(state: EpochState) -> bool:
        nonlocal stopped
        assert report is not None
        error = state.train_error if fit.validation is None else state.val_error
        stopped = stopped or report(state, 1.0 - error / unit, attributes_at(problem, state))
        return stopped

    train_fits(
        [fit],
        fit.rows,
        problem.options.n_threads,
        validation=None if fit.validation_is_in_table else fit.validation,
        callback=report_epoch if report else None,
        progress=(lambda _: stopped) if report else None,
    )


def attributes_at(problem: Problem, state: Any) -> Callable[[], dict[str, Any] | None]:
    """Return a function that makes the fitted attributes as of an epoch."""

    def attributes() -> dict[str, Any] | None:
        tree = getattr(state, "tree", None)
        return None if tree is None else {"model_": new_model(problem, None, [tree])}

    return attributes


def fit_part_of_tree(problem: Problem) -> Model:
    """Train a tree for one epoch at a constant rate, with the scaling of the first call."""
    if problem.options.is_readable:
        raise ValueError(
            "n_weights='readable' chooses and rounds weights with all rows, and partial_fit "
            "gets a part of them: use fit, or another n_weights"
        )
    recipe, before = resolve(problem), problem.before
    seed = problem.options.seed
    fit, state = plan_part(problem, recipe, 0, seed)
    train_fits([fit], fit.rows, problem.options.n_threads)
    return part_model(problem, recipe, [(fit, seed)], None if before is None else [state])


def plan_part(problem: Problem, recipe: Recipe, i: int, seed: int) -> tuple[TreeFit, Any]:
    """Plan one epoch of a tree, which is drawn in the first call; return its state so far."""
    before, n_before, state, signs = problem.before, 0, None, None
    if before is None:
        sampler = leaf_sampler(problem, problem.rows, recipe.growth.feature_sampling)
        grower = tree_grower(problem, recipe, sampler, size_to_draw(problem, recipe))
        tree = PlannedTree(grower, seed).tree
    else:
        tree, state, signs = before.trees[i], before.states[i], before.signs_of(i)
        n_before = state.n_iter
    settings = training_of(
        problem,
        recipe,
        max_epochs=1,
        schedule="constant",
        select=None,
        patience=None,
        leaf_moves=0,
    )
    fit = new_fit(
        problem,
        [tree],
        problem.rows,
        settings,
        seed + n_before,
        signs=None if signs is None else [signs],
    )
    fit.rows = problem.rows.one_epoch()  # weights of parts of a table are not normalized
    fit.optimizer_state = None if state is None else state.optimizer
    return fit, state


def part_model(
    problem: Problem, recipe: Recipe, fits: list[tuple[TreeFit, int]], states: list[Any] | None
) -> Model:
    """Return the model after one epoch of each tree."""
    new = []
    for i, (fit, seed) in enumerate(fits):
        state = state_of(problem, fit, seed, None if states is None else states[i])
        new.append(replace(state, optimizer=fit.result.optimizer_state))
    return new_model(problem, recipe, [fit.tree for fit, _ in fits], new)
