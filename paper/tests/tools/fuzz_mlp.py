"""Calls of the perceptron kernel with wrong arguments: `python -m paper.tests.tools.fuzz_mlp N`.

See `tests/tools/fuzz_core.py`, which does the same with the core of the product.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tests.helpers.limits import main
from tests.tools import fuzz_core
from tests.tools.fuzz_core import Valid, is_long, outcome

_mlp: Any = None


def prepare() -> None:
    """Import what the cases need, before memory is limited."""
    global _mlp
    from bneuralt_paper import _mlp as module

    _mlp = module
    fuzz_core.prepare()


def draw_perceptron(rng: np.random.Generator) -> dict[str, Any]:
    """Return valid arguments of `train_mlp`."""
    n_hidden, n_classes, m, n_rows = (int(rng.integers(1, high)) for high in (40, 5, 6, 40))
    classify = bool(rng.integers(2))
    k = n_classes if classify else 1

    def numbers(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    def targets(n: int) -> np.ndarray:
        return rng.integers(0, k, n).astype(np.int32) if classify else numbers(n)

    return {
        "W1": numbers(m, n_hidden),
        "b1": numbers(n_hidden),
        "W2": numbers(k, n_hidden),
        "b2": numbers(k),
        "X": numbers(n_rows, m),
        "y": targets(n_rows),
        "X_monitored": numbers(3, m),
        "y_monitored": targets(3),
        "activation": str(rng.choice(["sigmoid", "relu"])),
        "optimizer": str(rng.choice(["gd", "nesterov", "adagrad", "rmsprop", "adam"])),
        "learning_rate": 0.02,
        "penalty": 0.01 * int(rng.integers(2)),
        "dropout": 0.4 * int(rng.integers(2)),
        "stopping": str(rng.choice(["never", "patience", "epoch", "update"])),
        "patience": 2,
        "max_epochs": 3,
        "seed": 0,
    }


def run(seed: int) -> str | None:
    """Make a call; return what is wrong with its outcome, or None."""

    def call(rng: np.random.Generator) -> Any:
        arguments = draw_perceptron(rng)
        if rng.random() < 0.85:
            arguments = Valid(rng).damaged(arguments)
        if is_long(arguments.get("max_epochs")):
            arguments["max_epochs"] = 3
        yield _mlp.train_mlp
        _mlp.train_mlp(**arguments)

    return outcome(call(np.random.default_rng(seed)))


def __getattr__(name: str) -> Any:
    if name == "n_results":  # calls that gave a result
        return fuzz_core.n_results
    raise AttributeError(name)


if __name__ == "__main__":
    sys.exit(main("paper.tests.tools.fuzz_mlp"))
