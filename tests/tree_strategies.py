"""Hypothesis strategies for neural trees."""

import numpy as np
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.tree.activations import NAMES, OUTPUT_NAMES


@st.composite
def neural_trees(
    draw,
    *,
    n_outputs=(1, 2, 3, 4),
    output_activations=OUTPUT_NAMES,
    inner_activations=NAMES,
    mixed=True,
    dtypes=(np.float64,),
    max_inner_nodes=8,
):
    """Any valid tree of modest size: chains, stars, single leaves, repeated inputs.

    The structure is drawn piece by piece, so that a failing example shrinks; the weights come
    from a seed. Arguments list what is allowed; `mixed` lets the activation differ between nodes.
    """
    k = draw(st.sampled_from(n_outputs))
    parent = [-1] * k
    for i in range(k, k + draw(st.integers(0, max_inner_nodes))):
        parent.append(draw(st.integers(max(parent[-1], 0), i - 1)))
    n_nodes = len(parent)
    inner = st.sampled_from(inner_activations)
    names = [draw(st.sampled_from(output_activations))] * k
    if mixed and draw(st.booleans()):
        names += [draw(inner) for _ in range(n_nodes - k)]
    else:
        names += [draw(inner)] * (n_nodes - k)
    leaf_parent = []
    for i in range(n_nodes):
        n_leaves = draw(st.integers(0 if i in parent else 1, 3))
        leaf_parent += [i] * n_leaves
    n_inputs = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_parameters = 2 * n_nodes - k + len(leaf_parent)
    return NeuralTree(
        n_inputs,
        k,
        parent,
        [NAMES.index(name) for name in names],
        np.array(leaf_parent, dtype=int),
        rng.integers(n_inputs, size=len(leaf_parent)),
        rng.normal(size=n_parameters).astype(draw(st.sampled_from(dtypes))),
    )
