"""Make the table of the tutorial: ``python docs/tutorial/pumps.py`` writes pumps.csv beside it.

The table is invented: pumps of a waterworks, what their sensors said in one week, and whether they
failed in the next one. It has the faults of real files: gaps, words in columns of numbers, -999 for
a sensor that does not answer, dates as text, an index, and a column that says nothing.
"""

import csv
from pathlib import Path

import numpy as np

N_ROWS = 1600
COLUMNS = (
    "",
    "pump",
    "type",
    "installed",
    "hours",
    "vibration",
    "temperature",
    "pressure",
    "operator",
    "fails",
)


def rows(seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["Axial", "Centrifugal", "Piston"], N_ROWS, p=[0.3, 0.5, 0.2])
    age = rng.integers(30, 4000, N_ROWS)
    hours = rng.gamma(2.0, 900.0, N_ROWS)
    vibration = np.exp(rng.normal(0.6, 0.45, N_ROWS)) + 0.0002 * hours
    temperature = rng.normal(55, 6, N_ROWS) + 4 * (kind == "Piston")
    pressure = rng.normal(6, 0.8, N_ROWS)
    operator = rng.choice(["A", "B", "C", "D"], N_ROWS)
    score = (
        -3.1
        + 0.9 * np.maximum(vibration - 2.5, 0)
        + 0.0006 * hours
        + 0.12 * np.maximum(temperature - 60, 0) * (kind == "Piston")
        - 0.7 * np.minimum(pressure - 5.5, 0)
        + 0.0002 * age
    )
    fails = rng.random(N_ROWS) < 1 / (1 + np.exp(-score))
    dates = np.datetime64("2024-06-30") - age
    for i in range(N_ROWS):
        temperature_text = f"{temperature[i]:.1f}"
        if rng.random() < 0.05:
            temperature_text = rng.choice(["", "n/a", "defect"])
        yield (
            i,
            f"P{rng.integers(100, 999)}",
            "" if rng.random() < 0.04 else kind[i],
            dates[i],
            round(hours[i]),
            -999 if rng.random() < 0.03 else f"{vibration[i]:.2f}",
            temperature_text,
            "" if rng.random() < 0.06 else f"{pressure[i]:.2f}",
            operator[i],
            "yes" if fails[i] else "no",
        )


if __name__ == "__main__":
    path = Path(__file__).with_suffix(".csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows())
