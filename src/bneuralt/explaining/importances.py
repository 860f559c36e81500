"""Importance of each feature of a model: its mean absolute contribution on training rows."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import Array, FloatArray
from bneuralt.model import Model
from bneuralt.tree.contributions import feature_contributions

__all__ = ["MAX_ROWS", "mean_contributions"]

#: Largest number of rows; more rows hardly change the mean.
MAX_ROWS = 1000
#: Largest number of contributions in memory at a time.
MAX_NUMBERS = 500_000


def mean_contributions(model: Model, inputs: Array, weight: FloatArray) -> FloatArray:
    """Return the share of each feature in the mean absolute contributions to the outputs.

    Parameters
    ----------
    model : Model
        The means of its inputs are the baseline.
    inputs : array of shape (n_rows, n_inputs)
    weight : array of shape (n_rows,)

    Returns
    -------
    array of shape (n_features,)
        The sum is 1, or 0 if no feature contributes.
    """
    model = model.in_raw_units()
    n_features, baseline = len(model.encoder.features), model.mean_inputs
    assert baseline is not None
    mean = np.zeros(n_features)
    n_rows = max(1, MAX_NUMBERS // (n_features * model.n_outputs))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(inputs), n_rows):
            block = slice(start, start + n_rows)
            total: FloatArray = np.zeros(())
            for tree in model.trees:
                total = total + feature_contributions(
                    tree, inputs[block], baseline, model.column_of_input, n_features
                )
            mean += weight[block] @ np.abs(total).sum(axis=2)
        share: FloatArray = mean / (mean.sum() or 1.0)
    return share
