"""What the losses are for: several outputs, quantiles, counts, outliers."""

import numpy as np
import pytest
from scipy.special import expit, huber, softmax
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance

from bneuralt import BNeuralTClassifier, NeuralTree, TrainingSettings, train
from bneuralt.expressions import evaluate
from bneuralt.training import TrainingJob, gradient, train_many
from bneuralt.training.losses import LOSSES, BinaryCrossEntropy, CrossEntropy, Huber, Pinball
from tests.helpers.strategies import draw_parameter
from tests.reference.losses import LOSS_GRADIENT


def fit(X, y, loss, n_outputs, max_epochs=60, output="linear", **options):
    """A small tree that is trained with a loss."""
    tree = NeuralTree.random(
        X.shape[1], n_outputs, 2, 4, activation="tanh", output_activation=output, random_state=2
    )
    how = TrainingSettings(loss=loss, max_epochs=max_epochs, **options)
    result = train(tree, X, y, settings=how)
    assert result.status == "completed"
    return result


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, np.stack([X[:, 0] - X[:, 1], np.tanh(2 * X[:, 2]), 0.5 * X[:, 0]], axis=1)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", Huber(delta=0.5)], ids=str)
def test_one_tree_learns_several_numbers(table, loss):
    X, Y = table
    result = fit(X, Y, loss, 3)
    residual = Y - result.tree.forward(X)
    assert (residual.var(axis=0) < 0.15 * Y.var(axis=0)).all()
    # error is the mean squared error over all outputs
    assert result.history["train_error"][-1] == pytest.approx((residual**2).mean(), rel=0.3)


def test_outputs_that_share_nothing_learn_as_they_would_alone(table):
    # the outputs are separate subtrees: with plain gradient descent none disturbs another
    X, Y = table
    result = fit(X, Y, "squared_error", 3, 3, optimizer="gd", schedule="constant")
    other = Y.copy()
    other[:, 1] = 0.0
    changed = fit(X, other, "squared_error", 3, 3, optimizer="gd", schedule="constant")
    np.testing.assert_array_equal(
        result.tree.forward(X)[:, [0, 2]], changed.tree.forward(X)[:, [0, 2]]
    )
    assert (result.tree.forward(X)[:, 1] != changed.tree.forward(X)[:, 1]).all()


def test_several_outputs_with_any_activation(table):
    X, Y = table
    bounded = 1 / (1 + np.exp(-Y))
    result = fit(X, bounded, "squared_error", 3, output="sigmoid")
    outputs = result.tree.forward(X)
    assert ((outputs > 0) & (outputs < 1)).all()
    assert (np.square(outputs - bounded).mean(axis=0) < 0.3 * bounded.var(axis=0)).all()


def test_targets_of_several_outputs_are_scaled_one_by_one(table):
    X, Y = table
    tree = NeuralTree.random(3, 3, 2, output_activation="linear", random_state=0)
    how = TrainingSettings(loss="squared_error", max_epochs=3)
    wide = Y * [1.0, 100.0, 1e4] + [0.0, 7.0, -3.0]
    scaling = np.array([0.0, 7.0, -3.0]), 1 / np.array([1.0, 100.0, 1e4])
    (scaled,) = train_many([TrainingJob(tree, how, target_scaling=scaling)], X, wide)
    expected = train(tree, X, Y, settings=how)
    np.testing.assert_allclose(scaled.tree.parameters, expected.tree.parameters, rtol=1e-9)
    # and the scaling goes into the weights of the outputs
    raw = scaled.tree.with_output_scaling(scaling[0], 1 / scaling[1])
    np.testing.assert_allclose(
        raw.forward(X), expected.tree.forward(X) / scaling[1] + scaling[0], rtol=1e-9, atol=1e-9
    )


def test_pinball_learns_quantiles():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 1))
    spread = 0.5 + 0.4 * X[:, 0]
    y = X[:, 0] + spread * rng.normal(size=4000)
    quantiles = [0.1, 0.5, 0.9]
    predicted = fit(X, y, Pinball(quantiles), 3, 40).tree.forward(X)
    shares = (y[:, np.newaxis] <= predicted).mean(axis=0)
    np.testing.assert_allclose(shares, quantiles, atol=0.03)
    normal = [-1.2816, 0.0, 1.2816]  # the same quantiles of a standard normal distribution
    for k, z in enumerate(normal):
        assert np.abs(predicted[:, k] - (X[:, 0] + z * spread)).mean() < 0.1


def test_one_quantile_is_one_output():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 1)), rng.exponential(size=2000)
    predicted = fit(X, y, Pinball(0.75), 1, 20).tree.forward(X)
    assert (y <= predicted[:, 0]).mean() == pytest.approx(0.75, abs=0.03)


def test_poisson_learns_the_logarithm_of_the_mean():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 2))
    log_mean = np.stack([0.5 + X[:, 0], 1.0 - X[:, 1]], axis=1)
    Y = rng.poisson(np.exp(log_mean)).astype(float)
    result = fit(X, Y, "poisson", 2, 30)
    assert np.abs(result.tree.forward(X) - log_mean).mean() < 0.1


def test_huber_and_absolute_error_shrug_off_outliers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    y = 0.2 * X[:, 0] + 1.0
    y[::10] += 50.0
    errors = {
        loss: np.abs(fit(X, y, loss, 1, 30).tree.forward(X)[1::10, 0] - y[1::10]).mean()
        for loss in ("squared_error", "absolute_error", "huber")
    }
    assert errors["squared_error"] > 2
    assert errors["absolute_error"] < 0.3 and errors["huber"] < 0.3


@pytest.mark.parametrize(
    ("loss", "n_outputs", "y", "message"),
    [
        ("huber", 2, np.zeros(4), "y has 1 columns, but the tree has 2 outputs"),
        ("huber", 1, np.zeros((4, 2)), "y has 2 columns, but the tree has 1 outputs"),
        ("squared_error", 3, np.zeros((4, 2)), "y has 2 columns, but the tree has 3 outputs"),
        ("squared_error", 2, np.zeros((3, 2)), "y has 3 entries, X has 4 rows"),
        ("squared_error", 2, np.zeros((4, 2, 1)), "one dimension, or two, it has 3"),
        ("squared_error", 2, np.full((4, 2), np.inf), r"y\[0, 0\] is inf, which is not finite"),
        (Pinball([0.5, 0.9]), 2, np.zeros((4, 2)), "needs one target"),
        (Pinball([0.5, 0.9]), 3, np.zeros(4), "needs one output for each of its 2 numbers"),
        ("cross_entropy", 2, np.zeros((4, 2), dtype=int), "y must have one dimension, it has 2"),
    ],
)
def test_targets_that_do_not_fit_are_refused(loss, n_outputs, y, message):
    tree = NeuralTree.random(1, n_outputs, output_activation="linear", random_state=0)
    with pytest.raises(ValueError, match=message):
        train(tree, np.ones((4, 1)), y, settings=TrainingSettings(loss=loss))


def test_label_smoothing_of_a_classifier_is_a_parameter_of_its_loss():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] > 0
    plain, smoothed = (
        BNeuralTClassifier(max_epochs=5, random_state=0, loss=loss).fit(X, y).predict_proba(X)
        for loss in ("cross_entropy", CrossEntropy(label_smoothing=0.3))
    )
    assert smoothed.max() < plain.max()


@pytest.mark.parametrize(
    ("loss", "error"),
    [
        ("squared_error", lambda o, t: np.square(o - t)),
        ("absolute_error", lambda o, t: np.square(o - t)),
        (Huber(delta=0.1), lambda o, t: np.square(o - t)),
        ("poisson", lambda o, t: np.square(np.exp(o) - t)),
        (
            Pinball([0.2, 0.7]),
            lambda o, t: np.where(o < t, [0.2, 0.7] * (t - o), [0.8, 0.3] * np.abs(o - t)),
        ),
    ],
    ids=["squared_error", "absolute_error", "huber", "poisson", "pinball"],
)
def test_errors_are_in_the_units_of_the_target(loss, error):
    rng = np.random.default_rng(0)
    outputs, weight = rng.normal(size=(50, 2)), rng.uniform(0.5, 2, 50)
    Y = rng.poisson(1.0, (50, 2)).astype(float)
    if isinstance(loss, Pinball):
        Y = Y[:, :1]
    same = NeuralTree(2, 2, [-1, -1], [0, 0], [0, 1], [0, 1], [0.0, 0.0, 1.0, 1.0])
    how = TrainingSettings(loss=loss, batch_size=None, max_epochs=1)
    y = Y[:, 0] if isinstance(loss, Pinball) else Y
    result = train(same, outputs, y, settings=how, sample_weight=weight)
    expected = np.average(error(outputs, Y).mean(axis=1), weights=weight)
    assert result.history["train_error"][0] == pytest.approx(expected, rel=1e-12)


def test_counts_must_not_be_negative():
    tree = NeuralTree.random(1, output_activation="linear", random_state=0)
    with pytest.raises(ValueError, match=r"y has the value -2: loss='poisson' needs targets"):
        gradient(tree, np.ones((2, 1)), [1.0, -2.0], loss="poisson")


@pytest.mark.parametrize("name", LOSSES)
def test_the_slope_of_each_loss_is_its_gradient(name):
    rng = np.random.default_rng(0)
    entry = LOSSES[name].entry
    for _ in range(20):
        values = [
            tuple(rng.uniform(0.1, 0.9, 3)) if parameter.is_list else draw_parameter(rng, parameter)
            for parameter in entry.parameters
        ]
        loss, outputs = LOSSES[name](*values), rng.normal(size=3)
        targets = np.eye(3)[0] if entry.compares == "labels" else rng.uniform(0.0, 1.0, 3)
        if entry.compares == "shared":
            targets[:] = targets[0]
        lists = {
            p.name: np.array(v) for p, v in zip(entry.parameters, values, strict=True) if p.is_list
        }
        variables = {"outputs": outputs, "targets": targets, **lists}
        slope = np.broadcast_to(evaluate(loss.slope(3), variables), 3)
        expected = LOSS_GRADIENT[name](outputs.tolist(), targets.tolist(), *loss.numbers)
        np.testing.assert_allclose(slope, expected, atol=1e-12)


# -- values, by other libraries ---------------------------------------------------------------


def _identity(n_outputs):
    """A tree whose outputs are its inputs."""
    one = np.arange(n_outputs)
    weights = np.concatenate([np.zeros(n_outputs), np.ones(n_outputs)])
    return NeuralTree(n_outputs, n_outputs, -np.ones(n_outputs, int), 0 * one, one, one, weights)


def _loss_of(loss, outputs, y, weight=None):
    """The mean loss of rows, as it is reported before the first update."""
    how = TrainingSettings(loss=loss, batch_size=None, max_epochs=1)
    tree = _identity(outputs.shape[1])
    result = train(tree, outputs, y, settings=how, sample_weight=weight)
    return result.history["train_loss"][0]


_RNG = np.random.default_rng(0)
OUTPUTS, WEIGHT = 2 * _RNG.normal(size=(60, 2)), _RNG.uniform(0.2, 3.0, 60)
NUMBERS, COUNTS = _RNG.normal(size=(60, 2)), _RNG.poisson(1.5, (60, 2)).astype(float)
LABELS = _RNG.integers(0, 2, (60, 2)).astype(float)
CLASSES = _RNG.integers(0, 3, 60)
LOGITS = 2 * _RNG.normal(size=(60, 3))


def _log_losses(outputs, labels):
    """Those of labels one by one, by scikit-learn."""
    return np.array(
        [
            [log_loss([t], [expit(o)], labels=[0, 1]) for o, t in zip(*pair, strict=True)]
            for pair in zip(outputs, labels, strict=True)
        ]
    )


def _poisson_deviances(means, counts):
    return np.array(
        [
            [mean_poisson_deviance([t], [m]) for m, t in zip(*pair, strict=True)]
            for pair in zip(means, counts, strict=True)
        ]
    )


@pytest.mark.parametrize(
    ("loss", "outputs", "y", "expected"),
    [
        (Huber(delta=0.7), OUTPUTS, NUMBERS, lambda: huber(0.7, OUTPUTS - NUMBERS)),
        (Huber(delta=3.0), OUTPUTS, NUMBERS, lambda: huber(3.0, OUTPUTS - NUMBERS)),
        ("absolute_error", OUTPUTS, NUMBERS, lambda: np.abs(OUTPUTS - NUMBERS)),
        (
            "poisson",
            OUTPUTS,
            COUNTS,
            lambda: 0.5 * _poisson_deviances(np.exp(OUTPUTS), COUNTS),
        ),
        (BinaryCrossEntropy(), OUTPUTS, LABELS, lambda: _log_losses(OUTPUTS, LABELS)),
        (
            BinaryCrossEntropy(label_smoothing=0.3),  # 15 % of the labels are the other one
            OUTPUTS,
            LABELS,
            lambda: 0.85 * _log_losses(OUTPUTS, LABELS) + 0.15 * _log_losses(OUTPUTS, 1 - LABELS),
        ),
        (
            CrossEntropy(label_smoothing=0.3),  # 30 % of the labels are any of the three
            LOGITS,
            CLASSES,
            lambda: (
                -0.7 * np.log(softmax(LOGITS, axis=1)[np.arange(60), CLASSES])
                - 0.3 * np.log(softmax(LOGITS, axis=1)).mean(axis=1)
            )[:, np.newaxis],
        ),
        (
            Pinball([0.2, 0.7]),
            OUTPUTS,
            NUMBERS[:, 0],
            lambda: np.array(
                [
                    [
                        mean_pinball_loss([t], [o], alpha=q)
                        for o, q in zip(row, [0.2, 0.7], strict=True)
                    ]
                    for row, t in zip(OUTPUTS, NUMBERS[:, 0], strict=True)
                ]
            ),
        ),
    ],
    ids=[
        "huber",
        "wide huber",
        "absolute",
        "poisson",
        "binary",
        "smoothed binary",
        "smoothed",
        "pinball",
    ],
)
def test_values_of_losses_are_those_of_other_libraries(loss, outputs, y, expected):
    by_row = expected().sum(axis=1)
    assert _loss_of(loss, outputs, y) == pytest.approx(by_row.mean(), rel=1e-9)
    weighted = np.average(by_row, weights=WEIGHT)
    assert _loss_of(loss, outputs, y, WEIGHT) == pytest.approx(weighted, rel=1e-9)
