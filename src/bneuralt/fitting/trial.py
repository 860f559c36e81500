"""Choice of the shares of trees and linear part, and of ramps, by cross-validation.

How far the outputs of trees are from their mean after training depends on the noise of the target:
the less there is to learn, the more of them is noise. And a linear model learns what is linear from
fewer rows. The numbers of rows and columns do not show it. So some trees are trained for a short
time on a part of the rows, linear models on the same part, and the shares of both are those with
the lowest loss on held-out rows. In a forest, every second tree of the trial has no ramps, and what
is better is used. If both learn next to nothing, the reason may be effects that change their
direction many times: then trees that begin with ramps are compared with others. Where a tree is the
mean of trees that are trained separately, each of them begins its training in the trial, on another
part of the rows. The experiments behind the numbers are in `docs/lab/lab_book.md`.

A value that the user has set is used instead of the chosen one; all others are chosen as without
it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.arrays import one_blas_thread
from bneuralt.fitting.linear import LinearFit, LinearPart, fit_path, most_leaves, refitted
from bneuralt.fitting.minimize import minimize
from bneuralt.fitting.plan import plan_tree
from bneuralt.fitting.problem import Problem
from bneuralt.fitting.recipe import may_be_linear, may_try, training_of
from bneuralt.fitting.row_losses import RowLoss, row_loss
from bneuralt.fitting.rows import Rows
from bneuralt.fitting.splits import divided, fold_of_each
from bneuralt.fitting.train import TreeFit, train_fits
from bneuralt.model import Recipe
from bneuralt.model.scaling import fold_all
from bneuralt.training import TrainingDiverged, TrainingResult
from bneuralt.tree import mean_forward

__all__ = ["CONSTANT_IS_AS_GOOD", "LINEAR_IS_AS_GOOD", "Trial", "run_trial"]


class Trial(NamedTuple):
    """What a trial chose, and the mean of trees whose training it has begun."""

    recipe: Recipe
    linear: LinearPart | None = None
    plan: TreeFit | None = None
    results: Sequence[TrainingResult] = ()  # of each start of the plan


class TrialSize(NamedTuple):
    """Size of a cross-validation: the first `n_used` of the folds are held out once."""

    n_folds: int
    n_used: int
    weights: float  # fractions of the usual numbers of weights and epochs
    epochs: float
    n_trees: int = 1  # of each fold


#: For trees, and for forests.
OF_TREE = TrialSize(n_folds=4, n_used=2, weights=0.5, epochs=0.4)
OF_FOREST = TrialSize(n_folds=4, n_used=4, weights=1.0, epochs=0.5, n_trees=2)
#: From this number of rows on, two folds are enough.
SUFFICIENT_ROWS, SUFFICIENT_FOLDS = 3_000, 2
#: Leaves move less often than in a fit.
LEAF_MOVES = 5
#: Whether ramps help, where nothing else does: small trees would not show it.
FULL = TrialSize(n_folds=5, n_used=2, weights=1.0, epochs=1.0)
#: Ramps are tried from this number of rows on, if trees lower the loss of a constant by less than
#: the second number, and used if they lower the loss by this fraction in each fold.
MIN_ROWS_FOR_RAMPS, LITTLE, GAIN = 1_000, 0.1, 0.05
#: Fraction of leaves that begin at ramps, where that helps.
RAMP_FRACTION = 0.8

#: Expected shares of trees and linear part, and the weight of a squared difference to them in
#: units of the loss of one row. Few held-out rows say little about the shares.
EXPECTED = {"tree": (0.5, 0.5), "forest": (0.8, 0.2)}
CONFIDENCE = 3.0
LARGEST_SHARE, SMALLEST_LINEAR_SHARE = 1.5, 0.01
#: The trees of a model are trained longer and with more rows than those of the trial, and the
#: more rows there are, the more they gain from it. From this number of rows on, if trees lower the
#: loss of a linear model by a standard error, they get a fraction of its share.
ROWS_WITHOUT_GAIN, GAIN_POWER = 250, 0.4
#: The model is a constant unless its loss on held-out rows is lower by a number of standard errors:
#: the rows divided by `ROWS_WITHOUT_GAIN`, up to this. Few rows do not prove what is there.
LARGEST_MARGIN = 2.0


#: Reasons of shares in a recipe.
LOWEST_LOSS = "trial: lowest loss on held-out rows"
LINEAR_IS_AS_GOOD = "trial: a linear model is as good on held-out rows"
CONSTANT_IS_AS_GOOD = "trial: a constant is as good on held-out rows"


class HeldOut(NamedTuple):
    """Outputs for held-out rows, fold after fold, as the loss reads them."""

    loss: RowLoss
    trees: FloatArray  # of shape (n_trees, n_columns, n_rows)
    linear: FloatArray | None  # of shape (n_columns, n_rows)
    weight: FloatArray  # of each row; the sum is 1 in each fold
    starts: list[int]  # the first row of each fold
    n_rows: int  # before equal rows were merged

    def losses(self, outputs: FloatArray) -> FloatArray:
        """Return the loss of each row for outputs of shape (n_columns, n_rows)."""
        result: FloatArray = self.loss(outputs[np.newaxis])[0][0]
        return result

    def fold_losses(self, losses: FloatArray) -> FloatArray:
        """Return the mean loss of each fold."""
        return np.add.reduceat(self.weight * losses, self.starts)

    def gain(self, losses: FloatArray, other: FloatArray) -> tuple[float, float]:
        """Return by how much losses are lower than others, with the standard error."""
        weight = self.weight / self.weight.sum()
        gain = other - losses
        mean = float(weight @ gain)
        return mean, float(np.sqrt(weight @ np.square(gain - mean) / self.n_rows))

    @property
    def constant(self) -> FloatArray:
        """The outputs of the best constant."""
        best = self.loss.constant(self.weight)[:, np.newaxis]
        return np.broadcast_to(best, self.loss.target.shape)


class Shares(NamedTuple):
    """Shares of trees and linear part, the criterion that they minimise, and losses of rows."""

    trees: float
    linear: float
    criterion: float
    losses: FloatArray


def best_shares(held_out: HeldOut, trees: FloatArray, expected: Sequence[float]) -> Shares:
    """Return the shares with the lowest loss on held-out rows.

    Parameters
    ----------
    held_out : HeldOut
    trees : array of shape (n_columns, n_rows)
        Outputs of trees.
    expected : (float, float)
        Shares that few rows do not change much.
    """
    loss, weight = held_out.loss, held_out.weight / held_out.weight.sum()
    has_linear = held_out.linear is not None
    both = [trees, held_out.linear] if has_linear else [trees]
    outputs = np.array(both).reshape(len(both), -1)
    prior = np.array(expected if has_linear else [1.0])
    confidence = CONFIDENCE / held_out.n_rows

    def criterion(shares: FloatArray) -> tuple[float, FloatArray]:
        losses, slopes = loss((shares @ outputs).reshape(1, *trees.shape))
        value = float(losses[0] @ weight)
        slope = outputs @ (slopes[0] * weight).ravel()
        if loss.kind == "numbers":  # relative to the noise, as in their likelihood
            value = max(value, sys.float_info.min)
            value, slope = 0.5 * float(np.log(value)), 0.5 * slope / value
        distance = shares - prior
        return value + confidence * float(distance @ distance), slope + 2 * confidence * distance

    low, high = np.array([0.0, SMALLEST_LINEAR_SHARE]), np.full(2, LARGEST_SHARE)
    found, lowest = minimize(criterion, prior, 20, (low[: prior.size], high[: prior.size]), 1e-6)
    shares = np.round(found, 3)
    losses = held_out.losses((shares @ outputs).reshape(trees.shape))
    return Shares(float(shares[0]), float(shares[1:].sum()), lowest, losses)


@one_blas_thread()
def run_trial(problem: Problem, recipe: Recipe) -> Trial:
    """Choose the shares of trees and linear part, and the use of ramps.

    Parameters
    ----------
    problem : Problem
    recipe : Recipe
        With values from the rows.
    """
    options, growth = problem.options, recipe.growth
    if not may_try(problem, recipe):
        return Trial(recipe)
    n_rows = problem.rows.n_separate
    size = OF_FOREST if options.is_forest else OF_TREE
    if n_rows >= SUFFICIENT_ROWS:
        size = size._replace(n_used=SUFFICIENT_FOLDS)
    plan = None
    if growth.n_joined > 1:
        plan = plan_tree(problem, recipe, options.seed)
        size = size._replace(n_used=len(plan.starts))
    if growth.ramp_fraction > 0.0:
        return _Attempt(problem, recipe, FULL).chosen()
    attempt = _Attempt(problem, recipe, size, plan)
    if attempt.is_constant:  # small trees may be too small for what there is to learn
        longer = _Attempt(problem, recipe, FULL)
        attempt = attempt if longer.is_constant else longer
    may_begin_at_ramps = problem.encoder.has_ramps and "ramp_fraction" not in options.explicit
    if not (may_begin_at_ramps and n_rows >= MIN_ROWS_FOR_RAMPS and attempt.learns_little):
        return attempt.chosen()
    reason = {"ramp_fraction": f"trial: lowers the loss by more than {GAIN:.0%}"}
    bent = recipe.replaced({"ramp_fraction": RAMP_FRACTION}, reason)
    first = _Attempt(problem, bent, FULL._replace(n_used=1))
    if first.fold_losses[0] < (1.0 - GAIN) * attempt.fold_losses.mean():  # most tables end here
        usual, with_ramps = _Attempt(problem, recipe, FULL), _Attempt(problem, bent, FULL)
        if np.all(with_ramps.fold_losses < (1.0 - GAIN) * usual.fold_losses):
            return with_ramps.chosen()
    return attempt.chosen()


class _Attempt:
    """Trees and linear models that are trained without some folds, and their best shares."""

    def __init__(
        self, problem: Problem, recipe: Recipe, size: TrialSize, plan: TreeFit | None = None
    ) -> None:
        self.problem, self.recipe, self.plan = problem, recipe, plan
        separate = problem.rows.separate
        rng = np.random.default_rng([2, problem.options.seed])  # the same in each attempt
        folds = fold_of_each(separate.y, size.n_folds, rng)
        parts = [divided(separate, folds == k) for k in range(size.n_used)]
        self.linear: LinearFit | None = None
        if may_be_linear(problem, recipe):
            most = None  # of readable trees, weights are removed afterwards
            if not problem.options.is_readable:
                most = most_leaves(problem, recipe.n_weights)
            self.linear = fit_path(replace(problem, rows=separate), folds, size.n_used, most)
        plans = iter(self._plans(parts[0][0], rng, size))
        fits = [
            replace(fit, rows=training.one_epoch().with_mean_weight_one())
            for training, _ in parts
            for fit in islice(plans, size.n_trees)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingDiverged)  # the final fit warns
            train_fits(fits, separate, problem.options.n_threads)
        self.results = [fit.result for fit in fits]
        self.is_complete = all(result.status == "completed" for result in self.results)
        self.held_out = self._outputs([held_out for _, held_out in parts])
        self.plain_fraction, self.shares = self._best()

    def _plans(self, training: Rows, rng: np.random.Generator, size: TrialSize) -> list[TreeFit]:
        """Return the trees of each fold, with shorter trainings than usual.

        Folds have the same trees; with the plan of a mean, each fold has one of its trees.
        """
        from bneuralt.fitting.forest import features_of_tree

        problem, recipe = replace(self.problem, rows=training), self.recipe
        usual = training_of(self.problem, recipe)
        settings = usual.set_params(
            max_epochs=max(1, round(size.epochs * usual.max_epochs)),
            leaf_moves=min(usual.leaf_moves, LEAF_MOVES),
        )
        if self.plan is not None:
            return [replace(fit, settings=settings) for fit in self.plan.each_start]
        if size.n_trees > 1:  # every second one without ramps, to compare them
            recipe = recipe.replaced({"plain_fraction": 0.5}, {})
        plans = [
            plan_tree(
                problem,
                recipe,
                seed,
                sampling=features_of_tree(problem, seed),
                trial_fraction=size.weights,
                settings=settings,
                place=place,
            )
            for place, seed in enumerate(rng.integers(2**31, size=size.n_trees).tolist())
        ]
        return plans * size.n_used

    def _outputs(self, parts: list[Rows]) -> HeldOut:
        """Return the outputs of each fold for its held-out rows."""
        problem, separate = self.problem, self.problem.rows.separate
        lines, n_threads = problem.encoder.lines, problem.options.n_threads
        target = np.concatenate([problem.scaled_target(rows) for rows in parts])
        loss = row_loss(problem.loss, problem.task, target)
        n_trees = len(self.results) // len(parts)
        trees, linear = [], None
        for k, rows in enumerate(parts):
            own = self.results[k * n_trees : (k + 1) * n_trees]
            folded = fold_all([result.tree for result in own], problem.scaling, None)
            X = rows.X
            trees.append([mean_forward([tree], X, n_threads, lines=lines) for tree in folded])
        if self.linear is not None:
            places = [rows.index for rows in parts]
            if separate.index is not None:
                place = np.empty(len(separate.table), dtype=np.intp)
                place[separate.index] = np.arange(len(separate))
                places = [place[index] for index in places]
            each = zip(self.linear.outputs, places, strict=True)
            linear = np.concatenate([outputs[:, index] for outputs, index in each], axis=1)
        return HeldOut(
            loss,
            np.array([loss.of_trees(np.concatenate(each)) for each in zip(*trees, strict=True)]),
            linear,
            np.concatenate([rows.weight / rows.weight.sum() for rows in parts]),
            np.cumsum([0, *map(len, parts[:-1])]).tolist(),
            sum(rows.n_separate for rows in parts),
        )

    def _best(self) -> tuple[float, Shares]:
        """Return the fraction of trees without ramps, and the best shares with it."""
        options, trees = self.problem.options, self.held_out.trees
        expected = EXPECTED["forest" if options.is_forest else "tree"]
        fraction = self.recipe.growth.plain_fraction
        if len(trees) == 1 or not self.problem.encoder.has_ramps:
            return fraction, best_shares(self.held_out, trees.mean(axis=0), expected)
        candidates = {0.5: trees.mean(axis=0), 0.0: trees[0], 1.0: trees[1]}
        if "plain_fraction" in options.explicit:
            fraction = round(2 * fraction) / 2
            candidates = {fraction: candidates[fraction]}
        found = {f: best_shares(self.held_out, each, expected) for f, each in candidates.items()}
        best = min(found, key=lambda f: found[f].criterion)
        return best, found[best]

    @property
    def fold_losses(self) -> FloatArray:
        """The mean loss of each fold."""
        losses = self.held_out.fold_losses(self.shares.losses)
        return losses if self.is_complete else np.full_like(losses, np.inf)

    @property
    def learns_little(self) -> bool:
        """Whether the loss is hardly lower than that of a constant."""
        constant = self.held_out.fold_losses(self.held_out.losses(self.held_out.constant))
        return not self.fold_losses.mean() < (1.0 - LITTLE) * constant.mean()

    @cached_property
    def is_constant(self) -> bool:
        """Whether a constant is as good, as far as the held-out rows can show."""
        held_out = self.held_out
        if held_out.linear is None:
            return False
        size = self.problem.rows.n_separate / ROWS_WITHOUT_GAIN
        gain, error = held_out.gain(self.shares.losses, held_out.losses(held_out.constant))
        return gain <= min(size, LARGEST_MARGIN) * error

    def chosen(self) -> Trial:
        """Return the recipe with the chosen values, except those that were set, and the trees."""
        recipe, options = self.recipe, self.problem.options
        part = None if self.linear is None else self.linear.part
        values, reason = self._values()
        chosen = {name: value for name, value in values.items() if name not in options.explicit}
        recipe = recipe.replaced(chosen, dict.fromkeys(chosen, reason))
        penalty = recipe.growth.linear_penalty
        if part is not None and penalty != part.penalty:
            part = refitted(self.problem, part, penalty)
        can_go_on = self.plan is not None and self.is_complete
        return Trial(recipe, part, self.plan, self.results if can_go_on else [])

    def _values(self) -> tuple[dict[str, float | None], str]:
        """Return the values of the recipe that were chosen, and why."""
        held_out, shares = self.held_out, self.shares
        reason = LOWEST_LOSS
        values: dict[str, float | None] = {"output_factor": shares.trees}
        if self.problem.options.is_forest:
            values["plain_fraction"] = self.plain_fraction
        if self.linear is None or held_out.linear is None:
            return values, reason
        if self.is_constant:
            constant = {"output_factor": 0.0, "linear_share": 1.0, "linear_penalty": None}
            return values | constant, CONSTANT_IS_AS_GOOD
        gain, error = held_out.gain(shares.losses, held_out.losses(held_out.linear))
        size, moved = self.problem.rows.n_separate / ROWS_WITHOUT_GAIN, 0.0
        if gain <= error:
            reason = LINEAR_IS_AS_GOOD
        elif size > 1.0:
            moved = 1.0 - size**-GAIN_POWER
        values["output_factor"] = round(shares.trees + moved * shares.linear, 3)
        values["linear_share"] = round((1.0 - moved) * shares.linear, 3)
        values["linear_penalty"] = self.linear.part.penalty
        return values, reason
