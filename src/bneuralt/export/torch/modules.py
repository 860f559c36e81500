"""PyTorch modules of trees and models; imported only where torch is installed."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from bneuralt.export.torch.functions import compute
from bneuralt.model import Model
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import ACTIVATIONS, EXPRESSIONS, NAMES

__all__ = ["NeuralTrees"]


class TreeLayout(nn.Module):
    """The structure of one tree: which terms each level sums.

    Indices are buffers, so that they move to a device with the module.
    """

    def __init__(self, tree: NeuralTree, dtype: torch.dtype) -> None:
        super().__init__()
        n, k, levels = tree.parent.size, tree.n_outputs, tree.level_start
        self.n_nodes, self.n_weights = n, tree.structure.n_weights
        self.first_edge, self.first_leaf = n - k, 2 * n - k
        self.level_ends = list(pairwise(levels.tolist()))
        self.trains_activations = tree.trains_activations
        self.groups = []
        for depth, (start, end) in enumerate(self.level_ends):
            leaves = np.flatnonzero((tree.leaf_parent >= start) & (tree.leaf_parent < end))
            children = np.arange(tree.child_start[start], tree.child_start[end])
            self._keep(f"leaf_{depth}", leaves)
            self._keep(f"leaf_input_{depth}", tree.leaf_input[leaves])
            self._keep(f"leaf_parent_{depth}", tree.leaf_parent[leaves] - start)
            self._keep(f"child_{depth}", children)
            self._keep(f"child_parent_{depth}", tree.parent[children] - start)
            codes = tree.activation[start:end]
            names = []
            for code in np.unique(codes):
                nodes = np.flatnonzero(codes == code)
                name = NAMES[code]
                names.append(name)
                self._keep(f"nodes_{name}_{depth}", nodes)
                self._keep(f"phi_{name}_{depth}", tree.activation_parameter_start[start + nodes])
            self.groups.append(names)
        self.fixed_phi: Tensor
        phi = torch.as_tensor(np.array(tree.activation_parameters, dtype=float), dtype=dtype)
        self.register_buffer("fixed_phi", phi, persistent=False)

    def _keep(self, name: str, values: Any) -> None:
        indices = torch.as_tensor(np.asarray(values, dtype=np.int64))
        self.register_buffer(name, indices, persistent=False)

    def _kept(self, name: str, depth: int) -> Tensor:
        indices: Tensor = getattr(self, f"{name}_{depth}")
        return indices

    def forward(self, weights: Tensor, x: Tensor) -> Tensor:
        """Return the outputs, of shape (n_rows, n_outputs)."""
        phi = weights[self.n_weights :] if self.trains_activations else self.fixed_phi
        below = x.new_zeros((len(x), 0))
        for depth in range(len(self.level_ends) - 1, -1, -1):
            start, end = self.level_ends[depth]
            z = weights[start:end].expand(len(x), -1)
            leaves = self.first_leaf + self._kept("leaf", depth)
            terms = x[:, self._kept("leaf_input", depth)] * weights[leaves]
            z = z.index_add(1, self._kept("leaf_parent", depth), terms)
            if below.shape[1]:
                terms = below * weights[self.first_edge + self._kept("child", depth)]
                z = z.index_add(1, self._kept("child_parent", depth), terms)
            below = self._activated(depth, z, phi)
        return below

    def _activated(self, depth: int, z: Tensor, phi: Tensor) -> Tensor:
        h = z
        for name in self.groups[depth]:
            nodes, first = self._kept(f"nodes_{name}", depth), self._kept(f"phi_{name}", depth)
            variables = {"z": z[:, nodes]}
            for i, parameter in enumerate(ACTIVATIONS[name].entry.parameters):
                variables[parameter.name] = phi[first + i]
            h = h.index_copy(1, nodes, compute(EXPRESSIONS[name], variables))
        return h


class NeuralTrees(nn.Module):
    """The trees of a model; see the method `to_torch` of estimators.

    Attributes
    ----------
    model : Model
    weights : list of torch.nn.Parameter
        One vector for each tree.
    estimator : estimator or None
        The estimator that `bneuralt.from_torch` copies.
    """

    def __init__(self, model: Model, dtype: torch.dtype) -> None:
        super().__init__()
        self.model = model
        self.estimator: BaseEstimator | None = None
        self.trees = nn.ModuleList(TreeLayout(tree, dtype) for tree in model.trees)
        self.weights = nn.ParameterList(
            nn.Parameter(torch.tensor(tree.parameters, dtype=dtype)) for tree in model.trees
        )

    def encode(self, X: Any) -> Tensor:
        """Return a table as inputs of the trees, on the device of the weights."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown values are part of the encoding
            inputs = self.model.encode(X)
        like = self.weights[0]
        return torch.as_tensor(np.asarray(inputs), dtype=like.dtype, device=like.device)

    def scores(self, inputs: Tensor) -> Tensor:
        """Return the outputs of all trees, of shape (n_trees, n_rows, n_outputs)."""
        pairs = zip(self.trees, self.weights, strict=True)
        return torch.stack([tree(weights, inputs) for tree, weights in pairs])

    def forward(self, inputs: Tensor) -> Tensor:
        """Return probabilities or numbers, of shape (n_rows, n_outputs)."""
        outputs = self.scores(inputs)
        if self.model.averages == "outputs":
            outputs = outputs.mean(dim=0)
        values = compute(self.model.link, {"outputs": outputs})
        return values.mean(dim=0) if self.model.averages == "predictions" else values
