"""Counts beyond 32 bits, and long calls of the core."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from bneuralt import _core
from bneuralt.training import epoch_order


def lazily_zero(shape):
    """Return zeros whose memory the system provides only where it is touched; skip without room."""
    try:
        return np.zeros(shape)
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
