"""Training: the loop over batches, with schedule, clipping, decay, moves and signs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from bneuralt._typing import FloatArray
from bneuralt.training.losses import Loss, get_loss
from bneuralt.training.optimizers import Optimizer, get_optimizer
from bneuralt.tree.monotonic import Signs
from bneuralt.tree.neural_tree import NeuralTree
from tests.reference.moving import LeafMover
from tests.reference.optimizers import RULE, Memory, viewpoint
from tests.reference.passes import examples, mean_gradient
from tests.reference.signs import weight_signs
from tests.reference.tree_nodes import build

__all__ = ["clipped", "learning_rates", "train"]


def learning_rates(eta: float, schedule: str, n_updates: int) -> list[float]:
    """Return the learning rate of each update.

    Examples
    --------
    >>> learning_rates(1.0, "cosine", 2)
    [1.0, 0.5]
    """
    if schedule == "constant":
        return [eta] * n_updates
    if schedule == "cosine":
        return [eta * 0.5 * (1 + math.cos(math.pi * t / n_updates)) for t in range(n_updates)]
    raise ValueError(f"schedule={schedule!r} is not known: choose 'constant' or 'cosine'")


def clipped(g: FloatArray, clip_norm: float | None) -> FloatArray:
    """Return the gradient, scaled down to the norm `clip_norm` if it is longer."""
    norm = float(np.linalg.norm(g))
    return g if clip_norm is None or norm <= clip_norm else g * (clip_norm / norm)


def train(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    *,
    order: Sequence[Sequence[int]],
    loss: str | Loss,
    optimizer: str | Optimizer,
    learning_rate: float,
    schedule: str = "constant",
    batch_size: int | None = 1,
    sample_weight: ArrayLike | None = None,
    weight_decay: float = 0.0,
    clip_norm: float | None = None,
    leaf_moves: int = 0,
    moving_share: float = 0.3,
    seed: int = 0,
    may_move_to: ArrayLike | None = None,
    first_inputs: Sequence[int] | None = None,
    signs: Signs | None = None,
) -> NeuralTree:
    """Train a tree by backpropagation.

    An update consists of the mean gradient of the batch, at the weights of `viewpoint`; clipping;
    weight decay, which shrinks edge and leaf weights (not biases); and the step of the optimizer.

    Parameters
    ----------
    tree : NeuralTree
        Structure and initial weights.
    X, y : arrays
        Rows of inputs, and their class indices or numbers.
    order : sequence of sequences of int
        For every epoch, the rows in the order in which they are used.
    loss : str or Loss
    optimizer : str or Optimizer
    learning_rate : float
    schedule : {"constant", "cosine"}
        "cosine" lets the rate fall to 0 over all updates of the run.
    batch_size : int or None
        Rows per update: 1 is online learning, None takes the whole epoch at once. The last
        batch of an epoch may be smaller.
    sample_weight : array, optional
        Weight of each row.
    weight_decay : float
        Weights are multiplied by `1 - rate * weight_decay` before each step.
    clip_norm : float, optional
        Largest norm of a gradient; longer ones are scaled down to it.
    leaf_moves, moving_share, seed, may_move_to, first_inputs
        See `TrainingSettings` and `LeafMover`.
    signs : Signs, optional
        Signs that weights must have: those on the other side of 0 become 0 after each update.

    Returns
    -------
    NeuralTree
        The trained tree, in float64.

    Examples
    --------
    Two steps of gradient descent that fit a constant:

    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.0, 0.0])
    >>> train(tree, [[0.0]], [1.0], order=[[0], [0]], loss="squared_error", optimizer="gd",
    ...       learning_rate=0.5).bias
    array([0.75])
    """
    optimizer, loss = get_optimizer(optimizer), get_loss(loss)
    rows = examples(tree, X, y, loss, sample_weight)
    batches = [[rows[i] for i in batch] for epoch in order for batch in _batches(epoch, batch_size)]
    rates = learning_rates(learning_rate, schedule, len(batches))
    outputs = build(tree)
    theta: FloatArray = tree.parameters.astype(np.float64)
    position = np.arange(theta.size)  # edges and leaves shrink, biases and the rest do not
    decays = (position >= tree.bias.size) & (position < tree.structure.n_weights)
    memory = Memory(np.zeros_like(theta), np.zeros_like(theta))
    required = weight_signs(outputs, theta.size, signs)
    theta = np.where(theta * required < 0, 0.0, theta)
    times = [max(1, len(batches) * m // (2 * leaf_moves)) for m in range(1, leaf_moves + 1)]
    mover = LeafMover(tree, X, y, loss, sample_weight, may_move_to, first_inputs)
    epochs = [epoch for epoch in order for _ in _batches(epoch, batch_size)]
    for done, (batch, eta) in enumerate(zip(batches, rates, strict=True), start=1):
        memory.t += 1
        g = mean_gradient(outputs, viewpoint(optimizer, theta, memory), batch, loss)
        g = clipped(g, clip_norm)
        theta = np.where(decays, theta * (1 - eta * weight_decay), theta)
        theta = RULE[optimizer.name](theta, g, eta, memory, *optimizer.numbers)
        theta = np.where(theta * required < 0, 0.0, theta)
        if done in times:
            m = max(i for i, time in enumerate(times, start=1) if time == done)
            share = (1 + math.cos(math.pi * (m - 1) / leaf_moves)) / 2
            n_moving = math.floor(moving_share * share * tree.n_leaves + 0.5)
            moving_seed = (seed + m * 0x9E3779B97F4A7C15) % 2**64
            rows_between = len(batches) * len(batches[0]) // (2 * leaf_moves)
            now = tree.with_parameters(theta)
            moved = mover.move(now, epochs[done - 1], n_moving, moving_seed, rows_between, share)
            tree, outputs = moved.tree, build(moved.tree)
            theta = moved.tree.parameters.copy()
            required = weight_signs(outputs, theta.size, signs)
            for part in (memory.m, memory.v):
                part[moved.places] = 0.0
    return tree.with_parameters(theta)


def _batches(epoch: Sequence[int], size: int | None) -> Iterator[Sequence[int]]:
    size = size or len(epoch)
    return (epoch[start : start + size] for start in range(0, len(epoch), size))
