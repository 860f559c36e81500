"""The row that stands for all training rows: the mean of each input."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import FloatArray
from bneuralt.tables.encoder import TableEncoder

__all__ = ["input_means"]


def input_means(encoder: TableEncoder) -> FloatArray | None:
    """Return the mean of each input in training, with no value missing.

    Parameters
    ----------
    encoder : TableEncoder

    Returns
    -------
    array of shape (n_inputs,) or None
        None if the encoder does not know all means.

    Examples
    --------
    >>> from bneuralt.tables.encoder import learn_encoder
    >>> X = np.array([[1.0, 0.0], [np.nan, 1.0], [2.0, 0.0], [3.0, 2.0], [2.0, 2.0], [1.0, 1.0]])
    >>> input_means(learn_encoder(X, categorical_features=[1])).round(2)
    array([1.8 , 0.  , 0.33, 0.33, 0.33])
    """
    means = [entry.mean for entry in encoder.inputs]
    return None if None in means else np.array(means, dtype=np.float64)
