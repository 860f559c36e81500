"""Choice of the weight decay, of the scale of outputs, and of ramps, by cross-validation.

How much decay is best depends on the noise of the target, and so does how far outputs are from
their mean after training: the less there is to learn, the more of them is noise. The numbers of
rows and columns do not show it. So some trees are trained for a short time on a part of the rows,
and outputs are multiplied by the factor with the lowest loss on held-out rows. If that is a small
factor, more decay is compared too, and used if it lowers the loss by more than one standard error.
If trees learn next to nothing, the reason may be effects that change their direction many times:
then trees that begin with ramps are compared with others. Where a tree is the mean of trees that
are trained apart, each of them begins its training in the trial, on another part of the rows. The
experiments behind the numbers are in `docs/lab_book.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.fitting import FitBatch, TreeFit
from bneuralt.estimators.nested import setting_of
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import fold
from bneuralt.estimators.splits import FEWEST_ROWS_TO_SPLIT, divided, fold_of_each
from bneuralt.training import TrainingDiverged, TrainingSettings
from bneuralt.tree import NeuralTree
from bneuralt.values import is_auto

__all__ = ["USUAL", "Choice", "choose", "may_try"]


class Choice(NamedTuple):
    """What is chosen for the trees of a fit.

    Attributes
    ----------
    decay_factor : float
        Factor of the automatic weight decay.
    ramp_share : float
        Share of the leaves of numbers that begin at a ramp.
    output_factor : float
        Factor of the outputs of trained trees, whose targets have the mean 0.
    trees : tuple of NeuralTree
        Trees whose training has begun, to be trained with all rows; none: others are drawn.
    """

    decay_factor: float = 1.0
    ramp_share: float = 0.0
    output_factor: float = 1.0
    trees: tuple[NeuralTree, ...] = ()


USUAL = Choice()

#: The alternative to the usual decay.
MORE = Choice(decay_factor=4.0)
#: It lowers the loss by more than this (that of a constant is about 0.5).
LEAST_GAIN = 0.005


class DecayRule(NamedTuple):
    """Where more decay is tried: many rows, and outputs that are best multiplied by less."""

    fewest_rows: int
    largest_factor: float


DECAY_RULES = {
    "tree classifier": DecayRule(1_000, 0.95),
    "forest classifier": DecayRule(400, 1.1),
    "regressor": DecayRule(0, 0.97),
}
#: Trees that begin with ramps.
RAMPS = Choice(ramp_share=0.8)


class Effort(NamedTuple):
    """Size of a cross-validation.

    Attributes
    ----------
    n_folds : int
        Number of folds, of which each of the first `n_used` is held out once.
    n_used : int
    weights, epochs : float
        Shares of the usual numbers of weights and epochs.
    n_trees : int
        Number of trees whose mean is scored. The mean of the trees of a forest needs less decay
        than one tree, and is less sure.
    """

    n_folds: int
    n_used: int
    weights: float
    epochs: float
    n_trees: int = 1


#: With more rows than this, there is no trial.
MOST_ROWS = 10_000
#: For trees, and for forests.
OF_TREE = Effort(n_folds=4, n_used=2, weights=0.5, epochs=0.4, n_trees=1)
OF_FOREST = Effort(n_folds=4, n_used=4, weights=1.0, epochs=0.5, n_trees=2)
#: From this number of rows on, two folds are enough.
ENOUGH_ROWS, ENOUGH_FOLDS = 3_000, 2
#: With fewer epochs than this, there is no trial: the outputs of trees that have hardly been
#: trained say nothing about the factor of others.
FEWEST_EPOCHS = 20
#: Leaves move less often than in a fit.
LEAF_MOVES = 5
#: Whether ramps help, where nothing else does: small trees would not show it.
FULL = Effort(n_folds=5, n_used=2, weights=1.0, epochs=1.0)
#: Ramps are tried from this number of rows on, if trees lower the loss of a constant by less than
#: the second number, and used if they lower the loss by this share in each fold.
ROWS_FOR_RAMPS, LITTLE, GAIN = 1_000, 0.1, 0.05


class Tried(NamedTuple):
    """Result of a choice: the loss on each of the held-out parts, with its factor of outputs.

    `trees` are those whose training can go on.
    """

    losses: FloatArray
    output_factor: float = 1.0
    trees: tuple[NeuralTree, ...] = ()


class HeldOut(NamedTuple):
    """Outputs of trees for held-out rows, fold after fold.

    Attributes
    ----------
    outputs : array of shape (n_trees, n_rows, n_outputs)
    target : array
        Scaled as the outputs, or class numbers.
    weight : array
        Its sum is 1 in each fold.
    starts : list of int
        First row of each fold.
    """

    outputs: FloatArray
    target: Array
    weight: FloatArray
    starts: list[int]

    def means(self, losses: FloatArray) -> FloatArray:
        """Return the mean loss of each fold, from that of each row."""
        return np.add.reduceat(self.weight * losses, self.starts)


def _cross_entropy(held_out: HeldOut) -> Tried:
    """Return the losses of the mean probabilities with the best factor of the outputs."""
    outputs = held_out.outputs
    excess = outputs - outputs[:, np.arange(held_out.target.size), held_out.target][..., None]

    def losses(factor: float) -> FloatArray:
        shares = 1.0 / np.exp(np.minimum(factor * excess, LARGEST_EXCESS)).sum(axis=2)
        return held_out.means(-np.log(shares.mean(axis=0)))

    search = minimize_scalar(
        lambda x: losses(exp(x)).mean(),
        bounds=(log(LEAST_FACTOR), log(LARGEST_FACTORS["cross_entropy"])),
        method="bounded",
        options={"xatol": 0.01},
    )
    factor = round(exp(search.x), 2)
    return Tried(losses(factor), factor)


def _squared_error(held_out: HeldOut) -> Tried:
    """Return the losses of the mean output with its best factor."""
    mean = held_out.outputs.mean(axis=0)
    target = held_out.target.reshape(mean.shape)
    weight = held_out.weight[:, None]
    square = float((weight * mean**2).sum())
    best = float((weight * mean * target).sum()) / square if square > 0.0 else 1.0
    factor = round(min(max(best, LEAST_FACTOR), LARGEST_FACTORS["squared_error"]), 2)
    return Tried(held_out.means(np.square(factor * mean - target).sum(axis=1) / 2), factor)


#: Limits of the factor of outputs.
LEAST_FACTOR = 0.02
LARGEST_FACTORS = {"cross_entropy": 1.5, "squared_error": 1.0}
#: Limit of the difference of two outputs: 1e-15 is the least probability.
LARGEST_EXCESS = 34.5
#: Losses of the mean of several trees.
MEAN_LOSSES = {"cross_entropy": _cross_entropy, "squared_error": _squared_error}


def choose(estimator: Any, rows: Rows, seed: int) -> Choice:
    """Choose decay and factor of outputs of an estimator, and whether its trees begin with ramps.

    Parameters
    ----------
    estimator : unfitted tree or forest
        Its input has been read.
    rows : Rows
        Training rows.
    seed : int
    """
    if not may_try(estimator, rows):
        return USUAL
    separate = rows.separate
    is_forest = estimator._holds_many_trees
    effort = OF_FOREST if is_forest else OF_TREE
    if len(separate) >= ENOUGH_ROWS:
        effort = effort._replace(n_used=ENOUGH_FOLDS)
    plan = None if is_forest else estimator._plan_joined(rows)
    if plan is not None:
        effort = effort._replace(n_used=len(plan.starts))

    def attempt(choice: Choice, effort: Effort, plan: TreeFit | None = None) -> Tried:
        rng = np.random.default_rng([2, seed])  # the same folds and trees in each call
        return _try(estimator, separate, rng, choice, effort, plan)

    choice, tried = USUAL, attempt(USUAL, effort, plan)
    kind = "forest classifier" if is_forest else "tree classifier"
    rule = DECAY_RULES[kind if estimator._loss().name == "cross_entropy" else "regressor"]
    if len(separate) >= rule.fewest_rows and tried.output_factor < rule.largest_factor:
        other = attempt(MORE, effort, plan)
        if _is_better(other, tried):
            choice, tried = MORE, other
    choice = choice._replace(output_factor=tried.output_factor, trees=tried.trees)
    loss = tried.losses.mean()
    if not _learns_little(estimator, separate, loss):
        return choice
    first = attempt(RAMPS, FULL._replace(n_used=1))
    if first.losses[0] < (1.0 - GAIN) * loss:  # most tables end here
        usual, with_ramps = attempt(USUAL, FULL), attempt(RAMPS, FULL)
        if np.all(with_ramps.losses < (1.0 - GAIN) * usual.losses):
            return RAMPS._replace(output_factor=with_ramps.output_factor)
    return choice


def _is_better(other: Tried, usual: Tried) -> bool:
    """Return whether another loss is lower by a standard error; not where a training diverged."""
    gain = usual.losses - other.losses
    if not np.isfinite(gain).all():
        return False
    error = gain.std(ddof=1) / np.sqrt(gain.size)
    return bool(gain.mean() > max(error, LEAST_GAIN))


def may_try(estimator: Any, rows: Rows) -> bool:
    """Return whether settings and rows allow a trial."""
    n_epochs = setting_of(estimator, "max_epochs")
    return (
        is_auto(setting_of(estimator, "weight_decay"))
        and (is_auto(n_epochs) or n_epochs >= FEWEST_EPOCHS)
        and not estimator.early_stopping
        and estimator._training.select in ("auto", None)
        and rows.n_separate >= FEWEST_ROWS_TO_SPLIT
        and rows.n_examples <= MOST_ROWS
    )


def _learns_little(estimator: Any, rows: Rows, loss: float) -> bool:
    """Return whether ramps could help: there are some, and other trees learn little."""
    if estimator.ramps != "auto" or not estimator.encoder_.has_ramps or len(rows) < ROWS_FOR_RAMPS:
        return False
    of_constant = {"cross_entropy": _entropy(rows), "squared_error": 0.5}  # of a scaled target
    usual = of_constant.get(estimator._loss().name)
    return usual is not None and not loss < (1.0 - LITTLE) * usual * rows.y[:1].size


def _entropy(rows: Rows) -> float:
    """Return the loss of the frequencies of classes as probabilities."""
    if rows.y.dtype.kind != "i":
        return 0.0
    shares = np.bincount(rows.y, rows.weight) / rows.weight.sum()
    shares = shares[shares > 0]
    return float(-shares @ np.log(shares))


def _try(
    estimator: Any,
    separate: Rows,
    rng: np.random.Generator,
    choice: Choice,
    effort: Effort,
    plan: TreeFit | None = None,
) -> Tried:
    """Train trees of a choice, and score them on held-out rows.

    Folds have rows of their own, and the rest in common: trees, scaling and settings. With a plan,
    each fold has one of its trees.
    """
    loss = _mean_loss(estimator, separate)
    folds = fold_of_each(separate.y, effort.n_folds, rng)
    parts = [divided(separate, folds == k) for k in range(effort.n_used)]
    if plan is None:
        plans = [_plans(estimator, parts[0], rng, choice, effort)] * effort.n_used
    else:
        n_epochs = estimator._n_epochs(separate)
        settings = _shortened(plan.settings, n_epochs, choice, effort)
        plans = [[replace(fit, settings=settings)] for fit in plan.each_start]
    groups: list[tuple[Rows, list[TreeFit]]] = []  # of each fold
    for (training, held_out), fits in zip(parts, plans, strict=True):
        once = training.one_epoch().with_mean_weight_one()
        validation = held_out if loss is None else None  # scored at the end only
        groups.append((held_out, [replace(fit, rows=once, validation=validation) for fit in fits]))
    all_fits = [fit for _, fits in groups for fit in fits]
    batch = FitBatch(all_fits, len(all_fits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingDiverged)  # the final fit warns
        batch.train(separate, None, estimator._n_threads())
    trees = () if plan is None else tuple(fit.result.tree for fit in all_fits)
    if loss is None:
        curves = [[fit.result.history["val_loss"] for fit in fits] for _, fits in groups]
        last = [np.mean([c[-1] if c.size else np.inf for c in fold]) for fold in curves]
        return Tried(np.array(last), trees=trees)
    if any(fit.result.status != "completed" for fit in all_fits):
        return Tried(np.full(len(groups), np.inf))
    return loss(_held_out(estimator, groups))._replace(trees=trees)


def _mean_loss(estimator: Any, rows: Rows) -> Callable[[HeldOut], Tried] | None:
    """Return the loss of the mean of trees; None where outputs have no factor."""
    if estimator._output_activation != "linear":
        return None
    name = estimator._loss().name
    is_class = rows.y.dtype.kind == "i"
    return MEAN_LOSSES.get(name) if is_class == (name == "cross_entropy") else None


def _held_out(estimator: Any, groups: list[tuple[Rows, list[TreeFit]]]) -> HeldOut:
    """Return the outputs of the trees of each fold for its held-out rows."""
    outputs = []
    for held_out, fits in groups:
        trees = [fold(fit.result.tree, fit.input_scaling, None) for fit in fits]
        X = held_out.X
        outputs.append(np.array([estimator._mean_outputs([tree], X) for tree in trees]))
    joined = np.concatenate(outputs, axis=1)
    if groups[0][0].y.dtype.kind == "i" and estimator._averages_outputs():
        joined = joined.mean(axis=0, keepdims=True)
    parts = [held_out for held_out, _ in groups]
    return HeldOut(
        joined,
        np.concatenate([groups[0][1][0].scaled_target(rows) for rows in parts]),
        np.concatenate([rows.weight / rows.weight.sum() for rows in parts]),
        np.cumsum([0, *map(len, parts[:-1])]).tolist(),
    )


def _plans(
    estimator: Any,
    parts: tuple[Rows, Rows],
    rng: np.random.Generator,
    choice: Choice,
    effort: Effort,
) -> list[TreeFit]:
    """Return trees with their training: fewer weights, epochs and moves than usual."""
    training, held_out = parts
    fits = []
    for seed in rng.integers(2**31, size=effort.n_trees).tolist():
        tree = estimator._trial_tree(seed, training, effort.weights, choice.ramp_share)
        fit = tree._plan(training, held_out)
        settings = _shortened(fit.settings, fit.settings.max_epochs, choice, effort)
        fits.append(replace(fit, settings=settings))
    return fits


def _shortened(
    usual: TrainingSettings, n_epochs: int, choice: Choice, effort: Effort
) -> TrainingSettings:
    """Return settings of fewer epochs and moves than usual, with the decay of a choice."""
    return usual.set_params(
        max_epochs=max(1, round(effort.epochs * n_epochs)),
        weight_decay=choice.decay_factor * usual.weight_decay,
        leaf_moves=min(usual.leaf_moves, LEAF_MOVES),
    )
