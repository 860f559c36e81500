"""Two classes as one score: the log-odds of the second class against the first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bneuralt.expressions import OUTPUTS, variable
from bneuralt.model.model import Model
from bneuralt.training.losses import SOFTMAX
from bneuralt.tree import NeuralTree
from bneuralt.tree.simplify import simplify

__all__ = ["log_odds_model", "log_odds_tree"]


def log_odds_tree(tree: NeuralTree) -> NeuralTree | None:
    """Return a tree whose output is the second output minus the first; None if they are not linear.

    Examples
    --------
    >>> tree = NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], [0.5, 2.0, 1.0, 4.0])
    >>> log_odds_tree(tree).parameters
    array([1.5, 3. ])
    """
    if tree.n_outputs != 2 or any(tree.node_expressions[j] != variable("z") for j in (0, 1)):
        return None
    tree = tree.astype(np.float64)
    sign_of_edge = np.where(tree.parent[2:] == 0, -1.0, 1.0)
    sign_of_leaf = np.where(tree.leaf_parent == 0, -1.0, 1.0)
    weights = [
        tree.bias[1:2] - tree.bias[:1],
        tree.bias[2:],
        sign_of_edge * tree.edge,
        sign_of_leaf * tree.leaf_weight,
        tree.parameters[tree.structure.n_weights :],
    ]
    return simplify(
        NeuralTree(
            tree.n_inputs,
            1,
            np.append(-1, np.maximum(tree.parent[2:] - 1, 0)),
            tree.activation[1:],
            np.maximum(tree.leaf_parent - 1, 0),
            tree.leaf_input,
            np.concatenate(weights),
            tree.activation_parameters,
            tree.trains_activations,
        )
    )


def log_odds_model(model: Model) -> Model | None:
    """Return a model whose number is the log-odds of two classes; None if there are no log-odds.

    Its trees have one output; the probability of the second class is its sigmoid.
    """
    if model.task != "classes" or model.link != SOFTMAX:
        return None
    model = model.in_raw_units()
    trees = [odds for tree in model.trees if (odds := log_odds_tree(tree)) is not None]
    if len(trees) < len(model.trees):
        return None
    classes = model.output_names
    return replace(
        model,
        trees=tuple(trees),
        task="numbers",
        link=OUTPUTS,
        averages="outputs",
        classes=None,
        target_names=(f"log-odds of {classes[1]}",),
    )
