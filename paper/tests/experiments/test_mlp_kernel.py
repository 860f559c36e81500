"""The kernel of multilayer perceptrons against its twin in plain Python."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest

from bneuralt import _core
from bneuralt_paper import _mlp, reference
from tests.helpers.limits import complaints
from tests.helpers.strategies import INSTRUCTION_SETS

OPTIMIZERS = ("gd", "momentum", "nesterov", "adagrad", "rmsprop", "adam")
RATES = {"gd": 0.1, "momentum": 0.05, "nesterov": 0.05, "adagrad": 0.05}  # others: 0.002


@pytest.fixture(params=INSTRUCTION_SETS)
def engine(request):
    """Use each instruction set of this processor in turn."""
    if request.param not in _mlp.engines():
        pytest.skip(f"this processor has no {request.param}")
    _mlp.use_engine(request.param)
    yield request.param
    _mlp.use_engine("auto")


class Case:
    """A start, rows and settings, drawn from a seed."""

    def __init__(self, seed: int, classify: bool = True, n_rows: int = 23, **settings) -> None:
        rng = np.random.default_rng(seed)
        n_inputs, n_hidden = int(rng.integers(1, 20)), int(rng.integers(1, 40))
        n_outputs = int(rng.integers(2, 19)) if classify else 1
        self.classify, self.seed, self.n_hidden = classify, seed, n_hidden

        def numbers(*shape: int) -> np.ndarray:
            return rng.normal(0, 0.5, shape).astype(np.float32)

        def targets(n: int) -> np.ndarray:
            if classify:
                return rng.integers(n_outputs, size=n).astype(np.int32)
            return rng.random(n).astype(np.float32)

        self.start = {
            "W1": numbers(n_inputs, n_hidden),
            "b1": numbers(n_hidden),
            "W2": numbers(n_outputs, n_hidden),
            "b2": numbers(n_outputs),
        }
        n_monitored = int(rng.integers(1, 20))
        self.X, self.X_monitored = numbers(n_rows, n_inputs), numbers(n_monitored, n_inputs)
        self.y, self.y_monitored = targets(n_rows), targets(n_monitored)
        optimizer = settings.get("optimizer", "gd")
        self.settings = {
            "activation": "sigmoid", "optimizer": optimizer, "penalty": 0.0, "dropout": 0.0,
            "learning_rate": RATES.get(optimizer, 0.002), "stopping": "never", "patience": 50,
            "max_epochs": 3,
        } | settings  # fmt: skip

    def by_the_kernel(self):
        *parameters, curves = _mlp.train_mlp(
            **self.start, X=self.X, y=self.y, X_monitored=self.X_monitored,
            y_monitored=self.y_monitored, seed=self.seed, **self.settings,
        )  # fmt: skip
        return dict(zip(self.start, parameters, strict=True)), curves

    def by_the_twin(self):
        settings = dict(self.settings)
        n_epochs, dropout = settings.pop("max_epochs"), settings.pop("dropout")
        n = len(self.X)
        kept = None
        if dropout:
            drawn = [_core.uniform(2**64 - 1 - self.seed, i)
                     for i in range(n_epochs * n * self.n_hidden)]  # fmt: skip
            kept = (np.array(drawn) >= dropout).reshape(-1, self.n_hidden) / (1 - dropout)
        order = [_core.epoch_order(self.seed, epoch, n).tolist() for epoch in range(n_epochs)]
        return reference.train_mlp(
            self.start, self.X, self.y, self.X_monitored, self.y_monitored, order=order,
            classify=self.classify, kept=kept, **settings,
        )  # fmt: skip

    def check(self):
        (parameters, curves), (expected, expected_curves) = self.by_the_kernel(), self.by_the_twin()
        np.testing.assert_allclose(curves, expected_curves, rtol=1e-4, atol=1e-6)
        for name, values in expected.items():
            np.testing.assert_allclose(parameters[name], values, rtol=1e-3, atol=2e-5, err_msg=name)
        return curves


@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_equals_that_of_the_twin(engine, optimizer, activation, classify):
    for seed, more in enumerate(({}, {"penalty": 0.01}, {"dropout": 0.4})):
        Case(seed, classify, optimizer=optimizer, activation=activation, **more).check()


@pytest.mark.parametrize("classify", [True, False])
@pytest.mark.parametrize("stopping", ["patience", "epoch", "update"])
def test_stopping_equals_that_of_the_twin(stopping, classify):
    lengths = set()
    for seed in range(6):
        case = Case(
            seed, classify, n_rows=8, stopping=stopping, patience=3, max_epochs=15,
            optimizer="momentum",
        )  # fmt: skip
        lengths.add(len(case.check()))
    assert (len(lengths) > 1) == (stopping == "patience")


def test_rows_that_are_not_monitored_have_no_numbers():
    case = Case(3)
    case.X_monitored, case.y_monitored = case.X_monitored[:0], case.y_monitored[:0]
    curves = case.check()
    assert np.isnan(curves[:, 2:]).all() and np.isfinite(curves[:, :2]).all()


@pytest.mark.parametrize("stopping", ["never", "patience", "epoch", "update"])
def test_a_training_that_diverges_ends(engine, stopping):
    case = Case(
        0, activation="relu", learning_rate=1e30, stopping=stopping, patience=4, max_epochs=12
    )
    parameters, curves = case.by_the_kernel()
    assert np.isnan(curves[:, [0, 2]]).all()  # from the first epoch on
    assert len(curves) == (4 if stopping == "patience" else 12)
    if stopping == "patience":  # no epoch was better than the start
        for name, values in case.start.items():
            np.testing.assert_array_equal(parameters[name], values)
    if stopping == "never":
        assert np.isnan(parameters["W1"]).all()


def test_the_seed_alone_decides():
    case = Case(5, dropout=0.3, optimizer="adam")
    first, again = case.by_the_kernel(), case.by_the_kernel()
    np.testing.assert_array_equal(first[1], again[1])
    case.seed += 1
    assert not np.array_equal(first[1], case.by_the_kernel()[1])


def test_ctrl_c_ends_a_long_training():
    case = Case(6, max_epochs=2**20)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.1, _thread.interrupt_main).start()
        case.by_the_kernel()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"optimizer": "lion"}, "optimizer='lion' is unknown: choose one of gd, momentum"),
        ({"activation": "tanh"}, "activation='tanh'"),
        ({"stopping": "soon"}, "stopping='soon'"),
        ({"dropout": 1.0}, "dropout must lie in"),
        ({"learning_rate": np.nan}, "learning_rate must be finite"),
        ({"max_epochs": 0}, "max_epochs is 0"),
        ({"patience": 0}, "patience is 0"),
        ({"X": np.zeros((0, 3), np.float32), "y": np.zeros(0, np.int32)}, "X has no rows"),
        ({"X": np.zeros((2, 4), np.float32)}, "X has 4 columns, W1 has 3 rows"),
        ({"y": np.zeros(3, np.int32)}, "y has 3 entries"),
        ({"y": np.array([0, 2], np.int32)}, "y has the label 2, the network has 2 outputs"),
        ({"y": np.zeros(2, np.float32), "y_monitored": np.zeros(2, np.float32)}, "one row"),
        ({"W2": np.zeros((2, 6), np.float32)}, "W1 has 5 columns, W2 has 6"),
        ({"b1": np.zeros(4, np.float32)}, "b1 has 4 entries, 5 are needed"),
        ({"W1": np.zeros((0, 5), np.float32)}, "W1 and W2 must have rows"),
        (
            {"stopping": "epoch", "X_monitored": np.zeros((0, 3), np.float32),
             "y_monitored": np.zeros(0, np.int32)},
            "X_monitored has no rows",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(change, message):
    arguments = {
        "W1": np.zeros((3, 5), np.float32), "b1": np.zeros(5, np.float32),
        "W2": np.zeros((2, 5), np.float32), "b2": np.zeros(2, np.float32),
        "X": np.zeros((2, 3), np.float32), "y": np.zeros(2, np.int32),
        "X_monitored": np.zeros((2, 3), np.float32), "y_monitored": np.zeros(2, np.int32),
        "activation": "relu", "optimizer": "gd", "learning_rate": 0.1, "penalty": 0.0,
        "dropout": 0.0, "stopping": "never", "patience": 1, "max_epochs": 1, "seed": 0,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _mlp.train_mlp(**arguments | change)


def test_no_call_crashes_hangs_or_fills_the_memory():
    assert complaints("paper.tests.tools.fuzz_mlp", 0, 300) == []
