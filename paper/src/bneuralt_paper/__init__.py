"""Reproduction of the paper "Backpropagation Neural Tree".

The packages, from the lowest layer to the highest; imports point downwards only:

evolution
    Genetic programming and differential evolution.
estimators
    HFNT and MONT with the interface of scikit-learn.
experiments
    The experiments of the paper: names, protocols and algorithms.
running
    Execution of many experiments: tasks, worker processes, and the store of finished runs.
images
    MNIST, Fashion-MNIST and dendritic k-trees.
reporting
    Tables, statistics and figures of finished runs, on one page.
commands
    The command ``bneuralt paper``.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"  # that of bneuralt

__all__ = ["HFNTClassifier", "HFNTRegressor", "MONTClassifier", "MONTRegressor"]


def __getattr__(name: str) -> Any:
    # loaded at first use, so that `bneuralt paper --help` does not load scikit-learn
    if name in __all__:
        value = getattr(importlib.import_module("bneuralt_paper.estimators"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bneuralt_paper' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
