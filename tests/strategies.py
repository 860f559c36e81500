"""Random trees and tables for property-based tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.training.losses import CrossEntropy, Huber, get_loss
from bneuralt.tree.activations import ACTIVATIONS, NAMES

#: All instruction sets that the core may be compiled for; a processor may lack some.
INSTRUCTION_SETS = ("avx512", "avx2", "baseline")

HIDDEN = NAMES

#: Activations whose slope jumps.
KINKED = ("relu", "leaky_relu")

# loss, number of outputs, activation of the outputs
TASKS = (
    ("cross_entropy", 2, "linear"),
    (CrossEntropy(label_smoothing=0.1), 5, "linear"),
    ("squared_error", 3, "sigmoid"),
    ("squared_error", 3, "linear"),
    ("squared_error", 1, "sigmoid"),
    ("squared_error", 1, "linear"),
    (Huber(delta=0.3), 1, "linear"),
)

seeds = st.integers(0, 2**32 - 1)


def draw_parameter(rng, parameter):
    """A value for a registered parameter, inside its range and away from its ends."""
    size = rng.uniform(0.3, 1.5)
    return {
        "any": size * rng.choice([-1, 1]),
        "nonzero": size * rng.choice([-1, 1]),
        "positive": size,
        "fraction": rng.uniform(0.05, 0.95),
        "probability": rng.uniform(0.05, 0.95),
    }[parameter.range]


def draw_activation(rng, name):
    """An activation with random parameters."""
    cls = ACTIVATIONS[name]
    return cls(*(draw_parameter(rng, parameter) for parameter in cls.entry.parameters))


def draw_tree(rng, n_outputs, hidden="sigmoid", output="linear", mixed=False, n_inputs=None):
    """A small random tree; with mixed=True its hidden nodes have different activations."""
    return NeuralTree.random(
        n_inputs or int(rng.integers(1, 9)),
        n_outputs,
        max_depth=int(rng.integers(1, 5)),
        max_children=int(rng.integers(2, 6)),
        leaf_probability=float(rng.uniform(0.2, 0.8)),
        activation=[draw_activation(rng, name) for name in NAMES] if mixed else hidden,
        output_activation=output,
        train_activations=bool(mixed and rng.integers(2)),
        random_state=rng,
    )


def draw_rows(rng, tree, n_rows):
    """Inputs and targets for a tree."""
    X = rng.normal(size=(n_rows, tree.n_inputs))
    if tree.n_outputs > 1:
        return X, rng.integers(0, tree.n_outputs, n_rows)
    return X, rng.uniform(0, 1, n_rows)


def draw_targets(rng, loss, n_outputs, n_rows):
    """Targets of the kind that a loss compares outputs with."""
    compares = get_loss(loss).compares
    if compares == "labels" or (compares == "either" and n_outputs > 1 and rng.integers(2)):
        return rng.integers(0, n_outputs, n_rows)
    name = get_loss(loss).name
    shape = (n_rows,) if compares == "shared" or n_outputs == 1 else (n_rows, n_outputs)
    if name == "poisson":
        return rng.poisson(1.5, shape).astype(np.float64)
    if name == "binary_cross_entropy":
        return rng.integers(0, 2, shape).astype(np.float64)
    return rng.normal(size=shape)
