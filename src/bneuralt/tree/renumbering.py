"""Trees over other inputs."""

from __future__ import annotations

import numpy as np

from bneuralt._typing import IntArray
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["renumbered"]


def renumbered(tree: NeuralTree, position: IntArray, n_inputs: int) -> NeuralTree:
    """Return the same tree over inputs in other positions.

    Parameters
    ----------
    tree : NeuralTree
    position : int array of shape (tree.n_inputs,)
        The new position of each input that a leaf has.
    n_inputs : int
        Number of inputs then.

    Examples
    --------
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, 1.0])
    >>> renumbered(tree, np.array([3, 0]), 4).leaf_input
    array([3, 0], dtype=int32)
    """
    return NeuralTree(
        n_inputs,
        tree.n_outputs,
        parent=tree.parent,
        activation=tree.activation,
        leaf_parent=tree.leaf_parent,
        leaf_input=position[tree.leaf_input].astype(np.int32),
        parameters=tree.parameters,
        activation_parameters=tree.activation_parameters,
        trains_activations=tree.trains_activations,
    )
