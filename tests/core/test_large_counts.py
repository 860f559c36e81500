"""Counts beyond 32 bits, and long calls of the core."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from bneuralt import NeuralTree, _core
from bneuralt.training import epoch_order


def lazily_zero(shape, dtype=np.float64):
    """Return zeros whose memory the system provides only where it is touched; skip without room."""
    try:
        return np.zeros(shape, dtype)
    except MemoryError:
        pytest.skip("the system refuses to promise this much memory")


@pytest.mark.parametrize("n_columns", [2**31, 2**32 + 1])
def test_targets_with_too_many_columns_are_refused(n_columns):
    y = lazily_zero((1, n_columns))
    with pytest.raises(ValueError, match=r"y has more than 2\^31 columns"):
        _core.Data(np.zeros((1, 2)), y)


def test_an_order_of_many_rows_can_be_interrupted():
    def interrupt():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for epoch in range(10**6):  # one of these is under way when the signal arrives
                epoch_order(0, epoch, 20_000_000)
                assert epoch < 100
    finally:
        thread.join()


@pytest.mark.parametrize("n", [2**20 - 1, 2**20, 2**20 + 1, 2**21 + 7])
def test_long_orders_are_permutations(n):
    order = epoch_order(3, 1, n)
    assert np.array_equal(np.sort(order), np.arange(n))


def test_rows_with_too_many_columns_are_refused():
    row = lazily_zero(2**31, np.uint8)
    tree = NeuralTree.random(2, 1, random_state=0)
    for X in (row, row[np.newaxis]):
        with pytest.raises(ValueError, match=r"X has more than 2\^31 columns"):
            tree.forward(X)
    with pytest.raises(ValueError, match=r"X has more than 2\^31 rows"):
        tree.forward(row[:, np.newaxis])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer of processor time")
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("operation", ["forward", "gradient"])
class TestSignals:
    """Signals during a call of the core that takes long."""

    def call(self, operation, n_threads):
        X = np.random.default_rng(0).random((300_000, 4), dtype=np.float32)
        tree = NeuralTree.random(4, 1, n_weights=8_000, random_state=0)
        if operation == "forward":
            return lambda: tree.forward(X, n_threads=n_threads)
        data = _core.Data(X, X[:, 0].astype(np.float64))
        return lambda: _core.gradient(tree.core, data, None, "squared_error", [], n_threads)

    def seconds(self, call, handler):
        """Return the processor time that a call takes, and that until its signal was handled."""
        handled = []

        def handle(*_):
            handled.append(time.process_time())
            handler()

        previous = signal.signal(signal.SIGVTALRM, handle)
        started = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
            call()
        finally:
            ended = time.process_time()
            signal.signal(signal.SIGVTALRM, previous)
            self.measured = ended - started, handled[0] - started

    def test_they_are_handled_and_an_exception_ends_the_call(self, operation, n_threads):
        def handler():
            raise KeyboardInterrupt

        call = self.call(operation, n_threads)
        self.seconds(call, lambda: None)
        whole, handled = self.measured
        assert handled < 0.6 * whole
        with pytest.raises(KeyboardInterrupt):
            self.seconds(call, handler)
        assert self.measured[0] < 0.6 * whole
