"""Tables that the playground comes with: iris, and made ones."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["examples"]


def examples() -> list[dict[str, Any]]:
    """Return name, text and target of each table."""
    return [
        {"name": "Iris: three kinds of flowers", "target": "species", "text": _iris()},
        {"name": "Customers: who leaves? (made; gaps, text, dates)", "target": "leaves",
         "text": _customers()},
        {"name": "Flats: what is the rent? (made)", "target": "rent", "text": _flats()},
        {"name": "Rings: two numbers, two classes (made)", "target": "ring", "text": _rings()},
    ]  # fmt: skip


def _csv(names: list[str], columns: list[Any]) -> str:
    rows = [",".join(names), *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    return "\n".join(rows) + "\n"


def _iris() -> str:
    from sklearn.datasets import load_iris

    data = load_iris()
    names = [name.replace(" (cm)", " cm") for name in data.feature_names]
    species = data.target_names[data.target]
    return _csv([*names, "species"], [*data.data.T, species])


def _customers(n: int = 600) -> str:
    rng = np.random.default_rng(1)
    age, months = rng.integers(18, 80, n), rng.integers(1, 72, n)
    plan = rng.choice(["basic", "family", "business"], n, p=[0.5, 0.3, 0.2])
    calls = rng.poisson(1.2, n)
    start = np.datetime64("2025-12-01") - (30 * months).astype("timedelta64[D]")
    fee = np.round(12 + 9 * (plan == "family") + 25 * (plan == "business") + rng.normal(0, 2, n), 2)
    # calls matter in the first two years only, and middle age stays
    score = 1.6 * calls * (months < 24) + 0.09 * np.abs(age - 48) - 2.2 + (plan == "basic")
    leaves = np.where(score + rng.logistic(0, 0.4, n) > 0, "yes", "no")
    texts = [column.astype(str).astype(object) for column in (age, plan, fee)]
    for column, share in zip(texts, (0.05, 0.05, 0.03), strict=True):
        column[rng.random(n) < share] = ""
    number = np.arange(1001, 1001 + n)
    names = ["customer id", "age", "plan", "monthly fee", "calls to support", "customer since"]
    return _csv([*names, "leaves"], [number, *texts, calls, start, leaves])


def _flats(n: int = 500) -> str:
    rng = np.random.default_rng(2)
    area, rooms = np.round(rng.gamma(9, 8, n) + 18, 1), rng.integers(1, 6, n)
    district = rng.choice(["centre", "north", "south", "harbour"], n)
    year, floor = rng.integers(1900, 2025, n), rng.integers(0, 9, n)
    place = {"centre": 5.5, "north": 1.0, "south": 0.0, "harbour": 3.0}
    per_area = 10 + np.vectorize(place.get)(district) + 2.5 * (year > 2000) + 0.8 * (year < 1930)
    rent = area * per_area * (1 - 0.0018 * (area - 80)) + 9 * np.minimum(floor, 4)
    rent = np.round(rent + rng.normal(0, 45, n))
    names = ["area", "rooms", "district", "built", "floor", "rent"]
    return _csv(names, [area, rooms, district, year, floor, rent.astype(int)])


def _rings(n: int = 600) -> str:
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-3, 3, (2, n))
    ring = np.where(np.sin(2.2 * np.hypot(x, y)) + rng.normal(0, 0.15, n) > 0, "blue", "orange")
    return _csv(["x", "y", "ring"], [np.round(x, 3), np.round(y, 3), ring])
