"""All runs on images as one resumable study, whose file of results grows run by run."""

from __future__ import annotations

import time
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
from bneuralt_paper.images.result_files import (
    DrawnTree,
    ImageResult,
    ImageResults,
    load_results,
    write_results,
)
from bneuralt_paper.running.locks import RunLocks

__all__ = ["ImageTask", "image_study", "read_study", "run_study"]

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
        if setting.label.startswith("200K"):
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
                return [run_images(images, weights, epochs, seed)]

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


def read_study(path: str | Path) -> ImageResults:
    """Return the results of a file, none if there is no file."""
    return load_results(path) if Path(path).exists() else ImageResults()


def run_study(
    path: str | Path,
    load: Callable[[str], Images],
    pattern: str = "*",
    report: Callable[[str], object] = print,
) -> int:
    """Compute the tasks whose results a file lacks, and return how many they were.

    Parameters
    ----------
    path : path
        The file, such as the published one; created if necessary. It is replaced atomically after
        each run, so that the study may be interrupted at any time. Several processes may share it.
    load : callable
        Returns the images of a name.
    pattern : str
        Only tasks whose name matches it, as for file names.
    report : callable
        Called with the name of each task that was computed.
    """
    loaded: dict[str, Images] = {}
    n_computed = 0
    with RunLocks(path) as locks:
        for task in image_study():
            if not fnmatchcase(task.name, pattern) or not locks.take((task.name,)):
                continue
            if not _has(path, task):
                if task.data not in loaded:
                    loaded[task.data] = load(task.data)
                _add(path, task.compute(loaded[task.data]), locks)
                n_computed += 1
                report(task.name)
            locks.drop((task.name,))
    return n_computed


def _has(path: str | Path, task: ImageTask) -> bool:
    return task.name in {result.name for result in read_study(path).all()}


def _add(path: str | Path, computed: list[ImageResult], locks: RunLocks) -> None:
    while not locks.take(("file",)):  # held for as long as another process takes to write
        time.sleep(0.1)
    results = read_study(path)
    for result in computed:
        results.add(result)
    write_results(results, path)
    locks.drop(("file",))
