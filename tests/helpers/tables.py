"""Tables that several tests learn from."""

import csv

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
BREAST_CANCER = load_breast_cancer(return_X_y=True)


def people(n=200, seed=0):
    """Return a table with gaps, text, dates, booleans and durations, and two targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170, 10, n),
            "colour": rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2]),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D"),
            "member": rng.random(n) < 0.5,
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "stay": pd.to_timedelta(rng.integers(1, 90, n), "min"),
            "city": pd.Categorical(rng.choice(["Köln", "Rome"], n)),
        }
    )
    y = (frame["height"] > 170) ^ (frame["colour"] == "red")
    frame.loc[rng.random(n) < 0.2, "height"] = np.nan
    frame.loc[rng.random(n) < 0.2, "colour"] = None
    frame.loc[rng.random(n) < 0.1, "visits"] = pd.NA
    frame.loc[rng.random(n) < 0.1, "when"] = pd.NaT
    return frame, np.where(y, "yes", "no")


def write_flowers(path, n_rows=120, seed=0):
    """Write a table of three kinds of flowers with two lengths and a colour."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["length", "width", "colour", "kind"])
        for i in range(n_rows):
            kind = i % 3
            length, width = rng.normal([3 * kind, -kind], 0.7)
            colour = ["red", "blue", "white"][rng.integers(3) if kind else 0]
            writer.writerow([round(length, 3), round(width, 3), colour, "abc"[kind] * 3])
    return path


def write_prices(path, n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    rooms, area = rng.integers(1, 8, n_rows), rng.uniform(20, 200, n_rows)
    lines = [f"{r};{a:.2f};{r * 10 + a * 3 + e:.3f}" for r, a, e in zip(
        rooms, area, rng.normal(0, 5, n_rows), strict=True)]  # fmt: skip
    path.write_text("rooms;area;price\r\n" + "\r\n".join(lines) + "\r\n")
    return path
