"""The reference algorithms: checked by central differences and by hand."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.training import losses, optimizers
from bneuralt.training.losses import CrossEntropy, Huber, Pinball
from bneuralt.training.optimizers import Adam, Momentum, RMSprop, get_optimizer
from bneuralt.tree.activations import NAMES, get_activation
from tests import reference
from tests.helpers.quick import cases
from tests.helpers.strategies import KINKED, draw_targets, neural_trees

SEEDS = st.integers(0, 2**32 - 1)

#: Every loss with numbers of outputs, and activations of the outputs, that go with it.
LOSSES = [
    ("squared_error", (1, 2, 3), NAMES),
    ("squared_error", (1, 2, 3), ("linear",)),
    ("cross_entropy", (2, 3), ("linear",)),
    (CrossEntropy(label_smoothing=0.2), (2, 3), ("linear",)),
    ("absolute_error", (1, 3), ("linear", "tanh")),
    (Huber(delta=0.4), (1, 3), ("linear", "gaussian")),
    (Pinball([0.2, 0.9]), (2,), ("linear",)),
    ("poisson", (1, 2), ("linear",)),
    ("binary_cross_entropy", (1, 3), ("linear",)),
]


def random_rows(tree, seed, n_rows=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, tree.n_inputs))
    if tree.n_outputs == 1:
        return X, rng.normal(size=n_rows)
    return X, rng.integers(tree.n_outputs, size=n_rows)


def nearest_kink(tree, X, y, loss):
    """How far the rows are from where the slope of a ReLU or of the loss jumps."""
    theta = tree.parameters.tolist()
    distances = [math.inf]

    def visit(node):
        if node.activation in KINKED:
            distances.append(abs(node.sum))
        for child in node.children:
            visit(child)

    outputs = reference.build(tree)
    for x, target, _ in reference.examples(tree, X, y, loss):
        values = [reference.forward_pass(output, theta, x) for output in outputs]
        for output in outputs:
            visit(output)
        gaps = [abs(a - b) for a, b in zip(values, target, strict=True)]
        if loss.name in ("absolute_error", "pinball"):
            distances += gaps
        if loss.name == "huber":
            distances += [abs(gap - loss.delta) for gap in gaps]
    return min(distances)


def central_differences(function, theta, step=1e-6):
    result = np.empty_like(theta)
    for i in range(theta.size):
        shift = np.zeros_like(theta)
        shift[i] = step
        result[i] = (function(theta + shift) - function(theta - shift)) / (2 * step)
    return result


# -- values -------------------------------------------------------------------------------


def test_forward_by_hand():
    #   output = sigmoid(0.1 + 2 * h1 - 1 * x0),  h1 = tanh(-0.2 + 0.5 * x1 + 3 * x0)
    tree = NeuralTree(2, 1, [-1, 0], [1, 2], [0, 1, 1], [0, 1, 0], [0.1, -0.2, 2.0, -1.0, 0.5, 3.0])
    h1 = math.tanh(-0.2 + 0.5 * 0.7 + 3.0 * 0.3)
    expected = 1 / (1 + math.exp(-(0.1 + 2.0 * h1 - 0.3)))
    assert reference.forward(tree, [0.3, 0.7]) == pytest.approx([expected], rel=1e-15)


@given(neural_trees())
def test_nodes_hold_every_parameter_once(tree):
    places = []

    def visit(node):
        places.extend(place for place in (node.bias_at, node.weight_at) if place >= 0)
        if node.phi_at >= 0:
            places.extend(range(node.phi_at, node.phi_at + len(node.phi)))
        for child in node.children:
            visit(child)

    outputs = reference.build(tree)
    for output in outputs:
        visit(output)
    assert len(outputs) == tree.n_outputs
    assert sorted(places) == list(range(tree.n_parameters))


@pytest.mark.parametrize("name", NAMES)
def test_values_and_slopes_are_finite_far_from_0(name):
    defaults = get_activation(name).numbers
    for z in (-750.0, -40.0, 0.0, 40.0, 750.0):
        assert math.isfinite(reference.VALUE[name](z, *defaults))
        assert math.isfinite(reference.SLOPE[name](z, *defaults))


def test_cross_entropy_is_finite_for_large_outputs():
    assert reference.LOSS["cross_entropy"]([800.0, -800.0], [0.0, 1.0], 0.0) == 1600.0
    assert reference.LOSS_GRADIENT["cross_entropy"]([800.0, -800.0], [0.0, 1.0], 0.0) == [1.0, -1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hinge", 2, "linear"), "loss='hinge' is not known"),
        (("cross_entropy", 1, "linear"), "n_outputs=1: use loss='squared_error'"),
        (("cross_entropy", 2, "sigmoid"), "needs linear output nodes"),
        (("poisson", 2, "sigmoid"), "loss='poisson' needs linear output nodes"),
        ((Pinball([0.1, 0.9]), 3, "linear"), "each of its 2 numbers, .* n_outputs=3"),
        (("pinball", 2, "linear"), "each of its 1 numbers, .* n_outputs=2"),
    ],
)
def test_a_loss_that_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        losses.check_loss(*arguments)


# -- gradients ----------------------------------------------------------------------------


@pytest.mark.parametrize("activation", [*NAMES, "mixed"])
@pytest.mark.parametrize("case", LOSSES, ids=lambda case: str(case[0]))
@settings(max_examples=cases(8))
@given(data=st.data(), seed=SEEDS)
def test_gradient_matches_central_differences(activation, case, data, seed):
    loss, n_outputs, output = losses.get_loss(case[0]), case[1], case[2]
    tree = data.draw(
        neural_trees(
            n_outputs=n_outputs,
            output_activations=output,
            inner_activations=NAMES if activation == "mixed" else (activation,),
        )
    )
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, tree.n_inputs))
    y = draw_targets(rng, loss, tree.n_outputs, 3)
    assume(nearest_kink(tree, X, y, loss) > 1e-3)
    rest = (X, y, loss, rng.uniform(0, 2, size=3))
    numeric = central_differences(
        lambda theta: reference.batch_loss(tree.with_parameters(theta), *rest), tree.parameters
    )
    exact = reference.batch_gradient(tree, *rest)
    scale = max(1.0, np.abs(exact).max(), reference.batch_loss(tree, *rest))
    np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-7 * scale)


@given(neural_trees(output_activations=("sigmoid",)), SEEDS)
def test_batch_gradient_is_the_weighted_mean_of_the_examples(tree, seed):
    X, y = random_rows(tree, seed)
    w = np.array([0.5, 2.0, 0.0])
    each = [reference.gradient(tree, X[i], y[i], "squared_error") for i in range(3)]
    mean = (w[:, np.newaxis] * each).sum(axis=0) / 3
    batch = reference.batch_gradient(tree, X, y, "squared_error", sample_weight=w)
    np.testing.assert_allclose(batch, mean, rtol=1e-12, atol=1e-15)


# -- optimizers ---------------------------------------------------------------------------

# Two steps from theta = 1 with eta = 0.1 and the gradients 0.5, then -1; worked out by hand,
# with epsilon = 0 (it is 1e-8 under the root, hence the tolerance).
TWO_STEPS = {
    "gd": [0.95, 1.05],
    "momentum": [0.95, 0.95 - (0.9 * 0.05 - 0.1)],
    "adagrad": [0.9, 0.9 + 0.1 / math.sqrt(0.25 + 1)],
    "rmsprop": [1 - 0.05 / math.sqrt(0.025), 1 - 0.05 / math.sqrt(0.025) + 0.1 / 0.35],
    "adam": [0.9, 0.9 + 0.1 * (0.055 / 0.19) / math.sqrt(0.00124975 / 0.001999)],
    "adam_paper": [0.9, 0.9 + 0.1 * 0.55 / math.sqrt(1.225)],
}


@pytest.mark.parametrize("name", TWO_STEPS)
def test_two_steps_by_hand(name):
    memory = reference.Memory(np.zeros(1), np.zeros(1))
    theta, weights = np.ones(1), []
    for g in (0.5, -1.0):
        memory.t += 1
        parameters = get_optimizer(name).numbers
        theta = reference.RULE[name](theta, np.array([g]), 0.1, memory, *parameters)
        weights.append(theta[0])
    assert weights == pytest.approx(TWO_STEPS[name], abs=1e-6)


def test_epsilon_stands_under_the_root():
    memory = reference.Memory(np.zeros(1), np.zeros(1), t=1)
    parameters = RMSprop(beta=0.0, epsilon=3.0).numbers
    theta = reference.RULE["rmsprop"](np.zeros(1), np.ones(1), 1.0, memory, *parameters)
    assert theta == pytest.approx([-0.5])  # 1 / sqrt(1 + 3), not 1 / (1 + 3)


#: A bias alone: the output is the bias, the input is 0, so the gradient is bias - y.
BIAS = NeuralTree(1, 1, [-1], [0], [0], [0], [1.0, 4.0])


def train_bias(n_epochs=2, **options):
    options = {"optimizer": "gd", "learning_rate": 0.1, "loss": "squared_error", **options}
    return reference.train(BIAS, [[0.0]], [0.0], order=[[0]] * n_epochs, **options)


def test_nesterov_looks_ahead():
    # v = 0.1, theta = 0.9; then the gradient at 0.9 - 0.09 makes v = 0.09 + 0.081
    assert train_bias(optimizer="nesterov").bias == pytest.approx([0.9 - 0.171])
    # plain momentum takes it at 0.9: v = 0.09 + 0.09
    assert train_bias(optimizer="momentum").bias == pytest.approx([0.9 - 0.18])


def test_every_optimizer_is_known_by_name():
    assert list(reference.RULE) == list(optimizers.OPTIMIZERS)
    assert get_optimizer("momentum") == Momentum(gamma=0.9)
    assert get_optimizer(Adam(beta1=0.5)).beta1 == 0.5
    for wrong in ("sgd", Adam, None, losses.SquaredError()):
        with pytest.raises(ValueError, match="choose one of gd, momentum, nesterov"):
            get_optimizer(wrong)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Momentum(gamma=1.0), r"Momentum: gamma=1.0 is not in \[0, 1\)"),
        (lambda: Adam(beta2=-0.1), "Adam: beta2=-0.1"),
        (lambda: Adam(beta1=float("nan")), "Adam: beta1=nan"),
        (lambda: RMSprop(epsilon=0.0), "RMSprop: epsilon=0.0 is not a positive number"),
    ],
)
def test_optimizer_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# -- training -----------------------------------------------------------------------------


def test_cosine_schedule():
    assert reference.learning_rates(2.0, "cosine", 4) == pytest.approx(
        [2.0, 1 + math.sqrt(0.5), 1.0, 1 - math.sqrt(0.5)]
    )
    # rates 0.1 and 0.05
    assert train_bias(schedule="cosine").bias == pytest.approx([0.9 * 0.95])
    with pytest.raises(ValueError, match="schedule='step'"):
        train_bias(schedule="step")


def test_weight_decay_spares_biases():
    tree = train_bias(weight_decay=0.5)
    assert tree.bias == pytest.approx([0.81])
    assert tree.leaf_weight == pytest.approx([4 * 0.95**2])


def test_clipping_scales_the_whole_gradient():
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.0, 0.0])
    trained = reference.train(
        tree, [[0.75]], [-4.0], order=[[0]], loss="squared_error", optimizer="gd",
        learning_rate=1.0, clip_norm=1.0,
    )  # fmt: skip
    assert trained.parameters == pytest.approx([-0.8, -0.6])  # from a gradient (4, 3)
    assert reference.clipped(np.array([0.3, 0.4]), 0.5).tolist() == [0.3, 0.4]


@given(neural_trees(output_activations=("sigmoid",)), SEEDS)
def test_batches_follow_the_order(tree, seed):
    """Batches of 2 out of 3 rows: a pair, then the row that is left, epoch after epoch."""
    X, y = random_rows(tree, seed)
    order = [[2, 0, 1], [1, 2, 0]]
    theta = tree.parameters
    for batch in ([2, 0], [1], [1, 2], [0]):
        at = tree.with_parameters(theta)
        theta = theta - 0.5 * reference.batch_gradient(at, X[batch], y[batch], "squared_error")
    options = {"order": order, "loss": "squared_error", "optimizer": "gd", "learning_rate": 0.5}
    trained = reference.train(tree, X, y, batch_size=2, **options)
    np.testing.assert_allclose(trained.parameters, theta, rtol=1e-12, atol=1e-14)
    full = reference.train(tree, X, y, batch_size=None, **options)
    same = reference.train(tree, X, y, batch_size=3, **options)
    assert full == same


@pytest.mark.parametrize("name", optimizers.OPTIMIZERS)
def test_training_learns(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    tree = NeuralTree.random(2, 2, max_depth=2, output_activation="linear", random_state=1)
    trained = reference.train(
        tree, X, y, order=[rng.permutation(40).tolist() for _ in range(5)], loss="cross_entropy",
        optimizer=name, learning_rate=0.02, schedule="cosine",
    )  # fmt: skip
    before, after = (reference.batch_loss(t, X, y, "cross_entropy") for t in (tree, trained))
    assert after < 0.8 * before
