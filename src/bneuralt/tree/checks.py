"""Checks of the arrays a tree is made of, and of the rows it is given.

Every check looks at whole arrays at once, and names the first place that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bneuralt.tree.activations import NAMES, OUTPUT_NAMES

if TYPE_CHECKING:
    from bneuralt.tree.neural_tree import NeuralTree

__all__ = [
    "as_readable",
    "check_leaves",
    "check_nodes",
    "checked_count",
    "checked_integers",
    "checked_parameters",
    "frozen",
]


def frozen(values: ArrayLike, dtype: DTypeLike) -> np.ndarray:
    """Return a read-only copy."""
    array = np.array(values, dtype=dtype, order="C")
    array.flags.writeable = False
    return array


def checked_count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is at least `least` and fits 32 bits."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name}={value} must be {least} or more")
    if value > np.iinfo(np.int32).max:
        raise ValueError(f"{name}={value} is too large: it must fit 32 bits")
    return int(value)


def checked_integers(name: str, values: ArrayLike, dtype: type[np.integer]) -> np.ndarray:
    """Return a read-only copy with one dimension, of an integer dtype."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    info = np.iinfo(dtype)
    _check_all(
        (array >= info.min) & (array <= info.max),
        lambda i: f"{name}[{i}] is {array[i]}, which does not fit {info.dtype}",
    )
    return frozen(array, dtype)


def _check_all(valid: np.ndarray, message: Callable[[int], str]) -> None:
    """Raise a ValueError with the message of the first place that is not valid."""
    if not valid.all():
        raise ValueError(message(int(np.argmin(valid))))


def check_nodes(tree: NeuralTree) -> None:
    """Check the function nodes: numbering, parents, activations."""
    parent, activation, k = tree.parent, tree.activation, tree.n_outputs
    if parent.size < k:
        raise ValueError(f"parent has {parent.size} nodes, fewer than n_outputs={k}")
    if activation.size != parent.size:
        raise ValueError(f"activation has {activation.size} nodes, parent has {parent.size}")
    _check_all(
        parent[:k] == -1,
        lambda i: (
            f"parent[{i}] is {parent[i]}, but the first n_outputs={k} nodes are the "
            "outputs, whose parent is -1"
        ),
    )
    inner = parent[k:]
    _check_all(
        (inner >= 0) & (inner < np.arange(k, parent.size)),
        lambda i: (
            f"parent[{k + i}] is {inner[i]}, but the parent of node {k + i} must be one "
            f"of the nodes before it, 0 to {k + i - 1}"
        ),
    )
    _check_all(
        inner[1:] >= inner[:-1],
        lambda i: (
            f"parent[{k + i + 1}] is {inner[i + 1]} after {inner[i]}: nodes must be "
            "numbered breadth-first, so that parents never decrease"
        ),
    )
    _check_all(
        activation < len(NAMES),
        lambda i: (
            f"activation[{i}] is {activation[i]}, codes go from 0 to {len(NAMES) - 1}: "
            f"{', '.join(NAMES)}"
        ),
    )
    outputs = [NAMES[code] for code in np.unique(activation[:k])]
    if len(outputs) > 1 or outputs[0] not in OUTPUT_NAMES:
        raise ValueError(
            f"activation of the output nodes is {', '.join(outputs)}: they must be all "
            f"{' or all '.join(OUTPUT_NAMES)}"
        )


def check_leaves(tree: NeuralTree) -> None:
    """Check the leaves: order, parents, inputs; and that no node is without child."""
    leaf_parent, leaf_input, n_nodes = tree.leaf_parent, tree.leaf_input, tree.parent.size
    if leaf_input.size != leaf_parent.size:
        raise ValueError(
            f"leaf_input has {leaf_input.size} leaves, leaf_parent has {leaf_parent.size}"
        )
    _check_all(
        (leaf_parent >= 0) & (leaf_parent < n_nodes),
        lambda i: f"leaf_parent[{i}] is {leaf_parent[i]}, nodes go from 0 to {n_nodes - 1}",
    )
    _check_all(
        leaf_parent[1:] >= leaf_parent[:-1],
        lambda i: (
            f"leaf_parent[{i + 1}] is {leaf_parent[i + 1]} after {leaf_parent[i]}: "
            "leaves must be grouped by parent, in the order of the nodes"
        ),
    )
    _check_all(
        (leaf_input >= 0) & (leaf_input < tree.n_inputs),
        lambda i: (
            f"leaf_input[{i}] is {leaf_input[i]}, inputs go from 0 to "
            f"{tree.n_inputs - 1} (n_inputs={tree.n_inputs})"
        ),
    )
    has_child = np.zeros(n_nodes, dtype=bool)
    has_child[tree.parent[tree.n_outputs :]] = True
    has_child[leaf_parent] = True
    _check_all(has_child, lambda i: f"function node {i} has no child: give it a leaf")


def checked_parameters(tree: NeuralTree, values: ArrayLike) -> np.ndarray:
    """Return a read-only copy of the weights of a tree with this structure."""
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if array.dtype.kind != "f" or array.dtype.itemsize not in (4, 8):
        raise TypeError(f"parameters must be float64 or float32, not {array.dtype}")
    n_nodes = tree.parent.size
    n_wanted = 2 * n_nodes - tree.n_outputs + tree.leaf_parent.size
    if array.shape != (n_wanted,):
        raise ValueError(
            f"parameters has shape {array.shape}, this tree needs ({n_wanted},): {n_nodes} "
            f"biases, {n_nodes - tree.n_outputs} edges, {tree.leaf_parent.size} leaf weights"
        )
    _check_all(np.isfinite(array), lambda i: f"parameters[{i}] is {array[i]}, {_place(tree, i)}")
    return frozen(array, array.dtype.type)  # in native byte order


def _place(tree: NeuralTree, i: int) -> str:
    """Say in words which weight `parameters[i]` is."""
    n_nodes, k = tree.parent.size, tree.n_outputs
    if i < n_nodes:
        return f"the bias of node {i}: weights must be finite"
    if i < 2 * n_nodes - k:
        return f"the edge above node {i - n_nodes + k}: weights must be finite"
    return f"the weight of leaf {i - 2 * n_nodes + k}: weights must be finite"


def as_readable(X: ArrayLike) -> np.ndarray:
    """Return X as an array the core can read: contiguous, of one of its dtypes."""
    rows = np.asarray(X)
    if rows.dtype.kind not in "fiub":
        raise TypeError(f"X must hold numbers, not {rows.dtype}")
    if rows.dtype not in (np.float64, np.float32, np.uint8):
        rows = rows.astype(np.float64)
    return np.ascontiguousarray(rows)
