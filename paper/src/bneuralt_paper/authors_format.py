"""Reader of the trees that the authors of the paper published.

A file is one nested JSON object. A node has a "name", which is a small record, and, if it is a
function node, "children":

    {"name": "f:2; e:0.5; b:-0.1; p:[0.3, 0.7, sigmoid]", "children": [
        {"name": " i:3; e:1.5"}, {"name": " i:0; e:-2.0"}]}

with `f` the number of children, `e` the weight of the edge above the node, `b` the bias, `p`
two unused numbers and the activation, and `i` the input of a leaf. The files nest as deep as
the tree does, so they are read without recursion.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import nullcontext
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from bneuralt.files import ModelFileError, errors_naming, read_text
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import NAMES
from bneuralt_paper._typing import Array, IntArray

__all__ = ["read_authors_tree"]

_NODE = re.compile(r'\s*\{\s*"name"\s*:\s*"([^"\\]*)"\s*(,\s*"children"\s*:\s*\[|\})')
_AFTER_NODE = re.compile(r"\s*(,|\]\s*\})")
_LEAF = re.compile(r"\s*i:(\d{1,9});\s*e:([^;]*)")
_FUNCTION = re.compile(r"\s*f:(\d{1,9});\s*e:([^;]*);\s*b:([^;]*);\s*p:\[(?:[^],]*,)*\s*(\w+)\]\s*")
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*")


@dataclass
class _Nodes:
    """All nodes of a file in the order they are read: every node before its children."""

    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    position: list[int] = field(default_factory=list)  # among the children of the parent
    weight: list[float] = field(default_factory=list)
    bias: list[float] = field(default_factory=list)
    activation: list[int] = field(default_factory=list)
    n_children: list[int] = field(default_factory=list)  # the value of `f`; 0 for a leaf
    input: list[int] = field(default_factory=list)  # -1 for a function node

    def path(self, i: int) -> str:
        """Return the position of node i: root[2][0] is child 0 of child 2 of the root."""
        steps: list[str] = []
        while i > 0:
            steps.append(f"[{self.position[i]}]")
            i = self.parent[i]
        if len(steps) > 20:
            steps[10:-10] = [f" ({len(steps) - 20} levels) "]
        return "root" + "".join(reversed(steps))


def read_authors_tree(
    source: str | PathLike[str], *, n_inputs: int | None = None, task: str | None = None
) -> NeuralTree:
    """Read a tree published by the authors of the paper.

    Parameters
    ----------
    source : str or path-like
        The file, or its text.
    n_inputs : int, optional
        Number of inputs, which is not in the files; by default the smallest possible one.
    task : {"classification", "regression"}, optional
        Whether the root takes the argmax of its children, or computes a value. By default it is
        inferred: the root of the authors' classification trees has only function nodes as children,
        and a bias of exactly 1.0, which is not trained.

    Raises
    ------
    ModelFileError
        A `ValueError` that names the problem and the node.

    Examples
    --------
    >>> from bneuralt_paper import read_authors_tree
    >>> tree = read_authors_tree(
    ...     '''{"name": "f:2; e:-1.0; b:0.5; p:[0.1, 0.2, sigmoid]", "children": [
    ...     {"name": " i:0; e:2.0" }, {"name": " i:3; e:-1.0" } ]}''')
    >>> tree.n_inputs, tree.parameters.tolist()
    (4, [0.5, 2.0, -1.0])
    """
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task={task!r} is not known: use 'classification', 'regression' or None")
    is_text = isinstance(source, str) and source.lstrip()[:1] in ("{", "[", "")
    with nullcontext() if is_text else errors_naming(source):
        nodes = _read_nodes(os.fspath(source) if is_text else read_text(source))
        return _build_tree(nodes, n_inputs, task)


def _read_nodes(text: str) -> _Nodes:
    nodes = _Nodes()
    open_nodes: list[int] = []  # the function nodes whose children are being read
    n_read: list[int] = []  # and the number of children of each so far
    place = 0
    while True:
        match = _NODE.match(text, place)
        if match is None:
            raise _syntax_error(text, place, "a node")
        i = _append_node(nodes, match, open_nodes, n_read)
        place = match.end()
        if match.group(2) != "}":
            open_nodes.append(i)
            n_read.append(0)
            continue
        while open_nodes:  # close the function nodes that end here
            match = _AFTER_NODE.match(text, place)
            if match is None:
                raise _syntax_error(text, place, "',' or ']}'")
            place = match.end()
            if match.group(1) == ",":
                break
            _check_child_count(nodes, open_nodes.pop(), n_read.pop())
        else:
            if text[place:].strip():
                raise _syntax_error(text, place, "the end of the file")
            return nodes


def _append_node(
    nodes: _Nodes, match: re.Match[str], open_nodes: list[int], n_read: list[int]
) -> int:
    i = len(nodes.parent)
    nodes.parent.append(open_nodes[-1] if open_nodes else -1)
    nodes.position.append(n_read[-1] if n_read else 0)
    nodes.depth.append(len(open_nodes))
    if n_read:
        n_read[-1] += 1
    name, has_children = match.group(1), match.group(2) != "}"
    record = (_FUNCTION if has_children else _LEAF).fullmatch(name)
    if record is None:
        kind = "function node" if has_children else "leaf"
        raise ModelFileError(f"{nodes.path(i)}: the name of a {kind} cannot be {name!r}")
    nodes.weight.append(_number(nodes, i, "e", record.group(2)))
    nodes.bias.append(_number(nodes, i, "b", record.group(3)) if has_children else 0.0)
    nodes.activation.append(_activation(nodes, i, record.group(4)) if has_children else 0)
    nodes.n_children.append(int(record.group(1)) if has_children else 0)
    nodes.input.append(-1 if has_children else int(record.group(1)))
    return i


def _number(nodes: _Nodes, i: int, key: str, text: str) -> float:
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ModelFileError(f"{nodes.path(i)}: {key} is {text!r}, not a finite number")
    return value


def _activation(nodes: _Nodes, i: int, name: str) -> int:
    if name not in NAMES:
        names = ", ".join(NAMES)
        raise ModelFileError(f"{nodes.path(i)}: activation {name!r} is not one of {names}")
    return NAMES.index(name)


def _check_child_count(nodes: _Nodes, i: int, n_read: int) -> None:
    if nodes.n_children[i] != n_read:
        raise ModelFileError(
            f"{nodes.path(i)}: f is {nodes.n_children[i]}, but there are {n_read} children"
        )


def _syntax_error(text: str, place: int, expected: str) -> ModelFileError:
    rest = text[place:].lstrip()
    if not rest:
        return ModelFileError(f"the text ends where {expected} should be: is it truncated?")
    place = len(text) - len(rest)
    return ModelFileError(f"character {place}: {rest[:30]!r} where {expected} should be")


def _build_tree(nodes: _Nodes, n_inputs: int | None, task: str | None) -> NeuralTree:
    """Put the nodes into arrays, numbered breadth-first."""
    parent, weight = np.array(nodes.parent), np.array(nodes.weight)
    leaf_input = np.array(nodes.input)
    is_function = leaf_input < 0
    if not is_function[0]:
        raise ModelFileError("root: it is a leaf, not a function node")
    _check_inputs(nodes, leaf_input, n_inputs)

    is_top = parent == 0
    looks_classifying = is_top.sum() > 1 and is_function[is_top].all() and nodes.bias[0] == 1.0
    if task is None:
        task = "classification" if looks_classifying else "regression"
    n_outputs = 1
    if task == "classification":
        n_outputs = _check_classes(nodes, np.flatnonzero(is_top), is_function)
        is_function[0] = False  # the argmax root is not stored

    # Read order keeps the nodes of one level in order, so sorting by depth is breadth-first.
    functions = np.flatnonzero(is_function)
    functions = functions[np.argsort(np.array(nodes.depth)[functions], kind="stable")]
    number = np.full(parent.size, -1)
    number[functions] = np.arange(functions.size)
    leaves = np.flatnonzero(leaf_input >= 0)
    leaves = leaves[np.argsort(number[parent[leaves]], kind="stable")]
    return NeuralTree(
        int(leaf_input.max()) + 1 if n_inputs is None else n_inputs,
        n_outputs,
        np.where(np.arange(functions.size) < n_outputs, -1, number[parent[functions]]),
        np.array(nodes.activation)[functions],
        number[parent[leaves]],
        leaf_input[leaves],
        np.concatenate(
            [np.array(nodes.bias)[functions], weight[functions[n_outputs:]], weight[leaves]]
        ),
    )


def _check_inputs(nodes: _Nodes, leaf_input: IntArray, n_inputs: int | None) -> None:
    if n_inputs is not None and (leaf_input >= n_inputs).any():
        i = int(np.argmax(leaf_input >= n_inputs))
        raise ModelFileError(
            f"{nodes.path(i)}: input {leaf_input[i]}, but inputs go from 0 to {n_inputs - 1} "
            f"(n_inputs={n_inputs})"
        )


def _check_classes(nodes: _Nodes, top: IntArray, is_function: Array) -> int:
    """Return the number of classes of a classification tree."""
    if top.size < 2:
        raise ModelFileError("root: one child only, a classification tree has two or more")
    if not is_function[top].all():
        i = int(top[np.argmin(is_function[top])])
        raise ModelFileError(
            f"{nodes.path(i)}: a leaf, but the children of the root of a classification tree "
            "are function nodes (is it a regression tree?)"
        )
    return int(top.size)
