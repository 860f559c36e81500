"""Honest runs on images: shallow trees of this library, for comparison with the paper's.

A class node has as many children as each of them has leaves, and the leaves of a child are pixels
of one region of the image, until they move. The settings were found with the last 10,000 training
rows as validation rows. The test rows are used once, at the end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bneuralt.estimators import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt.tree.sampling import ReceptiveFields
from bneuralt_paper.images.image_data import Images

__all__ = ["ImageRun", "image_classifier", "run_images"]

#: With more weights than this, a forest of several trees shares them.
LARGEST_TREE = 30_000

# Complete settings, so that a run does not change with the defaults of the estimators.
SETTINGS: Mapping[str, Any] = {
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

#: Clothes are harder to classify than digits, and need less regularisation; chosen with the last
#: 10,000 training rows.
DECAYS: Mapping[str, float] = {"fashion_mnist": 0.015}


@dataclass(frozen=True)
class ImageRun:
    """The settings and the result of one run; the error is a fraction of rows.

    `seconds` is processor time.
    """

    name: str
    data: str
    seed: int
    epochs: int
    trees: int
    weights: int
    test_error: float
    seconds: float


def image_classifier(
    images: Images, n_weights: int, epochs: int, seed: int = 0
) -> BNeuralTClassifier | BNeuralForestClassifier:
    """Return an unfitted classifier with at most `n_weights` weights, and at most 3 % fewer."""
    n_trees = math.ceil(n_weights / LARGEST_TREE)
    per_tree = n_weights // n_trees
    # With c children everywhere, a class has c + 1 nodes with c + 1 weights each, including biases.
    n_children = math.sqrt(per_tree / images.n_classes) - 1
    settings = {
        **SETTINGS,
        "weight_decay": DECAYS.get(images.name, SETTINGS["weight_decay"]),
        # The limits allow for some children of class nodes being leaves.
        "growth__min_children": max(2, math.floor(0.9 * n_children)),
        "growth__max_children": max(3, math.ceil(1.2 * n_children)),
        # Three pixels for images of 28 x 28 pixels, and in proportion for other sizes.
        "growth__feature_sampling": ReceptiveFields(
            images.shape, round(min(images.shape) * 3 / 28, 2)
        ),
        "n_weights": per_tree,
        "max_epochs": epochs,
        "random_state": seed,
        "n_jobs": 1,
    }
    if n_trees == 1:
        return BNeuralTClassifier().set_params(**settings)
    return BNeuralForestClassifier(n_estimators=n_trees).set_params(**settings)


def run_images(images: Images, n_weights: int, epochs: int, seed: int = 0) -> ImageRun:
    """Train on the training rows with one thread, and measure the error on the test rows."""
    model = image_classifier(images, n_weights, epochs, seed)
    started = time.process_time()
    model.fit(images.X_train, images.y_train)
    seconds = time.process_time() - started
    return ImageRun(
        name=f"modern-{images.name}-{n_weights}-s{seed}",
        data=images.name,
        seed=seed,
        epochs=epochs,
        trees=getattr(model, "n_estimators", 1),
        weights=model.n_parameters_,
        test_error=float(np.mean(model.predict(images.X_test) != images.y_test)),
        seconds=round(seconds, 3),
    )
