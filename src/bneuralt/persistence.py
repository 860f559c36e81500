"""Reading and writing files: JSON text, checked strictly, written atomically.

The format of a tree is described in docs/format.md. Reading trusts nothing: whatever is wrong
with a file ends in a `ModelFileError` that says what and where.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from bneuralt.activations import NAMES
from bneuralt.tree import NeuralTree

__all__ = ["ModelFileError", "tree_from_json", "tree_to_json", "write_atomically"]


class ModelFileError(ValueError):
    """A file or text is not what it should be; the message says what is wrong and where."""


# -- files and JSON text ------------------------------------------------------------------

#: More than any of our formats needs, far less than what troubles a parser.
MAX_NESTING = 20


def write_atomically(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file so that it is there in full, or not at all.

    The content goes to a new file beside `path`, which then takes its place; a reader, or a
    machine that stops half-way, never sees a part of it.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing one is replaced.
    content : str or bytes
        Text is written as UTF-8.
    """
    target = os.path.realpath(path)  # write through a link, do not replace it
    temporary = f"{target}.{secrets.token_hex(6)}.tmp"
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def read_text(path: str | PathLike[str]) -> str:
    """Read a whole text file as UTF-8."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ModelFileError(f"the file is not UTF-8 text: byte {error.start} is wrong") from None


@contextmanager
def errors_naming(path: str | PathLike[str]) -> Iterator[None]:
    """Put the name of the file in front of what is wrong with it."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None


def format_json(value: Any, indent: str = "") -> str:
    """Return JSON text with one key per line, and lists of plain values on a single line.

    Examples
    --------
    >>> print(format_json({"size": 3, "parent": [-1, 0]}))
    {
      "size": 3,
      "parent": [-1, 0]
    }
    """
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{json.dumps(key)}: {format_json(v, deeper)}" for key, v in value.items()]
    elif isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        lines = [format_json(v, deeper) for v in value]
    else:
        return json.dumps(value, allow_nan=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    body = ",\n".join(deeper + line for line in lines)
    return f"{opening}\n{body}\n{indent}{closing}"


def parse_json(text: str) -> Any:
    """Parse JSON text; complain about broken, deeply nested or ambiguous text, and NaN."""
    _check_nesting(text)
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_unambiguous_object
        )
    except json.JSONDecodeError as error:
        at_end = not text[error.pos :].strip()
        what = "ends too early (is it truncated?)" if at_end else "is not valid JSON"
        raise ModelFileError(
            f"the text {what}: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except ModelFileError:
        raise
    except ValueError as error:  # such as an integer of thousands of digits
        raise ModelFileError(f"the text is not valid JSON: {error}") from None


# The closing quote is optional so that a string without one is read once, not again and again.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)


def _check_nesting(text: str) -> None:
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        bracket = token.group()
        if bracket in ("[", "{"):
            depth += 1
        elif bracket in ("]", "}"):
            depth -= 1
        if depth > MAX_NESTING:
            raise ModelFileError(
                f"the text nests more than {MAX_NESTING} levels deep at character "
                f"{token.start()}: this is not one of our files"
            )


def _refuse_constant(name: str) -> None:
    raise ModelFileError(f"the text contains {name}: numbers must be finite")


def _unambiguous_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ModelFileError(f"the key {twice!r} is there twice")
    return result


def check_format(data: Any, name: str, newest: int) -> int:
    """Check that parsed JSON says it is of our format `name`, and return its version.

    Parameters
    ----------
    data : parsed JSON
    name : str
        What its key "format" must say.
    newest : int
        The newest version this release reads; versions count from 1.
    """
    if not isinstance(data, dict) or "format" not in data:
        hint = ""
        if isinstance(data, dict) and {"name", "children"} <= data.keys():
            hint = " (a tree of the paper's authors? use NeuralTree.from_authors_json)"
        raise ModelFileError(f'this is not a {name} file: it has no key "format"{hint}')
    if data["format"] != name:
        raise ModelFileError(f'this is not a {name} file: its "format" is {data["format"]!r}')
    version = data.get("version")
    if type(version) is not int or version < 1:
        raise ModelFileError(f'"version" is {version!r}, it must be a whole number from 1')
    if version > newest:
        raise ModelFileError(
            f"this file is of version {version} of the {name} format, and this release of "
            f"bneuralt reads up to version {newest}: install a newer bneuralt"
        )
    return version


def check_keys(data: dict[str, Any], wanted: Iterable[str], where: str) -> None:
    """Check that a JSON object has the wanted keys and no others."""
    wanted = set(wanted)
    if missing := wanted - data.keys():
        raise ModelFileError(f"{where} lacks the key {min(missing)!r}")
    if unknown := data.keys() - wanted:
        raise ModelFileError(f"{where} has a key that does not belong there: {min(unknown)!r}")


# -- trees --------------------------------------------------------------------------------

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
