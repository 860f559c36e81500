"""Choice of the weight decay, of the scale of outputs, and of ramps, by cross-validation.

How much decay is best depends on the noise of the target, and so does how far outputs are from
their mean after training: the less there is to learn, the more of them is noise. The numbers of
rows and columns do not show it. So some trees are trained for a short time on a part of the rows,
and outputs are multiplied by the factor with the lowest loss on held-out rows. Other decays are
compared too, and used if they lower the loss by more than one standard error. If trees learn
little, the reason may be effects that change their direction many times: then trees that begin with
ramps are compared with others. The experiments behind the numbers are in `docs/lab_book.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.fitting import FitBatch, TreeFit
from bneuralt.estimators.nested import setting_of
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.scaling import fold
from bneuralt.estimators.splits import FEWEST_ROWS_TO_SPLIT, divided, fold_of_each
from bneuralt.training import TrainingDiverged
from bneuralt.values import is_auto

__all__ = ["USUAL", "Choice", "choose"]


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
    """

    decay_factor: float = 1.0
    ramp_share: float = 0.0
    output_factor: float = 1.0


USUAL = Choice()

#: Alternatives to the usual decay.
LESS, MORE = Choice(decay_factor=0.25), Choice(decay_factor=4.0)
#: Another decay lowers the loss by more than this (that of a constant is about 0.5).
LEAST_GAIN = 0.005
#: Classifiers try more decay from this number of rows on, if outputs are best multiplied by less
#: than the second number: for a tree, and for a forest.
DECAY_OF_TREE, DECAY_OF_FOREST = (1_000, 0.95), (400, 1.1)
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
#: For trees and for forests of regressors; for forests of classifiers, which compare fewer decays.
SHORT = Effort(n_folds=4, n_used=4, weights=0.5, epochs=0.4)
LONG = Effort(n_folds=4, n_used=4, weights=1.0, epochs=0.5)
#: Whether ramps help, where nothing else does: small trees would not show it.
FULL = Effort(n_folds=5, n_used=2, weights=1.0, epochs=1.0)
#: Ramps are tried from this number of rows on, if trees lower the loss of a constant by less than
#: the second number, and used if they lower the loss by this share in each fold.
ROWS_FOR_RAMPS, LITTLE, GAIN = 1_000, 0.25, 0.05


class Tried(NamedTuple):
    """Result of a choice: the loss on each of the held-out parts, with its factor of outputs."""

    losses: FloatArray
    output_factor: float = 1.0


def _cross_entropy(outputs: FloatArray, target: Array, weight: FloatArray) -> float:
    shares = softmax(outputs, axis=2).mean(axis=0)[np.arange(target.size), target]
    return float(-np.average(np.log(np.maximum(shares, 1e-15)), weights=weight))


def _squared_error(outputs: FloatArray, target: Array, weight: FloatArray) -> float:
    errors = outputs.mean(axis=0) - target.reshape(len(target), -1)
    return float(np.average(np.square(errors).sum(axis=1), weights=weight)) / 2


class MeanLoss(NamedTuple):
    """Loss of the mean of several trees, and the largest factor of their outputs."""

    mean: Callable[[FloatArray, Array, FloatArray], float]
    largest_factor: float


LEAST_FACTOR = 0.02
MEAN_LOSSES = {
    "cross_entropy": MeanLoss(_cross_entropy, 1.5),
    "squared_error": MeanLoss(_squared_error, 1.0),
}


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
    if not _may_try(estimator, rows):
        return USUAL
    separate = rows.separate
    is_forest = estimator._holds_many_trees

    def attempt(choices: list[Choice], effort: Effort) -> list[Tried]:
        rng = np.random.default_rng([2, seed])  # the same folds and trees in each call
        return _try(estimator, separate, rng, choices, effort)

    short, long = (effort._replace(n_trees=2 if is_forest else 1) for effort in (SHORT, LONG))
    if estimator._loss().name == "cross_entropy":
        choices = [USUAL]
        tried = attempt(choices, long if is_forest else short)
        fewest_rows, most = DECAY_OF_FOREST if is_forest else DECAY_OF_TREE
        if len(separate) >= fewest_rows and tried[0].output_factor < most:
            choices = [USUAL, MORE]
            tried = tried + attempt([MORE], long) if is_forest else attempt(choices, long)
    else:
        choices = [USUAL, LESS, MORE]
        tried = attempt(choices, short)
    best = _best(tried)
    choice = choices[best]._replace(output_factor=tried[best].output_factor)
    if _learns_little(estimator, separate, tried[best].losses.mean()):
        usual, with_ramps = attempt([USUAL, RAMPS], FULL)
        if np.all(with_ramps.losses < (1.0 - GAIN) * usual.losses):
            choice = RAMPS._replace(output_factor=with_ramps.output_factor)
    return choice


def _best(tried: Sequence[Tried]) -> int:
    """Return the position of the lowest loss; 0 unless another is lower by a standard error."""
    losses = np.array([each.losses for each in tried])
    best = int(np.argmin(losses.mean(axis=1)))
    if not np.isfinite(losses[[0, best]]).all():  # a training diverged
        return 0
    gain = losses[0] - losses[best]
    error = gain.std(ddof=1) / np.sqrt(gain.size)
    return best if gain.mean() > max(error, LEAST_GAIN) else 0


def _may_try(estimator: Any, rows: Rows) -> bool:
    return (
        is_auto(setting_of(estimator, "weight_decay"))
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
    choices: Sequence[Choice],
    effort: Effort,
) -> list[Tried]:
    """Train trees of each choice, and score them on held-out rows."""
    loss = _mean_loss(estimator, separate)
    folds = fold_of_each(separate.y, effort.n_folds, rng)
    parts = [divided(separate, folds == k) for k in range(effort.n_used)]
    plans = _plans(estimator, parts[0], rng, choices, effort)
    groups: list[tuple[Rows, list[TreeFit]]] = []  # of each choice and fold
    for plan in plans:
        for training, held_out in parts:
            once = training.one_epoch().with_mean_weight_one()
            validation = held_out if loss is None else None  # scored at the end only
            fits = [replace(fit, rows=once, validation=validation) for fit in plan]
            groups.append((held_out, fits))
    all_fits = [fit for _, fits in groups for fit in fits]
    batch = FitBatch(all_fits, len(all_fits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingDiverged)  # the final fit warns
        batch.train(separate, None, estimator._n_threads())
    n = effort.n_used
    return [_score(estimator, loss, groups[i * n : i * n + n]) for i in range(len(choices))]


def _mean_loss(estimator: Any, rows: Rows) -> MeanLoss | None:
    """Return the loss of the mean of trees; None where outputs have no factor."""
    if estimator._output_activation != "linear":
        return None
    name = estimator._loss().name
    is_class = rows.y.dtype.kind == "i"
    return MEAN_LOSSES.get(name) if is_class == (name == "cross_entropy") else None


def _score(
    estimator: Any, loss: MeanLoss | None, groups: list[tuple[Rows, list[TreeFit]]]
) -> Tried:
    """Return the losses of trees on held-out rows, with the best factor of outputs."""
    if loss is None:
        curves = [[fit.result.history["val_loss"] for fit in fits] for _, fits in groups]
        last = [np.mean([c[-1] if c.size else np.inf for c in fold]) for fold in curves]
        return Tried(np.array(last))
    if any(fit.result.status != "completed" for _, fits in groups for fit in fits):
        return Tried(np.full(len(groups), np.inf))
    parts = [_outputs(estimator, held_out, fits) for held_out, fits in groups]

    def losses(factor: float) -> FloatArray:
        return np.array([loss.mean(factor * outputs, *target) for outputs, *target in parts])

    bounds = log(LEAST_FACTOR), log(loss.largest_factor)
    found = minimize_scalar(
        lambda x: losses(exp(x)).mean(), bounds=bounds, method="bounded", options={"xatol": 0.01}
    )
    factor = round(exp(found.x), 2)
    return Tried(losses(factor), factor)


def _outputs(
    estimator: Any, held_out: Rows, fits: list[TreeFit]
) -> tuple[FloatArray, Array, FloatArray]:
    """Return outputs of shape (n_trees, n_rows, n_outputs), targets and weights of rows."""
    trees = [fold(fit.result.tree, fit.input_scaling, None) for fit in fits]
    X = held_out.X
    outputs = np.array([estimator._mean_outputs([tree], X) for tree in trees])
    if held_out.y.dtype.kind == "i" and estimator._averages_outputs():
        outputs = outputs.mean(axis=0, keepdims=True)
    return outputs, fits[0].scaled_target(held_out), held_out.weight


def _plans(
    estimator: Any,
    parts: tuple[Rows, Rows],
    rng: np.random.Generator,
    choices: Sequence[Choice],
    effort: Effort,
) -> list[list[TreeFit]]:
    """Return the trees of each choice, with their training.

    Other folds have other rows, and the rest in common: trees, scaling and settings.
    """
    training, held_out = parts
    seeds = rng.integers(2**31, size=effort.n_trees).tolist()
    first: dict[float, list[TreeFit]] = {}  # by the share of ramps
    for share in dict.fromkeys(choice.ramp_share for choice in choices):
        trees = [estimator._trial_tree(seed, training, effort.weights, share) for seed in seeds]
        first[share] = [tree._plan(training, held_out) for tree in trees]
    return [[_with(fit, choice, effort) for fit in first[choice.ramp_share]] for choice in choices]


def _with(fit: TreeFit, choice: Choice, effort: Effort) -> TreeFit:
    """Return the training with another decay, and with fewer epochs."""
    usual = fit.settings
    settings = usual.set_params(
        max_epochs=max(1, round(effort.epochs * usual.max_epochs)),
        weight_decay=choice.decay_factor * usual.weight_decay,
    )
    return replace(fit, settings=settings)
