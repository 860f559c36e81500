"""Fits and predictions in threads side by side, for a while: `python -m tests.tools.soak SECONDS`.

Every result is compared with that of the same call made alone, bit for bit.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
    TrainingSettings,
    train,
)
from tests.helpers.flat import flat
from tests.helpers.needs import needs

N_THREADS = 6


def _tasks() -> list[Callable[[], np.ndarray]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    labels, values = (X[:, 0] * X[:, 1] > 0).astype(int), X[:, 0] ** 2 + X[:, 1]
    small: dict[str, Any] = {"max_depth": 3, "max_epochs": 5, "random_state": 0}
    tree = NeuralTree.random(5, 2, output_activation="linear", random_state=0)
    shared = flat(BNeuralForestClassifier, n_estimators=3, **small).fit(X, labels)
    single, inputs = shared.estimators_[0].tree_, shared.encoder_.encode(X)

    def fit(estimator: Any, y: np.ndarray, **more: Any) -> Callable[[], np.ndarray]:
        return lambda: flat(estimator, **small, **more).fit(X, y).predict(X)

    def fit_with_callback() -> np.ndarray:
        seen: list[float] = []
        clf = flat(BNeuralTClassifier, **small)
        clf.fit(X, labels, callback=lambda state: seen.append(state.train_loss))
        return np.array(seen)

    def train_tree() -> np.ndarray:
        how = TrainingSettings(max_epochs=3, batch_size=64)
        return train(tree, X, labels, settings=how, n_threads=2).tree.parameters

    return [
        fit(BNeuralTClassifier, labels),
        fit(BNeuralTRegressor, values, early_stopping=True),
        fit(BNeuralForestClassifier, labels, n_estimators=4, n_jobs=2),
        fit(BNeuralForestRegressor, values, n_estimators=4, bootstrap=True),
        fit_with_callback,
        train_tree,
        lambda: shared.predict_proba(X),
        lambda: single.forward(inputs, n_threads=2),
        lambda: single.forward(inputs[7]),
        lambda: NeuralTree.from_json(single.to_json()).forward(inputs),
    ]


@needs("slow")
def soak(seconds: float, n_threads: int = N_THREADS) -> tuple[int, list[str]]:
    """Run the tasks in threads; return how many calls there were, and what was wrong."""
    tasks = _tasks()
    expected = [task() for task in tasks]
    end = time.monotonic() + seconds
    n_calls, wrong = [0] * n_threads, []

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < end and not wrong:
            which = int(rng.integers(len(tasks)))
            try:
                if not np.array_equal(tasks[which](), expected[which]):
                    wrong.append(f"task {which} gave another result")
            except Exception:
                wrong.append(f"task {which}: {traceback.format_exc()}")
            n_calls[number] += 1

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 60)
        if thread.is_alive():
            wrong.append("a thread does not end")
    return sum(n_calls), wrong


def _memory() -> int:
    """Return the size of this process in bytes, 0 where it cannot be told."""
    sizes = Path("/proc/self/statm")
    return int(sizes.read_text().split()[1]) * resource.getpagesize() if sizes.exists() else 0


def main() -> int:
    """The program: rounds of ten seconds, with the memory after each."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    end = time.monotonic() + seconds
    after_first, failed = 0, False
    while time.monotonic() < end and not failed:
        n_calls, wrong = soak(min(10.0, seconds))
        after_first = after_first or _memory()
        print(f"{n_calls} calls, {_memory() / 2**20:.0f} MB", *wrong, sep="\n", flush=True)
        failed = bool(wrong)
    grown = _memory() - after_first
    if grown > 100 * 2**20:
        print(f"the memory has grown by {grown / 2**20:.0f} MB")
    return failed or grown > 100 * 2**20


if __name__ == "__main__":
    sys.exit(main())
