"""Random trees and tables for property-based tests."""

from __future__ import annotations

from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.tree.activations import NAMES

HIDDEN = ("sigmoid", "tanh", "relu", "leaky_relu")

# loss, number of outputs, activation of the outputs
TASKS = (
    ("cross_entropy", 2, "linear"),
    ("cross_entropy", 5, "linear"),
    ("squared_error", 3, "sigmoid"),
    ("squared_error", 3, "linear"),
    ("squared_error", 1, "sigmoid"),
    ("squared_error", 1, "linear"),
)

seeds = st.integers(0, 2**32 - 1)


def draw_tree(rng, n_outputs, hidden="sigmoid", output="linear", mixed=False, n_inputs=None):
    """A small random tree; with mixed=True its hidden nodes have different activations."""
    tree = NeuralTree.random(
        n_inputs or int(rng.integers(1, 9)),
        n_outputs,
        max_depth=int(rng.integers(1, 5)),
        max_children=int(rng.integers(2, 6)),
        leaf_probability=float(rng.uniform(0.2, 0.8)),
        activation=hidden,
        output_activation=output,
        random_state=rng,
    )
    if not mixed:
        return tree
    activation = rng.integers(0, len(NAMES), tree.parent.size)
    activation[:n_outputs] = NAMES.index(output)
    return NeuralTree(
        tree.n_inputs, n_outputs, tree.parent, activation, tree.leaf_parent, tree.leaf_input,
        tree.parameters,
    )  # fmt: skip


def draw_rows(rng, tree, n_rows):
    """Inputs and targets for a tree."""
    X = rng.normal(size=(n_rows, tree.n_inputs))
    if tree.n_outputs > 1:
        return X, rng.integers(0, tree.n_outputs, n_rows)
    return X, rng.uniform(0, 1, n_rows)
