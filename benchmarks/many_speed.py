"""Speed of many trees: one call of `train_many`, forests on several threads."""

from __future__ import annotations

import os
import time
from functools import partial
from threading import Thread

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.timing import interleaved, table
from bneuralt import (
    BNeuralForestClassifier,
    NeuralTree,
    TrainingJob,
    TrainingSettings,
    forward_many,
    train_many,
)

THREADS = [n for n in (1, 2, 4, 8, 16) if n <= len(os.sched_getaffinity(0))]


def main() -> None:
    overhead()
    ceiling()
    forest_fit()
    forest_predict()
    population()


def overhead() -> None:
    """Measure the overhead of `train_many` beyond the trainings."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 14)).astype(np.float32), rng.integers(0, 2, 500)
    trees = [
        NeuralTree.random(
            14, 2, n_weights=200, output_activation="linear", dtype=np.float32, random_state=seed
        )
        for seed in range(1000)
    ]
    rows = []
    for batch_size in (1, 16, 32):
        settings = TrainingSettings(batch_size=batch_size, max_epochs=1)
        jobs = [TrainingJob(tree, settings, seed=i) for i, tree in enumerate(trees)]
        best, training = float("inf"), 0.0
        for _ in range(15):
            results = None  # so that freeing it is not measured
            started = time.perf_counter()
            results = train_many(jobs, X, y)
            elapsed = time.perf_counter() - started
            if elapsed < best:
                best, training = elapsed, sum(result.seconds for result in results)
        rows.append((f"batches of {batch_size}", best * 1e3, training * 1e3, best / training))
    title = "1,000 trees of 200 weights, one epoch of 500 rows, one thread"
    table(title, ("", "call, ms", "kernels, ms", "ratio"), rows)


def ceiling() -> None:
    """Measure the limit of this machine: threads that share nothing but the table."""
    X = np.random.default_rng(0).normal(size=(50_000, 20))
    tree = NeuralTree.random(
        20, 2, n_weights=400, activation="tanh", output_activation="linear", dtype=np.float32,
        random_state=0,
    )  # fmt: skip

    def work(n_threads: int) -> None:
        threads = [
            Thread(target=lambda: [tree.forward(X) for _ in range(10)]) for _ in range(n_threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    calls = {str(n): partial(work, n) for n in THREADS}
    seconds = interleaved(calls, 9, clock=time.perf_counter_ns)
    rows = [(f"{n} threads", int(n) * seconds["1"] / value) for n, value in seconds.items()]
    table("independent forward passes", ("", "work done, times one thread"), rows)


def forest_fit() -> None:
    X, y = make_classification(1000, 20, n_informative=10, random_state=0)
    calls = {
        str(n): partial(
            BNeuralForestClassifier(n_estimators=100, n_jobs=n, random_state=0).fit, X, y
        )
        for n in THREADS
    }
    seconds = interleaved(calls, 3, clock=time.perf_counter_ns)
    rows = [(f"{n} threads", value, seconds["1"] / value) for n, value in seconds.items()]
    table("fit of 100 default trees, 1,000 x 20 rows", ("", "s", "times one thread"), rows)


def forest_predict() -> None:
    X, y = make_classification(2000, 20, n_informative=10, random_state=0)
    forest = BNeuralForestClassifier(n_estimators=32, max_epochs=2, random_state=0).fit(X, y)
    many = np.random.default_rng(0).normal(size=(100_000, 20))

    def predict(n_threads: int) -> None:
        forest.n_jobs = n_threads
        forest.predict_proba(many)

    calls = {str(n): partial(predict, n) for n in THREADS}
    seconds = interleaved(calls, 9, clock=time.perf_counter_ns)
    rows = [(f"{n} threads", value, seconds["1"] / value) for n, value in seconds.items()]
    title = f"predict_proba of 32 trees ({forest.n_parameters_:,} weights), 100,000 x 20 rows"
    table(title, ("", "s", "times one thread"), rows)


def population() -> None:
    """Measure many structures on one table: one call, and one call for each."""
    X = np.random.default_rng(0).normal(size=(500, 14)).astype(np.float32)
    trees = [
        NeuralTree.random(14, 2, n_weights=200, dtype=np.float32, random_state=seed)
        for seed in range(1000)
    ]
    calls = {
        "forward of each": lambda: [tree.forward(X) for tree in trees],
        "forward_many": lambda: forward_many(trees, X),
    }
    if len(THREADS) > 1:
        calls["forward_many, two threads"] = lambda: forward_many(trees, X, n_threads=2)
    seconds = interleaved(calls, 9, clock=time.perf_counter_ns)
    first = seconds["forward of each"]
    rows = [(name, value * 1e3, first / value) for name, value in seconds.items()]
    table("outputs of 1,000 trees of 200 weights for 500 rows", ("", "ms", "times faster"), rows)


if __name__ == "__main__":
    main()
