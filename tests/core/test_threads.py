"""Threads around the core: stopping from elsewhere, and threads that outlive the interpreter."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bneuralt import NeuralTree, TrainingSettings, train
from bneuralt.training import TrainingJob, train_many

DAEMON = """
import sys, threading, time
import numpy as np
from bneuralt import NeuralTree, TrainingSettings, train

what, n_threads = sys.argv[1], int(sys.argv[2])
tree = NeuralTree.random(4, 1, max_depth=4, output_activation="linear", random_state=0)
X = np.zeros((200_000, 4))
y = X[:, 0]
settings = TrainingSettings(loss="squared_error", max_epochs=1000, batch_size=64)
begun = threading.Event()

def work():
    begun.set()
    while True:
        if what == "train":
            train(tree, X, y, settings=settings, n_threads=n_threads)
        elif what == "callback":
            train(tree, X[:500], y[:500], settings=settings, callback=lambda state: sum(range(999)))
        else:
            tree.forward(X, n_threads=n_threads)

threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(0.2)
"""


@pytest.mark.parametrize("what", ["train", "callback", "forward"])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_daemon_thread_in_the_core_does_not_abort_the_process(what: str, n_threads: int) -> None:
    command = [sys.executable, "-c", DAEMON, what, str(n_threads)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


# -- stop ----------------------------------------------------------------------------------

X = np.random.default_rng(0).normal(size=(100_000, 4))
TREE = NeuralTree.random(4, 1, max_depth=5, output_activation="linear", random_state=0)


def settings(batch_size: int | None, max_epochs: int = 10**6) -> TrainingSettings:
    return TrainingSettings(loss="squared_error", batch_size=batch_size, max_epochs=max_epochs)


def in_worker(run: Callable[[threading.Event], Any]) -> tuple[Any, float]:
    """Run a training in a thread of its own, stop it; return what it gave and its time since then.

    The time is that of the processor, since other programs may run in between.
    """
    flag, given = threading.Event(), []
    worker = threading.Thread(target=lambda: given.append(run(flag)))
    worker.start()
    time.sleep(0.1)
    assert worker.is_alive()
    started = time.process_time()
    flag.set()
    worker.join(timeout=300)
    seconds = time.process_time() - started
    return given[0], seconds


@pytest.mark.parametrize("batch_size", [1, 16, None])
@pytest.mark.parametrize("as_callable", [False, True])
def test_a_flag_ends_a_long_epoch_in_a_worker_thread(
    batch_size: int | None, as_callable: bool
) -> None:
    rows = np.tile(X, (40, 1))  # one epoch of a second or more

    def run(flag: threading.Event) -> Any:
        stop = flag.is_set if as_callable else flag
        return train(TREE, rows, rows[:, 0], settings=settings(batch_size), stop=stop)

    result, seconds = in_worker(run)
    assert result.status == "interrupted"
    assert seconds < 1.0  # some 50 ms on an idle machine


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("select", ["epoch", "update"])
def test_a_flag_ends_the_scoring_of_many_validation_rows(n_threads: int, select: str) -> None:
    # scores take much longer than the three updates of an epoch
    rows = np.tile(X, (40, 1)) if select == "epoch" else X
    how = TrainingSettings(
        loss="squared_error", batch_size=1, max_epochs=10**6, select=select, monitor="error"
    )

    def run(flag: threading.Event) -> Any:
        few, validation = X[:3], (rows, rows[:, 0])
        return train(
            TREE, few, few[:, 0], settings=how, validation=validation, n_threads=n_threads,
            stop=flag,
        )  # fmt: skip

    result, seconds = in_worker(run)
    assert result.status == "interrupted"
    assert result.n_epochs == len(result.history["val_loss"])
    assert seconds < 1.0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_flag_ends_all_jobs(n_threads: int) -> None:
    jobs = [TrainingJob(TREE, settings(16), seed=seed) for seed in range(3)]
    results, seconds = in_worker(
        lambda flag: train_many(jobs, X, X[:, 0], n_threads=n_threads, stop=flag)
    )
    assert [result.status for result in results] == ["interrupted"] * 3
    assert seconds < 1.0


def test_stop_is_not_asked_again_once_it_has_said_yes() -> None:
    answers: list[bool] = []

    def stop() -> bool:
        assert not any(answers)
        answers.append(len(answers) == 2)
        return answers[-1]

    assert train(TREE, X, X[:, 0], settings=settings(16), stop=stop).status == "interrupted"
    assert answers == [False, False, True]


def test_what_stop_raises_is_raised() -> None:
    def stop() -> bool:
        raise LookupError("no answer")

    with pytest.raises(LookupError, match="no answer"):
        train(TREE, X, X[:, 0], settings=settings(16), stop=stop)


def test_a_training_that_is_not_stopped_is_the_same() -> None:
    once = settings(16, max_epochs=2)
    with_stop = train(TREE, X, X[:, 0], settings=once, stop=threading.Event())
    without = train(TREE, X, X[:, 0], settings=once)
    assert with_stop.status == "completed"
    np.testing.assert_array_equal(with_stop.tree.parameters, without.tree.parameters)
