"""Dendritic k-trees (Jones and Kording 2021) as structures of the same engine.

A 1-tree is a balanced binary tree over the pixels of an image, padded to a power of two; a k-tree
feeds k such trees, each with weights of its own, into one output unit. The task is to tell two
digits apart, 3 from 5 in the paper.

The output is one sigmoid unit trained by binary cross-entropy. The engine has softmax over class
nodes, and the two are the same thing if the score of the first class is 0 for ever: its node has a
single leaf, on a pixel of the padding, and a bias that Adam is kept from moving (`_frozen_bias`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bneuralt.paper.images.mnist import Images
from bneuralt.training.optimizers import Adam
from bneuralt.training.trainer import EpochState, OptimizerState, TrainingSettings, train
from bneuralt.tree.activations import activation_code
from bneuralt.tree.neural_tree import NeuralTree

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

#: Accuracy at telling 3 from 5, and weights without biases, as published for k = 1 and k = 32.
PUBLISHED = {1: (0.922, 2047), 32: (0.9635, 65504)}

#: A run that ends below this accuracy has learnt nothing; the classes are about equally frequent.
STUCK_BELOW = 0.6

_LEAKY = activation_code("leaky_relu")
_LINEAR = activation_code("linear")


def k_tree(
    k: int = 1,
    side: int = 32,
    *,
    dtype: str = "float32",
    random_state: int | np.random.Generator | None = None,
) -> NeuralTree:
    """Draw a k-tree over square images.

    Weights are He-normal and biases 0; the output unit has both uniform within 1 / sqrt(k).

    Parameters
    ----------
    k : int
        Number of binary trees.
    side : int
        Rows and columns of the images, a power of two. Pixel 0 has to be 0 in every image.
    dtype : {"float32", "float64"}
    random_state : int, numpy Generator, or None

    Returns
    -------
    NeuralTree
        With two outputs: the first is always 0, the second is the score of the second class.

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
    parents, level = [np.array([-1, -1])], np.array([1])
    for width in k * 2 ** np.arange(int(np.log2(n_pixels))):  # k trees of 1, 2, 4, ... nodes
        parents.append(level.repeat(width // level.size))
        level = np.arange(level[-1] + 1, level[-1] + 1 + width)
    parent = np.concatenate(parents)
    leaf_parent = np.concatenate([[0], level.repeat(2)])
    leaf_input = np.concatenate([[0], np.tile(np.arange(n_pixels), k)])

    above = np.concatenate([parent[2:], leaf_parent])
    spread = np.sqrt(2.0 / np.bincount(above, minlength=parent.size))
    rng = np.random.default_rng(random_state)
    parameters = np.concatenate(
        [np.zeros(parent.size), rng.normal(size=above.size) * spread[above]]
    )
    of_output = np.concatenate([[1], parent.size + np.flatnonzero(above == 1)])
    parameters[of_output] = rng.uniform(-1, 1, of_output.size) / np.sqrt(k)
    codes = np.full(parent.size, _LEAKY)
    codes[:2] = _LINEAR
    return NeuralTree(n_pixels, 2, parent, codes, leaf_parent, leaf_input, parameters.astype(dtype))


def pad_images(X: np.ndarray, shape: tuple[int, int] = (28, 28), side: int = 32) -> np.ndarray:
    """Put a frame of zeros around flattened images.

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


def two_classes(
    X: np.ndarray, y: np.ndarray, classes: tuple[int, int] = (3, 5)
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of two classes, and which of the two each is."""
    rows = np.flatnonzero(np.isin(y, classes))
    return X[rows], (y[rows] == classes[1]).astype(np.int32)


@dataclass(frozen=True)
class KTreeRun:
    """One trained k-tree, and how it did on the test rows."""

    k: int
    trial: int
    accuracy: float
    n_epochs: int
    seconds: float
    tree: NeuralTree

    @property
    def is_stuck(self) -> bool:
        """Whether the tree does no better than guessing."""
        return self.accuracy < STUCK_BELOW


def run_k_tree(
    k: int,
    train_rows: tuple[np.ndarray, np.ndarray],
    test_rows: tuple[np.ndarray, np.ndarray],
    *,
    trial: int = 0,
    n_trials: int = 10,
    seed: int = 0,
    max_epochs: int = 2000,
    patience: int | None = None,
    n_threads: int = 1,
) -> KTreeRun:
    """Train a k-tree in one of the published trials.

    As published: of the training rows as many as there are test rows become validation rows, both
    kinds are dealt out to the trials, so that each of 10 trials has 965 of the 11,552 images of a 3
    or a 5 to train on; Adam at a rate of 0.001, batches of 256, at most 2000 epochs.

    There is no early stopping, and the last weights count. The published rule (stop when the mean
    of the validation losses of all epochs has not fallen for 60 epochs) is there as `patience=60`:
    the loss of a 1-tree stands still for about 100 epochs before it falls, and the rule ends some
    runs there, with nothing learnt.

    Parameters
    ----------
    k : int
    train_rows, test_rows : tuple (X, y)
        Padded images as uint8, and 0 or 1.
    trial, n_trials : int
        Which part of the rows to learn from. From `n_trials` on, trials draw other parts.
    seed : int
        Together with `trial` decides all that is drawn.
    max_epochs, n_threads : int
    patience : int or None
    """
    (X, y), n_test = train_rows, len(test_rows[1])
    order = np.random.default_rng([seed, trial // n_trials]).permutation(len(y))
    part = trial % n_trials
    validate = np.array_split(order[:n_test], n_trials)[part]
    fit = np.array_split(order[n_test:], n_trials)[part]
    tree = k_tree(k, int(np.sqrt(X.shape[1])), random_state=np.random.default_rng([seed, trial]))
    losses: list[float] = []

    def no_longer_falls(state: EpochState) -> bool:
        losses.append(state.val_loss)
        means = np.cumsum(losses) / np.arange(1, len(losses) + 1)
        return patience is not None and len(means) - 1 - int(means.argmin()) >= patience

    result = train(
        tree,
        X[fit],
        y[fit],
        settings=TrainingSettings(
            # The published epsilon of 1e-8 stands outside the square root, ours inside.
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
        callback=no_longer_falls,
        optimizer_state=_frozen_bias(tree),
    )
    trained = result.tree.with_input_scaling(0.0, 1 / 255)
    right = trained.forward(test_rows[0], n_threads).argmax(axis=1) == test_rows[1]
    return KTreeRun(k, trial, float(right.mean()), result.n_epochs, result.seconds, trained)


@dataclass(frozen=True)
class KTreeTrial:
    """What came out of one trial."""

    trial: int
    accuracy: float
    epochs: int
    seconds: float
    stuck: bool


@dataclass(frozen=True)
class KTreeTrials:
    """Trials of one k, none left out; `weights` are counted without biases, as published."""

    k: int
    weights: int
    max_epochs: int
    seed: int
    trials: list[KTreeTrial]


def run_trials(
    k: int,
    images: Images,
    *,
    trials: int = 10,
    max_epochs: int = 2000,
    seed: int = 0,
    n_threads: int = 1,
    tell: Callable[[str], object] = lambda text: None,
) -> KTreeTrials:
    """Train k-trees to tell a 3 from a 5, in one trial after the other.

    Parameters
    ----------
    k : int
    images : Images
        MNIST.
    trials : int
        The published 10 deal out all rows; further ones draw other parts.
    max_epochs, seed, n_threads : int
        See `run_k_tree`.
    tell : callable, optional
        Called with a line of text after each trial.
    """
    train_rows = two_classes(pad_images(images.X_train, images.shape), images.y_train)
    test_rows = two_classes(pad_images(images.X_test, images.shape), images.y_test)
    done: list[KTreeTrial] = []
    for trial in range(trials):
        run = run_k_tree(
            k, train_rows, test_rows,
            trial=trial, seed=seed, max_epochs=max_epochs, n_threads=n_threads,
        )  # fmt: skip
        done.append(KTreeTrial(trial, run.accuracy, run.n_epochs, run.seconds, run.is_stuck))
        tell(f"trial {trial + 1} of {trials}: accuracy {run.accuracy:.4f}")
    # The first output's only leaf is there for its form, see the top of this module.
    weights = run.tree.n_leaves - 1 + run.tree.edge.size
    return KTreeTrials(k, int(weights), max_epochs, seed, done)


def _frozen_bias(tree: NeuralTree) -> OptimizerState:
    """Adam's state before the first step, but with one weight that will never move.

    Adam divides by the root of the mean square of past gradients. Where that starts out enormous,
    steps are too small to change any output.
    """
    mean_and_square = np.zeros((2, tree.n_parameters), dtype=tree.dtype)
    mean_and_square[1, 0] = 1e30  # of the first output's bias; no training is long enough to forget
    return OptimizerState(mean_and_square.ravel(), 0)
