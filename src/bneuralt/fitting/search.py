"""Fit of estimators that search for a structure: search, Pareto front, choice of a model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.evolve.checkpoint import CheckpointError, read_checkpoint
from bneuralt.evolve.search_loop import GenerationState, run_search
from bneuralt.fitting.finish import FitInterrupted, finished, new_model
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.progress import Listen, Step
from bneuralt.fitting.rows import Rows
from bneuralt.model import Model, Recipe, TreeState
from bneuralt.training import TrainingSettings
from bneuralt.tree import NeuralTree
from bneuralt.tree.growing import Growth

__all__ = ["Entry", "FrontEntry", "SearchMethod", "fit_by_search"]


@dataclass(frozen=True, eq=False)
class FrontEntry:
    """A model of a Pareto front, with its score; see `bneuralt.estimators.evolved.FrontModel`."""

    n_weights: int
    size: int
    score: float
    standard_error: float
    model: Model


@dataclass(frozen=True, eq=False)
class Entry:
    """A tree of a front as the search returns it, with its outputs for each scoring row."""

    tree: NeuralTree
    outputs: FloatArray


class SearchMethod:
    """How structures are searched; subclasses define the search.

    Parameters of the estimator are in `problem.options.parameters`.
    """

    def n_steps(self, problem: Problem) -> int:
        """Return the number of steps, for the display of progress."""
        raise NotImplementedError

    def new_search(self, problem: Problem) -> Any:
        """Return the search."""
        raise NotImplementedError

    def scoring_rows(self, problem: Problem) -> Rows:
        """Return the rows on which the trees of the front are scored."""
        return problem.rows if problem.validation is None else problem.validation

    def front_of(self, search: Any, problem: Problem, rows: Rows) -> tuple[Sequence[Entry], int]:
        """Return the trees of the front by their size, and the position of the best one."""
        raise NotImplementedError

    def trees_of(self, search: Any, problem: Problem, chosen: NeuralTree) -> list[NeuralTree]:
        """Return the trees that predict; the chosen one alone by default."""
        return [chosen]

    def recipe_of(self, problem: Problem) -> Recipe | None:
        """Return the settings of the fit."""
        return None


def fit_by_search(method: SearchMethod, problem: Problem, listen: Listen) -> Model:
    """Search for a structure.

    Parameters
    ----------
    method : SearchMethod
    problem : Problem
    listen : callable
        Opens the reports of progress.

    Raises
    ------
    FitInterrupted
        On Ctrl-C; its `model` is the best one up to then.
    """
    _refuse_constant(problem.rows)
    search = method.new_search(problem)
    recipe = method.recipe_of(problem)
    depends_on, checkpoint = _depends_on(problem), problem.options.parameters.get("checkpoint")
    if checkpoint is not None:
        state = read_checkpoint(checkpoint, depends_on)
        if state is not None:
            _restore(search, state, checkpoint)
    with listen(Step("generation", method.n_steps(problem), describe_generation)) as report:

        def report_generation(state: GenerationState) -> bool:
            assert report is not None
            best = new_model(problem, recipe, [search.best_tree()], can_learn=False)
            return report(state, state.error, lambda: {"model_": best})

        try:
            run_search(search, report_generation if report else None, checkpoint, depends_on)
        except KeyboardInterrupt as interruption:
            done = _model(method, search, problem, recipe) if search.n_done else None
            raise FitInterrupted(done) from interruption
    return finished(problem, _model(method, search, problem, recipe))


def _model(method: SearchMethod, search: Any, problem: Problem, recipe: Recipe | None) -> Model:
    """Return a model of each tree of the front, and the one that is chosen."""
    rows = method.scoring_rows(problem)
    entries, best = method.front_of(search, problem, rows)
    scores = [_score(entry, problem, rows) for entry in entries]
    choice = best
    if problem.options.parameters.get("choose") == "one_standard_error":
        least = scores[best][0] - scores[best][1]
        choice = next(i for i, (score, _) in enumerate(scores) if score >= least)
    state = TreeState(n_iter=max(1, search.n_done), seed=None)
    models = [
        new_model(problem, recipe, [entry.tree], [state], can_learn=False) for entry in entries
    ]
    front = []
    for model, score in zip(models, scores, strict=True):
        (tree,) = model.in_raw_units().trees
        front.append(FrontEntry(tree.n_parameters, tree.size, *score, model))
    trees = method.trees_of(search, problem, entries[choice].tree)
    states = [state] * len(trees)
    return new_model(problem, recipe, trees, states, can_learn=False, front=tuple(front))


def _score(entry: Entry, problem: Problem, rows: Rows) -> tuple[float, float]:
    """Return accuracy or r2, and its standard error."""
    quality = _row_qualities(entry.outputs, problem, rows)
    fraction = rows.weight / rows.weight.sum()
    score = float(quality @ fraction)
    # standard error of a weighted mean of independent rows
    error = float(np.sqrt(np.square(fraction) @ np.square(quality - score)))
    return score, error


def _row_qualities(outputs: FloatArray, problem: Problem, rows: Rows) -> FloatArray:
    """Return a number for each row whose mean is the accuracy, or r2."""
    task = problem.task
    if task.kind == "classes":
        return task.row_scores(outputs, rows.y, 1.0)
    if task.kind == "labels":
        right: FloatArray = ((outputs > 0) == (rows.y > 0.5)).mean(axis=1)
        return right
    target = problem.scaled_target(rows).reshape(len(rows), -1)
    unit = task.error_unit(target, rows.weight)
    qualities: FloatArray = 1.0 - np.square(outputs - target).mean(axis=1) / unit
    return qualities


def _refuse_constant(rows: Rows) -> None:
    if rows.y.dtype.kind == "f" and not np.ptp(rows.y, axis=0).any():
        n_rows = f"all {len(rows)} rows" if len(rows) > 1 else "the only row (n_samples=1)"
        raise ValueError(
            f"y is constant, {np.ravel(rows.y)[0]:g} in {n_rows}: there is nothing to search "
            "for; pass rows of different targets"
        )


def _depends_on(problem: Problem) -> dict[str, Any]:
    """Return the data and settings that must be the same for a search to be continued."""
    digest = hashlib.sha256()
    validation = problem.validation
    for part in (problem.rows, *([] if validation is None else [validation])):
        for array in (part.X, part.y, part.weight):
            digest.update(np.ascontiguousarray(array).tobytes())
    ignored = ("checkpoint", "n_jobs", "verbose", "choose", "n_ensemble", "growth", "training")
    parameters = problem.options.parameters
    settings = {name: repr(value) for name, value in parameters.items() if name not in ignored}
    for owner, default in (("growth", Growth()), ("training", TrainingSettings())):
        if owner in parameters:
            for name, value in (parameters[owner] or default).get_params().items():
                settings[f"{owner}__{name}"] = repr(value)
    return {"table": digest.hexdigest(), "estimator": problem.options.estimator, **settings}


def _restore(search: Any, state: dict[str, Any], checkpoint: Any) -> None:
    try:
        search.restore(state)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise CheckpointError(
            f"checkpoint={str(checkpoint)!r} cannot be continued, it is damaged: "
            f"{error!s:.200}. Delete the file to start anew"
        ) from None


def describe_generation(state: GenerationState, score: float) -> str:
    """Return one line about the last generation."""
    width = len(str(state.n_steps))
    return (
        f"generation {state.n_done:{width}d}/{state.n_steps}  error {state.error:.4f}  "
        f"{state.n_weights} weights  {state.seconds_left:.1f} s left"
    )
