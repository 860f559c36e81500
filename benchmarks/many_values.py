"""Compare forests, trees and CatBoost on made tables with categories of many values.

    pip install catboost
    python -m benchmarks.many_values results.csv

Values have independent effects on the target, beside a sine, a line and a category of five values.
Tables differ in the number of values, their frequencies (even, or as in Zipf's law), the size of
the effects, the number of rows, the number of such columns, whether values change the slope of a
number, and the task. Models have the defaults of their library and one thread. Results are appended
to the file, so that an interrupted run can be continued.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, log_loss, r2_score
from threadpoolctl import threadpool_limits

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)

N_TEST_ROWS = 5_000


class Kind(NamedTuple):
    """A kind of made table.

    `effect` is the deviation of the effects of all values together, that of the noise is 1.
    """

    task: str
    n_rows: int
    n_values: int
    frequencies: str = "even"
    effect: float = 1.5
    n_columns: int = 1
    has_slopes: bool = False
    n_classes: int = 2


#: Those of the "Done when" of this encoding, and others around them.
KINDS = [
    *(
        Kind(task, n_rows, 1_000, effect=effect)
        for task, n_rows, effect in product(
            ("regression", "classification"), (10_000, 50_000), (1.5, 0.0)
        )
    ),
    *(
        Kind(task, n_rows, n_values, frequencies, effect)
        for task, (n_rows, n_values), frequencies, effect in product(
            ("regression", "classification"),
            ((500, 50), (500, 150), (2_000, 100), (2_000, 500), (6_000, 150), (6_000, 2_000)),
            ("even", "zipf"),
            (0.0, 0.5, 1.5),
        )
    ),
    *(
        Kind(task, 6_000, 500, "zipf", 1.0, n_columns, has_slopes)
        for task, n_columns, has_slopes in product(
            ("regression", "classification"), (1, 2), (False, True)
        )
    ),
    *(Kind("classification", n_rows, 300, "zipf", 1.5, n_classes=5) for n_rows in (2_000, 8_000)),
    Kind("classification", 50_000, 10_000, "zipf"),
]


def made_table(kind: Kind, seed: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    """Return training and test rows of a made table, and their targets."""
    rng = np.random.default_rng([seed, *(hash_of(part) for part in kind)])
    n = kind.n_rows + N_TEST_ROWS
    n_outputs = kind.n_classes if kind.n_classes > 2 else 1
    numbers = rng.normal(size=(n, 3))
    few = rng.integers(5, size=n)
    score = np.outer(np.sin(2 * numbers[:, 0]) + 0.5 * numbers[:, 1], rng.normal(size=n_outputs))
    score = score / max(1e-9, float(score.std())) * 0.8 + 0.4 * rng.normal(size=(5, n_outputs))[few]
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    frame["few"] = np.array([f"f{i}" for i in range(5)])[few]
    chances = np.ones(kind.n_values)
    if kind.frequencies == "zipf":
        chances = 1.0 / np.arange(1, kind.n_values + 1)
    scale = kind.effect / np.sqrt(kind.n_columns)
    for column in range(kind.n_columns):
        value = rng.choice(kind.n_values, n, p=chances / chances.sum())
        effects = rng.normal(0.0, scale, (kind.n_values, n_outputs))
        if kind.has_slopes:
            slopes = rng.normal(0.0, scale / np.sqrt(2), (kind.n_values, n_outputs))
            score = score + effects[value] / np.sqrt(2) + slopes[value] * numbers[:, 2:3]
        else:
            score = score + effects[value]
        names = np.array([f"v{i}" for i in rng.permutation(kind.n_values)])
        frame[f"many{column}"] = names[value]
    if kind.task == "regression":
        y: np.ndarray = score[:, 0] + rng.normal(size=n)
    elif n_outputs == 1:
        y = (score[:, 0] + rng.logistic(size=n) / 1.81 > 0).astype(int)
    else:
        y = np.argmax(score + rng.gumbel(size=score.shape) / 1.28, axis=1)
    train = slice(None, kind.n_rows)
    test = slice(kind.n_rows, None)
    return frame[train], y[train], frame[test].reset_index(drop=True), y[test]


def hash_of(part: Any) -> int:
    """Return a number for a part of the description of a table."""
    if isinstance(part, str):
        return sum(map(ord, part))
    return int(100 * part)


def catboost(task: str, X: pd.DataFrame, seed: int) -> Any:
    """Return CatBoost with the names of the columns that are categories."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    texts = [name for name in X if X[name].dtype.kind not in "fi"]
    made = CatBoostRegressor if task == "regression" else CatBoostClassifier
    return made(
        random_seed=seed,
        cat_features=texts,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


def forest(task: str, X: pd.DataFrame, seed: int) -> Any:
    """Return the default forest."""
    made = BNeuralForestRegressor if task == "regression" else BNeuralForestClassifier
    return made(random_state=seed, n_jobs=1)


def tree(task: str, X: pd.DataFrame, seed: int) -> Any:
    """Return the default tree."""
    made = BNeuralTRegressor if task == "regression" else BNeuralTClassifier
    return made(random_state=seed, n_jobs=1)


def forest_of_values(task: str, X: pd.DataFrame, seed: int) -> Any:
    """Return the default forest with an input for each frequent value, and no means."""
    forms = {name: "values" for name in X if name.startswith("many")}
    return forest(task, X, seed).set_params(categorical_features=forms)


def tree_of_values(task: str, X: pd.DataFrame, seed: int) -> Any:
    """Return the default tree with an input for each frequent value, and no means."""
    forms = {name: "values" for name in X if name.startswith("many")}
    return tree(task, X, seed).set_params(categorical_features=forms)


MODELS = {
    "forest": forest,
    "forest of values": forest_of_values,
    "tree": tree,
    "tree of values": tree_of_values,
    "CatBoost": catboost,
}


def scores(task: str, model: Any, X: pd.DataFrame, y: np.ndarray) -> tuple[float, float]:
    """Return accuracy and log-loss, or r2 twice."""
    if task == "regression":
        r2 = float(r2_score(y, model.predict(X)))
        return r2, r2
    chances = model.predict_proba(X)
    right = accuracy_score(y, model.classes_[chances.argmax(axis=1)])
    return float(right), float(log_loss(y, chances, labels=model.classes_))


FIELDS = ("seed", "model", "score", "log_loss", "seconds")


def main() -> None:
    """Measure what the file does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--max-rows", type=int, default=10**9)
    parser.add_argument("--min-rows", type=int, default=0)
    parser.add_argument("--kinds", type=int, help="only so many kinds, from the first on")
    arguments = parser.parse_args()
    done = set()
    if arguments.results.exists():
        with arguments.results.open() as file:
            done = {tuple(row[: len(Kind._fields) + 2]) for row in csv.reader(file)}
    warnings.simplefilter("ignore")
    with arguments.results.open("a", newline="") as file, threadpool_limits(1):
        write = csv.writer(file).writerow
        if not done:
            write([*Kind._fields, *FIELDS])
        for seed, kind, name in product(
            range(arguments.seeds), KINDS[: arguments.kinds], arguments.models
        ):
            key = (*map(str, kind), str(seed), name)
            if key in done or not arguments.min_rows <= kind.n_rows <= arguments.max_rows:
                continue
            X, y, X_test, y_test = made_table(kind, seed)
            model = MODELS[name](kind.task, X, seed)
            started = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - started
            found = scores(kind.task, model, X_test, y_test)
            write([*key, *(f"{score:.4f}" for score in found), f"{seconds:.2f}"])
            file.flush()


if __name__ == "__main__":
    main()
