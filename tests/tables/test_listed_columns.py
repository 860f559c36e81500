"""Warnings about values list some columns, and count the others."""

import numpy as np
import pytest

from bneuralt import BNeuralTClassifier
from bneuralt.tables.value_warnings import MOST_COLUMNS, MissingValuesWarning

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, MOST_COLUMNS + 3)), np.arange(60) % 2
MODEL = BNeuralTClassifier(max_epochs=1, n_weights=20, random_state=0).fit(X, Y)


@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_columns_with_new_gaps(more):
    damaged = X.copy()
    damaged[3, : MOST_COLUMNS + more] = np.nan
    with pytest.warns(MissingValuesWarning) as caught:
        MODEL.predict(damaged)
    message = str(caught[0].message)
    assert message.count("1 value of column") == MOST_COLUMNS + min(more, 0)
    endings = {1: "; and 1 more column.", 2: "; and 2 more columns."}
    assert ("more column" in message) == (more > 0)
    assert endings.get(more, ". They are") in message
