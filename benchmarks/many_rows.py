"""Compare a forest, its tree and a linear model on made tables of millions of rows.

    python -m benchmarks.many_rows --rows 10000000 --trees 10

Each task is a formula over ten columns with noise. A line of JSON for each task and model: the
score on 200,000 other rows (r2, or accuracy), the best score that is possible, and processor time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bneuralt._typing import Array, FloatArray

N_TEST = 200_000

Signal = Callable[[Array], FloatArray]


def _linear(x: Array) -> FloatArray:
    return np.asarray(x @ np.linspace(-1, 1, x.shape[1]))


def _smooth(x: Array) -> FloatArray:
    return np.asarray(
        np.sin(2 * x[:, 0] + x[:, 1])
        + x[:, 2] * x[:, 3]
        + np.exp(-np.square(x[:, 4:7]).sum(axis=1))
    )


def _thresholds(x: Array) -> FloatArray:
    steps = (x > np.linspace(-0.5, 0.5, x.shape[1])).astype(np.float64)
    return np.asarray(
        steps[:, 0] + 2 * steps[:, 1] * steps[:, 2] + steps[:, 3] - steps[:, 4] * steps[:, 5]
    )


def _waves(x: Array) -> FloatArray:
    return np.asarray(
        np.sin(4 * x[:, 0]) * np.cos(3 * x[:, 1]) + np.sin(5 * x[:, 2]) + 0.5 * x[:, 3]
    )


def _additive(x: Array) -> FloatArray:
    return np.asarray(np.abs(x[:, :4]).sum(axis=1) + np.square(x[:, 4]) + x[:, 5])


def _categories(x: Array) -> FloatArray:
    effects = np.random.default_rng(0).normal(size=(2, 40))
    one, two = (np.clip((x[:, j] + 3) * 40 / 6, 0, 39).astype(int) for j in (8, 9))
    return np.asarray(effects[0, one] + effects[1, two] * x[:, 0] + x[:, 1])


#: Formula, noise relative to the deviation of the signal, and whether classes are predicted.
TASKS: dict[str, tuple[Signal, float, bool]] = {
    "linear": (_linear, 0.3, False),
    "linear, noisy": (_linear, 5.0, False),
    "smooth": (_smooth, 0.3, False),
    "thresholds": (_thresholds, 0.3, False),
    "waves": (_waves, 0.3, False),
    "additive": (_additive, 1.0, False),
    "categories": (_categories, 0.3, False),
    "smooth, classes": (_smooth, 0.3, True),
    "linear, classes": (_linear, 1.0, True),
    "thresholds, classes": (_thresholds, 1.0, True),
}

#: Columns of the task with categories that are codes.
CODES = [8, 9]


def make_task(name: str, n_rows: int, seed: int = 0) -> tuple[Array, Array, float]:
    """Return rows of float32, their targets, and the score of the formula itself."""
    signal, noise, is_classes = TASKS[name]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 10), dtype=np.float32)
    if name == "categories":
        X[:, CODES] = np.floor(np.clip((X[:, CODES] + 3) * 40 / 6, 0, 39)) * 6 / 40 - 3 + 0.01
    clean = np.concatenate([signal(X[i : i + 2**18]) for i in range(0, n_rows, 2**18)])
    offset, scale = float(clean.mean()), float(clean.std())
    y = (clean - offset) / scale + noise * rng.standard_normal(n_rows)
    if is_classes:
        labels = (y > 0).astype(np.int64)
        return X, labels, float(((clean > offset) == labels).mean())
    return X, y, 1 - noise**2 / float(y.var())


def models(name: str, trees: int, jobs: int | None, seed: int) -> dict[str, Any]:
    """Return the models to compare."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    import bneuralt

    kind = "Classifier" if TASKS[name][2] else "Regressor"
    more: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    linear = LogisticRegression() if TASKS[name][2] else Ridge()
    if name == "categories":
        more["categorical_features"] = CODES
        encoder = make_column_transformer(
            (OneHotEncoder(dtype=np.float32, handle_unknown="ignore"), CODES),
            remainder="passthrough",
        )
        linear = make_pipeline(encoder, linear)
    return {
        "linear": linear,
        "tree": getattr(bneuralt, f"BNeuralT{kind}")(**more),
        "forest": getattr(bneuralt, f"BNeuralForest{kind}")(n_estimators=trees, **more),
    }


def main() -> None:
    """Print a line for each task and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--models", nargs="+", default=["linear", "tree", "forest"])
    args = parser.parse_args()
    for name in args.tasks:
        X, y, best = make_task(name, args.rows + N_TEST, args.seed)
        for key, model in models(name, args.trees, args.jobs, args.seed).items():
            if key not in args.models:
                continue
            started = time.process_time()
            model.fit(X[:-N_TEST], y[:-N_TEST])
            seconds = time.process_time() - started
            score = model.score(X[-N_TEST:], y[-N_TEST:])
            line = {"task": name, "rows": args.rows, "model": key, "score": score, "best": best}
            more = {"weights": getattr(model, "n_parameters_", None), "seconds": seconds}
            print(json.dumps(line | more), flush=True)


if __name__ == "__main__":
    main()
