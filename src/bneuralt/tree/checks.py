"""Checks of the arrays of a tree, each on whole arrays; errors name the first invalid place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from bneuralt import _core
from bneuralt._typing import Array, FloatArray, IntArray
from bneuralt.tree.activations import (
    ACTIVATIONS,
    NAMES,
    default_parameters,
    n_activation_parameters,
)

__all__ = [
    "check_leaves",
    "check_nodes",
    "checked_activation_parameters",
    "checked_count",
    "checked_integers",
    "checked_parameters",
    "frozen",
]


def frozen(values: ArrayLike, dtype: DTypeLike) -> Array:
    """Return a read-only copy."""
    array: Array = np.array(values, dtype=dtype, order="C")
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


def checked_integers(name: str, values: ArrayLike, dtype: type[np.integer[Any]]) -> IntArray:
    """Return a read-only copy with one dimension, of an integer dtype."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not shape {array.shape}")
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    if array.dtype != dtype:
        info = np.iinfo(dtype)
        _check_all(
            (array >= info.min) & (array <= info.max),
            lambda i: f"{name}[{i}] is {array[i]}, which does not fit {info.dtype}",
        )
    return frozen(array, dtype)


def _check_all(valid: Array, message: Callable[[int], str]) -> None:
    """Raise a ValueError with the message of the first place that is not valid."""
    if not valid.all():
        raise ValueError(message(int(np.argmin(valid))))


def check_nodes(parent: IntArray, activation: IntArray, k: int) -> None:
    """Check the function nodes of a tree with k outputs: numbering, parents, activations."""
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


def check_leaves(
    parent: IntArray, leaf_parent: IntArray, leaf_input: IntArray, n_inputs: int, n_outputs: int
) -> None:
    """Check the leaves: order, parents, inputs; and that every node has a child."""
    n_nodes = parent.size
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
        (leaf_input >= 0) & (leaf_input < n_inputs),
        lambda i: (
            f"leaf_input[{i}] is {leaf_input[i]}, inputs go from 0 to "
            f"{n_inputs - 1} (n_inputs={n_inputs})"
        ),
    )
    has_child = np.zeros(n_nodes, dtype=bool)
    has_child[parent[n_outputs:]] = True
    has_child[leaf_parent] = True
    _check_all(has_child, lambda i: f"function node {i} has no child: give it a leaf")


def checked_activation_parameters(
    activation: IntArray, values: ArrayLike | None, are_trained: bool
) -> FloatArray:
    """Return a read-only copy of the parameters of all nodes' activations, by default of theirs.

    They must be in the ranges that the activations declare, unless they are trained: training may
    move them anywhere.
    """
    values = default_parameters(activation) if values is None else values
    array = np.asarray(values, dtype=np.float64)
    counts = n_activation_parameters(activation)
    if array.shape != (counts.sum(),):
        raise ValueError(
            f"activation_parameters has shape {array.shape}, the activations of this tree have "
            f"({counts.sum()},)"
        )
    if are_trained:
        return frozen(array, np.float64)
    position = 0
    for node in np.flatnonzero(counts).tolist():
        count = int(counts[node])
        values_of_node = array[position : position + count].tolist()
        ACTIVATIONS[NAMES[activation[node]]](*values_of_node)  # raises if one is out of range
        position += count
    return frozen(array, np.float64)


def checked_parameters(values: ArrayLike, structure: _core.Structure, n_trained: int) -> FloatArray:
    """Return a read-only copy of the weights of a tree.

    The last `n_trained` are parameters of activations.
    """
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if array.dtype.kind != "f" or array.dtype.itemsize not in (4, 8):
        raise TypeError(f"parameters must be float64 or float32, not {array.dtype}")
    if array.shape == (structure.n_parameters,) and np.isfinite(array).all():
        return frozen(array, array.dtype.type)  # in native byte order
    n_nodes, n_leaves = structure.child_start.size - 1, structure.leaf_start[-1]
    n_outputs = structure.level_start[1]
    if array.shape != (structure.n_parameters,):
        more = f", {n_trained} parameters of activations" if n_trained else ""
        raise ValueError(
            f"parameters has shape {array.shape}, this tree needs ({structure.n_parameters},): "
            f"{n_nodes} biases, {n_nodes - n_outputs} edges, {n_leaves} leaf weights{more}"
        )
    i = int(np.argmin(np.isfinite(array)))
    place = _place(i, n_nodes, n_outputs, n_leaves)
    raise ValueError(f"parameters[{i}] is {array[i]}, {place}")


def _place(i: int, n_nodes: int, n_outputs: int, n_leaves: int) -> str:
    """Return in words which weight `parameters[i]` is."""
    first_leaf = 2 * n_nodes - n_outputs
    if i < n_nodes:
        place = f"the bias of node {i}"
    elif i < first_leaf:
        place = f"the edge above node {i - n_nodes + n_outputs}"
    elif i < first_leaf + n_leaves:
        place = f"the weight of leaf {i - first_leaf}"
    else:
        place = f"parameter {i - first_leaf - n_leaves} of the activations"
    return f"{place}: weights must be finite"
