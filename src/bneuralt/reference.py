"""The algorithms of the paper in plain Python: slow, readable, and what the tests trust.

The compiled core computes the same numbers many thousand times faster. Here a tree is made of
`Node` objects and the passes over it are recursive, as one would write them on a blackboard:

- forward, *post-order*: the value of a node follows from the values of its children,

      h = phi(b + sum of w_c h_c over the children c),       h = x_i for a leaf of input i;

- backward, *pre-order*: the error term of a node follows from that of its parent,

      delta = phi'(h) * dE/dh                  at an output,
      delta = phi'(h) * w * delta_parent       below, w being the edge to the parent,

  and the gradient is dE/db = delta for a bias, dE/dw = delta_parent * h for an edge.

All numbers that are trained stand in one vector, theta, in the order of
`NeuralTree.parameters`; a node knows the places of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bneuralt import _core
from bneuralt._typing import Array, FloatArray
from bneuralt.training.losses import Loss, get_loss
from bneuralt.training.optimizers import Optimizer, get_optimizer
from bneuralt.tree.activations import NAMES
from bneuralt.tree.monotonic import Signs
from bneuralt.tree.neural_tree import NeuralTree

__all__ = [
    "LeafMover",
    "Node",
    "batch_gradient",
    "batch_loss",
    "build",
    "forward",
    "gradient",
    "train",
]

# -- the tree -----------------------------------------------------------------------------


@dataclass
class Node:
    """A node of the tree: a neuron, or a leaf, which carries an input.

    Attributes
    ----------
    children : list of Node
        Empty for a leaf.
    activation : str
        Name of the activation of a neuron.
    input : int
        Which input a leaf carries.
    bias_at : int
        Place in theta of the bias of a neuron.
    weight_at : int
        Place in theta of the weight of the edge to the parent; an output has none.
    phi : list of float
        Parameters of the activation, where they are not trained.
    phi_at : int
        Place in theta of the first parameter of the activation; -1 if they are not trained.
    sum : float
        z, the weighted sum, as the latest forward pass left it.
    value : float
        h, as the latest forward pass left it.
    delta : float
        The error term of a neuron, as the latest backward pass left it.
    """

    children: list[Node] = field(default_factory=list)
    activation: str = ""
    input: int = -1
    bias_at: int = -1
    weight_at: int = -1
    phi: list[float] = field(default_factory=list)
    phi_at: int = -1
    sum: float = 0.0
    value: float = 0.0
    delta: float = 0.0

    @property
    def is_leaf(self) -> bool:
        """Whether the node carries an input."""
        return not self.children

    def parameters(self, theta: Vector) -> Vector:
        """Return the parameters of the activation."""
        return self.phi if self.phi_at < 0 else theta[self.phi_at : self.phi_at + len(self.phi)]


def build(tree: NeuralTree) -> list[Node]:
    """Return the outputs of a tree, each a `Node` with its whole subtree below it.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> len(build(NeuralTree.random(4, 3, random_state=0)))
    3
    """
    n_nodes, k = tree.parent.size, tree.n_outputs
    nodes: list[Node] = []
    start, phi = tree.activation_parameter_start, _numbers(tree.activation_parameters)
    for i, parent in enumerate(tree.parent):
        nodes.append(Node(activation=NAMES[tree.activation[i]], bias_at=i))
        nodes[i].phi = phi[start[i] : start[i + 1]]
        if tree.trains_activations:
            nodes[i].phi_at = tree.n_parameters - len(phi) + int(start[i])
        if i >= k:
            nodes[i].weight_at = n_nodes + i - k
            nodes[parent].children.append(nodes[i])
    for j, parent in enumerate(tree.leaf_parent):
        leaf = Node(input=int(tree.leaf_input[j]), weight_at=2 * n_nodes - k + j)
        nodes[parent].children.append(leaf)
    return nodes[:k]


# -- activations --------------------------------------------------------------------------
#
# z is the weighted sum of a node, h its value, and what follows are the parameters of its
# activation.

Vector = Sequence[float]


def _sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def _sigmoid_slope(z: float) -> float:
    return _sigmoid(z) * _sigmoid(-z)


def _tanh_slope(z: float) -> float:
    return 1.0 - math.tanh(z) ** 2


#: phi(z)
VALUE: dict[str, Callable[..., float]] = {
    "linear": lambda z: z,
    "sigmoid": _sigmoid,
    "tanh": math.tanh,
    "relu": lambda z: max(z, 0.0),
    "leaky_relu": lambda z, slope: z if z > 0 else slope * z,
    "gaussian": lambda z, center, width: math.exp(-(((z - center) / width) ** 2)),
    "linear_sigmoid": lambda z, scale, offset: scale * _sigmoid(z) + offset,
    "linear_tanh": lambda z, scale, offset: scale * math.tanh(z) + offset,
    "bipolar": lambda z, steepness: math.tanh(steepness * z) / steepness,
    "unipolar": lambda z, steepness: 2 * abs(steepness) * _sigmoid(2 * abs(steepness) * z),
}

#: d phi(z) / dz
SLOPE: dict[str, Callable[..., float]] = {
    "linear": lambda z: 1.0,
    "sigmoid": _sigmoid_slope,
    "tanh": _tanh_slope,
    "relu": lambda z: 1.0 if z > 0 else 0.0,
    "leaky_relu": lambda z, slope: 1.0 if z > 0 else slope,
    "gaussian": lambda z, center, width: (
        -2 * (z - center) / width**2 * VALUE["gaussian"](z, center, width)
    ),
    "linear_sigmoid": lambda z, scale, offset: scale * _sigmoid_slope(z),
    "linear_tanh": lambda z, scale, offset: scale * _tanh_slope(z),
    "bipolar": lambda z, steepness: _tanh_slope(steepness * z),
    "unipolar": lambda z, steepness: 4 * steepness**2 * _sigmoid_slope(2 * abs(steepness) * z),
}

#: d phi(z) / d(parameters), for activations that have some
PARAMETER_SLOPES: dict[str, Callable[..., Vector]] = {
    "leaky_relu": lambda z, slope: [0.0 if z > 0 else z],
    "gaussian": lambda z, center, width: [
        2 * (z - center) / width**2 * VALUE["gaussian"](z, center, width),
        2 * (z - center) ** 2 / width**3 * VALUE["gaussian"](z, center, width),
    ],
    "linear_sigmoid": lambda z, scale, offset: [_sigmoid(z), 1.0],
    "linear_tanh": lambda z, scale, offset: [math.tanh(z), 1.0],
    "bipolar": lambda z, steepness: [
        (z * _tanh_slope(steepness * z) - math.tanh(steepness * z) / steepness) / steepness
    ],
    "unipolar": lambda z, steepness: [
        math.copysign(2.0, steepness) * _sigmoid(2 * abs(steepness) * z)
        + 4 * steepness * z * _sigmoid_slope(2 * abs(steepness) * z)
    ],
}

# -- losses -------------------------------------------------------------------------------
#
# o are the outputs, t what they should be, and what follows are the parameters of the loss.


def _softmax(outputs: Vector) -> list[float]:
    largest = max(outputs)
    powers = [math.exp(o - largest) for o in outputs]
    return [p / sum(powers) for p in powers]


def _log_sum_exp(outputs: Vector) -> float:
    largest = max(outputs)
    return largest + math.log(sum(math.exp(o - largest) for o in outputs))


def _smoothed(t: Vector, smoothing: float) -> list[float]:
    """Take a share of the 1 of the true class and spread it evenly over all classes."""
    return [(1 - smoothing) * b + smoothing / len(t) for b in t]


def _huber(d: float, delta: float) -> float:
    return 0.5 * d * d if abs(d) <= delta else delta * (abs(d) - 0.5 * delta)


def _poisson(o: float, t: float) -> float:
    return math.exp(o) - t + (t * (math.log(t) - o) if t > 0 else 0.0)


def _label_cost(o: float, t: float, smoothing: float) -> float:
    """Return -log of the probability of a label; t is 1 where the row has it, else 0."""
    share = (1 - smoothing) * t + smoothing / 2
    return max(o, 0.0) + math.log1p(math.exp(-abs(o))) - share * o


def _sign(d: float) -> float:
    return float(d > 0) - float(d < 0)


def _pairs(o: Vector, t: Vector) -> Iterator[tuple[float, float]]:
    return zip(o, t, strict=True)


#: E(outputs, targets)
LOSS: dict[str, Callable[..., float]] = {
    "squared_error": lambda o, t: 0.5 * sum((a - b) ** 2 for a, b in _pairs(o, t)),
    "cross_entropy": lambda o, t, smoothing: sum(
        b * (_log_sum_exp(o) - a) for a, b in _pairs(o, _smoothed(t, smoothing))
    ),
    "absolute_error": lambda o, t: sum(abs(a - b) for a, b in _pairs(o, t)),
    "huber": lambda o, t, delta: sum(_huber(a - b, delta) for a, b in _pairs(o, t)),
    "pinball": lambda o, t, *quantiles: sum(
        max(q * (b - a), (q - 1) * (b - a))
        for q, (a, b) in zip(quantiles, _pairs(o, t), strict=True)
    ),
    "poisson": lambda o, t: sum(_poisson(a, b) for a, b in _pairs(o, t)),
    "binary_cross_entropy": lambda o, t, smoothing: sum(
        _label_cost(a, b, smoothing) for a, b in _pairs(o, t)
    ),
}

#: dE/d(outputs)
LOSS_GRADIENT: dict[str, Callable[..., list[float]]] = {
    "squared_error": lambda o, t: [a - b for a, b in _pairs(o, t)],
    "cross_entropy": lambda o, t, smoothing: [
        a - b for a, b in _pairs(_softmax(o), _smoothed(t, smoothing))
    ],
    "absolute_error": lambda o, t: [_sign(a - b) for a, b in _pairs(o, t)],
    "huber": lambda o, t, delta: [max(-delta, min(delta, a - b)) for a, b in _pairs(o, t)],
    "pinball": lambda o, t, *quantiles: [
        0.0 if a == b else (-q if a < b else 1 - q)
        for q, (a, b) in zip(quantiles, _pairs(o, t), strict=True)
    ],
    "poisson": lambda o, t: [math.exp(a) - b for a, b in _pairs(o, t)],
    "binary_cross_entropy": lambda o, t, smoothing: [
        _sigmoid(a) - ((1 - smoothing) * b + smoothing / 2) for a, b in _pairs(o, t)
    ],
}


def targets(y: Any, n_outputs: int, loss: Loss) -> list[float]:
    """Return what the outputs should be.

    That is y itself, if it has a number for each output; the number y for all outputs; or 1 for
    class y and 0 for the others.

    Examples
    --------
    >>> targets(1, 2, get_loss("cross_entropy"))
    [0.0, 1.0]
    """
    if np.ndim(y) == 1:
        return [float(number) for number in y]
    if n_outputs == 1 or loss.compares == "shared":
        return [float(y)] * n_outputs
    return [float(k == y) for k in range(n_outputs)]


# -- the two passes -----------------------------------------------------------------------


def forward_pass(node: Node, theta: Vector, x: Vector) -> float:
    """Compute the value of a node, after the values of its children."""
    if node.is_leaf:
        node.value = x[node.input]
    else:
        z = theta[node.bias_at]
        for child in node.children:
            z += theta[child.weight_at] * forward_pass(child, theta, x)
        node.sum = z
        node.value = VALUE[node.activation](z, *node.parameters(theta))
    return node.value


def backward_pass(node: Node, theta: Vector, slope: float, gradient: list[float]) -> None:
    """Compute the error term of a neuron, then go on to its children.

    Parameters
    ----------
    node : Node
        Its values must be those of a forward pass with the same theta.
    theta : sequence of float
        All weights.
    slope : float
        dE/dh of this node.
    gradient : list of float
        Where the entries of the subtree are written.
    """
    phi = node.parameters(theta)
    node.delta = SLOPE[node.activation](node.sum, *phi) * slope
    gradient[node.bias_at] = node.delta
    if node.phi_at >= 0 and phi:
        for i, by_parameter in enumerate(PARAMETER_SLOPES[node.activation](node.sum, *phi)):
            gradient[node.phi_at + i] = slope * by_parameter
    for child in node.children:
        gradient[child.weight_at] = node.delta * child.value
        if not child.is_leaf:
            backward_pass(child, theta, node.delta * theta[child.weight_at], gradient)


def forward(tree: NeuralTree, x: ArrayLike) -> FloatArray:
    """Return the outputs of a tree for one row of inputs.

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> forward(tree, [1.0, 1.0])
    array([1.5])
    """
    theta, row = _numbers(tree.parameters), _numbers(x)
    return np.array([forward_pass(output, theta, row) for output in build(tree)])


def gradient(tree: NeuralTree, x: ArrayLike, y: Any, loss: str | Loss) -> FloatArray:
    """Return the gradient of the loss of one example, in the order of `tree.parameters`.

    Parameters
    ----------
    tree : NeuralTree
    x : array of shape (n_inputs,)
    y : float
        The class index, the number or the numbers to predict.
    loss : str or Loss

    Examples
    --------
    >>> from bneuralt import NeuralTree
    >>> tree = NeuralTree(2, 1, [-1], [0], [0, 0], [0, 1], [0.5, 2.0, -1.0])
    >>> gradient(tree, [1.0, 3.0], 0.0, "squared_error")
    array([-0.5, -0.5, -1.5])
    """
    return batch_gradient(tree, np.asarray(x)[np.newaxis], [y], loss)


# -- batches ------------------------------------------------------------------------------


class Example(NamedTuple):
    """One row: its inputs, what the outputs should be, and how much it counts."""

    x: Vector
    target: Vector
    weight: float


def examples(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    loss: Loss,
    sample_weight: ArrayLike | None = None,
) -> list[Example]:
    """Return the rows of a table as examples for a tree."""
    rows, wanted = np.asarray(X, dtype=np.float64), np.asarray(y)
    weights = np.ones(len(rows)) if sample_weight is None else sample_weight
    return [
        Example(x, targets(y, tree.n_outputs, loss), weight)
        for x, y, weight in zip(rows.tolist(), wanted.tolist(), _numbers(weights), strict=True)
    ]


def batch_loss(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    loss: str | Loss,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over the rows of `weight * loss`."""
    loss = get_loss(loss)
    batch = examples(tree, X, y, loss, sample_weight)
    cost = LOSS[loss.name]
    return sum(
        weight * cost(forward(tree, x).tolist(), target, *loss.numbers)
        for x, target, weight in batch
    ) / len(batch)


def batch_gradient(
    tree: NeuralTree,
    X: ArrayLike,
    y: ArrayLike,
    loss: str | Loss,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return the gradient of `batch_loss`: the mean of `weight * gradient` over the rows."""
    loss = get_loss(loss)
    batch = examples(tree, X, y, loss, sample_weight)
    return mean_gradient(build(tree), tree.parameters, batch, loss)


def mean_gradient(
    outputs: list[Node], theta: Array, batch: Sequence[Example], loss: Loss
) -> FloatArray:
    """Run both passes over every example of a batch, and average the gradients."""
    weights = _numbers(theta)
    total = np.zeros(len(weights))
    for x, target, weight in batch:
        values = [forward_pass(output, weights, x) for output in outputs]
        one = [0.0] * len(weights)
        slopes = LOSS_GRADIENT[loss.name](values, target, *loss.numbers)
        for output, slope in zip(outputs, slopes, strict=True):
            backward_pass(output, weights, slope, one)
        total += weight * np.array(one)
    return total / len(batch)


def _numbers(values: ArrayLike) -> list[float]:
    numbers: list[float] = np.asarray(values, dtype=np.float64).tolist()
    return numbers


# -- optimizers ---------------------------------------------------------------------------
#
# Each rule takes theta, the gradient g, the learning rate eta, what it remembers, and its
# parameters to the next theta.


@dataclass
class Memory:
    """What an optimizer carries from one update to the next.

    m and v start as vectors of zeros, t counts the updates from 1.
    """

    m: FloatArray
    v: FloatArray
    t: int = 0


def _gd(theta: FloatArray, g: FloatArray, eta: float, memory: Memory) -> FloatArray:
    return theta - eta * g


def _momentum(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, gamma: float
) -> FloatArray:
    memory.v = gamma * memory.v + eta * g
    return theta - memory.v


def _adagrad(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, epsilon: float
) -> FloatArray:
    memory.v = memory.v + g**2
    step: FloatArray = eta * g / np.sqrt(memory.v + epsilon)
    return theta - step


def _rmsprop(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, beta: float, epsilon: float
) -> FloatArray:
    memory.v = beta * memory.v + (1 - beta) * g**2
    step: FloatArray = eta * g / np.sqrt(memory.v + epsilon)
    return theta - step


def _adam(
    theta: FloatArray,
    g: FloatArray,
    eta: float,
    memory: Memory,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> FloatArray:
    memory.m = beta1 * memory.m + (1 - beta1) * g
    memory.v = beta2 * memory.v + (1 - beta2) * g**2
    m_hat = memory.m / (1 - beta1**memory.t)
    v_hat = memory.v / (1 - beta2**memory.t)
    step: FloatArray = eta * m_hat / np.sqrt(v_hat + epsilon)
    return theta - step


def _adam_paper(
    theta: FloatArray, g: FloatArray, eta: float, memory: Memory, *parameters: float
) -> FloatArray:
    memory.t = 1  # the paper corrects every update as if it were the first
    return _adam(theta, g, eta, memory, *parameters)


RULE: dict[str, Callable[..., FloatArray]] = {
    "gd": _gd,
    "momentum": _momentum,
    "nesterov": _momentum,  # the same step, from a gradient taken elsewhere: see `viewpoint`
    "adagrad": _adagrad,
    "rmsprop": _rmsprop,
    "adam": _adam,
    "adam_paper": _adam_paper,
}


def viewpoint(optimizer: Optimizer, theta: FloatArray, memory: Memory) -> FloatArray:
    """Return the weights at which the gradient is taken: Nesterov's rule looks ahead."""
    if optimizer.name == "nesterov":
        (gamma,) = optimizer.numbers
        return theta - gamma * memory.v
    return theta


# -- training -----------------------------------------------------------------------------


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
    signs: Signs | None = None,
) -> NeuralTree:
    """Train a tree by backpropagation.

    One update goes like this: the mean gradient of the batch, taken where the optimizer wants
    it; clipping; weight decay, which draws edge and leaf weights (not biases) towards zero;
    the optimizer's step.

    Parameters
    ----------
    tree : NeuralTree
        Where to start from.
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
        How much each row counts.
    weight_decay : float
        Weights are multiplied by `1 - rate * weight_decay` before each step.
    clip_norm : float, optional
        Largest norm of a gradient; longer ones are scaled down to it.
    leaf_moves, moving_share, seed, may_move_to
        Whether and how leaves move; see `LeafMover`.
    signs : Signs, optional
        Signs that weights must have: those on the other side of 0 become 0 after each update.

    Returns
    -------
    NeuralTree
        The tree with its trained weights, in float64.

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
    wanted = wanted_signs(outputs, theta.size, signs)
    theta = np.where(theta * wanted < 0, 0.0, theta)
    times = [max(1, len(batches) * m // (2 * leaf_moves)) for m in range(1, leaf_moves + 1)]
    mover = LeafMover(tree, X, y, loss, sample_weight, may_move_to)
    epochs = [epoch for epoch in order for _ in _batches(epoch, batch_size)]
    for done, (batch, eta) in enumerate(zip(batches, rates, strict=True), start=1):
        memory.t += 1
        g = mean_gradient(outputs, viewpoint(optimizer, theta, memory), batch, loss)
        g = clipped(g, clip_norm)
        theta = np.where(decays, theta * (1 - eta * weight_decay), theta)
        theta = RULE[optimizer.name](theta, g, eta, memory, *optimizer.numbers)
        theta = np.where(theta * wanted < 0, 0.0, theta)
        if done in times:
            m = max(i for i, time in enumerate(times, start=1) if time == done)
            share = moving_share * (1 + math.cos(math.pi * (m - 1) / leaf_moves)) / 2
            n_moving = math.floor(share * tree.n_leaves + 0.5)
            moving_seed = (seed + m * 0x9E3779B97F4A7C15) % 2**64
            moved = mover.move(tree.with_parameters(theta), epochs[done - 1], n_moving, moving_seed)
            tree, outputs = moved.tree, build(moved.tree)
            theta = moved.tree.parameters.copy()
            wanted = wanted_signs(outputs, theta.size, signs)
            for part in (memory.m, memory.v):
                part[moved.places] = 0.0
    return tree.with_parameters(theta)


class Moved(NamedTuple):
    """A tree some of whose leaves have moved, and the places of their weights in theta."""

    tree: NeuralTree
    places: list[int]


class LeafMover:
    """Gives leaves of little weight other inputs.

    The leaves that move are those whose weight times the deviation of their input is smallest. A
    new input is one that the node has not got yet, drawn with a probability in proportion to the
    fourth power of the gradient that a weight of 0 would have there, the input having deviation 1.
    """

    def __init__(
        self,
        tree: NeuralTree,
        X: ArrayLike,
        y: ArrayLike,
        loss: Loss,
        sample_weight: ArrayLike | None = None,
        may_move_to: ArrayLike | None = None,
    ) -> None:
        self.X, self.y, self.loss = np.asarray(X, dtype=np.float64), np.asarray(y), loss
        self.weight = np.ones(len(self.X)) if sample_weight is None else np.asarray(sample_weight)
        allowed = np.ones(tree.n_inputs) if may_move_to is None else may_move_to
        self.allowed = np.asarray(allowed, dtype=bool)
        self.deviation: FloatArray | None = None  # learnt when leaves move for the first time

    def move(self, tree: NeuralTree, order: Sequence[int], n_moving: int, seed: int) -> Moved:
        """Move `n_moving` leaves, judged by the first rows of an epoch."""
        rows = list(order)[: min(max(32 * tree.n_inputs, 1024), 16384)]
        X = self.X[rows]
        if self.deviation is None:
            self.mean, self.deviation = X.mean(axis=0), X.std(axis=0)
        theta = tree.parameters.copy()
        first = theta.size - tree.n_leaves
        if tree.trains_activations:
            first -= tree.activation_parameters.size
        worth = np.abs(tree.leaf_weight) * self.deviation[tree.leaf_input]
        moving = np.lexsort((np.arange(tree.n_leaves), worth))[:n_moving]
        deltas = np.array(
            [
                self.weight[i] * gradient(tree, self.X[i], self.y[i], self.loss)[: tree.bias.size]
                for i in rows
            ]
        )
        slopes = (
            deltas.T @ (X - self.mean) / len(rows) / np.where(self.deviation, self.deviation, 1)
        )
        leaf_input, places = tree.leaf_input.copy(), []
        for i, leaf in enumerate(moving.tolist()):
            node = tree.leaf_parent[leaf]
            chance = np.where(self.allowed & (self.deviation > 0), slopes[node] ** 4, 0.0)
            chance[leaf_input[tree.leaf_parent == node]] = 0.0  # it is there already
            if chance.sum() > 0:
                below = np.cumsum(chance)
                leaf_input[leaf] = np.searchsorted(
                    below, _core.uniform(seed, i) * below[-1], side="right"
                )
                theta[first + leaf] = 0.0
                places.append(first + leaf)
        return Moved(tree.with_leaf_inputs(leaf_input, theta), places)


def wanted_signs(outputs: list[Node], n_parameters: int, signs: Signs | None) -> FloatArray:
    """Return the sign that each weight must have, 0 for any."""
    wanted = np.zeros(n_parameters)
    if signs is not None:
        for k, output in enumerate(outputs):
            require_signs(output, int(signs.node[k]), signs, wanted)
    return wanted


def require_signs(node: Node, effect: int, signs: Signs, wanted: FloatArray) -> None:
    """Write down the signs of the weights below a neuron whose effect on the prediction is known.

    Parameters
    ----------
    node : Node
    effect : int
        The product of the signs from the prediction down to this neuron.
    signs : Signs
    wanted : array
        Where the sign of each weight is written.
    """
    for child in node.children:
        if child.is_leaf:
            wanted[child.weight_at] = effect * signs.input[child.input]
        else:
            own = int(signs.node[child.bias_at])
            wanted[child.weight_at] = own
            require_signs(child, effect * own, signs, wanted)


def _batches(epoch: Sequence[int], size: int | None) -> Iterator[Sequence[int]]:
    size = size or len(epoch)
    return (epoch[start : start + size] for start in range(0, len(epoch), size))
