"""Measure the cost of moving leaves: time of trainings with the default moves and without."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.timing import interleaved, table
from bneuralt import NeuralTree, TrainingSettings, train
from bneuralt.fitting.capacity import MIN_EPOCHS, SINGLE_TREE, batch_size, n_epochs
from bneuralt.fitting.recipe import LEAF_MOVES
from bneuralt.tree.growing import TREE_GROWTH

ROWS = (200, 1_000, 5_000, 20_000)
FEATURES = (5, 20, 50, 100)


def main() -> None:
    rows = [(f"{n:,}", *(added_share(n, k) for k in FEATURES)) for n in ROWS]
    title = "Time that moving leaves add to the training of a default classification tree, percent"
    table(title, ("rows", *(f"{k} features" for k in FEATURES)), rows)


def added_share(n_rows: int, n_features: int) -> float:
    """Return the time that moves add to a training, in percent."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(np.int32)
    tree = NeuralTree.random(
        n_features,
        2,
        n_weights=SINGLE_TREE.n_weights(n_rows, 2),
        activation=TREE_GROWTH["activation"],
        output_activation="linear",
        dtype=np.float32,
        random_state=0,
    )
    calls = {}
    for leaf_moves in (0, LEAF_MOVES):
        settings = TrainingSettings(
            batch_size=batch_size(n_rows),
            max_epochs=n_epochs(n_rows, MIN_EPOCHS["classifier"]),
            weight_decay=SINGLE_TREE.weight_decay(n_rows),
            leaf_moves=leaf_moves,
        )
        calls[str(leaf_moves)] = lambda settings=settings: train(tree, X, y, settings=settings)
    without, moving = interleaved(calls, 10 if n_rows < 5_000 else 4, time.thread_time_ns).values()
    return 100 * (moving / without - 1)


if __name__ == "__main__":
    main()
