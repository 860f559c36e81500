"""A tree as JSON text; docs/format.md describes the format."""

from __future__ import annotations

from typing import Any

import numpy as np

from bneuralt.files.json_text import (
    ModelFileError,
    check_format,
    check_keys,
    format_json,
    parse_json,
)
from bneuralt.tree.activations import NAMES
from bneuralt.tree.neural_tree import NeuralTree

__all__ = ["tree_from_dict", "tree_from_json", "tree_to_dict", "tree_to_json"]

TREE_FORMAT = "bneuralt-tree"
TREE_VERSION = 1

# fmt: off
_TREE_KEYS = (
    "format", "version", "n_inputs", "n_outputs", "n_nodes", "n_leaves", "n_parameters", "dtype",
    "output_activation", "activation", "parent", "leaf_parent", "leaf_input",
    "bias", "edge", "leaf_weight",
)
# fmt: on


def tree_to_json(tree: NeuralTree) -> str:
    """Return a tree as JSON text, in the format of docs/format.md.

    Examples
    --------
    >>> tree = NeuralTree.random(4, 3, random_state=0)
    >>> tree_from_json(tree_to_json(tree)) == tree
    True
    """
    return format_json(tree_to_dict(tree)) + "\n"


def tree_from_json(text: str) -> NeuralTree:
    """Read a tree from JSON text.

    Raises
    ------
    ModelFileError
        A `ValueError` that says what is wrong with the text, and where.
    """
    return tree_from_dict(parse_json(text))


def tree_to_dict(tree: NeuralTree) -> dict[str, Any]:
    """Return a tree as what JSON can hold: numbers, strings, lists."""
    inner = tree.activation[tree.n_outputs :]
    mixed = tree.hidden_activation == "mixed"
    return {
        "format": TREE_FORMAT,
        "version": TREE_VERSION,
        "n_inputs": tree.n_inputs,
        "n_outputs": tree.n_outputs,
        "n_nodes": tree.parent.size,
        "n_leaves": tree.n_leaves,
        "n_parameters": tree.n_parameters,
        "dtype": tree.dtype.name,
        "output_activation": tree.output_activation,
        "activation": [NAMES[code] for code in inner] if mixed else tree.hidden_activation,
        "parent": tree.parent.tolist(),
        "leaf_parent": tree.leaf_parent.tolist(),
        "leaf_input": tree.leaf_input.tolist(),
        "bias": tree.bias.tolist(),
        "edge": tree.edge.tolist(),
        "leaf_weight": tree.leaf_weight.tolist(),
    }


def tree_from_dict(data: Any) -> NeuralTree:
    """Read a tree from what `tree_to_dict` gave, trusting nothing."""
    check_format(data, TREE_FORMAT, TREE_VERSION)
    check_keys(data, _TREE_KEYS, "the tree")
    n_inputs, n_outputs = _count(data, "n_inputs"), _count(data, "n_outputs")
    n_nodes, n_leaves = _count(data, "n_nodes"), _count(data, "n_leaves")
    if n_nodes < n_outputs:
        raise ModelFileError(f'"n_nodes" is {n_nodes}, fewer than "n_outputs", {n_outputs}')
    n_parameters = 2 * n_nodes - n_outputs + n_leaves
    if _count(data, "n_parameters") != n_parameters:
        raise ModelFileError(
            f'"n_parameters" is {data["n_parameters"]}, but {n_nodes} nodes with {n_outputs} '
            f"outputs and {n_leaves} leaves have {n_parameters}"
        )
    if data["dtype"] not in ("float64", "float32"):
        raise ModelFileError(f'"dtype" is {data["dtype"]!r}, it must be float64 or float32')
    weights = np.concatenate(
        [
            _floats(data, "bias", n_nodes),
            _floats(data, "edge", n_nodes - n_outputs),
            _floats(data, "leaf_weight", n_leaves),
        ]
    )
    try:
        with np.errstate(over="ignore"):  # found, and located, among the other checks
            return NeuralTree(
                n_inputs,
                n_outputs,
                _integers(data, "parent", n_nodes),
                _activation_codes(data, n_nodes, n_outputs),
                _integers(data, "leaf_parent", n_leaves),
                _integers(data, "leaf_input", n_leaves),
                weights.astype(data["dtype"]),
            )
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
        raise ModelFileError(f'"{key}" has {len(values)} entries, the counts say {length}')
    for i, value in enumerate(values):
        if type(value) not in types:
            raise ModelFileError(f'"{key}"[{i}] is {value!r}, not {_IN_WORDS[types]}')
    return values


def _integers(data: dict[str, Any], key: str, length: int) -> np.ndarray:
    values = _list(data, key, length, (int,))
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        i = next(i for i, value in enumerate(values) if abs(value) >= 2**63)
        raise ModelFileError(f'"{key}"[{i}] is far out of range') from None


def _floats(data: dict[str, Any], key: str, length: int) -> np.ndarray:
    values = _list(data, key, length, (int, float))
    try:
        array = np.array(values, dtype=np.float64)
    except OverflowError:
        array = np.array([float(v) if abs(v) < 2**1023 else np.inf for v in values])
    finite = np.isfinite(array)
    if not finite.all():
        raise ModelFileError(f'"{key}"[{int(np.argmin(finite))}] is not a finite number')
    return array


def _activation_codes(data: dict[str, Any], n_nodes: int, n_outputs: int) -> np.ndarray:
    names, n_inner = data["activation"], n_nodes - n_outputs
    if isinstance(names, list):
        inner = [_code("activation", name) for name in _list(data, "activation", n_inner, (str,))]
    else:
        inner = [_code("activation", names)] * n_inner
    outputs = [_code("output_activation", data["output_activation"])] * n_outputs
    return np.array(outputs + inner, dtype=np.uint8)


def _code(key: str, name: Any) -> int:
    if name not in NAMES:
        raise ModelFileError(f'"{key}" has {name!r}, known are {", ".join(NAMES)}')
    return NAMES.index(name)
