"""Choice of the weight decay, and of ramps in first trees, by cross-validation of small trees.

How much decay is best depends on the noise of the target, and whether trees should have ramps from
the beginning on how often its effects change their direction. The numbers of rows and columns show
neither. So some small trees are trained for a short time with each choice, and another one than the
usual is used if it lowers the loss on held-out rows by more than one standard error. The
experiments behind the numbers are in `docs/quality.md`.
"""

from __future__ import annotations

import warnings
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

#: Alternatives to the usual choice.
DECAYS = (Choice(decay_factor=0.25), Choice(decay_factor=4.0))
RAMPS = (Choice(ramp_share=0.8),)
#: The second kind is tried from this number of rows on.
ROWS_FOR_RAMPS = 500

N_FOLDS = 5
#: Shares of the usual number of weights and of epochs.
WEIGHTS, EPOCHS = 0.3, 0.25
#: With more rows than this, there is no trial.
MOST_ROWS = 10_000


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
    choices = [USUAL, *_alternatives(estimator, rows)]
    if len(choices) == 1:
        return USUAL
    losses = _losses(estimator, rows, seed, choices)
    best = int(np.argmin(losses.mean(axis=0)))
    gain = losses[:, 0] - losses[:, best]
    if not np.isfinite(gain).all():  # a training diverged
        return USUAL
    error = gain.std(ddof=1) / np.sqrt(N_FOLDS)
    return choices[best] if gain.mean() > error else USUAL


def _alternatives(estimator: Any, rows: Rows) -> list[Choice]:
    if (
        rows.n_separate < FEWEST_ROWS_TO_SPLIT
        or rows.n_examples > MOST_ROWS
        or estimator.early_stopping
        or estimator._training.select not in ("auto", None)
    ):
        return []
    alternatives: list[Choice] = []
    if is_auto(setting_of(estimator, "weight_decay")):
        alternatives += DECAYS
    if estimator.ramps == "auto" and estimator.encoder_.has_ramps and len(rows) >= ROWS_FOR_RAMPS:
        alternatives += RAMPS
    return alternatives


def _losses(estimator: Any, rows: Rows, seed: int, choices: list[Choice]) -> FloatArray:
    """Return the loss on held-out rows, of shape (n_folds, n_choices)."""
    separate = rows.separate
    rng = np.random.default_rng([2, seed])
    folds = fold_of_each(separate.y, N_FOLDS, rng)
    fits: list[TreeFit] = []
    for k, tree_seed in enumerate(rng.integers(2**31, size=N_FOLDS).tolist()):
        training, held_out = divided(separate, folds == k)
        for share in dict.fromkeys(choice.ramp_share for choice in choices):
            tree = estimator._trial_tree(tree_seed, training, WEIGHTS, share)
            fit = tree._plan(training, held_out)
            usual = fit.settings
            for choice in choices:
                if choice.ramp_share == share:
                    settings = usual.set_params(
                        max_epochs=max(1, round(EPOCHS * usual.max_epochs)),
                        weight_decay=choice.decay_factor * usual.weight_decay,
                    )
                    fits.append(replace(fit, settings=settings))
    batch = FitBatch(fits, len(fits))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingDiverged)  # the final fit warns
        batch.train(rows, None, estimator._n_threads())
    losses = [np.append(np.inf, fit.result.history["val_loss"])[-1] for fit in fits]
    return np.array(losses).reshape(N_FOLDS, len(choices))
