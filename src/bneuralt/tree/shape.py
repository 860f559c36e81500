"""Properties that follow from the arrays of a tree: weights by kind, positions, sizes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from bneuralt import _core
from bneuralt._typing import FloatArray, IntArray
from bneuralt.expressions import Expression
from bneuralt.tree.activations import NAMES, node_expressions
from bneuralt.tree.checks import frozen

__all__ = ["TreeShape"]


class TreeShape:
    """Base class of `NeuralTree`: read-only properties of its arrays."""

    n_inputs: int
    n_outputs: int
    parent: IntArray
    activation: IntArray
    leaf_parent: IntArray
    leaf_input: IntArray
    parameters: FloatArray
    activation_parameters: Any
    structure: _core.Structure

    # -- weights by kind -----------------------------------------------------------------

    @property
    def bias(self) -> FloatArray:
        """Bias of each function node."""
        return self.parameters[: self.parent.size]

    @property
    def edge(self) -> FloatArray:
        """Weight of the edge above each function node from node `n_outputs` on."""
        n_nodes = self.parent.size
        return self.parameters[n_nodes : 2 * n_nodes - self.n_outputs]

    @property
    def leaf_weight(self) -> FloatArray:
        """Weight of each leaf."""
        first = 2 * self.parent.size - self.n_outputs
        return self.parameters[first : first + self.leaf_parent.size]

    # -- positions -----------------------------------------------------------------------

    @property
    def child_start(self) -> IntArray:
        """Node i has the function children `child_start[i]` to `child_start[i + 1] - 1`."""
        return self.structure.child_start

    @property
    def leaf_start(self) -> IntArray:
        """Node i has the leaves `leaf_start[i]` to `leaf_start[i + 1] - 1`."""
        return self.structure.leaf_start

    @property
    def level_start(self) -> IntArray:
        """Level j, of the function nodes j edges below the outputs, starts at `level_start[j]`.

        The last entry is the number of function nodes, where a further level would start.
        """
        return self.structure.level_start

    @property
    def activation_parameter_start(self) -> IntArray:
        """Where the entries of node i in `activation_parameters` start."""
        return self.structure.activation_parameter_start

    @cached_property
    def input_counts(self) -> IntArray:
        """Number of leaves of each input."""
        return frozen(np.bincount(self.leaf_input, minlength=self.n_inputs), np.int64)

    @property
    def node_expressions(self) -> list[Expression]:
        """The formula of each function node's activation: an expression of its weighted sum z."""
        return node_expressions(
            self.activation, self.activation_parameters, self.activation_parameter_start
        )

    # -- sizes ---------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """dtype of the weights and of the outputs."""  # noqa: D403
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
        """Activation of the output nodes, or "mixed"."""
        return _name_of(self.structure.output_activation)

    @property
    def hidden_activation(self) -> str:
        """Activation of the other function nodes, or "mixed"; the outputs' if there are none."""
        return _name_of(self.structure.hidden_activation)


def _name_of(code: int) -> str:
    return NAMES[code] if code >= 0 else "mixed"
