"""Fit of a forest: trees that are drawn and trained independently, all in one call of the core.

Every tree has its own seed, so the result does not depend on the number of threads or on the order
in which trees are finished.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from math import nan
from typing import Any

import numpy as np

from bneuralt._typing import Array, IntArray
from bneuralt.fitting.capacity import ROWS_PER_TREE
from bneuralt.fitting.finish import (
    FitInterrupted,
    finished,
    new_model,
    out_of_bag,
    state_of,
)
from bneuralt.fitting.joblib_workers import active_backend, aligned, over_workers
from bneuralt.fitting.linear import LinearPart, refitted
from bneuralt.fitting.options import Options
from bneuralt.fitting.plan import drawn_seed, drawn_seeds, plan_another, plan_tree
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.progress import (
    ForestState,
    Listen,
    Report,
    Step,
    describe_forest,
    silent,
)
from bneuralt.fitting.recipe import resolve
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.train import TreeFit, train_fits
from bneuralt.fitting.tree import (
    check_max_weights,
    limited,
    part_model,
    plan_part,
    plan_refit,
    without_idle,
)
from bneuralt.fitting.trial import run_trial
from bneuralt.model import Model, Recipe, TreeState
from bneuralt.tree import NeuralTree

__all__ = [
    "Member",
    "features_of_tree",
    "fit_forest",
    "fit_part_of_forest",
    "limit_weights",
    "rows_of_tree",
    "train_here",
    "tree_seeds",
]


@dataclass
class Member:
    """A tree of a forest: its seed, its place, and what is there once it is trained.

    `linear` is the linear part of all rows.
    """

    seed: int
    place: int = 0
    linear: LinearPart | None = None
    tree: NeuralTree | None = None
    state: TreeState = field(default_factory=TreeState)

    @property
    def is_done(self) -> bool:
        """Whether the tree is trained."""
        return self.tree is not None


def fit_forest(problem: Problem, listen: Listen = silent) -> Model:
    """Fit a forest, or add trees to the one before.

    Parameters
    ----------
    problem : Problem
    listen : callable
        Opens the reports of progress.

    Raises
    ------
    FitInterrupted
        On Ctrl-C; its `model` has the trees that were finished.
    """
    options, before = problem.options, problem.before
    n_old = 0 if before is None else len(before.trees)
    assert options.n_estimators is not None
    if options.n_estimators < n_old:
        raise ValueError(
            f"n_estimators={options.n_estimators} is less than the {n_old} trees that are "
            "there already, and warm_start=True only adds trees"
        )
    check_max_weights(problem)
    seeds = tree_seeds(options.seed, options.n_estimators)[n_old:]
    first = problem.rows if not seeds else rows_of_tree(options, problem.rows, seeds[0])
    trial = run_trial(problem, resolve(problem, first))
    recipe = trial.recipe
    members = [Member(seed, n_old + i, trial.linear) for i, seed in enumerate(seeds)]
    try:
        with listen(Step("tree", len(members), describe_forest)) as report:
            _train(problem, recipe, members, report)
        for member in members:
            if member.is_done:
                limit_weights(problem, recipe, member)
        model = _model(problem, recipe, members)
        assert model is not None
        if draws_rows(options, problem.rows.n_separate):
            model = _with_out_of_bag(problem, model)
        return finished(problem, model)
    except KeyboardInterrupt as interruption:
        raise FitInterrupted(_model(problem, recipe, members)) from interruption


def _model(problem: Problem, recipe: Recipe, members: Sequence[Member]) -> Model | None:
    """Return the model of the trees that are there; None if there are none."""
    done = [member for member in members if member.tree is not None]
    trees, states = [m.tree for m in done if m.tree is not None], [m.state for m in done]
    if problem.before is not None:
        trees, states = [*problem.before.trees, *trees], [*problem.before.states, *states]
    return new_model(problem, recipe, trees, states) if trees else None


def tree_seeds(seed: int, n_trees: int) -> list[int]:
    """Return the seeds of the trees of a forest."""
    children = np.random.SeedSequence(seed).spawn(n_trees)
    return [int(child.generate_state(1)[0]) for child in children]


def limit_weights(problem: Problem, recipe: Recipe, member: Member) -> None:
    """Remove as many weights of a trained tree as `max_weights` says."""
    assert member.tree is not None
    if problem.options.max_weights is None:
        return
    rows = rows_of_tree(problem.options, problem.rows, member.seed)
    model = new_model(problem, recipe, [member.tree])
    member.tree = limited(problem, recipe, model, rows).trees[0]


def _train(problem: Problem, recipe: Recipe, members: list[Member], report: Report | None) -> None:
    """Train the members; an interrupted training leaves some of them without a tree."""
    started, n_done = time.perf_counter(), 0

    def report_tree() -> bool:
        nonlocal n_done
        assert report is not None
        n_done += 1
        state = ForestState(n_done, len(members), time.perf_counter() - started)
        return report(state, nan, lambda: {"model_": _model(problem, recipe, members)})

    on_tree = report_tree if report else None
    backend = active_backend(problem.options.n_jobs) if len(members) > 1 else None
    if backend is None:
        train_here(problem, recipe, members, on_tree)
    else:
        _train_over_workers(backend, problem, recipe, members, on_tree)


def _train_over_workers(
    backend: Any,
    problem: Problem,
    recipe: Recipe,
    members: list[Member],
    report_tree: Callable[[], bool] | None,
) -> None:
    """Train each member in a worker of a joblib backend."""
    rows, validation = problem.rows, problem.validation
    held_out: list[Array | None] = [None] * 3
    if validation is not None:
        held_out = [validation.table, validation.target, validation.weight]
    arrays = [rows.table, rows.target, rows.weight, rows.index, rows.copies, *held_out]
    empty = np.zeros((0, 0))
    bare = replace(
        problem,
        options=replace(problem.options, n_threads=1, n_jobs=1),
        rows=Rows(empty, empty, np.zeros(0)),
        validation=None,
        calibration=None,
        before=None,
    )
    train = partial(_train_member, bare, recipe, rows.times, rows.on_disk)
    results = over_workers(backend, problem.options.n_jobs, train, members, arrays)
    with closing(results):
        for i, trained in results:
            members[i].tree, members[i].state = trained.tree, trained.state
            if report_tree is not None and report_tree():
                break


def _train_member(
    problem: Problem,
    recipe: Recipe,
    times: int,
    on_disk: bool,
    member: Member,
    *arrays: Array | None,
) -> Member:
    """Train one tree of a forest in a worker."""
    table, target, weight, index, copies, *held_out = (aligned(array) for array in arrays)
    assert table is not None and target is not None and weight is not None
    lines, validation = problem.encoder.lines, None
    if held_out[0] is not None:
        validation = replace(Rows(*held_out), lines=lines)  # type: ignore[arg-type]
    rows = Rows(table, target, weight, index, times, copies, lines, on_disk)
    train_here(replace(problem, rows=rows, validation=validation), recipe, [member])
    return member


def train_here(
    problem: Problem,
    recipe: Recipe,
    members: list[Member],
    report_tree: Callable[[], bool] | None = None,
) -> None:
    """Train all members in this process.

    Rows that are drawn for a tree take memory until all trees of a batch are done, so on large
    tables a batch has only as many trees as there are threads.
    """
    n_rows, n_threads = len(problem.rows), problem.options.n_threads
    size = n_threads if n_rows > ROWS_PER_TREE else max(1, len(members))
    for start in range(0, len(members), size):
        if _train_batch(problem, recipe, members[start : start + size], report_tree):
            return


def _train_batch(
    problem: Problem,
    recipe: Recipe,
    members: list[Member],
    report_tree: Callable[[], bool] | None,
) -> bool:
    """Train some members in this process; return whether `report_tree` has ended it."""
    is_over = False
    options, sample = problem.options, sample_key(problem)
    begun: list[TreeFit] = []

    def plans() -> Iterator[TreeFit]:
        seeds = drawn_seeds([member.seed for member in members])
        for member, seed in zip(members, seeds, strict=True):
            begun.append(_plan(problem, recipe, member, seed, begun[0] if begun else None))
            yield begun[-1]

    def keep(i: int) -> None:
        member, fit = members[i], begun[i]
        member.tree = _without_idle(problem, recipe, fit.tree)
        member.state = replace(state_of(problem, fit, member.seed), sample=sample)

    # Called for each tree that is done, while others are trained.
    def keep_and_report(i: int) -> bool:
        nonlocal is_over
        keep(i)
        is_over = report_tree is not None and report_tree()
        return is_over

    try:
        train_fits(
            plans(),
            problem.rows,
            options.n_threads,
            validation=problem.validation,
            progress=keep_and_report,
            n_starts=len(members) * recipe.growth.n_init,
        )
    finally:
        done = [i for i, fit in enumerate(begun) if fit.is_done]
        for i in done:
            if not members[i].is_done:
                keep(i)
    _refit(problem, recipe, [(members[i], begun[i]) for i in done])
    return is_over


def _without_idle(problem: Problem, recipe: Recipe, tree: NeuralTree) -> NeuralTree:
    """Return a trained tree without idle branches, unless limits of its size are set."""
    return tree if recipe.n_weights is None else without_idle(problem, tree, problem.scaling)


def _plan(
    problem: Problem, recipe: Recipe, member: Member, seed: int, first: TreeFit | None
) -> TreeFit:
    """Return the training of a tree; its linear part has seen no other rows than the tree.

    Most forests differ in nothing but random numbers from the plan of their first tree.
    """
    rows = rows_of_tree(problem.options, problem.rows, member.seed)
    sampling = features_of_tree(problem, member.seed)
    if first is not None and first.whole is rows and sampling is None:
        other = plan_another(problem, recipe, first, seed, member.place)
        if other is not None:
            return other
    of_tree, linear = replace(problem, rows=rows), member.linear
    if linear is not None and rows is not problem.rows:
        linear = refitted(of_tree, linear, linear.penalty)
    return plan_tree(of_tree, recipe, seed, sampling=sampling, linear=linear, place=member.place)


def _refit(problem: Problem, recipe: Recipe, done: list[tuple[Member, Any]]) -> None:
    """Train trees again on all their rows after early stopping with 'refit'."""
    planned = [(member, plan_refit(problem, fit)) for member, fit in done]
    refits = [(member, refit) for member, refit in planned if refit is not None]
    if not refits:
        return
    train_fits([refit for _, refit in refits], problem.rows, problem.options.n_threads)
    for member, refit in refits:
        member.tree = _without_idle(problem, recipe, refit.tree)
        member.state = replace(member.state, n_iter=refit.n_epochs)


def fit_part_of_forest(problem: Problem) -> Model:
    """Train all trees for one epoch; the first call draws them."""
    options, before = problem.options, problem.before
    assert options.n_estimators is not None
    if before is None:
        seeds = tree_seeds(options.seed, options.n_estimators)
    else:
        seeds = [state.seed or 0 for state in before.states]
    n_parts = 0 if before is None else before.states[0].n_iter
    recipe = resolve(problem, rows_of_tree(options, problem.rows, seeds[0], n_parts))
    fits, states = [], []
    for i, seed in enumerate(seeds):
        n_before = 0 if before is None else before.states[i].n_iter
        rows = rows_of_tree(options, problem.rows, seed, n_before)
        recipe_of_tree = recipe
        sampling = features_of_tree(problem, seed)
        if sampling is not None:
            growth = recipe.growth.set_params(feature_sampling=sampling)
            recipe_of_tree = replace(recipe, values={**recipe.values, "growth": growth})
        fit, state = plan_part(replace(problem, rows=rows), recipe_of_tree, i, drawn_seed(seed))
        fits.append((fit, seed))
        states.append(state)
    # Ctrl-C leaves all trees as they were
    train_fits([fit for fit, _ in fits], problem.rows, options.n_threads)
    return part_model(problem, recipe, fits, None if before is None else states)


# -- rows and features of each tree -------------------------------------------------------


def draws_rows(options: Options, n_rows: int) -> bool:
    """Return whether each tree is trained on a random part of the rows."""
    return options.bootstrap or number_of(options.max_samples, n_rows) < n_rows


def rows_of_tree(options: Options, rows: Rows, seed: int, n_before: int | None = None) -> Rows:
    """Return the rows that the tree with this seed is trained on.

    Of very many rows, these are blocks of neighbours, so that a tree takes a limited time and
    memory. Of a table in parts, `n_before` is the number of parts before this one.
    """
    times = draw_rows(options, rows.n_separate, seed, n_before)
    if times is None and len(rows) > ROWS_PER_TREE:
        return rows.some_blocks(ROWS_PER_TREE, np.random.default_rng([2, seed]))
    if times is None:
        return rows
    positions = np.flatnonzero(times)
    sample = rows.separate.take(positions)
    return replace(sample, weight=sample.weight * times[positions]).merged()


def draw_rows(
    options: Options, n_rows: int, seed: int, n_before: int | None = None
) -> IntArray | None:
    """Return how often the tree with this seed draws each row, None if it uses all rows."""
    if not draws_rows(options, n_rows):
        return None
    rng = np.random.default_rng([0, seed] if n_before is None else [0, seed, n_before])
    size = number_of(options.max_samples, n_rows)
    if options.bootstrap:
        positions = rng.integers(n_rows, size=size)
    else:
        positions = rng.permutation(n_rows)[:size]
    return np.bincount(positions, minlength=n_rows)


def features_of_tree(problem: Problem, seed: int) -> Any:
    """Return `feature_sampling` of the tree with this seed; None for that of the growth."""
    options, n_features = problem.options, problem.columns.n_columns
    n_used = number_of(options.max_features, n_features)
    if n_used == n_features:
        return None
    sampling = options.growth.feature_sampling
    if callable(sampling):
        raise ValueError("max_features cannot be combined with a callable feature_sampling")
    weights = np.ones(n_features)
    if sampling is not None:
        weights = np.array(sampling, dtype=np.float64)
    rng = np.random.default_rng([1, seed])
    weights[rng.permutation(n_features)[n_used:]] = 0.0
    return weights


def number_of(parameter: int | float | None, total: int) -> int:
    """Return the number that a parameter stands for: a number, a fraction of the total, or all."""
    if parameter is None:
        return total
    number = round(parameter * total) if isinstance(parameter, float) else parameter
    return min(max(1, number), total)


def sample_key(problem: Problem) -> str | None:
    """Return a hash that identifies the rows and the way in which trees draw from them."""
    options, rows = problem.options, problem.rows
    prints = problem.fingerprints
    if not draws_rows(options, rows.n_separate) or prints is None:
        return None
    size = number_of(options.max_samples, rows.n_separate)
    key = (prints.n_rows, rows.n_separate, options.bootstrap, size)
    return sha256(repr(key).encode() + prints.hashes.tobytes()).hexdigest()[:32]


def _with_out_of_bag(problem: Problem, model: Model) -> Model:
    """Return a forest with the predictions of trees for rows that they were not trained on.

    Trees of an earlier fit count only if they were drawn from the same rows in the same way.
    """
    options, key, n_rows = problem.options, sample_key(problem), problem.rows.n_separate
    n_old = 0 if problem.before is None else len(problem.before.trees)
    draws = [
        draw_rows(options, n_rows, state.seed or 0)
        if i >= n_old or (key is not None and state.sample == key)
        else None
        for i, state in enumerate(model.states)
    ]
    found, calibration = out_of_bag(problem, model, draws)
    model = replace(model, out_of_bag=found)
    if options.conformal is None and calibration is not None:
        model = replace(model, calibration=calibration)
    return model
