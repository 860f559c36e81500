"""Conversion of PyTorch modules to estimators, and registration with skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt.estimators.base import NeuralTreeEstimator

__all__ = ["from_torch", "register_skl2onnx"]


def from_torch(module: Any) -> Any:
    """Return an estimator with the weights of a module that `to_torch` made.

    Parameters
    ----------
    module : torch.nn.Module

    Returns
    -------
    estimator
        A copy of the estimator from which the module was made, with the weights of the module. It
        cannot be trained further with `warm_start` or `partial_fit`.

    Raises
    ------
    TypeError
        The module was not made by `to_torch`.
    ValueError
        A weight is not finite.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BNeuralTClassifier(max_epochs=5, random_state=0).fit(X, y)
    >>> from_torch(model.to_torch()).tree_ == model.tree_  # doctest: +SKIP
    True
    """
    from bneuralt.export.torch import module_class

    if not isinstance(module, module_class()) or module.estimator is None:
        raise TypeError(
            f"from_torch takes a module that to_torch made, got {type(module).__name__}"
        )
    trees = [
        tree.with_parameters(weights.detach().cpu().numpy().astype(tree.dtype))
        for tree, weights in zip(module.model.trees, module.weights, strict=True)
    ]
    for t, tree in enumerate(trees):
        if not np.isfinite(tree.parameters).all():
            raise ValueError(f"tree {t} of the module has a weight that is not finite")
    model = module.estimator.model_.in_raw_units()
    return module.estimator._with_model(model.with_trees(trees, can_learn=False))


def register_skl2onnx() -> None:
    """Register the estimators with skl2onnx, so that it converts pipelines with them.

    Call it once before ``skl2onnx.to_onnx`` or ``skl2onnx.convert_sklearn``. Single models need
    neither: see their method `to_onnx`, which also converts columns of texts and dates.

    Raises
    ------
    ImportError
        The package skl2onnx is not installed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from bneuralt import BNeuralTClassifier, register_skl2onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), BNeuralTClassifier(max_epochs=5)).fit(X, y)
    >>> register_skl2onnx()  # doctest: +SKIP
    >>> proto = skl2onnx.to_onnx(model, X[:1].astype("float32"))  # doctest: +SKIP
    """
    from bneuralt import estimators
    from bneuralt.export.onnx import register_converters

    public = [getattr(estimators, name) for name in estimators.__all__]
    register_converters(
        kind for kind in public if isinstance(kind, type) and issubclass(kind, NeuralTreeEstimator)
    )
