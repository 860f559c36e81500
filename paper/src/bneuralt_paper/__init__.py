"""Reproduction of the paper "Backpropagation Neural Tree".

The packages, from the lowest layer to the highest; imports point downwards only:

datasets
    The data sets of the paper: facts about them, loading and downloading.
authors_format
    Reader of the trees that the authors published.
evolution
    Genetic programming and differential evolution.
estimators
    HFNT and MONT with the interface of scikit-learn.
experiments
    The experiments of the paper: names, protocols and algorithms.
images
    MNIST, Fashion-MNIST and dendritic k-trees.
running
    Execution of many experiments, and what they leave behind: runs, curves, measurements.
ledger
    Every claim of the paper, our value and the verdict.
reporting
    Tables, statistics and figures, on one page.
commands
    The commands ``bneuralt paper`` and ``bneuralt data``.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"  # that of bneuralt

# Public name -> module that defines it, loaded at first use, so that `bneuralt paper --help` does
# not load scikit-learn.
_WHERE = {
    "HFNTClassifier": "estimators",
    "HFNTRegressor": "estimators",
    "MONTClassifier": "estimators",
    "MONTRegressor": "estimators",
    "load_dataset": "datasets",
    "read_authors_tree": "authors_format",
}

__all__ = [
    "HFNTClassifier",
    "HFNTRegressor",
    "MONTClassifier",
    "MONTRegressor",
    "load_dataset",
    "read_authors_tree",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(f"bneuralt_paper.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bneuralt_paper' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
