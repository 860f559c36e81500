"""Text, dates and missing values under the names of their columns."""

import numpy as np
import pandas as pd

from bneuralt import BNeuralTRegressor, plot_tree

rng = np.random.default_rng(0)
flats = pd.DataFrame(
    {
        "area": rng.normal(80, 25, 500).round(),
        "district": rng.choice(["harbour", "old town", "park", "station"], 500),
        "lift": rng.choice(["yes", "no"], 500),
        "built": pd.to_datetime(rng.integers(-7000, 19000, 500), unit="D"),
    }
)
rent = 6 * flats["area"] * (1 + 0.5 * (flats["district"] == "old town")) + 2 * (
    flats["built"].dt.year - 1950
)
flats.loc[::9, "area"] = np.nan
reg = BNeuralTRegressor(n_weights=40, random_state=0).fit(flats, rent)

drawing = plot_tree(reg, output_names=["rent"])
