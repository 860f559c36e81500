"""Speed of the estimators and of scikit-learn's with default settings, one thread each."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.timing import interleaved, table
from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
)

CLASSIFICATION = ("iris", "wine", "breast_cancer", "digits")
N_MANY = 100_000


def main() -> None:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits()
        predictions()


def models(name: str) -> dict[str, Any]:
    if name in CLASSIFICATION:
        return {
            "tree": BNeuralTClassifier(random_state=0),
            "forest": BNeuralForestClassifier(random_state=0, n_jobs=1),
            "MLP": MLPClassifier(random_state=0),
            "RF": RandomForestClassifier(random_state=0, n_jobs=1),
        }
    return {
        "tree": BNeuralTRegressor(random_state=0),
        "forest": BNeuralForestRegressor(random_state=0, n_jobs=1),
        "MLP": MLPRegressor(random_state=0),
        "RF": RandomForestRegressor(random_state=0, n_jobs=1),
    }


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def fits() -> None:
    rows = []
    for name in (*CLASSIFICATION, "diabetes"):
        X, y = rows_of(name)
        calls = {kind: partial(model.fit, X, y) for kind, model in models(name).items()}
        s = interleaved(calls, 3, clock=time.process_time_ns)
        rows.append((name, *(s[kind] * 1e3 for kind in calls), s["MLP"] / s["tree"],
                     s["RF"] / s["tree"], s["RF"] / s["forest"]))  # fmt: skip
    header = ("fit", "tree ms", "forest ms", "MLP(100) ms", "RF(100) ms", "MLP/tree", "RF/tree",
              "RF/forest")  # fmt: skip
    table("fitting, default settings", header, rows)


def predictions() -> None:
    X, y = rows_of("breast_cancer")
    fitted = {kind: model.fit(X, y) for kind, model in models("breast_cancer").items()}
    rng = np.random.default_rng(0)
    # rows between the known ones: copies of the same few rows would flatter the decision trees
    a, b = rng.integers(0, len(X), (2, N_MANY))
    share = rng.random((N_MANY, 1))
    many = X[a] * share + X[b] * (1 - share)
    calls = {kind: partial(model.predict_proba, many) for kind, model in fitted.items()}
    s = interleaved(calls, 5, clock=time.process_time_ns)
    rows = [(kind, s[kind] * 1e3, s[kind] / s["tree"]) for kind in calls]
    table(f"predict_proba, {N_MANY:,} rows of 30 features", ("", "ms", "x tree"), rows)

    row = X[:1].copy()
    tree = fitted["tree"]
    logistic = LogisticRegression().fit(X, y)
    single = {
        "LogisticRegression.predict": lambda: [logistic.predict(row) for _ in range(20)],
        "BNeuralTClassifier.predict": lambda: [tree.predict(row) for _ in range(20)],
        "tree_.forward": lambda: [tree.tree_.forward(row) for _ in range(20)],
    }
    s = interleaved(single, 50)
    logistic_time = s["LogisticRegression.predict"]
    rows = [(kind, s[kind] / 20 * 1e6, logistic_time / s[kind]) for kind in single]
    table("one row", ("", "us", "times faster than LogisticRegression"), rows)


if __name__ == "__main__":
    main()
