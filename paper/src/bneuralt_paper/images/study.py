"""All runs on images as one resumable study: a folder with a file for each finished run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from bneuralt_paper.images.image_baselines import run_image_baseline
from bneuralt_paper.images.image_data import Images
from bneuralt_paper.images.image_runs import run_images
from bneuralt_paper.images.k_trees import run_trials
from bneuralt_paper.images.paper_runs import (
    RATES,
    SEEDS,
    SMALL,
    PaperSetting,
    paper_plan,
    run_paper_tree,
)
from bneuralt_paper.images.paper_trees import ImageGrowth
from bneuralt_paper.images.result_files import DrawnTree, ImageResult, save_result

__all__ = ["ImageTask", "image_study", "run_study"]

#: The run whose tree is drawn, as Figure 8 of the paper draws that of BNeuralT-20K.
_DRAWN = "20K-d5-m10-p4-r.01-s0"


@dataclass(frozen=True)
class ImageTask:
    """A run of the study: its name, the data it needs, its rank and how to compute it.

    Tasks of lower rank are computed first.
    """

    name: str
    data: str
    rank: int
    compute: Callable[[Images], list[ImageResult]]


def image_study() -> list[ImageTask]:
    """Return all tasks in the order in which they are computed.

    Examples
    --------
    >>> image_study()[0].name
    '10K-d5-m10-p4-r.01-s0'
    """
    tasks = [*_paper_tasks(), *_k_tree_tasks(), *_modern_tasks(), *_baseline_tasks()]
    return sorted(tasks, key=lambda task: task.rank)


def _paper_tasks() -> Iterator[ImageTask]:
    firsts: dict[str, ImageGrowth] = {}
    for setting in paper_plan():
        is_main = setting.growth == firsts.setdefault(setting.label, setting.growth)
        if setting.selection == "update":
            rank = 90
        elif setting.label == "200K":
            rank = 20 if setting.rate == RATES[0] else 50
        elif setting.label in SMALL:
            rank = 15
        else:
            rank = (0 if setting.rate == RATES[0] else 30) if is_main else 40

        def compute(images: Images, setting: PaperSetting = setting) -> list[ImageResult]:
            run, tree = run_paper_tree(setting, images)
            if setting.name != _DRAWN:
                return [run]
            structure = DrawnTree(
                f"tree of {run.name}", tree.n_outputs, tree.parent.tolist(),
                tree.leaf_parent.tolist(), run.lowest_error,
            )  # fmt: skip
            return [run, structure]

        yield ImageTask(setting.name, "mnist", rank, compute)


def _k_tree_tasks() -> Iterator[ImageTask]:
    for k, asymmetric, epochs in ((1, False, 2000), (32, False, 500), (32, True, 500)):

        def compute(
            images: Images, k: int = k, asymmetric: bool = asymmetric, epochs: int = epochs
        ) -> list[ImageResult]:
            return [run_trials(k, images, max_epochs=epochs, asymmetric=asymmetric)]

        yield ImageTask("A-" * asymmetric + f"{k}-tree", "mnist", 10, compute)


def _modern_tasks() -> Iterator[ImageTask]:
    runs = [("mnist", weights, 25) for weights in (6_000, 12_000, 24_000, 242_000)]
    for data, weights, epochs in [*runs, ("fashion_mnist", 24_000, 50)]:
        for seed in SEEDS:

            def compute(
                images: Images, weights: int = weights, epochs: int = epochs, seed: int = seed
            ) -> list[ImageResult]:
                run, _ = run_images(images, n_weights=weights, epochs=epochs, seed=seed, n_jobs=1)
                return [run]

            rank = 70 if weights > 100_000 else 35
            yield ImageTask(f"modern-{data}-{weights}-s{seed}", data, rank, compute)


def _baseline_tasks() -> Iterator[ImageTask]:
    for data, name in (
        ("mnist", "CART"),
        ("fashion_mnist", "MLP"),
        ("fashion_mnist", "logistic regression"),
        ("fashion_mnist", "random forest"),
    ):

        def compute(images: Images, name: str = name) -> list[ImageResult]:
            return [run_image_baseline(name, images)]

        yield ImageTask(f"{name.replace(' ', '-')}-{data}", data, 60, compute)


def run_study(
    folder: str | Path,
    load: Callable[[str], Images],
    pattern: str = "*",
    report: Callable[[str], object] = print,
) -> int:
    """Compute the tasks whose file is not in the folder, and return how many they were.

    Parameters
    ----------
    folder : path
        Created if necessary. It may be interrupted at any time: a file is written when its run has
        finished.
    load : callable
        Returns the images of a name.
    pattern : str
        Only tasks whose name matches it, as for file names.
    report : callable
        Called with the name of each task that was computed.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    loaded: dict[str, Images] = {}
    n_computed = 0
    for task in image_study():
        path = folder / f"{task.name}.json"
        if path.exists() or not fnmatchcase(task.name, pattern):
            continue
        if task.data not in loaded:
            loaded[task.data] = load(task.data)
        first, *others = task.compute(loaded[task.data])
        for i, other in enumerate(others):
            save_result(other, folder / f"{task.name}.{i}.json")
        save_result(first, path)
        n_computed += 1
        report(task.name)
    return n_computed
