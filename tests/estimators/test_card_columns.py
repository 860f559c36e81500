"""Columns of the card have the values that the model reads."""

import re

import numpy as np
import pytest

from bneuralt import BNeuralTClassifier


def test_texts_that_are_numbers_and_sentinels():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    numbers = rng.normal(50, 5, 300).round(1)
    table = pd.DataFrame({"t": numbers.astype(str), "v": rng.normal(size=300).round(2)})
    y = numbers > 50
    table.loc[::20, "t"] = "defect"
    table.loc[::25, "v"] = -999
    with pytest.warns(UserWarning):
        model = BNeuralTClassifier(n_weights=20, random_state=0).fit(table[:200], y[:200])
    card = model.card(table[200:], y[200:])
    rows = re.findall(r"<tr>(.*?)</tr>", card, re.DOTALL)
    of = {name: next(row for row in rows if f">{name}<" in row) for name in ("t", "v")}
    assert "5.0%" in of["t"] and "4.0%" in of["v"]  # missing
    assert "999" not in of["v"] and "defect" not in of["t"]
