"""From trained trees to a `Model`: what is measured after training, and the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import Any

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.explaining.importances import MAX_ROWS, mean_contributions
from bneuralt.explaining.reference_rows import reference_rows
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.train import TreeFit
from bneuralt.model import Model, OutOfBag, Recipe, TreeState
from bneuralt.model.intervals import Calibration
from bneuralt.model.predict import outputs_of_rows, predictions_of_rows, residual_scale
from bneuralt.tree import NeuralTree
from bneuralt.tree.forward import OutputOverflow

__all__ = ["FitInterrupted", "finished", "new_model", "state_of", "with_importances"]


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C during a fit; `model` has the trees that were finished, None if there are none."""

    def __init__(self, model: Model | None) -> None:
        super().__init__("the fit was interrupted")
        self.model = model


def new_model(
    problem: Problem,
    recipe: Recipe | None,
    trees: Sequence[NeuralTree],
    states: Sequence[TreeState] = (),
    **fields: Any,
) -> Model:
    """Return the model of trained trees.

    Parameters
    ----------
    problem : Problem
    recipe : Recipe or None
    trees : sequence of NeuralTree
    states : sequence of TreeState
    **fields
        Other fields of `Model`.
    """
    task, options = problem.task, problem.options
    quantiles, classes = task.quantiles, task.classes
    # Forests with constrained interactions average outputs, so that effects are added.
    adds_effects = options.is_forest and problem.interactions is not None
    fingerprints = problem.fingerprints
    if problem.before is not None and fingerprints is not None:
        known = problem.before.fingerprints
        fingerprints = None if known is None else fingerprints.joined(known)
    values: dict[str, Any] = {
        "kind": options.estimator,
        "encoder": problem.encoder,
        "trees": tuple(trees),
        "task": task.kind,
        "link": task.link(trees),
        "averages": "outputs" if task.kind == "numbers" or adds_effects else "predictions",
        "classes": None if classes is None else tuple(classes.tolist()),
        "quantiles": None if quantiles is None else tuple(quantiles.tolist()),
        "target_names": problem.target_names,
        "input_std": None if problem.scaling is None else problem.scaling.deviation,
        "constraints": () if problem.signs is None else tuple(problem.signs.tolist()),
        "interaction_sets": None if problem.interactions is None else problem.interactions.sets,
        "scaling": problem.scaling,
        "target_scaling": problem.target_scaling,
        "target": task,
        "loss": problem.loss,
        "states": tuple(states),
        "can_learn": True,
        "recipe": recipe,
        "fingerprints": fingerprints,
        "finds_columns": problem.before is not None and problem.before.finds_columns,
    }
    return Model(**{**values, **fields})


def state_of(
    problem: Problem, fit: TreeFit, seed: int | None, before: TreeState | None = None
) -> TreeState:
    """Return how a tree was trained, and what its further training needs.

    Parameters
    ----------
    problem : Problem
    fit : TreeFit
        With its results.
    seed : int or None
    before : TreeState, optional
        The state of the tree that was trained further; its epochs are counted too.
    """
    signs = None
    if fit.signs is not None and len(fit.kept) == 1:  # of a mean, they follow from its weights
        signs = fit.signs[fit.kept[0]].node
    moved = None
    if fit.settings.leaf_moves:
        encoder, n_features = problem.encoder, problem.columns.n_columns
        moved = {
            name: np.bincount(encoder.groups[inputs], minlength=n_features)
            for name, inputs in zip(("tried", "stayed"), fit.moved_leaves(), strict=True)
        }
    n_iter, history = fit.n_epochs, fit.history(problem.task.error_unit)
    if before is not None:
        n_iter += before.n_iter
        history = {
            name: np.concatenate([before.history[name], curve])
            for name, curve in history.items()
            if name in before.history
        } or history
    return TreeState(
        n_iter=n_iter,
        seed=seed,
        best_epoch=fit.result.best_epoch,
        history=history,
        moved_leaves=moved,
        node_signs=signs,
    )


def finished(problem: Problem, model: Model) -> Model:
    """Return a model with what is measured after training: residuals and importances."""
    if problem.calibration is not None:
        model = replace(model, calibration=_calibration(problem, model, problem.calibration))
    return with_importances(model, problem.rows)


def _calibration(problem: Problem, model: Model, rows: Rows) -> Calibration:
    """Return the residuals of rows that were held out."""
    raw, n_threads = model.in_raw_units(), problem.options.n_threads
    parts = [outputs_of_rows(raw, X, n_threads) for X in rows.X_blocks()]
    return calibration_of(raw, np.concatenate(parts), rows)


def calibration_of(raw: Model, outputs: FloatArray, rows: Rows) -> Calibration:
    """Return residuals of outputs in units of their scale, with the weights of the rows.

    The weights add up to the number of rows.
    """
    assert raw.target is not None
    errors = rows.y.reshape(len(rows), -1) - raw.target.values(raw.link, outputs)
    weight = rows.weight * (rows.n_separate / rows.weight.sum())
    if np.allclose(weight, rows.counts, rtol=1e-12, atol=0.0):
        weight = rows.counts.copy()  # exact where weights are counts
    return Calibration(errors / residual_scale(raw.link, outputs), weight)


def with_importances(model: Model, rows: Rows) -> Model:
    """Return a model with the importances of its columns, and with reference rows."""
    # The first rows are a random sample, since rows are sorted by a hash.
    n_rows = min(MAX_ROWS, len(rows))
    sample = rows.subsample(n_rows) if rows.on_disk else rows
    sample = sample if len(sample) == n_rows else sample.take(np.arange(n_rows))
    raw, inputs = model.in_raw_units(), sample.inputs
    try:
        importances = mean_contributions(raw, inputs, sample.weight)
    except OutputOverflow:  # the weights have diverged
        return replace(model, importances=None, reference=None)
    reference = reference_rows(raw, inputs, sample.weight, importances)
    return replace(model, importances=importances, reference=reference)


def out_of_bag(
    problem: Problem, model: Model, draws: Sequence[Any]
) -> tuple[OutOfBag, Calibration | None]:
    """Score each row by the trees that were trained without it.

    Parameters
    ----------
    problem : Problem
    model : Model
    draws : sequence of (int array or None)
        How often each tree drew each row; None for trees that were drawn from other rows.

    Returns
    -------
    OutOfBag, and the residuals of regressors
    """
    rows, chosen = problem.rows.separate, slice(None)
    n_rows = len(rows)
    if rows.on_disk:  # some of them, at equal distances
        chosen = slice(None, None, -(-n_rows // MAX_OUT_OF_BAG))
        rows = rows.take(np.arange(n_rows)[chosen])
    raw, n_threads = model.in_raw_units(), problem.options.n_threads
    total, n_votes = np.zeros((len(rows), model.n_outputs)), np.zeros(len(rows))
    for i, times in enumerate(draws):
        if times is None:
            continue
        unseen = np.flatnonzero(times[chosen] == 0)
        if unseen.size:
            member = raw.member(i)
            votes = [
                predictions_of_rows(member, X, n_threads)
                if raw.averages == "predictions"
                else outputs_of_rows(member, X, n_threads)
                for X in rows.take(unseen).X_blocks()
            ]
            total[unseen] += np.concatenate(votes)
        n_votes[unseen] += 1
    scored = np.flatnonzero(n_votes)
    task = raw.target
    assert task is not None
    if not scored.size:
        return OutOfBag(nan, _by_user_row(problem.rows, rows, total, n_votes, raw)), None
    means: FloatArray = total[scored] / n_votes[scored, np.newaxis]
    kept = rows.take(scored)
    predictions = means if raw.averages == "predictions" else task.values(raw.link, means)
    score = nan
    if task.kind != "numbers" or len(kept) > 1:  # r2 of a single row is not defined
        score = task.score(predictions, kept.y, kept.weight)
    calibration = calibration_of(raw, means, kept) if task.kind == "numbers" else None
    return OutOfBag(score, _by_user_row(problem.rows, rows, total, n_votes, raw)), calibration


#: Number of rows of a table on disk that are scored by the trees that were trained without them.
MAX_OUT_OF_BAG = 100_000


def _by_user_row(
    whole: Rows, rows: Rows, total: FloatArray, n_votes: FloatArray, raw: Model
) -> FloatArray | None:
    """Return out-of-bag predictions in the order of the user's table; equal rows share them."""
    if whole.table_row is None or rows.on_disk:
        return None
    n_table = len(whole.table)
    place = np.arange(n_table) if rows.index is None else rows.index
    sums = np.zeros((n_table, total.shape[1]))
    votes = np.bincount(place, n_votes, minlength=n_table)
    np.add.at(sums, place, total)
    with np.errstate(invalid="ignore"):
        means = sums / votes[:, np.newaxis]
    if raw.averages == "outputs":
        known = votes > 0
        assert raw.target is not None
        if known.any():
            means[known] = raw.target.values(raw.link, means[known])
    predictions = means[whole.table_row]
    predictions[whole.table_row < 0] = nan
    return predictions
