"""Values and weighted sums of all function nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from bneuralt._typing import FloatArray
from bneuralt.arrays import as_table
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["node_sums", "node_values"]


def node_values(tree: NeuralTree, X: ArrayLike, n_threads: int = 1) -> FloatArray:
    """Return the value of each function node for each row.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
    n_threads : int

    Returns
    -------
    float64 array of shape (n_rows, n_nodes)

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1, 0], [0, 1], [0, 1], [0, 0], [0.0, 0.0, 2.0, 1.0, 1.0])
    >>> node_values(tree, np.zeros((1, 1)))
    array([[1. , 0.5]])
    """
    X = as_table(X)
    values = np.empty((len(X), tree.parent.size))
    starts = tree.level_start.tolist()
    for level in reversed(range(len(starts) - 1)):
        first, last = starts[level], starts[level + 1]
        below = slice(last, starts[level + 2] if level + 2 < len(starts) else last)
        level_tree = _level_tree(tree, first, last, below)
        values[:, first:last] = level_tree.forward(np.hstack([X, values[:, below]]), n_threads)
    return values


def node_sums(tree: NeuralTree, X: FloatArray, values: FloatArray) -> FloatArray:
    """Return the weighted sum of each function node for each row.

    Parameters
    ----------
    tree : NeuralTree
    X : array of shape (n_rows, n_inputs)
    values : array of shape (n_rows, n_nodes)
        The result of `node_values`.

    Examples
    --------
    >>> import numpy as np
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1, 0], [1, 1], [0, 1], [0, 0], [0.0, 0.0, 2.0, 1.0, 1.0])
    >>> X = np.zeros((1, 1))
    >>> node_sums(tree, X, node_values(tree, X))
    array([[1., 0.]])
    """
    k, n_nodes = tree.n_outputs, tree.parent.size
    leaves = (tree.leaf_weight, (tree.leaf_input, tree.leaf_parent))
    by_input = csr_array(leaves, shape=(tree.n_inputs, n_nodes))
    edges = (tree.edge, (np.arange(k, n_nodes), tree.parent[k:]))
    by_node = csr_array(edges, shape=(n_nodes, n_nodes))
    sums: FloatArray = tree.bias + X @ by_input + values @ by_node
    return sums


def _level_tree(tree: NeuralTree, first: int, last: int, below: slice) -> NeuralTree:
    """Return a tree whose outputs are a level, and whose last inputs are the next level."""
    k = tree.n_outputs
    leaves = slice(tree.leaf_start[first], tree.leaf_start[last])
    children = np.arange(below.start, below.stop)
    phi = slice(tree.activation_parameter_start[first], tree.activation_parameter_start[last])
    leaf_parent = np.concatenate([tree.leaf_parent[leaves], tree.parent[children]]) - first
    leaf_input = np.concatenate([tree.leaf_input[leaves], tree.n_inputs + children - last])
    weight = np.concatenate([tree.leaf_weight[leaves], tree.edge[children - k]])
    order = np.argsort(leaf_parent, kind="stable")
    parameters = [tree.bias[first:last], weight[order], tree.activation_parameters[phi]]
    return NeuralTree(
        tree.n_inputs + children.size,
        last - first,
        parent=np.full(last - first, -1),
        activation=tree.activation[first:last],
        leaf_parent=leaf_parent[order],
        leaf_input=leaf_input[order],
        parameters=np.concatenate(parameters, dtype=np.float64),
        activation_parameters=tree.activation_parameters[phi],
        trains_activations=True,  # trained ones may be outside of their declared ranges
    )
