"""What moving leaves cost: processor time of default fits with and without moves."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.timing import table
from bneuralt import BNeuralTClassifier, BNeuralTRegressor

ROWS = (200, 1_000, 5_000, 20_000)
FEATURES = (5, 20, 50, 100)
REPETITIONS = 5


def main() -> None:
    """Print the time with moves in percent of the time without."""
    for estimator in (BNeuralTClassifier, BNeuralTRegressor):
        rows = [(f"{n:,}", *(added_share(estimator, n, k) for k in FEATURES)) for n in ROWS]
        title = f"{estimator.__name__}: time added by moving leaves, percent"
        table(title, ("rows", *(f"{k} features" for k in FEATURES)), rows)


def added_share(estimator: type, n_rows: int, n_features: int) -> float:
    """Return what moves add to the time of a fit, in percent; both in turns, the least of each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=n_rows)
    if estimator is BNeuralTClassifier:
        y = y > 0
    least = {0: np.inf, 10: np.inf}
    for _ in range(REPETITIONS):
        for leaf_moves in least:
            model = estimator(leaf_moves=leaf_moves, random_state=0)
            started = time.process_time()
            model.fit(X, y)
            least[leaf_moves] = min(least[leaf_moves], time.process_time() - started)
    return float(100 * (least[10] / least[0] - 1))


if __name__ == "__main__":
    main()
