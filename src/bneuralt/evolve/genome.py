"""Trees as linked, immutable nodes, for crossover and mutations.

An operation replaces a subtree and copies only the nodes above it, so trees share equal subtrees.
A node has its numbers once for each *copy*: a search that scores trees by cross-validation has one
set of weights for each fold, and children inherit all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from bneuralt import _core
from bneuralt._typing import Array, FloatArray
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import n_activation_parameters

__all__ = ["FunctionNode", "Genome", "Leaf", "Path", "genome_of"]

#: The output, then the position among the children at each level.
Path = tuple[int, ...]


class Leaf:
    """A leaf: an input and its weight in each copy."""

    __slots__ = ("feature", "numbers")

    size: ClassVar[int] = 1
    height: ClassVar[int] = 0
    n_numbers: ClassVar[int] = 1

    def __init__(self, feature: int, numbers: FloatArray) -> None:
        self.feature = feature
        self.numbers = numbers  # of shape (1, n_copies)


class FunctionNode:
    """A function node.

    Its numbers, of shape (2 + n_activation_parameters, n_copies): its bias, the weight of the edge
    above it (unused by outputs) and the parameters of its activation. `size`, `height` and
    `n_numbers` are those of its subtree.
    """

    __slots__ = ("activation", "children", "height", "n_numbers", "numbers", "size")

    def __init__(
        self, activation: int, numbers: FloatArray, children: tuple[FunctionNode | Leaf, ...]
    ) -> None:
        self.activation = activation
        self.numbers = numbers
        # function nodes first, as in a `NeuralTree`: a search that is continued from a file has the
        # same order
        self.children = tuple(sorted(children, key=lambda child: isinstance(child, Leaf)))
        self.size: int = 1 + sum(child.size for child in children)
        self.height: int = 1 + max(child.height for child in children)
        self.n_numbers: int = len(numbers) + sum(child.n_numbers for child in children)

    def with_children(self, children: tuple[FunctionNode | Leaf, ...]) -> FunctionNode:
        """Return the node with other children."""
        return FunctionNode(self.activation, self.numbers, children)


class Genome(NamedTuple):
    """A tree: its outputs, whose subtrees are independent of each other.

    Parameters
    ----------
    outputs : tuple of FunctionNode
    n_inputs : int
    trains_activations : bool
        Whether parameters of activations count as weights.
    """

    outputs: tuple[FunctionNode, ...]
    n_inputs: int
    trains_activations: bool = False

    @property
    def size(self) -> int:
        """Number of nodes, as `NeuralTree.size` counts them."""
        return (len(self.outputs) > 1) + sum(output.size for output in self.outputs)

    @property
    def depth(self) -> int:
        """Edges from the root down to the deepest function node, as `NeuralTree.depth`."""
        return max(output.height for output in self.outputs) - (len(self.outputs) == 1)

    @property
    def n_copies(self) -> int:
        """Number of sets of weights."""
        return int(self.outputs[0].numbers.shape[1])

    @property
    def n_weights(self) -> int:
        """Number of weights, as `NeuralTree.n_parameters` counts them."""
        numbers = sum(output.n_numbers for output in self.outputs) - len(self.outputs)
        if self.trains_activations:
            return numbers
        return numbers - sum(len(node.numbers) - 2 for node in self.nodes())

    def nodes(self) -> Iterator[FunctionNode]:
        """Yield all function nodes."""
        stack: list[FunctionNode] = list(self.outputs)
        while stack:
            node = stack.pop()
            yield node
            stack.extend(child for child in node.children if isinstance(child, FunctionNode))

    def places(self) -> list[tuple[Path, FunctionNode | Leaf]]:
        """Return all nodes and leaves below the outputs, with their paths."""
        places: list[tuple[Path, FunctionNode | Leaf]] = []
        stack: list[tuple[Path, FunctionNode]] = [
            ((i,), node) for i, node in enumerate(self.outputs)
        ]
        while stack:
            path, node = stack.pop()
            for i, child in enumerate(node.children):
                below = (*path, i)
                places.append((below, child))
                if isinstance(child, FunctionNode):
                    stack.append((below, child))
        return places

    def at(self, path: Path) -> FunctionNode | Leaf:
        """Return the node or leaf at a path."""
        here: FunctionNode | Leaf = self.outputs[path[0]]
        for i in path[1:]:
            assert isinstance(here, FunctionNode)
            here = here.children[i]
        return here

    def replaced(self, path: Path, new: FunctionNode | Leaf) -> Genome:
        """Return the tree with another node or leaf at a path; outputs are function nodes."""
        for end in range(len(path) - 1, 0, -1):
            above = self.at(path[:end])
            assert isinstance(above, FunctionNode)
            children = list(above.children)
            children[path[end]] = new
            new = above.with_children(tuple(children))
        assert isinstance(new, FunctionNode)
        outputs = list(self.outputs)
        outputs[path[0]] = new
        return self._replace(outputs=tuple(outputs))

    def trees(self, dtype: type = np.float32) -> list[NeuralTree]:
        """Return one tree for each copy of the weights; they share their structure.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree.random(4, 3, random_state=0)
        >>> genome_of(tree).trees(float)[0].size == tree.size
        True
        """
        parent, activation, leaf_parent, leaf_input, phi, weights = self._arrays(dtype)
        first = NeuralTree(
            self.n_inputs,
            len(self.outputs),
            parent,
            activation,
            leaf_parent,
            leaf_input,
            weights[0],
            phi,
            self.trains_activations,
        )
        return [first, *(first.with_parameters(copy) for copy in weights[1:])]

    def compiled(self) -> _core.WeightedTree:
        """Return the tree of the first copy as the core takes it, without a `NeuralTree`.

        The core checks structures itself, and a search makes thousands of trees that are evaluated
        once.
        """
        *arrays, phi, weights = self._arrays(np.float32)
        parent, activation, leaf_parent, leaf_input = arrays
        structure = _core.Structure(
            self.n_inputs,
            len(self.outputs),
            parent,
            activation,
            leaf_parent,
            leaf_input,
            phi.astype(np.float64),
            self.trains_activations and phi.size > 0,
        )
        return _core.WeightedTree(structure, weights[0])

    def _arrays(self, dtype: type) -> tuple[Array, ...]:
        """Return the arrays of the structure and, last, the weights of each copy."""
        nodes: list[FunctionNode] = list(self.outputs)
        k = len(nodes)
        parent, leaf_parent, leaves = [-1] * k, [], []
        for i, node in enumerate(nodes):  # grows during the loop
            for child in node.children:
                if isinstance(child, FunctionNode):
                    nodes.append(child)
                    parent.append(i)
                else:
                    leaves.append(child)
                    leaf_parent.append(i)
        numbers = np.array([node.numbers[:2] for node in nodes])
        phi = np.concatenate([node.numbers[2:] for node in nodes])
        parts: list[Array] = [numbers[:, 0], numbers[k:, 1]]
        parts.append(np.array([leaf.numbers[0] for leaf in leaves]))
        if self.trains_activations:
            parts.append(phi)
        return (
            np.array(parent, dtype=np.int32),
            np.array([node.activation for node in nodes], dtype=np.uint8),
            np.array(leaf_parent, dtype=np.int32),
            np.array([leaf.feature for leaf in leaves], dtype=np.int32),
            phi[:, 0],
            np.ascontiguousarray(np.concatenate(parts).T, dtype=dtype),
        )


def genome_of(tree: NeuralTree, weights: Sequence[FloatArray] | FloatArray | None = None) -> Genome:
    """Return a tree as a `Genome`.

    Parameters
    ----------
    tree : NeuralTree
    weights : array of shape (n_copies, n_parameters), optional
        Weights of each copy; those of the tree by default.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> genome_of(NeuralTree.random(4, 3, random_state=0)).n_copies
    1
    """
    weights = np.atleast_2d(tree.parameters if weights is None else np.asarray(weights))
    columns = np.asarray(weights, dtype=np.float64).T
    n_nodes, k, n_copies = tree.parent.size, tree.n_outputs, columns.shape[1]
    bias, rest = columns[:n_nodes], columns[n_nodes:]
    edge = np.concatenate([np.zeros((k, n_copies)), rest[: n_nodes - k]])
    leaf_weight = rest[n_nodes - k : n_nodes - k + tree.n_leaves]
    if tree.trains_activations:
        phi = rest[n_nodes - k + tree.n_leaves :]
    else:
        phi = np.repeat(tree.activation_parameters[:, np.newaxis], n_copies, axis=1)
    phi_stop = np.cumsum(n_activation_parameters(tree.activation)).tolist()
    leaf_start, inputs = tree.leaf_start.tolist(), tree.leaf_input.tolist()
    codes, child_start = tree.activation.tolist(), tree.child_start.tolist()
    nodes: list[FunctionNode | None] = [None] * n_nodes
    for i in range(n_nodes - 1, -1, -1):
        start = phi_stop[i - 1] if i else 0
        numbers = np.vstack([bias[i], edge[i], phi[start : phi_stop[i]]])
        below = nodes[child_start[i] : child_start[i + 1]]
        leaves = [
            Leaf(inputs[j], leaf_weight[j : j + 1]) for j in range(leaf_start[i], leaf_start[i + 1])
        ]
        nodes[i] = FunctionNode(
            codes[i], numbers, (*(node for node in below if node is not None), *leaves)
        )
    outputs = tuple(node for node in nodes[:k] if node is not None)
    return Genome(outputs, tree.n_inputs, tree.trains_activations)
