"""What callbacks are told after each epoch."""

import numpy as np
import pytest

from bneuralt import NeuralTree, TrainingJob, TrainingSettings, _core, train_many
from bneuralt.training.losses import CrossEntropy, Huber, Pinball
from bneuralt.training.optimizers import Momentum
from bneuralt.tree.activations import Gaussian


def test_seconds_pass_and_epochs_are_counted():
    X = np.random.default_rng(0).normal(size=(50, 2))
    states = []
    tree = NeuralTree.random(2, 1, random_state=0)
    job = TrainingJob(tree, TrainingSettings(loss="squared_error", max_epochs=4))
    train_many([job, job], X, X[:, 0], callback=states.append)
    assert [(state.job, state.epoch) for state in states] == [
        (i, e) for i in (0, 1) for e in range(4)
    ]
    seconds = [state.seconds for state in states]
    assert seconds[0] >= 0 and seconds == sorted(seconds) and seconds[-1] < 600


def test_parameters_of_losses_are_given_once_and_by_their_names():
    assert Huber(0.5) == Huber(delta=0.5) != Huber()
    with pytest.raises(TypeError, match="has no parameter 'delta' left; it has: delta"):
        Huber(0.5, delta=0.5)
    with pytest.raises(TypeError, match="has no parameter 'width' left"):
        Huber(width=0.5)
    with pytest.raises(TypeError, match="takes 1 parameters, got 2"):
        Huber(0.5, 0.5)


def test_the_documentation_of_settings_states_their_ranges():
    text = " ".join(TrainingSettings.__doc__.split())
    for setting in _core.settings():
        assert f"{setting.name} : " in text
        allowed = setting.allowed[:1].upper() + setting.allowed[1:]
        assert (f" {allowed}. 'auto': " in text) or setting.kind not in ("number", "whole")
        about = " ".join(setting.about.split())
        is_number = setting.kind in ("number", "whole")
        assert about + (f" {allowed}. 'auto': " if is_number else " ") in text


@pytest.mark.parametrize(
    ("make", "allowed", "refused"),
    [
        (lambda x: Pinball((x,)), (1e-9, 0.5, 1 - 1e-9), (0.0, 1.0, -0.1, 1.1)),
        (Huber, (1e-9, 5.0), (0.0, -1.0)),
        (CrossEntropy, (0.0, 0.99), (1.0, -0.1)),
        (Momentum, (0.0, 0.99), (1.0, -0.1)),
        (lambda x: Gaussian(0.0, x), (-1.0, 1e-9), (0.0,)),
    ],
    ids=["quantile", "huber", "smoothing", "momentum", "gaussian"],
)
def test_ends_of_the_ranges_of_parameters(make, allowed, refused):
    for value in allowed:
        assert make(value) == make(value)
    for value in (*refused, np.nan, np.inf):
        with pytest.raises(ValueError, match="is not"):
            make(value)
