"""Models as PyTorch modules with trainable weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt.model import Model

__all__ = ["module_class", "to_torch"]


def to_torch(model: Model, *, dtype: Any = None) -> Any:
    """Convert a model to a PyTorch module; see the method `to_torch` of estimators."""
    model = model.in_raw_units()
    module = module_class()
    import torch

    if dtype is None:
        single = all(tree.dtype == np.float32 for tree in model.trees)
        dtype = torch.float32 if single else torch.float64
    return module(model, dtype)


def module_class() -> Any:
    """Return the class of the modules, which exists only where torch is installed."""
    try:
        from bneuralt.export.torch.modules import NeuralTrees
    except ImportError as error:
        raise ImportError(
            "to_torch needs the package torch: pip install bneuralt[torch]"
        ) from error
    return NeuralTrees
