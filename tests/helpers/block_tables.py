"""Tables of sales as data frames and as folders of files, for tests of tables in blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

#: With this memory, `sales` has several blocks.
LITTLE = "1.1MB"


def sales(n_rows: int = 6000, seed: int = 0) -> pd.DataFrame:
    """Return rows with numbers, gaps, text and dates, and the targets price and kind."""
    rng = np.random.default_rng(seed)
    size, age = rng.normal(size=n_rows), rng.exponential(10, n_rows)
    shop = rng.choice(["north", "south", "west"], n_rows)
    sold = np.datetime64("2021-01-01") + rng.integers(0, 900, n_rows).astype("timedelta64[D]")
    price = 2 * size + np.sqrt(age) + (shop == "west") + rng.normal(size=n_rows) * 0.2
    frame = pd.DataFrame(
        {
            "size": size,
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, age),
            "shop": np.where(rng.random(n_rows) < 0.05, None, shop),
            "sold": sold.astype("datetime64[s]"),
            "rooms": rng.integers(1, 9, n_rows),
            "price": price,
        }
    )
    frame["kind"] = np.select([price < 2, price < 5], ["cheap", "usual"], "dear")
    return frame


def write_parts(frame, folder, n_files=3, ending="parquet"):
    """Write a frame to several files."""
    ends = np.linspace(0, len(frame), n_files + 1).astype(int)
    for i, (start, stop) in enumerate(itertools.pairwise(ends)):
        part, path = frame.iloc[start:stop].reset_index(drop=True), folder / f"part{i}.{ending}"
        if ending == "parquet":
            part.to_parquet(path)
        elif ending == "feather":
            part.to_feather(path)
        else:
            part.to_csv(path, index=False)
    return str(folder / f"*.{ending}")
