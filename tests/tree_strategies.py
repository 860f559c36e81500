"""Hypothesis strategies for neural trees."""

import numpy as np
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.tree.activations import ACTIVATIONS, NAMES

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
