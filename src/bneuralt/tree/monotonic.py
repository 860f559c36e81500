"""Monotone effects of inputs, prescribed and proven by the signs of weights.

If no activation ever decreases, the effect of a leaf on an output has the sign of the product of
all weights on its path: that of the leaf and those of the edges above it. An input whose paths all
have the same sign has a monotone effect, for all values of all inputs. An effect is prescribed by
the signs of weights (`Signs`), and proven by them (`leaf_effects`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._typing import Array, IntArray
from bneuralt.expressions import Expression, direction
from bneuralt.tree.activations import ACTIVATIONS, EXPRESSIONS, NAMES
from bneuralt.tree.neural_tree import NeuralTree

__all__ = [
    "UNKNOWN",
    "Signs",
    "constrained",
    "is_increasing",
    "leaf_effects",
    "node_signs",
    "reflected",
    "weight_signs",
]

#: The effect of a leaf below an activation that may decrease.
UNKNOWN = 2


class Signs(NamedTuple):
    """Signs that training must not change: +1, -1, or 0 for any sign.

    The sign of a leaf's weight is the product of the sign of its input and those of the nodes on
    its path.

    Attributes
    ----------
    node : int8 array of shape (n_nodes,)
        Sign of the edge above each function node. For an output: whether the prediction rises or
        falls with it.
    input : int8 array of shape (n_inputs,)
        Sign of the effect of each input on the prediction.
    """

    node: Array
    input: Array


def is_increasing(tree: NeuralTree) -> Array:
    """Return for each function node whether its activation never decreases.

    Examples
    --------
    >>> tree = NeuralTree.random(
    ...     2, activation="gaussian", output_activation="linear", random_state=0
    ... )
    >>> bool(is_increasing(tree)[0]), bool(is_increasing(tree)[1])
    (True, False)
    """
    return np.array([_never_decreases(expression) for expression in tree.node_expressions])


@cache
def _never_decreases(expression: Expression) -> bool:
    effect = direction(expression, "z")
    return effect.sign is not None and effect.sign >= 0 and not effect.flips


def node_signs(tree: NeuralTree, output_sign: ArrayLike = 1) -> Array:
    """Return the `Signs.node` of the weights of a tree; an edge of weight 0 counts as positive.

    Parameters
    ----------
    tree : NeuralTree
    output_sign : int, or array of shape (n_outputs,)

    Raises
    ------
    ValueError
        If a node of the tree has an activation that may decrease, now or after training.
    """
    may_decrease = ~is_increasing(tree)
    if tree.trains_activations:
        may_decrease |= [not _never_decreases(EXPRESSIONS[NAMES[code]]) for code in tree.activation]
    if may_decrease.any():
        activation = ACTIVATIONS[NAMES[int(tree.activation[may_decrease][0])]]
        problem = "may decrease"
        if _never_decreases(activation().expression):
            changes = "train_activations=True changes" if tree.trains_activations else "it has"
            problem += f" with parameters such as {changes}"
        increasing = ", ".join(name for name in NAMES if _never_decreases(EXPRESSIONS[name]))
        raise ValueError(
            "monotone effects need activations that never decrease, and activation="
            f"{activation.name!r} {problem}: use one of {increasing}"
        )
    signs = np.where(np.concatenate([np.ones(tree.n_outputs), tree.edge]) < 0, -1, 1)
    signs[: tree.n_outputs] = output_sign
    return signs.astype(np.int8)


def reflected(tree: NeuralTree, signs: Signs) -> NeuralTree:
    """Return the tree with leaf weights of the prescribed signs and unchanged absolute values.

    Examples
    --------
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> signs = Signs(node_signs(tree), np.array([-1, 0], dtype=np.int8))
    >>> reflected(tree, signs).leaf_weight
    array([-2., -1.])
    """
    sign = _leaf_signs(tree, signs)
    leaf = np.where(sign == 0, tree.leaf_weight, sign * np.abs(tree.leaf_weight))
    parameters = tree.parameters.copy()
    start = tree.bias.size + tree.edge.size
    parameters[start : start + leaf.size] = leaf
    return tree.with_parameters(parameters)


def weight_signs(tree: NeuralTree, signs: Signs) -> Array:
    """Return the sign that each weight must have: 1, -1, or 0 for any.

    Examples
    --------
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> signs = Signs(node_signs(tree), np.array([-1, 0], dtype=np.int8))
    >>> weight_signs(tree, signs)
    array([ 0, -1,  0], dtype=int8)
    """
    required = np.zeros(tree.n_parameters, dtype=np.int8)
    n, k = tree.parent.size, tree.n_outputs
    required[n : 2 * n - k] = signs.node[k:]
    required[2 * n - k : 2 * n - k + tree.n_leaves] = _leaf_signs(tree, signs)
    return required


def _leaf_signs(tree: NeuralTree, signs: Signs) -> Array:
    """Return the sign that the weight of each leaf must have."""
    required: Array = _products(tree, signs.node)[tree.leaf_parent] * signs.input[tree.leaf_input]
    return required


def constrained(
    trees: Sequence[NeuralTree], input_signs: Array, output_signs: ArrayLike = 1
) -> tuple[list[NeuralTree], list[Signs]]:
    """Return trees whose inputs have effects of these signs, and the `Signs` for their training.

    The signs of edges do not change; those of leaves follow from them.

    Examples
    --------
    >>> tree = NeuralTree.random(2, activation="tanh", output_activation="linear", random_state=0)
    >>> trees, _ = constrained([tree], np.array([1, 0], dtype=np.int8))
    >>> effects = leaf_effects(trees[0])[trees[0].leaf_input == 0]
    >>> bool((effects >= 0).all())
    True
    """
    signs = [Signs(node_signs(tree, output_signs), input_signs) for tree in trees]
    return [reflected(*pair) for pair in zip(trees, signs, strict=True)], signs


def leaf_effects(tree: NeuralTree, output_sign: ArrayLike = 1) -> IntArray:
    """Return the sign of the effect of each leaf on the prediction: +1, -1, 0 or `UNKNOWN`.

    Parameters
    ----------
    tree : NeuralTree
    output_sign : int, or array of shape (n_outputs,)
        Whether the prediction rises (1) or falls (-1) with each output.

    Examples
    --------
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> leaf_effects(tree)
    array([ 1, -1])
    """
    sign = np.concatenate([np.ones(tree.n_outputs), np.sign(tree.edge)]).astype(np.int64)
    sign[: tree.n_outputs] *= np.asarray(output_sign)
    effect = _products(tree, sign)[tree.leaf_parent] * np.sign(tree.leaf_weight).astype(np.int64)
    passes = _products(tree, is_increasing(tree).astype(np.int64))[tree.leaf_parent]
    return np.where((passes == 0) & (effect != 0), UNKNOWN, effect)


def _products(tree: NeuralTree, values: Array) -> IntArray:
    """Return the product of the values of each node and of all nodes above it."""
    product: IntArray = np.asarray(values).astype(np.int64)
    for start, stop in zip(tree.level_start[1:-1], tree.level_start[2:], strict=True):
        product[start:stop] *= product[tree.parent[start:stop]]
    return product
