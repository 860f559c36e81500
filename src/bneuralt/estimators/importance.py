"""How important each feature is to a model: its mean contribution on training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.estimators.rows import Rows
from bneuralt.tables.encoder import TableEncoder
from bneuralt.tree import NeuralTree
from bneuralt.tree.contributions import feature_contributions

__all__ = ["mean_contributions"]

#: More rows change a mean little; they are a random sample, since rows are sorted by a hash.
MOST_ROWS = 1000
#: Contributions that are held at a time.
MOST_NUMBERS = 500_000


def mean_contributions(
    trees: Sequence[NeuralTree], rows: Rows, encoder: TableEncoder, n_features: int
) -> FloatArray:
    """Return the share of each feature in the mean absolute contributions to the outputs.

    Parameters
    ----------
    trees : sequence of NeuralTree
        Their outputs are averaged.
    rows : Rows
        Training rows; at most 1,000 of them are used.
    encoder : TableEncoder
        Its means are the baseline.
    n_features : int

    Returns
    -------
    array of shape (n_features,)
        They add up to 1, unless no feature contributes at all.
    """
    baseline = encoder.mean_inputs
    assert baseline is not None
    chosen = rows if len(rows) <= MOST_ROWS else rows.take(np.arange(MOST_ROWS))
    X: Array = chosen.X
    mean = np.zeros(n_features)
    n_rows = max(1, MOST_NUMBERS // (n_features * trees[0].n_outputs))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(X), n_rows):
            block = slice(start, start + n_rows)
            total: FloatArray = np.zeros(())
            for tree in trees:
                total = total + feature_contributions(
                    tree, X[block], baseline, encoder.groups, n_features
                )
            mean += chosen.weight[block] @ np.abs(total).sum(axis=2)
        share: FloatArray = mean / (mean.sum() or 1.0)
    return share
