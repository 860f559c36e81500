"""Fitted models as PyTorch modules with trainable weights, and back."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from bneuralt.estimators.forest import Forest
from bneuralt.export.plan import make_plan
from bneuralt.tree import NeuralTree

__all__ = ["from_torch", "to_torch"]


def to_torch(model: Any, dtype: Any = None) -> Any:
    """Convert a fitted model to a PyTorch module with trainable weights.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest of this library.
    dtype : torch.dtype, optional
        Of the weights; by default that of the model's trees.

    Returns
    -------
    torch.nn.Module
        Called with inputs of shape (n_rows, n_inputs), it returns what `predict_proba` of a
        classifier or `predict` of a regressor returns. Its method ``scores`` returns the outputs of
        all trees, of shape (n_trees, n_rows, n_outputs): of these, losses such as cross entropy are
        computed. ``encode`` turns a table into inputs, as the model does with categories, dates and
        missing values; a table of numbers without gaps needs none.

        Each tree is one parameter, the vector `NeuralTree.parameters`.

    Raises
    ------
    ImportError
        The package torch is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from bneuralt import BNeuralTClassifier, from_torch, to_torch
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
    >>> import torch  # doctest: +SKIP
    >>> module = to_torch(model)  # doctest: +SKIP
    >>> optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)  # doctest: +SKIP
    >>> loss = torch.nn.functional.cross_entropy(  # doctest: +SKIP
    ...     module.scores(module.encode(X))[0], torch.tensor(y)
    ... )
    >>> loss.backward(); _ = optimizer.step()  # doctest: +SKIP
    >>> better = from_torch(module)  # doctest: +SKIP
    """
    plan = make_plan(model, simplified=False)
    torch, module = _torch()
    if dtype is None:
        single = all(tree.dtype == np.float32 for tree in model._trees)
        dtype = torch.float32 if single else torch.float64
    return module(model, plan, dtype)


def from_torch(module: Any) -> Any:
    """Return a model with the weights of a module that `to_torch` made.

    Parameters
    ----------
    module : torch.nn.Module

    Returns
    -------
    estimator
        A copy of the model that the module was made of, with other weights. Training it further
        with `warm_start` or `partial_fit` begins anew.

    Raises
    ------
    TypeError
        The module is of another kind.
    ValueError
        A weight is not finite.
    """
    if not isinstance(module, _torch()[1]):
        raise TypeError(
            f"from_torch takes a module that to_torch made, got {type(module).__name__}"
        )
    model = copy.copy(module.model)
    trees = [
        tree.with_parameters(weights.detach().cpu().numpy().astype(tree.dtype))
        for tree, weights in zip(module.model._trees, module.weights, strict=True)
    ]
    for t, tree in enumerate(trees):
        if not np.isfinite(tree.parameters).all():
            raise ValueError(f"tree {t} of the module has a weight that is not finite")
    if isinstance(model, Forest):
        pairs = zip(model.estimators_, trees, strict=True)
        model.estimators_ = [_with_tree(member, tree) for member, tree in pairs]
        return model
    return _with_tree(model, trees[0])


def _with_tree(member: Any, tree: NeuralTree) -> Any:
    """Return a copy of a single tree with another one, without what belongs to its training."""
    changed = copy.copy(member)
    changed.tree_ = tree
    for name in ("_trained_tree", "_optimizer_state", "_node_signs"):
        changed.__dict__.pop(name, None)
    return changed


def _torch() -> tuple[Any, Any]:
    """Return torch and the class of the modules."""
    try:
        import torch

        from bneuralt.export._torch_trees import NeuralTrees
    except ImportError as error:
        raise ImportError(
            "to_torch needs the package torch: pip install bneuralt[torch]"
        ) from error
    return torch, NeuralTrees
