"""Baselines for images: models of scikit-learn on the same data."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from bneuralt_paper._typing import Array, FloatArray
from bneuralt_paper.images.image_data import Images

__all__ = ["IMAGE_BASELINES", "ImageBaseline", "run_image_baseline"]


@dataclass(frozen=True)
class ImageBaseline:
    """The error of a model on the test rows, its number of weights if any, and processor time."""

    data: str
    model: str
    seed: int
    test_error: float
    weights: int | None
    seconds: float

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"{self.model.replace(' ', '-')}-{self.data}"


def _cart(n_inputs: int, n_classes: int, n_weights: int, seed: int) -> Any:
    return DecisionTreeClassifier(random_state=seed)


def _forest(n_inputs: int, n_classes: int, n_weights: int, seed: int) -> Any:
    return RandomForestClassifier(random_state=seed)


def _logistic(n_inputs: int, n_classes: int, n_weights: int, seed: int) -> Any:
    return LogisticRegression(max_iter=100)


def _mlp(n_inputs: int, n_classes: int, n_weights: int, seed: int) -> Any:
    per_unit = n_inputs + n_classes + 1
    n_hidden = (n_weights - n_classes) // per_unit
    if n_hidden < 1:
        least = per_unit + n_classes
        raise ValueError(f"n_weights={n_weights} is too few for an MLP: use {least} or more")
    return MLPClassifier((n_hidden,), batch_size=128, max_iter=25, random_state=seed)


#: Settings are the defaults, except for the size, the batch size and the 25 epochs of the MLP.
IMAGE_BASELINES: dict[str, Callable[[int, int, int, int], Any]] = {
    "CART": _cart,
    "random forest": _forest,
    "logistic regression": _logistic,
    "MLP": _mlp,
}


def run_image_baseline(
    name: str, images: Images, *, n_weights: int = 24_000, seed: int = 0
) -> ImageBaseline:
    """Train a model on the training rows, and measure its error on the test rows.

    Parameters
    ----------
    name : str
        One of `IMAGE_BASELINES`.
    images : Images
    n_weights : int
        The MLP has as many hidden units as possible with at most this many weights.
    seed : int
    """
    n_inputs = images.X_train.shape[1]
    model = IMAGE_BASELINES[name](n_inputs, images.n_classes, n_weights, seed)
    started = time.process_time()
    with warnings.catch_warnings():  # the fixed number of epochs is intended
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(_scaled(images.X_train), images.y_train)
    seconds = time.process_time() - started
    error = np.mean(model.predict(_scaled(images.X_test)) != images.y_test)
    return ImageBaseline(images.name, name, seed, float(error), _n_weights(model), seconds)


def _scaled(X: Array) -> FloatArray:
    return X.astype(np.float32) / np.float32(255)


def _n_weights(model: Any) -> int | None:
    if isinstance(model, MLPClassifier):
        return sum(int(part.size) for part in (*model.coefs_, *model.intercepts_))
    if isinstance(model, LogisticRegression):
        return int(model.coef_.size + model.intercept_.size)
    return None
