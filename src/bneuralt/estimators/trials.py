"""Choice of the weight decay, and of ramps in first trees, by cross-validation of small trees.

How much decay is best depends on the noise of the target, which the numbers of rows and columns do
not show. So some small trees are trained for a short time with less and with more decay, and
another decay than the usual one is used if it lowers the loss on held-out rows by more than one
standard error. If such trees learn little, the reason may be effects that change their direction
many times: then trees that begin with ramps are compared with others. The experiments behind the
numbers are in `docs/quality.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.estimators.fitting import FitBatch, TreeFit
from bneuralt.estimators.nested import setting_of
from bneuralt.estimators.rows import Rows
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
    """

    decay_factor: float = 1.0
    ramp_share: float = 0.0


USUAL = Choice()

#: Alternatives to the usual decay.
DECAYS = (Choice(decay_factor=0.25), Choice(decay_factor=4.0))
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
        Number of trees whose mean is scored.
    most_rows : int
        Of more rows than this, some are drawn.
    """

    n_folds: int
    n_used: int
    weights: float
    epochs: float
    n_trees: int
    most_rows: int


#: With more rows than this, there is no trial.
MOST_ROWS = 10_000
#: To choose the decay of a tree, and of a forest: small trees show how noisy a target is. The mean
#: of several trees needs less decay than one tree.
OF_TREE = Effort(n_folds=5, n_used=5, weights=0.3, epochs=0.25, n_trees=1, most_rows=2_000)
OF_FOREST = Effort(n_folds=4, n_used=4, weights=0.3, epochs=0.25, n_trees=3, most_rows=MOST_ROWS)
#: Whether ramps help, where nothing else does: small trees would not show it.
FULL = Effort(n_folds=5, n_used=2, weights=1.0, epochs=1.0, n_trees=1, most_rows=MOST_ROWS)
#: Ramps are tried from this number of rows on, if trees lower the loss of a constant by less than
#: the second number, and used if they lower the loss by this share in each fold.
ROWS_FOR_RAMPS, LITTLE, GAIN = 1_000, 0.25, 0.05


def choose(estimator: Any, rows: Rows, seed: int) -> Choice:
    """Choose the weight decay of an estimator, and whether its trees begin with ramps.

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
    rng = np.random.default_rng([2, seed])
    separate = rows.separate
    effort = OF_FOREST if estimator._holds_many_trees else OF_TREE
    losses = _losses(estimator, separate, rng, [USUAL, *DECAYS], effort)
    best = int(np.argmin(losses.mean(axis=0)))
    choice = USUAL
    if np.isfinite(losses[:, [0, best]]).all():  # otherwise a training diverged
        gain = losses[:, 0] - losses[:, best]
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            choice = (USUAL, *DECAYS)[best]
    if _learns_little(estimator, separate, losses[:, best].mean()):
        usual, with_ramps = _losses(estimator, separate, rng, [USUAL, RAMPS], FULL).T
        if np.all(with_ramps < (1.0 - GAIN) * usual):
            choice = RAMPS
    return choice


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


def _losses(
    estimator: Any,
    separate: Rows,
    rng: np.random.Generator,
    choices: Sequence[Choice],
    effort: Effort,
) -> FloatArray:
    """Return the loss on held-out rows, of shape (n_used, n_choices)."""
    if len(separate) > effort.most_rows:
        separate = separate.take(np.sort(rng.permutation(len(separate))[: effort.most_rows]))
    folds = fold_of_each(separate.y, effort.n_folds, rng)
    parts = [divided(separate, folds == k) for k in range(effort.n_used)]
    plans = _plans(estimator, parts[0], rng, choices, effort)
    groups: list[tuple[Rows, list[tuple[Any, TreeFit]]]] = []  # of each fold and choice
    for training, held_out in parts:
        once = training.one_epoch().with_mean_weight_one()
        groups += [
            (held_out, [(tree, replace(fit, rows=once, validation=held_out)) for tree, fit in plan])
            for plan in plans
        ]
    fits = [fit for _, members in groups for _, fit in members]
    batch = FitBatch(fits, len(fits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingDiverged)  # the final fit warns
        batch.train(separate, None, estimator._n_threads())
    losses = [_loss(estimator, members, held_out) for held_out, members in groups]
    return np.array(losses).reshape(effort.n_used, len(choices))


def _plans(
    estimator: Any,
    parts: tuple[Rows, Rows],
    rng: np.random.Generator,
    choices: Sequence[Choice],
    effort: Effort,
) -> list[list[tuple[Any, TreeFit]]]:
    """Return the trees of each choice, with their training.

    Other folds have other rows, and the rest in common: trees, scaling and settings.
    """
    training, held_out = parts
    seeds = rng.integers(2**31, size=effort.n_trees).tolist()
    first: dict[float, list[tuple[Any, TreeFit]]] = {}  # by the share of ramps
    for share in dict.fromkeys(choice.ramp_share for choice in choices):
        trees = [estimator._trial_tree(seed, training, effort.weights, share) for seed in seeds]
        first[share] = [(tree, tree._plan(training, held_out)) for tree in trees]
    return [
        [(tree, _with(fit, choice, effort)) for tree, fit in first[choice.ramp_share]]
        for choice in choices
    ]


def _with(fit: TreeFit, choice: Choice, effort: Effort) -> TreeFit:
    """Return the training with another decay, and with fewer epochs."""
    usual = fit.settings
    settings = usual.set_params(
        max_epochs=max(1, round(effort.epochs * usual.max_epochs)),
        weight_decay=choice.decay_factor * usual.weight_decay,
    )
    return replace(fit, settings=settings)


def _loss(estimator: Any, members: list[tuple[Any, TreeFit]], held_out: Rows) -> float:
    """Return the loss of the mean of trees, or the mean of their losses, on held-out rows."""
    if len(members) > 1 and all(fit.result.status == "completed" for _, fit in members):
        trees = [tree._fold(fit.result.tree) for tree, fit in members]
        loss = estimator._loss_of_mean(trees, held_out)
        if loss is not None:
            return float(loss)
    curves = [fit.result.history["val_loss"] for _, fit in members]
    return float(np.mean([curve[-1] if curve.size else np.inf for curve in curves]))
