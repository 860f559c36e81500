"""Compare the speed of two installations: ``python -m benchmarks.compare OLD_PYTHON NEW_PYTHON``.

Each interpreter runs in a separate process and measures the same operations in turns: their
processor time, which other programs disturb less than the clock. Reported is the median of the
ratios of all rounds: above 1, the new one is slower.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 21


def operations() -> dict[str, Callable[[], Any]]:
    """Return the calls to measure, which both installations support."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

    from bneuralt import (
        BNeuralForestClassifier,
        BNeuralForestRegressor,
        BNeuralTClassifier,
        BNeuralTRegressor,
        NeuralTree,
        TrainingSettings,
        train,
    )

    cancer, iris, diabetes = (
        load(return_X_y=True) for load in (load_breast_cancer, load_iris, load_diabetes)
    )
    many = np.tile(cancer[0], (20, 1)) + np.random.default_rng(0).normal(size=(569 * 20, 30))
    classifier = BNeuralTClassifier(random_state=0).fit(*cancer)
    forest = BNeuralForestClassifier(random_state=0).fit(*cancer)
    regressor = BNeuralTRegressor(random_state=0).fit(*diabetes)
    tree = NeuralTree.random(
        30, 2, 5, leaf_probability=0.4, output_activation="linear", random_state=0, dtype="float32"
    )
    online = TrainingSettings(optimizer="rmsprop", batch_size=1, max_epochs=10)
    batches = TrainingSettings(batch_size=32, max_epochs=10)
    large = np.random.default_rng(0).normal(size=(20_000, 30))
    target = large[:, 0] * large[:, 1] + large[:, 2]
    row = cancer[0][:1].copy()
    names = [f"a column of number {i}" for i in range(30)]
    import pandas as pd

    frame = pd.DataFrame(cancer[0], columns=names)
    frame["text"] = np.where(cancer[1] > 0, "yes", "no")
    text_classifier = BNeuralTClassifier(random_state=0).fit(frame, cancer[1])
    return {
        "forward, one row": lambda: [tree.forward(row) for _ in range(100)],
        "forward, 11,380 rows": lambda: tree.forward(many),
        "online training": lambda: train(tree, cancer[0], cancer[1], settings=online),
        "training in batches": lambda: train(tree, cancer[0], cancer[1], settings=batches),
        "fit of a tree, iris": lambda: BNeuralTClassifier(random_state=0).fit(*iris),
        "fit of a tree, breast cancer": lambda: BNeuralTClassifier(random_state=0).fit(*cancer),
        "fit of a tree, diabetes": lambda: BNeuralTRegressor(random_state=0).fit(*diabetes),
        "fit of a tree, 20,000 rows": lambda: BNeuralTRegressor(max_epochs=2, random_state=0).fit(
            large, target
        ),
        "fit of a tree, text": lambda: BNeuralTClassifier(max_epochs=5, random_state=0).fit(
            frame, cancer[1]
        ),
        "fit of a forest, iris": lambda: BNeuralForestClassifier(random_state=0).fit(*iris),
        "fit of a forest, diabetes": lambda: BNeuralForestRegressor(
            max_epochs=20, random_state=0
        ).fit(*diabetes),
        "predict, one row": lambda: [classifier.predict(row) for _ in range(50)],
        "predict_proba, one row": lambda: [classifier.predict_proba(row) for _ in range(50)],
        "predict of a regressor, one row": lambda: [
            regressor.predict(diabetes[0][:1]) for _ in range(50)
        ],
        "predict of a forest, one row": lambda: [forest.predict(row) for _ in range(50)],
        "predict, one row with text": lambda: [
            text_classifier.predict(frame[:1]) for _ in range(5)
        ],
        "predict_proba, 11,380 rows": lambda: classifier.predict_proba(many),
        "predict_proba of a forest, 11,380 rows": lambda: forest.predict_proba(many),
        "import bneuralt": lambda: subprocess.run(
            [sys.executable, "-c", "import bneuralt"], check=True
        ),
        "import an estimator": lambda: subprocess.run(
            [sys.executable, "-c", "from bneuralt import BNeuralTClassifier"], check=True
        ),
    }


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def serve() -> None:
    """Measure the operations whose names are read from standard input."""
    calls = operations()
    print(json.dumps(list(calls)), flush=True)
    for line in sys.stdin:
        call, best = calls[json.loads(line)], float("inf")
        for _ in range(3):
            start = processor_seconds()
            call()
            best = min(best, processor_seconds() - start)
        print(json.dumps(best), flush=True)


class Installation:
    """An interpreter that measures in a separate process."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(Path(__file__).resolve()), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.names: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def seconds(self, name: str) -> float:
        """Return the least time of an operation."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(name) + "\n")
        self.process.stdin.flush()
        return float(self._answer())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    old, new = Installation(arguments.old), Installation(arguments.new)
    print(f"{'':42s}{'old, ms':>10s}{'new, ms':>10s}{'new / old':>11s}")
    for name in old.names:
        pairs = []
        for i in range(arguments.rounds):
            pair = [m.seconds(name) for m in ((old, new) if i % 2 else (new, old))]
            pairs.append(pair if i % 2 else pair[::-1])
        ratio = statistics.median(b / a for a, b in pairs)
        a, b = (1e3 * min(times) for times in zip(*pairs, strict=True))
        print(f"{name:42s}{a:10.3f}{b:10.3f}{ratio:11.3f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main()
