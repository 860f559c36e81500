"""Algorithms and formulas: carried out as printed, and compared with the library."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bneuralt.training import TrainingSettings, gradient, train
from bneuralt.training.optimizers import Adam, PaperAdam
from bneuralt.tree import NeuralTree
from bneuralt.tree.activations import activation_code
from bneuralt_paper._typing import FloatArray
from bneuralt_paper.experiments.neural_trees import paper_tree
from bneuralt_paper.ledger.checks.registry import check
from bneuralt_paper.ledger.evidence import Check, Evidence

__all__: list[str] = []

_RATE, _GAMMA, _BETA, _EPSILON = 0.1, 0.9, 0.9, 1e-8


def _sigmoid(z: FloatArray) -> FloatArray:
    values: FloatArray = 1.0 / (1.0 + np.exp(-z))
    return values


def _example() -> tuple[NeuralTree, FloatArray, int]:
    tree = paper_tree(5, 3, max_depth=3, seed=3)
    return tree, np.random.default_rng(0).uniform(size=5), 1


def _printed_gradient(tree: NeuralTree, x: FloatArray, target: int) -> FloatArray:
    """Carry out Algorithms 2 and 3 as printed, node by node."""
    n, k = tree.parent.size, tree.n_outputs
    n_leaves = tree.n_leaves
    bias = tree.parameters[:n]
    edge = np.concatenate([np.zeros(k), tree.parameters[n : 2 * n - k]])  # to the parent
    leaf_weight = tree.parameters[2 * n - k :]
    activation = np.zeros(n)
    for node in reversed(range(n)):  # children have higher numbers: a post-order
        children = np.flatnonzero(tree.parent == node)
        leaves = np.flatnonzero(tree.leaf_parent == node)
        total = bias[node] + edge[children] @ activation[children]
        total += leaf_weight[leaves] @ x[tree.leaf_input[leaves]]
        activation[node] = _sigmoid(total)
    delta = np.zeros(n)

    def compute_delta(node: int) -> None:  # Algorithm 3
        h = activation[node]
        if node < k:
            delta[node] = (h - (node == target)) * h * (1 - h)
        else:
            delta[node] = h * (1 - h) * delta[tree.parent[node]] * edge[node]
        for child in np.flatnonzero(tree.parent == node):
            compute_delta(int(child))

    for output in range(k):
        compute_delta(output)
    edges = [delta[tree.parent[node]] * activation[node] for node in range(k, n)]
    inputs = [delta[tree.leaf_parent[i]] * x[tree.leaf_input[i]] for i in range(n_leaves)]
    return np.concatenate([delta, edges, inputs])


def _loss(tree: NeuralTree, x: FloatArray, target: int) -> float:
    y = np.zeros(tree.n_outputs)
    y[target] = 1
    return float(0.5 * np.sum((tree.forward(x[None])[0] - y) ** 2))


def _small(difference: float) -> str:
    """Return a difference as text; rounding errors, which depend on the machine, are not shown."""
    return "less than 1e-9" if difference < 1e-9 else f"{difference:.2g}"


@check
def descent(evidence: Evidence) -> Check:
    """Take one step of Algorithm 1 with both signs."""
    tree, x, target = _example()
    step = _RATE * _printed_gradient(tree, x, target)
    before = _loss(tree, x, target)
    plus, minus = (
        _loss(tree.with_leaf_inputs(tree.leaf_input, tree.parameters + sign * step), x, target)
        for sign in (1, -1)
    )
    text = (
        f"a step as printed changes the loss from {before:.4f} to {plus:.4f}, with minus to "
        f"{minus:.4f}"
    )
    return Check(text, bool(plus < before))


@check
def recursive_gradient(evidence: Evidence) -> Check:
    """Compare the printed recursion with the gradient of the library."""
    tree, x, target = _example()
    y = np.array([target], dtype=np.int32)
    ours = gradient(tree, x[None], y, loss="squared_error")[1]
    difference = float(np.abs(_printed_gradient(tree, x, target) - ours).max())
    return Check(f"our gradient differs by {_small(difference)}", difference < 1e-9)


@check
def printed_sigmoid(evidence: Evidence) -> Check:
    """Check that the slope h (1 - h) of Algorithm 3 is that of the printed function."""
    z = 0.7
    printed = [1.0 / (1.0 + np.exp(v)) for v in (z - 1e-6, z, z + 1e-6)]
    slope = (printed[2] - printed[0]) / 2e-6
    expected = printed[1] * (1 - printed[1])
    text = (
        f"the printed function falls: its slope at {z} is {slope:.3f}, Algorithm 3 has "
        f"{expected:.3f}"
    )
    return Check(text, bool(abs(slope - expected) < 1e-6))


@check
def trained_loss(evidence: Evidence, printed: str) -> Check:
    """Compare the delta of Algorithm 3 with the derivative of the squared error."""
    tree, x, target = _example()
    slopes = _printed_gradient(tree, x, target)
    numeric = []
    for i in range(tree.n_parameters):
        ends = []
        for step in (1e-6, -1e-6):
            moved = tree.parameters.copy()
            moved[i] += step
            ends.append(_loss(tree.with_leaf_inputs(tree.leaf_input, moved), x, target))
        numeric.append((ends[0] - ends[1]) / 2e-6)
    is_squared = float(np.abs(np.array(numeric) - slopes).max()) < 1e-6
    text = "the printed gradient is that of the squared error"
    if not is_squared:
        text = "the printed gradient is that of neither"
    return Check(text, (printed == "squared error") == is_squared)


@check
def fit_measure(evidence: Evidence) -> Check:
    """Compare the printed r2 with that of scikit-learn."""
    from sklearn.metrics import r2_score

    y, predicted = np.random.default_rng(0).normal(size=(2, 50))
    printed = 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)
    difference = abs(printed - r2_score(y, predicted))
    return Check(f"scikit-learn's r2 differs by {_small(difference)}", difference < 1e-9)


@check
def relu(evidence: Evidence) -> Check:
    """Compare max(0, z) with the library's ReLU."""
    z = np.linspace(-2, 2, 9)[:, None]
    tree = _one_node("relu")
    difference = float(np.abs(tree.forward(z)[:, 0] - np.maximum(z[:, 0], 0)).max())
    return Check(f"our ReLU differs by {_small(difference)}", difference < 1e-9)


def _one_node(activation: str) -> NeuralTree:
    """Return a tree of one node with one leaf: bias 0, weight 1."""
    zero, code = np.zeros(1, dtype=int), np.array([activation_code(activation)])
    return NeuralTree(1, 1, zero - 1, code, zero, zero, np.array([0.0, 1.0]))


# Five updates of w in a model w x, with x = 1, target 0 and weights as after each optimizer.


def _ours(optimizer: object) -> FloatArray:
    """Return the weight of one linear node after each of five updates."""
    weights = []
    for epochs in range(1, 6):
        tree = _one_node("linear")
        settings = TrainingSettings(
            loss="squared_error", optimizer=optimizer, learning_rate=_RATE, schedule="constant",
            batch_size=1, max_epochs=epochs,
        )  # fmt: skip
        result = train(tree, np.array([[1.0]]), np.array([0.0]), settings=settings)
        # bias and weight have the same gradient, so that their sum is twice each of them
        weights.append(float(result.tree.parameters[1]))
    return np.array(weights)


Update = Callable[[FloatArray, FloatArray, int], tuple[FloatArray, FloatArray]]


def _sequence(update: Update) -> FloatArray:
    """Return the weight after each of five updates by a printed rule."""
    w: FloatArray = np.array([0.0, 1.0])
    state: FloatArray = np.zeros((2, 2))
    weights = []
    for step in range(1, 6):
        w, state = update(w, state, step)
        weights.append(w[1])
    return np.array(weights)


def _slope(w: FloatArray) -> FloatArray:
    return np.full(2, w.sum())


def _momentum(w: FloatArray, s: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
    v = _GAMMA * s[0] + _RATE * _slope(w)
    return w - v, np.stack([v, s[1]])


def _nesterov(w: FloatArray, s: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
    previous = s[1] if j > 1 else np.zeros(2)
    v = _GAMMA * s[0] + _RATE * _slope(w - previous)  # as printed: at the difference of weights
    return w - v, np.stack([v, w])


def _adagrad(w: FloatArray, s: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
    g = _slope(w)
    v = s[0] + g**2
    return w - _RATE / np.sqrt(v + _EPSILON) * g, np.stack([v, s[1]])


def _rmsprop(w: FloatArray, s: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
    g = _slope(w)
    v = (1 - _BETA) * s[0] + _BETA * g**2  # as printed: coefficients exchanged
    return w - _RATE / np.sqrt(v + _EPSILON) * g, np.stack([v, s[1]])


def _adam(w: FloatArray, s: FloatArray, j: int) -> tuple[FloatArray, FloatArray]:
    g = _slope(w)
    m = (_BETA * s[0] + (1 - _BETA) * g) / (1 - _BETA**j)  # as printed: the corrected m is kept
    v = (_BETA * s[1] + (1 - _BETA) * g**2) / (1 - _BETA**j)
    return w - _RATE / np.sqrt(v + _EPSILON) * m, np.stack([m, v])


_PRINTED = {
    "MGD": (_momentum, "momentum"),
    "NAG": (_nesterov, "nesterov"),
    "Adagrad": (_adagrad, "adagrad"),
    "RMSprop": (_rmsprop, "rmsprop"),
    "Adam": (_adam, Adam(beta2=0.9)),
}


def _optimizer_difference(name: str) -> float:
    printed, usual = _PRINTED[name]
    return float(np.abs(_sequence(printed) - _ours(usual)).max())


@check
def optimizer(evidence: Evidence, name: str) -> Check:
    """Compare five updates by a printed rule with the usual form of the optimizer."""
    difference = _optimizer_difference(name)
    text = f"five updates of the usual {name} differ by {_small(difference)}"
    if name == "Adam":
        other = float(np.abs(_sequence(_adam) - _ours(PaperAdam())).max())
        text += f", and by {other:.2g} from the authors' program, which never counts steps"
    return Check(text, difference < 1e-6)


@check
def optimizers(evidence: Evidence) -> Check:
    """Count the rows of Table 1 that are the usual forms."""
    usual = [name for name in _PRINTED if _optimizer_difference(name) < 1e-6]
    others = [name for name in _PRINTED if name not in usual]
    text = f"{len(usual)} of {len(_PRINTED)} rows are the usual forms; not {', '.join(others)}"
    return Check(text, not others)
