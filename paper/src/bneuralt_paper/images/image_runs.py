"""Runs on images: train a classifier by a recipe, and measure its error on the test rows.

There are two protocols. "honest" trains for a fixed number of epochs on all training rows, and uses
the test rows once, at the end. "paper" computes the test error after every update and reports the
lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from bneuralt_paper.images.image_data import Images
from bneuralt_paper.images.recipes import MODERN_CHANGES, image_classifier

__all__ = ["IMAGE_PROTOCOLS", "ImageRun", "group_runs", "is_same_size", "run_images"]

IMAGE_PROTOCOLS = ("honest", "paper")


@dataclass(frozen=True)
class ImageRun:
    """The settings and results of one run; errors are fractions of rows, not percent.

    `history` contains the error per epoch on training rows (the mean over the updates of the epoch)
    and, if they were monitored, on test rows.
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
        """Return everything except the history."""
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
    monitor_test: bool = False,
    n_jobs: int | None = -1,
    callback: Callable[[Any], Any] | None = None,
    **changes: Any,
) -> tuple[ImageRun, Any]:
    """Train a classifier on the training rows, and measure its error on the test rows.

    Parameters
    ----------
    images : Images
    recipe, n_weights, epochs, seed, n_trees, n_jobs, **changes
        See `bneuralt_paper.images.recipes.image_classifier`.
    protocol : {"honest", "paper"}
        Whether the test rows are used once, at the end, or after every update, to select the
        weights with the lowest error on them.
    monitor_test : bool
        Record the test error after each epoch in the history. Under the honest protocol it has no
        influence on the result.
    callback : callable, optional
        See `BNeuralTClassifier.fit`.

    Returns
    -------
    run : ImageRun
    model : BNeuralTClassifier or BNeuralForestClassifier
    """
    if protocol not in IMAGE_PROTOCOLS:
        protocols = " or ".join(IMAGE_PROTOCOLS)
        raise ValueError(f"protocol={protocol!r} is unknown: choose {protocols}")
    if recipe == "modern":
        changes = {**MODERN_CHANGES.get(images.name, {}), **changes}
    if protocol == "paper":
        changes = {"training__select": "update", "training__monitor": "error", **changes}
    model = image_classifier(
        recipe, n_weights, epochs, n_classes=images.n_classes, shape=images.shape,
        n_trees=n_trees, seed=seed, n_jobs=n_jobs, **changes,
    )  # fmt: skip
    seconds = [0.0]

    def record_time(state: Any) -> Any:
        seconds.append(state.seconds)
        return callback(state) if callback else False

    monitored = protocol == "paper" or monitor_test
    model.fit(
        images.X_train,
        images.y_train,
        X_val=images.X_test if monitored else None,
        y_val=images.y_test if monitored else None,
        callback=record_time,
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
        threads=effective_n_jobs(n_jobs),
        history=_errors_by_epoch(model),
    )
    return run, model


def _errors_by_epoch(model: Any) -> dict[str, list[float]]:
    if "tree" in model.history_:
        return {}  # a forest, whose trees have separate histories
    return {
        part: (1.0 - model.history_[f"{source}_score"]).tolist()
        for part, source in {"train": "train", "test": "val"}.items()
        if f"{source}_score" in model.history_
    }


def group_runs(runs: Iterable[ImageRun]) -> list[list[ImageRun]]:
    """Group runs that differ only in their seed, and by the few weights that depend on it.

    Groups are sorted by protocol, recipe, number of trees, epochs and weights; the runs of a group
    by seed.

    Examples
    --------
    >>> from bneuralt_paper.images.image_runs import ImageRun, group_runs
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
        if first and _setting(run) == _setting(first) and is_same_size(run.weights, first.weights):
            groups[-1].append(run)
        else:
            groups.append([run])
    return [sorted(group, key=lambda run: run.seed) for group in groups]


def is_same_size(one: float, other: float) -> bool:
    """Return whether two trees were requested with the same number of weights.

    A tree has up to 3 % fewer weights than requested.
    """
    return abs(one / other - 1) < 0.04


def _setting(run: ImageRun) -> tuple[str, str, str, int, int]:
    return run.data, run.protocol, run.recipe, run.trees, run.epochs
