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
    "BNeuralForestClassifier": "estimators",
    "BNeuralForestRegressor": "estimators",
    "EvolvedTreeClassifier": "estimators",
    "EvolvedTreeRegressor": "estimators",
    "Growth": "estimators",
    "TrainingSettings": "training",
    "PAPER_SETTINGS": "estimators",
    "TableTransformer": "estimators",
    "load_model": "estimators",
    "open_table": "tables.block_table",
    "plot_tree": "drawing",
    "EffectDisplay": "explaining",
    "train": "training",
    "show_config": "installation",
}
# Names of packages that are found here too.
_ALSO = {
    "QuantizedClassifier": "estimators.quantized",
    "QuantizedRegressor": "estimators.quantized",
    "from_torch": "estimators",
    "register_skl2onnx": "estimators",
    "importance_stability": "explaining",
    "TreeDisplay": "drawing",
    "plot_history": "drawing",
    "plot_score_against_size": "drawing",
    "TrainingJob": "training",
    "train_many": "training",
    "forward_many": "tree",
}

__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name) or _ALSO.get(name)
    if where is not None:
        value = getattr(importlib.import_module(f"bneuralt.{where}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'bneuralt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
