"""Choice of the weight decay of a forest on small tables with categories.

A leaf of a category has a weight for each value, and few rows for each weight. Whether more decay
is better depends on the noise of the target, so it is decided by cross-validation. Tables of both
kinds are in `docs/quality.md`.
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

#: Candidates; of equal ones, the first is chosen.
FACTORS = (1.0, 4.0)
N_FOLDS = 3
#: Number of trees of each trial.
N_TREES = 4
#: With more rows than this, there is no trial.
MOST_ROWS = 1_000


def needs_trial(forest: BNeuralForestClassifier, rows: Rows) -> bool:
    """Return whether the factor of the decay is chosen by cross-validation."""
    return (
        is_auto(setting_of(forest, "weight_decay"))
        and bool(forest.encoder_.one_hot_inputs)
        and not forest.multilabel_
        and not forest.early_stopping
        and forest._training.select in ("auto", None)
        and rows.n_separate >= FEWEST_ROWS_TO_SPLIT
        and rows.n_examples <= MOST_ROWS
    )


def decay_factor(forest: BNeuralForestClassifier, rows: Rows, seed: int) -> float:
    """Return the factor of the weight decay with the lowest log-loss in a cross-validation.

    Parameters
    ----------
    forest : BNeuralForestClassifier
        An unfitted forest whose input has been read.
    rows : Rows
        Training rows.
    seed : int
    """
    separate = rows.separate
    folds = fold_of_each(separate.y, N_FOLDS, np.random.default_rng([2, seed]))
    seeds = np.random.SeedSequence([3, seed]).spawn(N_TREES)
    losses = []
    for factor in FACTORS:
        loss = 0.0
        for k in range(N_FOLDS):
            held_out = separate.take(np.flatnonzero(folds == k)).merged()
            training = separate.take(np.flatnonzero(folds != k)).merged()
            members: list[Any] = [
                forest._new_member(int(child.generate_state(1)[0]), factor) for child in seeds
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingDiverged)  # the final fit warns
                forest._train_here(members, training, None)
            shares = forest._mean_probabilities([member.tree_ for member in members], held_out.X)
            likelihood = shares[np.arange(len(held_out)), held_out.y]
            likelihood = np.maximum(likelihood, np.finfo(np.float64).tiny)
            loss -= float(held_out.weight @ np.log(likelihood))
        losses.append(loss)
    return FACTORS[int(np.argmin(losses))]
