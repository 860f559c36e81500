"""Runs on MNIST with the paper's trees and settings, and the plan of all of them.

A tree is trained once. Its error on the test rows after each epoch is recorded, and influences
nothing: the last value is the honest result, the lowest one is what the paper reports.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field

import numpy as np

from bneuralt.training import TrainingSettings, train
from bneuralt.tree import NeuralTree
from bneuralt_paper._typing import Array, FloatArray, IntArray
from bneuralt_paper.images.image_data import Images
from bneuralt_paper.images.paper_trees import ImageGrowth, draw_tree

__all__ = [
    "PRINTED",
    "SHALLOW",
    "SIZE_EPOCHS",
    "SMALL",
    "PaperImageRun",
    "PaperSetting",
    "paper_plan",
    "printed_grid",
    "roc_points",
    "run_paper_tree",
    "size_runs",
]

#: Table 4: number of weights and epochs of each tree, and its printed test error in percent.
PRINTED: dict[str, tuple[int, int, float]] = {
    "10K": (11_987, 70, 7.74),
    "18K": (18_836, 70, 6.58),
    "20K": (23_835, 70, 6.08),
    "200K": (241_999, 25, 5.19),
}
#: Figure 12 shows the training accuracy on MNIST after this number of epochs.
SIZE_EPOCHS = 10
#: Smaller trees for that figure.
SMALL = {"3K": (3_000, SIZE_EPOCHS), "6K": (6_000, SIZE_EPOCHS)}
#: A shallow tree as large as the largest of Table 4, to tell what the depth does. No printed
#: setting draws it.
SHALLOW = {"200K-shallow": PRINTED["200K"][:2]}
RATES = (0.01, 0.1)
SEEDS = (0, 1, 2)
_BATCH_SIZE = 128
_MAX_PIXEL = 255.0
#: The printed ways to draw trees (depth, children, leaf probability) that reach a size at all, the
#: one of the authors' published trees first: those of 10K and 20K have at most 9 children.
GROWTHS: dict[str, tuple[tuple[int, int, float], ...]] = {
    "10K": ((5, 10, 0.4), (5, 10, 0.5), (5, 15, 0.5)),
    "18K": ((5, 10, 0.4), (5, 15, 0.5), (5, 15, 0.4)),
    "20K": ((5, 10, 0.4), (5, 15, 0.5), (5, 15, 0.4)),
    "200K": ((10, 10, 0.5),),
    "200K-shallow": ((5, 15, 0.1),),
    "3K": ((5, 10, 0.5),),
    "6K": ((5, 10, 0.5),),
}
_ROC_POINTS = 60


@dataclass(frozen=True)
class PaperSetting:
    """The settings of one run: a size of Table 4, how its tree is drawn, rate and seed."""

    label: str
    weights: int
    epochs: int
    growth: ImageGrowth
    rate: float
    seed: int

    @property
    def name(self) -> str:
        """A name for files, such as ``20K-d5-m10-p4-r.01-s0``."""
        growth = self.growth
        return "-".join([
            self.label, f"d{growth.max_depth}", f"m{growth.max_children}",
            f"p{round(10 * growth.leaf_probability)}", f"r{self.rate:g}".replace("0.", "."),
            f"s{self.seed}",
        ])  # fmt: skip


@dataclass(frozen=True)
class PaperImageRun:
    """The result of one run; errors are fractions of rows.

    `weights` counts as the paper does, `size` includes the root and all leaves. `last_error` is
    that of the last epoch, `lowest_error` the lowest after any epoch. `roc` has the false
    and true positive rates of each class, and `areas` the areas under these curves, for the
    weights with the lowest error, on training and test rows. `seconds` is processor time.
    """

    name: str
    label: str
    max_depth: int
    max_children: int
    leaf_probability: float
    rate: float
    seed: int
    epochs: int
    size: int
    weights: int
    last_error: float
    lowest_error: float
    train_error: list[float]
    test_error: list[float]
    seconds: float
    areas: dict[str, list[float]] = field(default_factory=dict)
    roc: dict[str, list[list[list[float]]]] = field(default_factory=dict)

    @property
    def is_main(self) -> bool:
        """Whether the tree is drawn as the authors' published ones."""
        growth = (self.max_depth, self.max_children, self.leaf_probability)
        return growth == GROWTHS[self.label][0]


def size_runs(runs: Iterable[PaperImageRun]) -> list[PaperImageRun]:
    """Return the runs of Figure 12: ten or more epochs of printed settings, the lower rate."""
    return [
        run
        for run in runs
        if run.rate == RATES[0] and run.label not in SHALLOW
        and len(run.train_error) >= SIZE_EPOCHS
    ]  # fmt: skip


def printed_grid() -> Iterator[ImageGrowth]:
    """Yield the eight ways to draw a tree that the paper names for MNIST."""
    for max_depth in (5, 10):
        for max_children in (10, 15):
            for leaf_probability in (0.4, 0.5):
                yield ImageGrowth(max_depth, max_children, leaf_probability)


def paper_plan() -> list[PaperSetting]:
    """Return all runs: the printed settings that draw trees of a size, both rates, three seeds.

    Examples
    --------
    >>> len(paper_plan()), paper_plan()[0].name
    (75, '10K-d5-m10-p4-r.01-s0')
    """
    sizes = {label: printed[:2] for label, printed in PRINTED.items()} | SMALL | SHALLOW
    return [
        PaperSetting(label, *sizes[label], ImageGrowth(*growth), rate, seed)
        for label, growths in GROWTHS.items()
        for growth in growths
        for rate in (RATES[:1] if label in SHALLOW else RATES)
        for seed in SEEDS
    ]


def run_paper_tree(setting: PaperSetting, images: Images) -> tuple[PaperImageRun, NeuralTree]:
    """Draw a tree, train it with RMSprop on batches of 128, and record its errors.

    Returns
    -------
    run : PaperImageRun
    tree : NeuralTree
        The tree with the lowest test error, for pixels from 0 to 255.
    """
    start = draw_tree(setting.growth, setting.weights, images.X_train.shape[1], setting.seed)
    settings = TrainingSettings(
        loss="squared_error",
        optimizer="rmsprop",
        learning_rate=setting.rate,
        schedule="constant",
        batch_size=_BATCH_SIZE,
        max_epochs=setting.epochs,
        select="epoch",
        monitor="error",
    )
    n_inputs = images.X_train.shape[1]
    scaling = np.zeros(n_inputs, np.float32), np.full(n_inputs, 1 / _MAX_PIXEL, np.float32)
    started = time.process_time()
    result = train(
        start,
        images.X_train,
        images.y_train,
        settings=settings,
        seed=setting.seed,
        validation=(images.X_test, images.y_test),
        input_scaling=scaling,
    )
    seconds = time.process_time() - started
    tree = result.tree.with_input_scaling(*scaling)
    test_scores = tree.forward(images.X_test)
    test_error = [round(float(e), 6) for e in result.history["val_error"]]
    areas, roc = {}, {}
    for part, scores, y in (
        ("train", tree.forward(images.X_train), images.y_train),
        ("test", test_scores, images.y_test),
    ):
        curves = [roc_points(scores[:, k], y == k) for k in range(images.n_classes)]
        areas[part] = [round(area, 6) for _, area in curves]
        roc[part] = [points for points, _ in curves]
    run = PaperImageRun(
        setting.name,
        setting.label,
        **{k: v for k, v in asdict(setting.growth).items() if k != "n_classes"},
        rate=setting.rate,
        seed=setting.seed,
        epochs=setting.epochs,
        size=tree.size,
        weights=tree.paper_parameter_count,
        last_error=test_error[-1],
        lowest_error=round(float(np.mean(np.argmax(test_scores, axis=1) != images.y_test)), 6),
        train_error=[round(float(e), 6) for e in result.history["train_error"]],
        test_error=test_error,
        seconds=round(seconds, 3),
        areas=areas,
        roc=roc,
    )
    return run, tree


def roc_points(
    scores: FloatArray, is_class: Array, n_points: int = _ROC_POINTS
) -> tuple[list[list[float]], float]:
    """Return points of a ROC curve (false and true positive rates), and the area under the curve.

    Examples
    --------
    >>> points, area = roc_points(np.array([0.9, 0.8, 0.3]), np.array([True, False, False]))
    >>> points[0], area
    ([0.0, 0.0, 0.5, 1.0], 1.0)
    """
    order: IntArray = np.argsort(-scores, kind="stable")
    positive = np.asarray(is_class)[order]
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    true_rate = np.append(0.0, np.cumsum(positive)[ends] / positive.sum())
    false_rate = np.append(0.0, np.cumsum(~positive)[ends] / (~positive).sum())
    area = float(np.trapezoid(true_rate, false_rate))
    # Equal steps of the arc: most of a good curve is in its upper left corner.
    arc = np.append(0.0, np.cumsum(np.abs(np.diff(false_rate)) + np.abs(np.diff(true_rate))))
    kept = np.unique(np.searchsorted(arc, np.linspace(0, arc[-1], n_points)).clip(0, arc.size - 1))
    rounded = [[round(float(v), 4) for v in rates[kept]] for rates in (false_rate, true_rate)]
    return rounded, area
