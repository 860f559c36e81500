"""Pattern recognition on raw pixels: MNIST and Fashion-MNIST.

Two recipes. "paper" is the paper's: random trees, squared error, RMSprop at 0.01, weights that
start uniform on [0, 1]. "modern" grows shallow trees: a class node has as many children as each of
them has leaves, and the leaves of a child look at one place of the image.

Two protocols. "honest" trains for a fixed number of epochs on all training rows, and looks at the
test rows once, at the end; the modern recipe was found with the last 10,000 training rows as
validation rows. "paper" computes the test error after every update and reports the lowest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from bneuralt.datasets.catalogue import CATALOGUE, IMAGES
from bneuralt.datasets.loading import load_dataset
from bneuralt.estimators.forest import BNeuralForestClassifier
from bneuralt.estimators.single import BNeuralTClassifier
from bneuralt.tree.sampling import ReceptiveFields

__all__ = [
    "PROTOCOLS",
    "RECIPES",
    "ImageRun",
    "Images",
    "classifier",
    "group_runs",
    "load_images",
    "run_images",
    "same_size",
    "save_run",
]

PROTOCOLS = ("honest", "paper")
RECIPES = ("modern", "paper")

#: With more weights than this, the modern recipe makes several trees and averages them.
LARGEST_TREE = 30_000

# All that matters is given, so that a recipe stays what it is whatever the defaults become.
MODERN: Mapping[str, Any] = {
    "max_depth": 2,
    "activation": "tanh",
    "output_activation": "linear",
    "init": "normal",
    "init_scale": 1.0,
    "loss": "cross_entropy",
    "label_smoothing": 0.0,
    "optimizer": "adam",
    "learning_rate": 0.01,
    "schedule": "cosine",
    "weight_decay": 0.05,
    "batch_size": 128,
    "scale": "minmax",
}

#: The paper's trees for MNIST have a depth of 5 or 10, and "up to 10" or 15 children, which means 9
#: or 14; the latter are for trees that would not be large enough otherwise.
PAPER: Mapping[str, Any] = {
    "max_depth": 5,
    "min_children": 2,
    "max_children": 9,
    "activation": "sigmoid",
    "output_activation": "sigmoid",
    "init": "uniform",
    "loss": "squared_error",
    "optimizer": "rmsprop",
    "learning_rate": 0.01,
    "schedule": "constant",
    "weight_decay": 0.0,
    "batch_size": 128,
    "scale": "minmax",
}


@dataclass(frozen=True, eq=False)
class Images:
    """Images as rows of pixels (uint8), with class numbers, as they were published in two parts."""

    name: str
    shape: tuple[int, int]
    class_names: tuple[str, ...]
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    def for_search(self, n_held_out: int = 10_000) -> Images:
        """Return the training rows alone, the last of them in place of the test rows.

        Whatever is to be chosen is chosen with these.
        """
        X, y = self.X_train, self.y_train
        return Images(
            self.name, self.shape, self.class_names,
            X[:-n_held_out], y[:-n_held_out], X[-n_held_out:], y[-n_held_out:],
        )  # fmt: skip


def load_images(name: str = "mnist", data_home: str | PathLike[str] | None = None) -> Images:
    """Load the training and the test part of an image set.

    Parameters
    ----------
    name : {"mnist", "fashion_mnist"}
    data_home : path, optional
        The data folder, see `bneuralt.datasets.loading.data_folder`.
    """
    if name not in IMAGES:
        raise ValueError(f"name={name!r} is not an image set: choose {' or '.join(IMAGES)}")
    data, n_train = load_dataset(name, data_home), CATALOGUE[name].n_train
    y = data.y.astype(np.int32)
    return Images(
        name, (28, 28), CATALOGUE[name].class_names,
        data.X[:n_train], y[:n_train], data.X[n_train:], y[n_train:],
    )  # fmt: skip


def classifier(
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
    """Return the classifier of a recipe, to be fitted to any images.

    Parameters
    ----------
    recipe : {"modern", "paper"}
    n_weights : int
        Number of weights of all trees together: at most so many, at most 3 % fewer.
    epochs : int
    n_classes : int
    shape : tuple of int
        Shape of an image.
    n_trees : int, optional
        By default one tree, or for the modern recipe as many as needed for trees of no more than
        30,000 weights.
    seed : int
    n_jobs : int or None
        Threads, -1 for all.
    **changes
        Other parameters of the classifier, instead of those of the recipe.

    Examples
    --------
    >>> from bneuralt.paper.images.mnist import classifier
    >>> classifier("modern", 24_000).feature_sampling
    ReceptiveFields(shape=(28, 28), spread=3.0, depth=2)
    >>> classifier("modern", 242_000).n_estimators
    9
    """
    if recipe not in RECIPES:
        raise ValueError(f"recipe={recipe!r} is not known: choose {' or '.join(RECIPES)}")
    if n_trees is None:
        n_trees = math.ceil(n_weights / LARGEST_TREE) if recipe == "modern" else 1
    per_tree = n_weights // n_trees
    if recipe == "paper":
        settings = {**PAPER, **({"max_children": 14} if per_tree > LARGEST_TREE else {})}
    else:
        settings = {**MODERN, **_balanced(per_tree, n_classes)}
        # Three pixels of 28: the same share of images of another size.
        settings["feature_sampling"] = ReceptiveFields(shape, round(min(shape) * 3 / 28, 2))
    common = {"n_weights": per_tree, "max_epochs": epochs, "random_state": seed, "n_jobs": n_jobs}
    settings |= common | changes
    if n_trees == 1:
        return BNeuralTClassifier(**settings)
    return BNeuralForestClassifier(n_estimators=n_trees, **settings)


def _balanced(n_weights: int, n_classes: int) -> dict[str, int]:
    """Return numbers of children for trees of depth 2 whose nodes all have about as many.

    With c children everywhere, a class has c + 1 nodes with c + 1 weights each, a bias included.
    """
    n_children = math.sqrt(n_weights / n_classes) - 1
    # Up to a tenth more than that, so that some children of class nodes may be leaves.
    return {
        "min_children": max(2, math.floor(0.9 * n_children)),
        "max_children": max(3, math.ceil(1.2 * n_children)),
    }


@dataclass(frozen=True)
class ImageRun:
    """What came out of one run; errors are shares of rows, not percent.

    `history` has the error per epoch on training rows (the mean over the updates of the epoch) and,
    where they were watched, on test rows.
    """

    data: str
    recipe: str
    protocol: str
    seed: int
    epochs: int
    trees: int
    weights: int
    test_error: float
    seconds_per_epoch: float
    threads: int
    history: dict[str, list[float]] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return all but the history."""
        return {name: value for name, value in asdict(self).items() if name != "history"}


def run_images(
    images: Images,
    *,
    recipe: str = "modern",
    protocol: str = "honest",
    n_weights: int = 20_000,
    epochs: int = 25,
    seed: int = 0,
    n_trees: int | None = None,
    watch_test: bool = False,
    n_jobs: int | None = -1,
    callback: Callable[[Any], Any] | None = None,
    **changes: Any,
) -> tuple[ImageRun, Any]:
    """Train on the training rows, and find the error on the test rows.

    Parameters
    ----------
    images : Images
    recipe, n_weights, epochs, seed, n_trees, n_jobs, **changes
        See `classifier`.
    protocol : {"honest", "paper"}
        Whether the test rows are looked at once, at the end, or after every update, to choose the
        weights that do best on them.
    watch_test : bool
        Put the test error after each epoch into the history. Under the honest protocol it decides
        nothing even then.
    callback : callable, optional
        See `BNeuralTClassifier.fit`.

    Returns
    -------
    run : ImageRun
    model : BNeuralTClassifier or BNeuralForestClassifier
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol={protocol!r} is not known: choose {' or '.join(PROTOCOLS)}")
    if protocol == "paper":
        changes = {"select": "update", "monitor": "error", **changes}
    model = classifier(
        recipe, n_weights, epochs, n_classes=images.n_classes, shape=images.shape,
        n_trees=n_trees, seed=seed, n_jobs=n_jobs, **changes,
    )  # fmt: skip
    seconds = [0.0]

    def keep_time(state: Any) -> Any:
        seconds.append(state.seconds)
        return callback(state) if callback else False

    watched = protocol == "paper" or watch_test
    model.fit(
        images.X_train,
        images.y_train,
        X_val=images.X_test if watched else None,
        y_val=images.y_test if watched else None,
        callback=keep_time,
    )
    run = ImageRun(
        data=images.name,
        recipe=recipe,
        protocol=protocol,
        seed=seed,
        epochs=epochs,
        trees=getattr(model, "n_estimators", 1),
        weights=model.n_parameters_,
        test_error=float(np.mean(model.predict(images.X_test) != images.y_test)),
        seconds_per_epoch=seconds[-1] / epochs,
        threads=model._n_threads(),
        history=_errors_by_epoch(model),
    )
    return run, model


def _errors_by_epoch(model: Any) -> dict[str, list[float]]:
    if not hasattr(model, "history_"):
        return {}  # a forest: every tree has one of its own
    return {
        part: (1.0 - model.history_[f"{source}_score"]).tolist()
        for part, source in {"train": "train", "test": "val"}.items()
        if f"{source}_score" in model.history_
    }


def save_run(run: ImageRun, model: Any, path: str | PathLike[str]) -> None:
    """Write a model with the run that made it; `image_files.load_results` reads both."""
    model.save(path, extra={"run": asdict(run)})


def group_runs(runs: Iterable[ImageRun]) -> list[list[ImageRun]]:
    """Put runs together that differ in nothing but their seed, and the few weights it makes.

    Groups come by protocol, recipe, number of trees, epochs and weights; within one, by seed.

    Examples
    --------
    >>> from bneuralt.paper.images.mnist import ImageRun, group_runs
    >>> runs = [
    ...     ImageRun("mnist", "modern", "honest", seed, 25, 1, weights, 0.03, 1.0, 1)
    ...     for seed, weights in [(0, 11_900), (1, 11_950), (0, 23_800)]
    ... ]
    >>> [[run.weights for run in group] for group in group_runs(runs)]
    [[11900, 11950], [23800]]
    """
    groups: list[list[ImageRun]] = []
    for run in sorted(runs, key=lambda run: (*_setting(run), run.weights)):
        first = groups[-1][0] if groups else None
        if first and _setting(run) == _setting(first) and same_size(run.weights, first.weights):
            groups[-1].append(run)
        else:
            groups.append([run])
    return [sorted(group, key=lambda run: run.seed) for group in groups]


def same_size(one: float, other: float) -> bool:
    """Whether two numbers of weights are one size: trees have up to 3 % less than asked for."""
    return abs(one / other - 1) < 0.04


def _setting(run: ImageRun) -> tuple[str, str, str, int, int]:
    return run.data, run.protocol, run.recipe, run.trees, run.epochs
