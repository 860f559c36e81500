"""Made-up images of MNIST's form, quick to learn from."""

import numpy as np

from bneuralt_paper.datasets.fetching import write_images
from bneuralt_paper.images.image_data import Images


def draw_spots(n, rng):
    """Return n images of a bright spot whose place tells the class, in noise, and their classes."""
    y = rng.integers(0, 10, n).astype(np.int32)
    X = rng.integers(0, 50, (n, 28, 28))
    for i, k in enumerate(y):
        row, column = 2 + 5 * (k // 2), 4 + 12 * (k % 2)
        X[i, row : row + 4, column : column + 4] += 150
    X[:, 0] = 0  # as at the border of MNIST's images
    return X.reshape(n, -1).astype(np.uint8), y


def write_spots(home):
    """Make a data folder with as many images as MNIST has; many are there more than once."""
    X, y = draw_spots(700, np.random.default_rng(1))
    (home / "mnist").mkdir(parents=True)
    write_images(np.tile(X, (100, 1)), np.tile(y, 100), home / "mnist", n_train=60_000)


def spots(name="mnist"):
    """Return images for training and test."""
    rng = np.random.default_rng(0)
    names = tuple("0123456789")
    return Images(name, (28, 28), names, *draw_spots(600, rng), *draw_spots(300, rng))
