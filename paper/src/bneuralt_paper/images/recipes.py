"""Classifiers for images: the recipe of the paper, and a modern one.

"paper"
    Random trees, squared error, RMSprop with a rate of 0.01, initial weights uniform on [0, 1].
"modern"
    Shallow trees: a class node has as many children as each of them has leaves, and the leaves of a
    child are pixels of one region of the image, until they move. The recipe was found with the last
    10,000 training rows as validation rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bneuralt.estimators import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt.tree.sampling import ReceptiveFields

__all__ = ["MODERN_CHANGES", "RECIPES", "image_classifier"]

RECIPES = ("modern", "paper")

#: With more weights than this, the modern recipe uses a forest of several trees.
LARGEST_TREE = 30_000

# Complete settings, so that a recipe does not change with the defaults of the estimators.
MODERN: Mapping[str, Any] = {
    "growth__max_depth": 2,
    "growth__activation": "tanh",
    "growth__output_activation": "linear",
    "growth__linear_share": 0.0,
    "growth__init": "normal",
    "growth__init_scale": 1.0,
    "loss": "cross_entropy",
    "training__optimizer": "adam",
    "learning_rate": 0.02,
    "training__schedule": "cosine",
    "weight_decay": 0.05,
    "output_factor": 1.0,
    "training__leaf_moves": 20,
    "training__moving_share": 0.3,
    "batch_size": 128,
    "scale": "minmax",
}

#: Changes of the modern recipe for other images, chosen with their last 10,000 training rows:
#: clothes are harder to classify than digits, and need less regularisation.
MODERN_CHANGES: Mapping[str, Mapping[str, Any]] = {"fashion_mnist": {"weight_decay": 0.015}}

#: The paper's trees for MNIST have a depth of 5 or 10, and "up to 10" or 15 children, which means
#: at most 9 or 14; trees that would be too small otherwise have up to 14.
PAPER: Mapping[str, Any] = {
    "growth__max_depth": 5,
    "growth__min_children": 2,
    "growth__max_children": 9,
    "growth__activation": "sigmoid",
    "growth__output_activation": "sigmoid",
    "growth__init": "uniform",
    "loss": "squared_error",
    "training__optimizer": "rmsprop",
    "learning_rate": 0.01,
    "training__schedule": "constant",
    "weight_decay": 0.0,
    "training__leaf_moves": 0,
    "batch_size": 128,
    "scale": "minmax",
}


def image_classifier(
    recipe: str = "modern",
    n_weights: int = 20_000,
    epochs: int = 25,
    *,
    n_classes: int = 10,
    shape: tuple[int, ...] = (28, 28),
    n_trees: int | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    **changes: Any,
) -> BNeuralTClassifier | BNeuralForestClassifier:
    """Return an unfitted classifier for images.

    Parameters
    ----------
    recipe : {"modern", "paper"}
    n_weights : int
        Number of weights of all trees together: the result has at most this many, and at most 3 %
        fewer.
    epochs : int
    n_classes : int
    shape : tuple of int
        Shape of an image.
    n_trees : int, optional
        By default one tree; for the modern recipe as many as needed for trees of at most 30,000
        weights.
    seed : int
    n_jobs : int or None
        Number of threads, -1 for all.
    **changes
        Parameters of the classifier that replace those of the recipe, such as
        `growth__max_depth`.

    Examples
    --------
    >>> from bneuralt_paper.images.recipes import image_classifier
    >>> image_classifier("modern", 24_000).growth.feature_sampling
    ReceptiveFields(shape=(28, 28), spread=3.0, depth=2)
    >>> image_classifier("modern", 242_000).n_estimators
    9
    """
    if recipe not in RECIPES:
        raise ValueError(f"recipe={recipe!r} is unknown: choose {' or '.join(RECIPES)}")
    if n_trees is None:
        n_trees = math.ceil(n_weights / LARGEST_TREE) if recipe == "modern" else 1
    per_tree = n_weights // n_trees
    if recipe == "paper":
        settings = {**PAPER, **({"growth__max_children": 14} if per_tree > LARGEST_TREE else {})}
    else:
        settings = {**MODERN, **_balanced(per_tree, n_classes)}
        # Three pixels for images of 28 x 28 pixels, and in proportion for other sizes.
        settings["growth__feature_sampling"] = ReceptiveFields(shape, round(min(shape) * 3 / 28, 2))
    common = {"n_weights": per_tree, "max_epochs": epochs, "random_state": seed, "n_jobs": n_jobs}
    settings |= common | changes
    if n_trees == 1:
        return BNeuralTClassifier().set_params(**settings)
    return BNeuralForestClassifier(n_estimators=n_trees).set_params(**settings)


def _balanced(n_weights: int, n_classes: int) -> dict[str, int]:
    """Return limits for trees of depth 2 whose nodes all have about the same number of children.

    With c children everywhere, a class has c + 1 nodes with c + 1 weights each, including biases.
    """
    n_children = math.sqrt(n_weights / n_classes) - 1
    # The limits allow for some children of class nodes being leaves.
    return {
        "growth__min_children": max(2, math.floor(0.9 * n_children)),
        "growth__max_children": max(3, math.ceil(1.2 * n_children)),
    }
