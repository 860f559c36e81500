"""Use a data frame as it is: text, dates, missing values, and numbers that stand for them."""

import warnings

import numpy as np
import pandas as pd

from bneuralt import BNeuralForestClassifier

rng = np.random.default_rng(0)
n = 800
table = pd.DataFrame(
    {
        "age": rng.integers(18, 90, n).astype(float),
        "city": rng.choice(["Rome", "Paris", "Oslo"], n),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        "height": rng.normal(170, 10, n).round(),
    }
)
target = np.where((table["age"] > 50) ^ (table["city"] == "Rome"), "buys", "leaves")
table.loc[rng.random(n) < 0.1, "age"] = np.nan
table.loc[rng.random(n) < 0.1, "city"] = None
table.loc[rng.random(n) < 0.05, "height"] = -999

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = BNeuralForestClassifier(random_state=0).fit(table[:600], target[:600])
for warning in caught:
    print("noted:", warning.message)
print(f"accuracy on new rows {model.score(table[600:], target[600:]):.3f}")
importances = zip(model.feature_importances_, table.columns, strict=True)
for share, name in sorted(importances, reverse=True):
    print(f"{share:5.0%} {name}")
