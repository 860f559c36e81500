"""How large a tree is: in weights, and in bytes of an integer table."""

from __future__ import annotations

from bneuralt.tree import NeuralTree

__all__ = ["fewest_bytes", "fewest_weights", "table_bytes"]

#: Cells of 16 bits: counts of children and leaves, two for the bias, and a scale.
CELLS_OF_NODE = 4
#: Input and weight.
CELLS_OF_LEAF = 2


def table_bytes(tree: NeuralTree) -> int:
    """Return the number of bytes of a tree as a table of 16-bit integers, as exported to C.

    The table of the activation, which is the same for all trees, is not counted.

    Examples
    --------
    >>> table_bytes(NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0]))
    16
    """
    n_nodes = tree.parent.size
    n_edges = n_nodes - tree.n_outputs
    return 2 * (CELLS_OF_NODE * n_nodes + n_edges + CELLS_OF_LEAF * tree.n_leaves)


def fewest_weights(n_outputs: int) -> int:
    """Return the number of weights of the smallest tree: a bias and a leaf for each output.

    Examples
    --------
    >>> fewest_weights(3)
    6
    """
    return 2 * n_outputs


def fewest_bytes(n_outputs: int) -> int:
    """Return the number of bytes of the smallest tree.

    Examples
    --------
    >>> fewest_bytes(3)
    36
    """
    return 2 * (CELLS_OF_NODE + CELLS_OF_LEAF) * n_outputs
