"""Conversion of trees to and from JSON values, in the format of docs/format.md."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from bneuralt._typing import FloatArray, IntArray
from bneuralt.files import ModelFileError, check_format, check_keys
from bneuralt.tree.activations import NAMES, n_activation_parameters
from bneuralt.tree.layout import TreeArrays, n_weights

if TYPE_CHECKING:
    from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["arrays_from_dict", "errors_of_invalid_trees", "tree_to_dict"]

TREE_FORMAT = "bneuralt-tree"
TREE_VERSION = 2
_LARGEST = int(np.finfo(np.float64).max)

# fmt: off
_TREE_KEYS = (
    "format", "version", "n_inputs", "n_outputs", "n_nodes", "n_leaves", "n_parameters", "dtype",
    "output_activation", "activation", "activation_parameters", "trains_activations",
    "parent", "leaf_parent", "leaf_input", "bias", "edge", "leaf_weight",
)
# fmt: on


def tree_to_dict(tree: NeuralTree) -> dict[str, Any]:
    """Return a tree as a dict of JSON values: numbers, strings, lists."""
    k = tree.n_outputs
    return {
        "format": TREE_FORMAT,
        "version": TREE_VERSION,
        "n_inputs": tree.n_inputs,
        "n_outputs": k,
        "n_nodes": tree.parent.size,
        "n_leaves": tree.n_leaves,
        "n_parameters": tree.n_parameters,
        "dtype": tree.dtype.name,
        "output_activation": _names(tree.activation[:k], tree.output_activation),
        "activation": _names(tree.activation[k:], tree.hidden_activation),
        "activation_parameters": tree.activation_parameters.tolist(),
        "trains_activations": tree.trains_activations,
        "parent": tree.parent.tolist(),
        "leaf_parent": tree.leaf_parent.tolist(),
        "leaf_input": tree.leaf_input.tolist(),
        "bias": _shortest(tree.bias),
        "edge": _shortest(tree.edge),
        "leaf_weight": _shortest(tree.leaf_weight),
    }


def _shortest(numbers: FloatArray) -> list[float]:
    """Return numbers of float32 with as many digits as these need.

    Examples
    --------
    >>> _shortest(np.array([0.1, 2.5], dtype=np.float32))
    [0.1, 2.5]
    """
    if numbers.dtype == np.float32 and np.isfinite(numbers).all():
        short = numbers.astype(str).astype(np.float64)
        numbers = np.where(short.astype(np.float32) == numbers, short, numbers)
    listed: list[float] = numbers.tolist()
    return listed


def _names(codes: IntArray, common: str) -> str | list[str]:
    return [NAMES[code] for code in codes] if common == "mixed" else common


def arrays_from_dict(data: Any) -> TreeArrays:
    """Return the arrays of a tree from a dict of `tree_to_dict`, all of which is checked."""
    check_format(data, TREE_FORMAT, TREE_VERSION)
    check_keys(data, _TREE_KEYS, "the tree")
    n_inputs, n_outputs = _count(data, "n_inputs"), _count(data, "n_outputs")
    n_nodes, n_leaves = _count(data, "n_nodes"), _count(data, "n_leaves")
    if n_nodes < n_outputs:
        raise ModelFileError(f'"n_nodes" is {n_nodes}, fewer than "n_outputs", {n_outputs}')
    if data["dtype"] not in ("float64", "float32"):
        raise ModelFileError(f'"dtype" is {data["dtype"]!r}, it must be float64 or float32')
    weights = [
        _floats(data, "bias", n_nodes),
        _floats(data, "edge", n_nodes - n_outputs),
        _floats(data, "leaf_weight", n_leaves),
    ]
    activation = np.array(
        _codes(data, "output_activation", n_outputs)
        + _codes(data, "activation", n_nodes - n_outputs),
        dtype=np.uint8,
    )
    trains = data["trains_activations"]
    if type(trains) is not bool:
        raise ModelFileError(f'"trains_activations" is {trains!r}, it must be true or false')
    phi = _floats(data, "activation_parameters", int(n_activation_parameters(activation).sum()))
    weights += [phi] if trains else []
    n_parameters = n_weights(n_nodes, n_outputs, n_leaves) + (phi.size if trains else 0)
    if _count(data, "n_parameters") != n_parameters:
        raise ModelFileError(
            f'"n_parameters" is {data["n_parameters"]}, but {n_nodes} nodes with {n_outputs} '
            f"outputs and {n_leaves} leaves have {n_parameters}"
        )
    with np.errstate(over="ignore"):  # reported with its position by `NeuralTree`
        parameters = np.concatenate(weights).astype(data["dtype"])
    return TreeArrays(
        n_inputs,
        n_outputs,
        _integers(data, "parent", n_nodes),
        activation,
        _integers(data, "leaf_parent", n_leaves),
        _integers(data, "leaf_input", n_leaves),
        parameters,
        phi,
        trains,
    )


@contextmanager
def errors_of_invalid_trees() -> Iterator[None]:
    """Convert errors of `NeuralTree` about arrays from a file to `ModelFileError`."""
    try:
        yield
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"the tree is not valid: {error}") from None


def _count(data: dict[str, Any], key: str) -> int:
    value = data[key]
    if type(value) is not int or not 1 <= value < 2**31:
        raise ModelFileError(f'"{key}" is {value!r}, it must be a whole number from 1')
    return value


_IN_WORDS: dict[tuple[type, ...], str] = {
    (int,): "a whole number",
    (int, float): "a number",
    (str,): "a name",
}


def _list(data: dict[str, Any], key: str, length: int, types: tuple[type, ...]) -> list[Any]:
    values = data[key]
    if not isinstance(values, list):
        raise ModelFileError(f'"{key}" must be a list, not {type(values).__name__}')
    if len(values) != length:
        raise ModelFileError(f'"{key}" has {len(values)} entries, it must have {length}')
    for i, value in enumerate(values):
        if type(value) not in types:
            raise ModelFileError(f'"{key}"[{i}] is {value!r}, not {_IN_WORDS[types]}')
    return values


def _integers(data: dict[str, Any], key: str, length: int) -> IntArray:
    values = _list(data, key, length, (int,))
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        i = next(i for i, value in enumerate(values) if abs(value) >= 2**63)
        raise ModelFileError(f'"{key}"[{i}] is far out of range') from None


def _floats(data: dict[str, Any], key: str, length: int) -> FloatArray:
    values = _list(data, key, length, (int, float))
    try:
        array = np.array(values, dtype=np.float64)
    except OverflowError:
        array = np.array([float(v) if abs(v) <= _LARGEST else np.inf for v in values])
    finite = np.isfinite(array)
    if not finite.all():
        raise ModelFileError(f'"{key}"[{int(np.argmin(finite))}] is not a finite number')
    return array


def _codes(data: dict[str, Any], key: str, n_nodes: int) -> list[int]:
    """Return the codes of nodes, from one name for all or a list of names."""
    names = data[key]
    if isinstance(names, list):
        return [_code(key, name) for name in _list(data, key, n_nodes, (str,))]
    return [_code(key, names)] * n_nodes


def _code(key: str, name: Any) -> int:
    if name not in NAMES:
        raise ModelFileError(f'"{key}" has {name!r}, it must be one of {", ".join(NAMES)}')
    return NAMES.index(name)
