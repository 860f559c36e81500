"""Measure quantiles, prediction intervals and monotone effects with default settings.

    python -m benchmarks.targets quantiles --data-home ../shared
    python -m benchmarks.targets intervals --data-home ../shared
    python -m benchmarks.targets monotone --data-home ../shared

Each command prints a table for docs/quality.md. All splits are 80 % training and 20 % test rows,
the same for all models; split number i is that of run i of the paper's experiments.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, mean_pinball_loss, r2_score
from threadpoolctl import threadpool_limits

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    load_dataset,
)
from bneuralt_paper.datasets.catalogue import PAPER_REGRESSION
from bneuralt_paper.experiments.protocols import derive_seed

QUANTILES = (0.05, 0.5, 0.95)


class Split(NamedTuple):
    """Training and test rows, and the seed of the models."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    seed: int


def splits(X: np.ndarray, y: np.ndarray, n_splits: int) -> Iterator[Split]:
    """Return random splits of a table."""
    for i in range(n_splits):
        order = np.random.default_rng(derive_seed(i, "split")).permutation(len(y))
        train, test = np.split(order, [int(0.8 * len(order))])
        yield Split(X[train], y[train], X[test], y[test], derive_seed(i, "model"))


def print_table(header: list[str], rows: list[list[Any]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " ---: |" * (len(header) - 1))
    for row in rows:
        cells = (f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row)
        print("| " + " | ".join(cells) + " |", flush=True)


def with_mean(rows: list[list[Any]]) -> list[list[Any]]:
    """Return the rows, and a row with the mean of each column."""
    columns = list(zip(*rows, strict=True))[1:]
    return [*rows, ["mean", *(float(np.mean(column)) for column in columns)]]


# -- quantiles ----------------------------------------------------------------------------


def boosted_quantiles(split: Split) -> np.ndarray:
    """Return the quantiles that one boosted model for each of them predicts."""
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=split.seed)
        for q in QUANTILES
    ]
    return np.stack([m.fit(split.X, split.y).predict(split.X_test) for m in models], axis=1)


def neural_quantiles(kind: type) -> Callable[[Split], np.ndarray]:
    """Return the quantiles that a single model predicts."""
    return lambda split: (
        kind(loss="quantile", quantiles=QUANTILES, random_state=split.seed)
        .fit(split.X, split.y)
        .predict(split.X_test)
    )


QUANTILE_MODELS = {
    "forest": neural_quantiles(BNeuralForestRegressor),
    "tree": neural_quantiles(BNeuralTRegressor),
    "boosting": boosted_quantiles,
}


def quantiles(data_home: str | None, n_splits: int) -> None:
    """Print mean pinball losses, in standard deviations of the target, and crossing quantiles."""
    rows = []
    for name in PAPER_REGRESSION:
        dataset = load_dataset(name, data_home=data_home)
        losses: dict[str, list[float]] = {model: [] for model in QUANTILE_MODELS}
        crossing: dict[str, list[float]] = {model: [] for model in QUANTILE_MODELS}
        for split in splits(dataset.X, dataset.y, n_splits):
            for model, predict in QUANTILE_MODELS.items():
                predicted = predict(split)
                costs = [
                    mean_pinball_loss(split.y_test, predicted[:, k], alpha=q)
                    for k, q in enumerate(QUANTILES)
                ]
                losses[model].append(float(np.mean(costs) / dataset.y.std()))
                crossing[model].append(float((np.diff(predicted) < 0).any(axis=1).mean()))
        rows.append([name, *(float(np.mean(part[m])) for part in (losses, crossing) for m in part)])
    models = list(QUANTILE_MODELS)
    print_table(["data set", *models, *(f"{model} crosses" for model in models)], with_mean(rows))


# -- intervals ----------------------------------------------------------------------------

INTERVAL_MODELS: dict[str, Callable[[int], Any]] = {
    "tree, conformal": lambda seed: BNeuralTRegressor(conformal=0.25, random_state=seed),
    "tree, quantiles + conformal": lambda seed: BNeuralTRegressor(
        conformal=0.25, loss="quantile", random_state=seed
    ),
    "forest, out of bag": lambda seed: BNeuralForestRegressor(
        n_estimators=20, bootstrap=True, random_state=seed
    ),
    "tree, quantiles alone": lambda seed: BNeuralTRegressor(loss="quantile", random_state=seed),
}


def intervals(data_home: str | None, n_splits: int, coverage: float = 0.9) -> None:
    """Print the share of test targets inside of intervals, and their mean width."""
    rows = []
    for name in PAPER_REGRESSION:
        dataset = load_dataset(name, data_home=data_home)
        inside: dict[str, list[float]] = {model: [] for model in INTERVAL_MODELS}
        width: dict[str, list[float]] = {model: [] for model in INTERVAL_MODELS}
        for split in splits(dataset.X, dataset.y, n_splits):
            for model, make in INTERVAL_MODELS.items():
                fitted = make(split.seed).fit(split.X, split.y)
                if "alone" in model:
                    ends = fitted.predict(split.X_test)[:, [0, 2]]
                else:
                    ends = fitted.predict_interval(split.X_test, coverage)
                low, high = ends.T
                inside[model].append(float(np.mean((low <= split.y_test) & (split.y_test <= high))))
                width[model].append(float(np.mean(high - low) / dataset.y.std()))
        rows.append([name, *(float(np.mean(part[m])) for part in (inside, width) for m in part)])
    models = list(INTERVAL_MODELS)
    print_table(["data set", *models, *(f"{model}: width" for model in models)], with_mean(rows))


# -- monotone effects ---------------------------------------------------------------------


def monotone_tables(
    data_home: str | None,
) -> Iterator[tuple[str, np.ndarray, np.ndarray, list[int]]]:
    """Return tables with effects that are known to be monotone, and their directions."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (800, 5))
    additive = np.exp(X[:, 0]) - 3 * X[:, 1] + 4 * np.tanh(2 * X[:, 2]) + X[:, 3] ** 3
    yield "additive", X, additive + rng.normal(0, 2, 800), [1, -1, 1, 1, 0]
    product = 4 / (1 + np.exp(-2 * X[:, 0])) * np.exp(0.5 * X[:, 1]) - np.maximum(X[:, 2], X[:, 3])
    yield "product", X, product + rng.normal(0, 1, 800), [1, 1, -1, -1, 0]
    mixed = 2 * X[:, 0] + 3 * np.sin(2 * X[:, 1]) + X[:, 2] ** 2 * (X[:, 3] > 0) - X[:, 4]
    yield "mixed", X, mixed + rng.normal(0, 1, 800), [1, 0, 0, 0, -1]
    chance = 1 / (1 + np.exp(-(additive - np.median(additive)) / 2))
    yield "two classes", X, (rng.random(800) < chance).astype(int), [1, -1, 1, 1, 0]
    dataset = load_dataset("friedman", data_home=data_home)
    yield "friedman", dataset.X, dataset.y, [0, 0, 0, 1, 1]
    dataset = load_dataset("mpg6", data_home=data_home)
    yield "mpg6", dataset.X, dataset.y, [0, -1, -1, 0, 1]


def monotone(data_home: str | None, n_splits: int) -> None:
    """Print test scores without and with constraints."""
    rows = []
    for name, X, y, signs in monotone_tables(data_home):
        regression = y.dtype.kind == "f"
        kinds = (
            (BNeuralTRegressor, BNeuralForestRegressor)
            if regression
            else (BNeuralTClassifier, BNeuralForestClassifier)
        )
        score = r2_score if regression else accuracy_score
        scores: dict[tuple[type, bool], list[float]] = {
            (kind, constrained): [] for kind in kinds for constrained in (False, True)
        }
        for split in splits(X, y, n_splits):
            for (kind, constrained), model_scores in scores.items():
                model = kind(random_state=split.seed, monotonic_cst=signs if constrained else None)
                model.fit(split.X, split.y)
                assert model.check_monotonic().holds
                model_scores.append(float(score(split.y_test, model.predict(split.X_test))))
        row: list[Any] = [name]
        for kind in kinds:
            free, bound = np.array(scores[kind, False]), np.array(scores[kind, True])
            error = float(np.std(bound - free, ddof=1) / np.sqrt(n_splits))
            row += [float(free.mean()), float(bound.mean())]
            row += [f"{float((bound - free).mean()):+.4f} ± {error:.4f}"]
        rows.append(row)
    columns = ("", ", constrained", ": difference")
    print_table(["data", *(kind + c for kind in ("tree", "forest") for c in columns)], rows)
    for kind, at in (("tree", 3), ("forest", 6)):
        print(f"mean difference, {kind}: {np.mean([float(r[at].split()[0]) for r in rows]):+.4f}")


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("quantiles", "intervals", "monotone"))
    parser.add_argument("--data-home")
    parser.add_argument("--splits", type=int)
    arguments = parser.parse_args()
    measure, standard = {
        "quantiles": (quantiles, 10),
        "intervals": (intervals, 30),
        "monotone": (monotone, 10),
    }[arguments.what]
    with threadpool_limits(1):
        measure(arguments.data_home, arguments.splits or standard)


if __name__ == "__main__":
    main()
