"""The mean of several trees as one tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bneuralt import _core
from bneuralt._typing import FloatArray, IntArray
from bneuralt.tree.activations import n_activation_parameters
from bneuralt.tree.neural_tree import NeuralTree
from bneuralt.tree.walk import breadth_first

__all__ = ["mean_tree", "with_output_leaves"]


def mean_tree(trees: Sequence[NeuralTree]) -> NeuralTree:
    """Return the tree whose outputs are the means of the outputs of several trees.

    Its output nodes have the leaves and branches of those of all trees, so its outputs differ
    from the means by no more than rounding.

    Parameters
    ----------
    trees : sequence of NeuralTree
        Trees of the same inputs, outputs and type, whose outputs are linear.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> a, b = (NeuralTree.random(3, 1, random_state=i, output_activation="linear") for i in (0, 1))
    >>> x = [[1.0, 2.0, 3.0]]
    >>> bool(np.allclose(mean_tree([a, b]).forward(x), (a.forward(x) + b.forward(x)) / 2))
    True
    """
    first = trees[0]
    if len(trees) == 1:
        return first
    k, share = first.n_outputs, 1.0 / len(trees)
    scaled = [tree.astype(np.float64).with_output_scaling(0.0, share) for tree in trees]
    # Nodes in the order of the trees, behind the outputs that all of them share.
    starts = np.cumsum([0, *(tree.parent.size - k for tree in trees)])
    numbers = [
        np.concatenate([np.arange(k), k + start + np.arange(tree.parent.size - k)])
        for tree, start in zip(trees, starts, strict=False)
    ]
    above = [number[tree.parent[k:]] for tree, number in zip(trees, numbers, strict=True)]
    parent, place = breadth_first([*first.parent[:k].tolist(), *np.concatenate(above).tolist()], k)
    order = np.argsort(place)  # the old number of each node
    leaf_parent = np.concatenate(
        [place[number[tree.leaf_parent]] for tree, number in zip(trees, numbers, strict=True)]
    )
    leaves = np.argsort(leaf_parent, kind="stable")

    def of_nodes(outputs: np.ndarray, inner: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([outputs, *inner])[order]

    activation = of_nodes(first.activation[:k], [tree.activation[k:] for tree in trees])
    bias = of_nodes(
        np.sum([tree.bias[:k] for tree in scaled], axis=0), [tree.bias[k:] for tree in scaled]
    )
    edge = np.concatenate([tree.edge for tree in scaled])[order[k:] - k]
    weight = np.concatenate([tree.leaf_weight for tree in scaled])[leaves]
    # Linear outputs have no parameters; those of a node stay together.
    owner = np.concatenate(
        [
            place[np.repeat(number, n_activation_parameters(tree.activation))]
            for tree, number in zip(trees, numbers, strict=True)
        ]
    )
    phi = np.concatenate([tree.activation_parameters for tree in trees])
    phi = phi[np.argsort(owner, kind="stable")]
    trains = any(tree.trains_activations for tree in trees)  # not one without inner nodes
    trained = [phi] if trains else []
    parameters = np.concatenate([bias, edge, weight, *trained])
    return NeuralTree(
        first.n_inputs,
        k,
        parent,
        activation,
        leaf_parent[leaves],
        np.concatenate([tree.leaf_input for tree in trees])[leaves],
        parameters.astype(first.dtype),
        phi,
        trains,
    )


def with_output_leaves(
    tree: NeuralTree,
    factor: float,
    output: IntArray,
    leaf_input: IntArray,
    weight: FloatArray,
    bias: FloatArray,
) -> NeuralTree:
    """Return a tree whose outputs are multiplied by a factor, and have more leaves.

    Parameters
    ----------
    tree : NeuralTree
        Its outputs are linear.
    factor : float
    output, leaf_input, weight : arrays of shape (n_leaves,)
        Output, input and weight of each new leaf.
    bias : array of shape (n_outputs,)
        Added to the biases of the outputs.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree.random(3, 1, random_state=0, output_activation="linear")
    >>> leaf, column, weight = np.array([0]), np.array([2]), np.array([0.5])
    >>> more = with_output_leaves(tree, 2.0, leaf, column, weight, np.array([1.0]))
    >>> x = [[1.0, 2.0, 3.0]]
    >>> bool(np.allclose(more.forward(x), 2.0 * tree.forward(x) + 0.5 * 3 + 1.0))
    True
    """
    places = (np.ascontiguousarray(each, dtype=np.int32) for each in (output, leaf_input))
    numbers = (np.ascontiguousarray(each, dtype=np.float64) for each in (weight, bias))
    return NeuralTree.of_core(*_core.with_output_leaves(tree.core, factor, *places, *numbers))
