"""Image data sets: MNIST and Fashion-MNIST with their published training and test parts."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

from bneuralt_paper._typing import Array, IntArray
from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.datasets.catalogue import CATALOGUE, IMAGES

__all__ = ["Images", "load_images"]


@dataclass(frozen=True, eq=False)
class Images:
    """Images as rows of pixels (uint8) with class indices, in a training and a test part."""

    name: str
    shape: tuple[int, int]
    class_names: tuple[str, ...]
    X_train: Array
    y_train: IntArray
    X_test: Array
    y_test: IntArray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.class_names)


def load_images(name: str = "mnist", data_home: str | PathLike[str] | None = None) -> Images:
    """Load an image data set.

    Parameters
    ----------
    name : {"mnist", "fashion_mnist"}
    data_home : path, optional
        The data folder, see `load_dataset`.
    """
    if name not in IMAGES:
        raise ValueError(f"name={name!r} is not an image data set: choose {' or '.join(IMAGES)}")
    data, n_train = load_dataset(name, data_home), CATALOGUE[name].n_train
    y = data.y.astype(np.int32)
    return Images(
        name, (28, 28), CATALOGUE[name].class_names,
        data.X[:n_train], y[:n_train], data.X[n_train:], y[n_train:],
    )  # fmt: skip
