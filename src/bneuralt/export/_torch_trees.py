"""The module itself; imported only where torch is installed."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bneuralt.export.plan import Plan
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import ACTIVATIONS, NAMES

__all__ = ["NeuralTrees"]

#: Arguments of exp are limited as in the core, by the bytes of a number.
EXP_LIMIT = {2: 11.0, 4: 87.0, 8: 708.0}

N_PARAMETERS = {name: len(cls.entry.parameters) for name, cls in ACTIVATIONS.items()}


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
                own = np.flatnonzero(codes == code)
                name = NAMES[code]
                names.append(name)
                self._keep(f"own_{name}_{depth}", own)
                self._keep(f"phi_{name}_{depth}", tree.activation_parameter_start[start + own])
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
            own, at = self._kept(f"own_{name}", depth), self._kept(f"phi_{name}", depth)
            part = activated(name, z[:, own], [phi[at + i] for i in range(N_PARAMETERS[name])])
            h = h.index_copy(1, own, part)
        return h


def sigmoid(z: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-z)), which never is 0: shares keep their proportions."""
    limit = EXP_LIMIT[z.element_size()]
    return torch.sigmoid(z.clamp(-limit, limit))


def activated(name: str, z: Tensor, phi: list[Tensor]) -> Tensor:
    """Apply an activation with these parameters."""
    if name == "linear":
        return z
    if name == "sigmoid":
        return sigmoid(z)
    if name == "tanh":
        return torch.tanh(z)
    if name == "relu":
        return torch.relu(z)
    if name == "leaky_relu":
        return torch.where(z > 0, z, phi[0] * z)
    if name == "gaussian":
        return torch.exp((-(((z - phi[0]) / phi[1]) ** 2)).clamp(min=-EXP_LIMIT[z.element_size()]))
    if name == "linear_sigmoid":
        return phi[0] * sigmoid(z) + phi[1]
    if name == "linear_tanh":
        return phi[0] * torch.tanh(z) + phi[1]
    if name == "bipolar":
        return torch.tanh(phi[0] * z) / phi[0]
    if name == "unipolar":
        double = 2 * phi[0].abs()
        return double * sigmoid(double * z)
    raise ValueError(f"activation {name!r} is unknown to to_torch")


class NeuralTrees(nn.Module):
    """The trees of a model; see `bneuralt.to_torch`."""

    def __init__(self, model: Any, plan: Plan, dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.plan = model, plan
        self.trees = nn.ModuleList(TreeLayout(tree, dtype) for tree in plan.trees)
        self.weights = nn.ParameterList(
            nn.Parameter(torch.tensor(tree.parameters, dtype=dtype)) for tree in plan.trees
        )

    def encode(self, X: Any) -> Tensor:
        """Return a table as inputs of the trees, on the device of the weights."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown values are part of the encoding
            inputs = self.model._filled(self.model._read_features(X))
        like = self.weights[0]
        return torch.as_tensor(np.asarray(inputs), dtype=like.dtype, device=like.device)

    def scores(self, inputs: Tensor) -> Tensor:
        """Return the outputs of all trees, of shape (n_trees, n_rows, n_outputs)."""
        pairs = zip(self.trees, self.weights, strict=True)
        return torch.stack([tree(weights, inputs) for tree, weights in pairs])

    def forward(self, inputs: Tensor) -> Tensor:
        """Return probabilities or numbers, of shape (n_rows, n_outputs)."""
        values, combine = self.scores(inputs), self.plan.combine
        if combine == "softmax":
            values = torch.softmax(values, dim=2)
        elif combine == "sigmoid":
            values = torch.sigmoid(values)
        elif combine == "clip":
            values = values.clamp(0.0, 1.0)
        elif combine == "shares":
            shares = values.clamp(min=max(self.plan.smallest, torch.finfo(values.dtype).tiny))
            values = shares / shares.sum(dim=2, keepdim=True)
        mean = values.mean(dim=0)
        if combine == "exp":
            return torch.exp(mean)
        return mean.sort(dim=1).values[:, list(self.plan.order)] if combine == "sort" else mean
