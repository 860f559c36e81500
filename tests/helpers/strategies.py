"""Random trees, activations and tables for property-based tests."""

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


#: Numbers that an activation parameter may be, by the range that its entry declares.
IN_RANGE = {
    "any": st.floats(-2, 2),
    "nonzero": st.floats(0.3, 2) | st.floats(-2, -0.3),
    "positive": st.floats(0.3, 2),
    "fraction": st.floats(0, 0.9),
    "probability": st.floats(0.1, 0.9),
}


@st.composite
def activations(draw, names=NAMES, parametrised=True):
    """An activation, with parameters other than the defaults if `parametrised`."""
    cls = ACTIVATIONS[draw(st.sampled_from(names))]
    if not parametrised:
        return cls()
    return cls(*(draw(IN_RANGE[parameter.range]) for parameter in cls.entry.parameters))


@st.composite
def neural_trees(
    draw,
    *,
    n_outputs=(1, 2, 3, 4),
    output_activations=NAMES,
    inner_activations=NAMES,
    mixed=True,
    parametrised=True,
    trained=(False, True),
    dtypes=(np.float64,),
    max_inner_nodes=8,
):
    """Any valid tree of modest size: chains, stars, single leaves, repeated inputs.

    The structure is drawn piece by piece, so that a failing example shrinks; the weights come
    from a seed. Arguments list what is allowed; `mixed` lets the activation differ between nodes,
    outputs included, `parametrised` lets activation parameters differ from their defaults, and
    `trained` lists whether they may be trained.
    """
    k = draw(st.sampled_from(n_outputs))
    parent = [-1] * k
    for i in range(k, k + draw(st.integers(0, max_inner_nodes))):
        parent.append(draw(st.integers(max(parent[-1], 0), i - 1)))
    n_nodes = len(parent)
    nodes = []
    for names, count in ((output_activations, k), (inner_activations, n_nodes - k)):
        one = activations(names, parametrised=parametrised and draw(st.booleans()))
        if mixed and draw(st.booleans()):
            nodes += [draw(one) for _ in range(count)]
        else:
            nodes += [draw(one)] * count
    leaf_parent = []
    for i in range(n_nodes):
        n_leaves = draw(st.integers(0 if i in parent else 1, 3))
        leaf_parent += [i] * n_leaves
    n_inputs = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    phi = np.array([number for node in nodes for number in node.numbers])
    trains = draw(st.sampled_from(trained))
    weights = rng.normal(size=2 * n_nodes - k + len(leaf_parent))
    return NeuralTree(
        n_inputs,
        k,
        parent,
        [node.code for node in nodes],
        np.array(leaf_parent, dtype=int),
        rng.integers(n_inputs, size=len(leaf_parent)),
        np.append(weights, phi if trains else []).astype(draw(st.sampled_from(dtypes))),
        phi,
        trains,
    )
