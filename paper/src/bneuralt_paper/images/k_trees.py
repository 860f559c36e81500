"""Dendritic k-trees (Jones and Kording 2021) as neural trees.

A 1-tree is a balanced binary tree over the pixels of an image, padded to a power of two. In a
k-tree the outputs of k such trees, each with its own weights, are the inputs of one output unit.
The trees of an asymmetric k-tree (A-32-tree in the paper) have as many weights, but each node
splits its pixels at a random position, which is our reading of "asymmetric". The task
is to distinguish two digits, 3 and 5 in the paper.

The output is one sigmoid unit trained with binary cross-entropy. A neural tree has a softmax over
class nodes, which is equivalent if the score of the first class is always 0: its node has a single
leaf, on a pixel of the padding, and a bias that Adam does not change (`_frozen_bias`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from bneuralt.training import EpochState, OptimizerState, TrainingSettings, train
from bneuralt.training.optimizers import Adam
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import activation_code
from bneuralt_paper._typing import Array, IntArray
from bneuralt_paper.images.image_data import Images

__all__ = [
    "KTreeRun",
    "KTreeTrial",
    "KTreeTrials",
    "k_tree",
    "pad_images",
    "run_k_tree",
    "run_trials",
    "two_classes",
]

#: Published accuracies for 3 against 5, by name of the model.
PUBLISHED = {"1-tree": 0.922, "32-tree": 0.9635, "A-32-tree": 0.9111}

#: Runs that end below this accuracy have learned nothing; the classes are about equally frequent.
STUCK_BELOW = 0.6

_LEAKY = activation_code("leaky_relu")
_LINEAR = activation_code("linear")

Rows = tuple[Array, IntArray]


def k_tree(
    k: int = 1,
    side: int = 32,
    *,
    asymmetric: bool = False,
    dtype: str = "float32",
    random_state: int | np.random.Generator | None = None,
) -> NeuralTree:
    """Return a k-tree over square images with random weights.

    Weights are He-normal and biases 0; those of the output unit are uniform within 1 / sqrt(k).

    Parameters
    ----------
    k : int
        Number of binary trees.
    side : int
        Number of rows and columns of the images, a power of two. Pixel 0 must be 0 in all images.
    asymmetric : bool
        Whether nodes split their pixels at random positions instead of in the middle.
    dtype : {"float32", "float64"}
    random_state : int, numpy Generator, or None

    Returns
    -------
    NeuralTree
        A tree with two outputs: the first is always 0, the second is the score of the second class.

    Examples
    --------
    >>> tree = k_tree(1)
    >>> tree.n_leaves - 1 + tree.edge.size  # its weights without biases, as published
    2047
    """
    n_pixels = side * side
    if k < 1:
        raise ValueError(f"k={k} must be 1 or more")
    if side < 2 or n_pixels & (n_pixels - 1):
        raise ValueError(f"side={side} must be a power of two, 2 or more: pad the images")
    rng = np.random.default_rng(random_state)
    parent, leaf_parent, leaf_input = _structure(k, n_pixels, rng if asymmetric else None)
    above = np.concatenate([parent[2:], leaf_parent])
    spread = np.sqrt(2.0 / np.bincount(above, minlength=parent.size))
    parameters = np.concatenate(
        [np.zeros(parent.size), rng.normal(size=above.size) * spread[above]]
    )
    of_output = np.concatenate([[1], parent.size + np.flatnonzero(above == 1)])
    parameters[of_output] = rng.uniform(-1, 1, of_output.size) / np.sqrt(k)
    codes = np.full(parent.size, _LEAKY)
    codes[:2] = _LINEAR
    return NeuralTree(n_pixels, 2, parent, codes, leaf_parent, leaf_input, parameters.astype(dtype))


def _structure(
    k: int, n_pixels: int, rng: np.random.Generator | None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the arrays of a k-tree; nodes split in the middle, or at random positions."""
    parents, leaves = [-1, -1], [(0, 0)]
    level = [(1, 0, n_pixels)] * k  # the parent of each node of a level, and its pixels
    while level:
        following = []
        for above, start, stop in level:
            parents.append(above)
            node = len(parents) - 1
            middle = int(rng.integers(start + 1, stop)) if rng else (start + stop) // 2
            for low, high in ((start, middle), (middle, stop)):
                if high - low == 1:
                    leaves.append((node, low))
                else:
                    following.append((node, low, high))
        level = following
    leaf_parent, leaf_input = np.array(sorted(leaves)).T
    return np.array(parents), leaf_parent, leaf_input


def pad_images(X: Array, shape: tuple[int, int] = (28, 28), side: int = 32) -> Array:
    """Pad flattened images with zeros on all sides.

    Examples
    --------
    >>> pad_images(np.ones((1, 4), dtype=np.uint8), (2, 2), 4).reshape(4, 4)
    array([[0, 0, 0, 0],
           [0, 1, 1, 0],
           [0, 1, 1, 0],
           [0, 0, 0, 0]], dtype=uint8)
    """
    top, left = (side - shape[0]) // 2, (side - shape[1]) // 2
    padded = np.zeros((len(X), side, side), dtype=X.dtype)
    padded[:, top : top + shape[0], left : left + shape[1]] = X.reshape(len(X), *shape)
    return padded.reshape(len(X), side * side)


def two_classes(X: Array, y: IntArray, classes: tuple[int, int] = (3, 5)) -> Rows:
    """Return the rows of two classes, with 0 or 1 as their new class indices."""
    rows = np.flatnonzero(np.isin(y, classes))
    return X[rows], (y[rows] == classes[1]).astype(np.int32)


@dataclass(frozen=True)
class KTreeRun:
    """A trained k-tree and its accuracy on the test rows."""

    k: int
    trial: int
    accuracy: float
    n_epochs: int
    seconds: float
    tree: NeuralTree

    @property
    def is_stuck(self) -> bool:
        """Whether the tree is no better than guessing."""
        return self.accuracy < STUCK_BELOW


def run_k_tree(
    k: int,
    train_rows: Rows,
    test_rows: Rows,
    *,
    trial: int = 0,
    n_trials: int = 10,
    seed: int = 0,
    max_epochs: int = 2000,
    patience: int | None = None,
    asymmetric: bool = False,
    n_threads: int = 1,
) -> KTreeRun:
    """Train a k-tree as in one trial of the published experiment.

    As published, the number of validation rows, taken from the training rows, equals the number of
    test rows; training and validation rows are divided among the trials, so that each of 10 trials
    trains on 965 of the 11,552 images of a 3 or a 5; and training uses Adam with a rate of 0.001,
    batches of 256, and at most 2000 epochs.

    By default there is no early stopping, and the last weights are used. ``patience=60`` is the
    published rule: stop when the mean of the validation losses of all epochs has not decreased for
    60 epochs. The loss of a 1-tree is constant for about 100 epochs before it decreases, and the
    rule stops some runs before they have learned anything.

    Parameters
    ----------
    k : int
    train_rows, test_rows : tuple (X, y)
        Padded images as uint8, and 0 or 1.
    trial, n_trials : int
        Which part of the rows to train on. Trials from `n_trials` on use other divisions.
    seed : int
        Determines all random numbers, together with `trial`.
    max_epochs, n_threads : int
    patience : int or None
    asymmetric : bool
        See `k_tree`.
    """
    (X, y), n_test = train_rows, len(test_rows[1])
    order = np.random.default_rng([seed, trial // n_trials]).permutation(len(y))
    part = trial % n_trials
    validate = np.array_split(order[:n_test], n_trials)[part]
    fit = np.array_split(order[n_test:], n_trials)[part]
    rng = np.random.default_rng([seed, trial])
    tree = k_tree(k, int(np.sqrt(X.shape[1])), asymmetric=asymmetric, random_state=rng)
    losses: list[float] = []

    def stops_decreasing(state: EpochState) -> bool:
        losses.append(state.val_loss)
        means = np.cumsum(losses) / np.arange(1, len(losses) + 1)
        return patience is not None and len(means) - 1 - int(means.argmin()) >= patience

    started = time.process_time()
    result = train(
        tree,
        X[fit],
        y[fit],
        settings=TrainingSettings(
            # The published epsilon of 1e-8 is added outside the square root, ours inside.
            optimizer=Adam(epsilon=1e-16),
            learning_rate=1e-3,
            schedule="constant",
            batch_size=256,
            max_epochs=max_epochs,
        ),
        seed=trial,
        validation=(X[validate], y[validate]),
        input_scaling=(0.0, 1 / 255),
        n_threads=n_threads,
        callback=stops_decreasing,
        optimizer_state=_frozen_bias(tree),
    )
    seconds = time.process_time() - started
    trained = result.tree.with_input_scaling(0.0, 1 / 255)
    is_correct = trained.forward(test_rows[0], n_threads).argmax(axis=1) == test_rows[1]
    return KTreeRun(k, trial, float(is_correct.mean()), result.n_epochs, seconds, trained)


@dataclass(frozen=True)
class KTreeTrial:
    """The result of one trial; `seconds` is processor time."""

    trial: int
    accuracy: float
    epochs: int
    seconds: float
    stuck: bool


@dataclass(frozen=True)
class KTreeTrials:
    """All trials of one k; `weights` does not include biases, as published."""

    k: int
    weights: int
    max_epochs: int
    seed: int
    trials: list[KTreeTrial]
    asymmetric: bool = False

    @property
    def name(self) -> str:
        """The name of the model in the paper."""
        return "A-" * self.asymmetric + f"{self.k}-tree"


def run_trials(
    k: int,
    images: Images,
    *,
    trials: int = 10,
    max_epochs: int = 2000,
    seed: int = 0,
    asymmetric: bool = False,
) -> KTreeTrials:
    """Train k-trees to distinguish a 3 from a 5, one trial after the other.

    Parameters
    ----------
    k : int
    images : Images
        MNIST.
    trials : int
        Number of trials. The first 10 use all rows; others use other divisions.
    max_epochs, seed, asymmetric
        See `run_k_tree`.
    """
    train_rows = two_classes(pad_images(images.X_train, images.shape), images.y_train)
    test_rows = two_classes(pad_images(images.X_test, images.shape), images.y_test)
    done: list[KTreeTrial] = []
    for trial in range(trials):
        run = run_k_tree(
            k, train_rows, test_rows,
            trial=trial, seed=seed, max_epochs=max_epochs, asymmetric=asymmetric,
        )  # fmt: skip
        done.append(KTreeTrial(trial, run.accuracy, run.n_epochs, run.seconds, run.is_stuck))
    # The single leaf of the first output is not part of the k-tree, see the top of this module.
    weights = run.tree.n_leaves - 1 + run.tree.edge.size
    return KTreeTrials(k, int(weights), max_epochs, seed, done, asymmetric)


def _frozen_bias(tree: NeuralTree) -> OptimizerState:
    """Return an initial state of Adam that keeps the bias of the first output constant.

    Adam divides by the root of the mean square of past gradients. If its initial value is huge, the
    steps are too small to change any output.
    """
    mean_and_square = np.zeros((2, tree.n_parameters), dtype=tree.dtype)
    mean_and_square[1, 0] = 1e30  # too large to decay during training
    return OptimizerState(mean_and_square.ravel(), 0)
