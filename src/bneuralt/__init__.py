"""Neural trees: random m-ary trees of neurons, trained by backpropagation.

>>> import bneuralt
>>> bneuralt.__version__
'0.2.0'
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"

# Public name -> module that defines it. Modules load at first use, so that importing
# bneuralt costs little more than importing NumPy.
_WHERE = {
    "NeuralTree": "tree",
    "BNeuralTClassifier": "estimators",
    "BNeuralTRegressor": "estimators",
    "PAPER_SETTINGS": "estimators",
    "Growth": "estimators",
    "BNeuralForestClassifier": "estimators",
    "BNeuralForestRegressor": "estimators",
    "EvolvedTreeClassifier": "estimators",
    "EvolvedTreeRegressor": "estimators",
    "QuantizedClassifier": "estimators.quantized",
    "QuantizedRegressor": "estimators.quantized",
    "load_model": "estimators",
    "from_torch": "estimators",
    "register_skl2onnx": "estimators",
    "TableTransformer": "estimators",
    "open_table": "tables.block_table",
    "importance_stability": "explaining",
    "EffectDisplay": "explaining",
    "plot_tree": "drawing",
    "TreeDisplay": "drawing",
    "plot_history": "drawing",
    "plot_score_against_size": "drawing",
    "load_dataset": "datasets",
    "show_config": "installation",
    "TrainingSettings": "training",
    "TrainingJob": "training",
    "train": "training",
    "train_many": "training",
    "forward_many": "tree",
}

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(f"bneuralt.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bneuralt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
