"""How much the weights of a forest are decayed on small tables with categories.

A leaf of a category has a weight for each value, and few rows to learn it from. Whether that needs
more decay than numbers do depends on how much of the target is noise, which nothing but a trial can
tell: `docs/quality.md` has tables on either side.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt.estimators.nested import setting_of
from bneuralt.estimators.rows import Rows
from bneuralt.estimators.splits import FEWEST_ROWS_TO_SPLIT, fold_of_each
from bneuralt.training import TrainingDiverged
from bneuralt.values import is_auto

if TYPE_CHECKING:
    from bneuralt.estimators.forest import BNeuralForestClassifier

__all__ = ["decay_factor", "needs_trial"]

#: Tried in this order; of equals, the first one is taken.
FACTORS = (1.0, 4.0)
N_FOLDS = 3
#: Trees of each trial.
N_TREES = 4
#: With more rows than this, the usual decay is taken.
MOST_ROWS = 1_000


def needs_trial(forest: BNeuralForestClassifier, rows: Rows) -> bool:
    """Return whether the decay is to be found by a trial."""
    return (
        is_auto(setting_of(forest, "weight_decay"))
        and bool(forest.encoder_.one_hot_inputs)
        and not forest.multilabel_
        and not forest.early_stopping
        and forest._training.select in ("auto", None)
        and len(rows) >= FEWEST_ROWS_TO_SPLIT
        and rows.n_examples <= MOST_ROWS
    )


def decay_factor(forest: BNeuralForestClassifier, rows: Rows, seed: int) -> float:
    """Return by which factor the decay is to be multiplied: the one of the lowest log-loss.

    Parameters
    ----------
    forest : BNeuralForestClassifier
        That has read its input.
    rows : Rows
        Training rows. Each is predicted by trees that have not seen it, in a cross-validation.
    seed : int
    """
    folds = fold_of_each(rows.y, N_FOLDS, np.random.default_rng([2, seed]))
    seeds = np.random.SeedSequence([3, seed]).spawn(N_TREES)
    losses = []
    for factor in FACTORS:
        loss = 0.0
        for k in range(N_FOLDS):
            held = rows.take(np.flatnonzero(folds == k))
            members: list[Any] = [
                forest._new_member(int(child.generate_state(1)[0]), factor) for child in seeds
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingDiverged)  # the fit itself will say so
                forest._train_here(members, rows.take(np.flatnonzero(folds != k)), None)
            shares = forest._mean_probabilities([member.tree_ for member in members], held.X)
            right = shares[np.arange(len(held)), held.y]
            loss -= float(held.weight @ np.log(np.maximum(right, np.finfo(np.float64).tiny)))
        losses.append(loss)
    return FACTORS[int(np.argmin(losses))]
