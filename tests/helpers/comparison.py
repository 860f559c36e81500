"""Comparison of predictions, relative to the terms that are added up to them.

A sum of some hundreds that comes to less than 1 has three digits less than its terms. Vectors and
fused products round it in another order than code that adds one term after the other, so the two
can agree only relative to the terms.
"""

from __future__ import annotations

import numpy as np

from bneuralt.expressions import OUTPUTS, exp, is_elementwise
from bneuralt.tree.node_values import node_values


def assert_same(actual, expected, tolerance, model=None, largest=1e300, terms=1.0):
    """Compare probabilities or numbers, up to the largest number that an export has.

    Where a prediction is exp of a sum, the sums are compared. Errors are relative to `terms`, or to
    what is expected where this is larger.
    """
    actual, expected = (
        np.clip(np.asarray(values, dtype=float), -largest, largest) for values in (actual, expected)
    )
    if model is not None and model.link == exp(OUTPUTS):
        actual, expected = (np.log(np.maximum(v, 1 / largest)) for v in (actual, expected))
    np.testing.assert_allclose(actual / terms, expected / terms, rtol=tolerance, atol=tolerance)


def size_of_terms(model, inputs):
    """The sum of the magnitudes of the terms of each output, at least 1; the mean over all trees.

    Predictions that are sorted have the largest one of all outputs.
    """
    sizes = sum(_size(tree, inputs) for tree in model.trees) / len(model.trees)
    if is_elementwise(model.link):
        return sizes
    return np.broadcast_to(sizes.max(axis=1, keepdims=True), sizes.shape)


def _size(tree, inputs):
    values = np.abs(node_values(tree, inputs))
    k = tree.n_outputs
    total = np.zeros((len(inputs), k)) + np.abs(tree.bias[:k])
    for child in range(k, tree.parent.size):
        if tree.parent[child] < k:
            total[:, tree.parent[child]] += np.abs(tree.edge[child - k]) * values[:, child]
    for parent, i, weight in zip(tree.leaf_parent, tree.leaf_input, tree.leaf_weight, strict=True):
        if parent < k:
            total[:, parent] += np.abs(weight * inputs[:, i])
    return np.maximum(1.0, total)


def scores(tree, X, y, monitor):
    """Return the mean loss or error of a tree, computed from its outputs by NumPy."""
    out = tree.forward(X)
    if tree.n_outputs == 1:
        squares = (out[:, 0] - y) ** 2
        return squares.mean() / (2 if monitor == "loss" else 1)
    if monitor == "error":
        return (out.argmax(axis=1) != y).mean()
    shifted = out - out.max(axis=1, keepdims=True)
    return (np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(y)), y]).mean()
