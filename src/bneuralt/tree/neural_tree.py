"""NeuralTree: the structure and the weights of a tree, as flat arrays.

Function nodes are numbered breadth-first. The first K = `n_outputs` of them are the output
nodes: the class nodes of a classification tree (its root only takes the argmax, so it is not
stored), or the root itself of a regression tree. A tree is therefore K independent subtrees.
Numbered like this, the children of a node are neighbours, and so are the nodes of a level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bneuralt.tree.activations import NAMES
from bneuralt.tree.checks import (
    as_readable,
    check_leaves,
    check_nodes,
    checked_count,
    checked_integers,
    checked_parameters,
    frozen,
)

if TYPE_CHECKING:
    from bneuralt.tree.generate import LeafSampler

__all__ = ["NeuralTree"]


@dataclass(frozen=True, eq=False, repr=False)
class NeuralTree:
    """A tree of neurons whose leaves are inputs.

    A function node sums `weight * value` over its children, adds its bias, and applies its
    activation; a leaf has the value of one input. The arrays are checked and copied once, and
    are read-only from then on. Most trees come from `NeuralTree.random`.

    Parameters
    ----------
    n_inputs : int
        Number of inputs (features).
    n_outputs : int
        Number of outputs K: 1 for a regression tree, the number of classes otherwise.
    parent : int array of shape (n_nodes,)
        Parent of each function node, -1 for the K outputs, which come first. Breadth-first:
        never decreasing, and `parent[i] < i`.
    activation : int array of shape (n_nodes,)
        Activation of each node, as a position in `bneuralt.tree.activations.NAMES`. The outputs
        are all "linear" or all "sigmoid".
    leaf_parent : int array of shape (n_leaves,)
        Parent of each leaf, never decreasing.
    leaf_input : int array of shape (n_leaves,)
        Input of each leaf, 0 to `n_inputs - 1`.
    parameters : float array of shape (2 * n_nodes - K + n_leaves,)
        All weights: the bias of every function node; the weight of the edge above each
        function node, outputs excepted; the weight of each leaf. Its dtype, float64 or
        float32, is the dtype in which the tree computes.

    Examples
    --------
    One regression node over two inputs, ``0.5 + 2 * x0 - x1``:

    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, parent=[-1], activation=[0], leaf_parent=[0, 0],
    ...                   leaf_input=[0, 1], parameters=[0.5, 2.0, -1.0])
    >>> tree.size, tree.n_leaves, tree.n_parameters
    (3, 2, 3)
    """

    n_inputs: int
    n_outputs: int
    parent: np.ndarray
    activation: np.ndarray
    leaf_parent: np.ndarray
    leaf_input: np.ndarray
    parameters: np.ndarray

    def __post_init__(self) -> None:
        checked = {
            "n_inputs": checked_count("n_inputs", self.n_inputs),
            "n_outputs": checked_count("n_outputs", self.n_outputs),
            "parent": checked_integers("parent", self.parent, np.int32),
            "activation": checked_integers("activation", self.activation, np.uint8),
            "leaf_parent": checked_integers("leaf_parent", self.leaf_parent, np.int32),
            "leaf_input": checked_integers("leaf_input", self.leaf_input, np.int32),
        }
        self.__dict__.update(checked)
        check_nodes(self)
        check_leaves(self)
        self.__dict__["parameters"] = checked_parameters(self, self.parameters)

    # -- making trees --------------------------------------------------------------------

    @classmethod
    def random(
        cls,
        n_inputs: int,
        n_outputs: int = 1,
        max_depth: int = 5,
        max_children: int = 5,
        leaf_probability: float = 0.4,
        *,
        rule: str = "inclusive",
        min_children: int = 2,
        min_size: int | float | None = None,
        max_size: int | None = None,
        n_weights: int | None = None,
        init: str = "normal",
        init_scale: float = 1.5,
        activation: str = "sigmoid",
        output_activation: str = "sigmoid",
        feature_sampling: ArrayLike | LeafSampler | None = None,
        dtype: DTypeLike = np.float64,
        random_state: int | np.random.Generator | None = None,
    ) -> NeuralTree:
        """Draw a random tree; see `bneuralt.tree.generate.random_tree` for the parameters.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree.random(4, 3, max_depth=2, random_state=0)
        >>> tree.n_inputs, tree.n_outputs, tree.depth
        (4, 3, 2)
        """
        from bneuralt.tree.generate import random_tree

        return random_tree(
            n_inputs,
            n_outputs,
            max_depth,
            max_children,
            leaf_probability,
            rule=rule,
            min_children=min_children,
            min_size=min_size,
            max_size=max_size,
            n_weights=n_weights,
            init=init,
            init_scale=init_scale,
            activation=activation,
            output_activation=output_activation,
            feature_sampling=feature_sampling,
            dtype=dtype,
            random_state=random_state,
        )

    def with_parameters(self, parameters: ArrayLike) -> NeuralTree:
        """Return a tree of the same structure with other weights.

        Parameters
        ----------
        parameters : float array of shape (n_parameters,)
            In the order of `NeuralTree.parameters`.
        """
        tree = object.__new__(NeuralTree)
        shared = {key: value for key, value in self.__dict__.items() if key in _STRUCTURE}
        tree.__dict__.update(shared)
        tree.__dict__["parameters"] = checked_parameters(self, parameters)
        return tree

    def astype(self, dtype: DTypeLike) -> NeuralTree:
        """Return the tree with its weights as float64 or float32."""
        if np.dtype(dtype) == self.dtype:
            return self
        with np.errstate(over="ignore"):  # reported as a non-finite weight, with its place
            return self.with_parameters(self.parameters.astype(dtype))

    def with_input_scaling(self, offset: ArrayLike, factor: ArrayLike) -> NeuralTree:
        """Return the tree that does on raw x what this one does on `(x - offset) * factor`.

        The scaling goes into the leaf weights and the biases above them, so using the
        returned tree costs nothing extra.

        Parameters
        ----------
        offset, factor : float or array of shape (n_inputs,)
        """
        per_input = (self.n_inputs,)
        offset = np.broadcast_to(np.asarray(offset, dtype=np.float64), per_input)
        factor = np.broadcast_to(np.asarray(factor, dtype=np.float64), per_input)
        weight = self.leaf_weight * factor[self.leaf_input]
        shift = weight * offset[self.leaf_input]
        bias = self.bias - np.bincount(self.leaf_parent, shift, minlength=self.parent.size)
        folded = np.concatenate([bias, self.edge, weight], dtype=np.float64)
        return self.with_parameters(folded.astype(self.dtype))

    def with_output_scaling(self, offset: float, factor: float) -> NeuralTree:
        """Return the regression tree whose output is `factor * output + offset`.

        Only for one linear output, whose bias and incoming weights take the scaling up.
        """
        if self.n_outputs != 1 or self.output_activation != "linear":
            raise ValueError(
                "with_output_scaling needs one linear output, this tree has "
                f"n_outputs={self.n_outputs} and output_activation={self.output_activation!r}"
            )
        bias = self.bias.astype(np.float64)
        bias[0] = bias[0] * factor + offset
        edge = np.where(self.parent[1:] == 0, factor, 1.0) * self.edge
        weight = np.where(self.leaf_parent == 0, factor, 1.0) * self.leaf_weight
        return self.with_parameters(np.concatenate([bias, edge, weight]).astype(self.dtype))

    # -- using them ----------------------------------------------------------------------

    def forward(self, X: ArrayLike, n_threads: int = 1) -> np.ndarray:
        """Compute the outputs of the tree.

        Parameters
        ----------
        X : array of shape (n_rows, n_inputs), or (n_inputs,) for a single row
            float64, float32 and uint8 arrays are used as they are.
        n_threads : int
            Number of threads; it never changes the result.

        Returns
        -------
        array of shape (n_rows, n_outputs), or (n_outputs,) for a single row
            In the dtype of the tree.
        """
        try:
            return self._model.forward(X, n_threads)
        except TypeError:  # not an array that the core can read as it is
            return self._model.forward(as_readable(X), n_threads)

    def probabilities(self, X: ArrayLike, n_threads: int = 1) -> np.ndarray:
        """Compute the softmax of the outputs: class probabilities of a tree with linear outputs.

        Parameters and the shape of what is returned are those of `forward`.

        Examples
        --------
        >>> from bneuralt import NeuralTree
        >>> tree = NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], [0.0, 0.0, 1.0, -1.0])
        >>> tree.probabilities([[0.0]])
        array([[0.5, 0.5]])
        """
        try:
            return self._model.forward(X, n_threads, True)
        except TypeError:
            return self._model.forward(as_readable(X), n_threads, True)

    @cached_property
    def _model(self) -> Any:
        from bneuralt import _core

        return _core.Model(*self._arguments)

    def to_json(self) -> str:
        """Return the tree as JSON text, in the format of docs/format.md."""
        from bneuralt.tree.json_format import tree_to_json

        return tree_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> NeuralTree:
        """Read a tree from the text `to_json` gave; a `ValueError` says what is wrong with it."""
        from bneuralt.tree.json_format import tree_from_json

        return tree_from_json(text)

    @classmethod
    def from_authors_json(
        cls,
        source: str | PathLike[str],
        *,
        n_inputs: int | None = None,
        task: str | None = None,
    ) -> NeuralTree:
        """Read a tree published by the authors of the paper.

        See `bneuralt.tree.authors_format.tree_from_authors_json` for the parameters.
        """
        from bneuralt.tree.authors_format import tree_from_authors_json

        return tree_from_authors_json(source, n_inputs=n_inputs, task=task)

    # -- weights by kind -----------------------------------------------------------------

    @property
    def bias(self) -> np.ndarray:
        """Bias of each function node."""
        return self.parameters[: self.parent.size]

    @property
    def edge(self) -> np.ndarray:
        """Weight of the edge above each function node from node `n_outputs` on."""
        n_nodes = self.parent.size
        return self.parameters[n_nodes : 2 * n_nodes - self.n_outputs]

    @property
    def leaf_weight(self) -> np.ndarray:
        """Weight of each leaf."""
        return self.parameters[2 * self.parent.size - self.n_outputs :]

    # -- where things are ----------------------------------------------------------------

    @cached_property
    def child_start(self) -> np.ndarray:
        """Node i has the function children `child_start[i]` to `child_start[i + 1] - 1`."""
        k, n_nodes = self.n_outputs, self.parent.size
        return frozen(k + np.searchsorted(self.parent[k:], np.arange(n_nodes + 1)), np.int32)

    @cached_property
    def leaf_start(self) -> np.ndarray:
        """Node i has the leaves `leaf_start[i]` to `leaf_start[i + 1] - 1`."""
        nodes = np.arange(self.parent.size + 1)
        return frozen(np.searchsorted(self.leaf_parent, nodes), np.int32)

    @cached_property
    def level_start(self) -> np.ndarray:
        """Level j, of the function nodes j edges below the outputs, starts at `level_start[j]`.

        The last entry is the number of function nodes, where a further level would start.
        """
        starts = [0, self.n_outputs]
        child_start = self.child_start.tolist()
        while starts[-1] < self.parent.size:
            starts.append(child_start[starts[-1]])
        return frozen(starts, np.int32)

    @cached_property
    def input_counts(self) -> np.ndarray:
        """How many leaves carry each input."""
        return frozen(np.bincount(self.leaf_input, minlength=self.n_inputs), np.int64)

    # -- sizes ---------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype:
        """dtype of the weights, and of what the tree computes."""
        return self.parameters.dtype

    @property
    def n_function_nodes(self) -> int:
        """Number of function nodes, the root not counted (the paper's F)."""
        return self.parent.size - (self.n_outputs == 1)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.leaf_parent.size

    @property
    def size(self) -> int:
        """Number of nodes: the root, the other function nodes, and the leaves."""
        return 1 + self.n_function_nodes + self.n_leaves

    @property
    def depth(self) -> int:
        """Edges from the root down to the deepest function node."""
        return self.level_start.size - 1 - (self.n_outputs == 1)

    @property
    def n_parameters(self) -> int:
        """Number of trainable weights."""
        return self.parameters.size

    @property
    def paper_parameter_count(self) -> int:
        """Number of weights as the paper's tables count them, 2F + L."""
        return 2 * self.n_function_nodes + self.n_leaves

    @property
    def output_activation(self) -> str:
        """Activation of the output nodes."""
        return NAMES[self.activation[0]]

    @cached_property
    def hidden_activation(self) -> str:
        """Activation of the other function nodes, or "mixed"; the outputs' if there are none."""
        codes = np.unique(self.activation[self.n_outputs :])
        if codes.size == 0:
            return self.output_activation
        return NAMES[codes[0]] if codes.size == 1 else "mixed"

    # -- Python's protocols --------------------------------------------------------------

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in self.__dataclass_fields__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NeuralTree):
            return NotImplemented
        return self.dtype == other.dtype and all(
            np.array_equal(a, b) for a, b in zip(self._arguments, other._arguments, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return NeuralTree, self._arguments

    def __repr__(self) -> str:
        return (
            f"NeuralTree(n_inputs={self.n_inputs}, n_outputs={self.n_outputs}, "
            f"size={self.size}, depth={self.depth}, n_parameters={self.n_parameters}, "
            f"hidden_activation={self.hidden_activation!r}, "
            f"output_activation={self.output_activation!r}, dtype={self.dtype.name})"
        )


#: What trees that differ only in their weights share, computed arrays included.
_STRUCTURE = frozenset(NeuralTree.__dataclass_fields__) - {"parameters"} | {
    "child_start",
    "leaf_start",
    "level_start",
    "input_counts",
    "hidden_activation",
}
