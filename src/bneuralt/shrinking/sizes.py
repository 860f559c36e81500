"""The size of a tree, in weights and in bytes of an integer table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bneuralt.tree import NeuralTree

__all__ = ["BYTES", "WEIGHTS", "SizeUnit", "table_bytes"]

#: Cells of 16 bits: counts of children and leaves, two for the bias, and a scale.
CELLS_OF_NODE = 4
#: Input and weight.
CELLS_OF_LEAF = 2


def table_bytes(tree: NeuralTree) -> int:
    """Return the number of bytes of a tree as a table of 16-bit integers, as exported to C.

    The table of the activation, which is the same for all trees, and that of ramps are not counted.

    Examples
    --------
    >>> table_bytes(NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0]))
    16
    """
    n_nodes = tree.parent.size
    n_edges = n_nodes - tree.n_outputs
    return 2 * (CELLS_OF_NODE * n_nodes + n_edges + CELLS_OF_LEAF * tree.n_leaves)


def _n_weights(tree: NeuralTree) -> int:
    return tree.n_parameters


class SizeUnit(NamedTuple):
    """A unit of the size of a tree.

    Attributes
    ----------
    name : {"weights", "bytes"}
    size_of : callable
        Returns the size of a tree.
    per_output : int
        Size of a bias and a leaf, the smallest size of an output.
    """

    name: str
    size_of: Callable[[NeuralTree], int]
    per_output: int

    def check(self, limit: int, n_outputs: int) -> None:
        """Raise an error if a limit is too small for the number of outputs.

        Examples
        --------
        >>> WEIGHTS.check(6, n_outputs=3)
        """
        fewest = self.per_output * n_outputs
        if limit < fewest:
            raise ValueError(
                f"max_{self.name}={limit} is too small: a tree with {n_outputs} "
                f"output{'' if n_outputs == 1 else 's'} has at least {fewest} {self.name}, a bias "
                "and a leaf for each"
            )


WEIGHTS = SizeUnit("weights", _n_weights, 2)
BYTES = SizeUnit("bytes", table_bytes, 2 * (CELLS_OF_NODE + CELLS_OF_LEAF))
