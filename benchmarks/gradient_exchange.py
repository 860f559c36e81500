"""Compare the time of an update of a tree with that of an exchange of its gradient.

    python -m benchmarks.gradient_exchange

An update is one batch of 64 rows with a tree of 2,000 weights in float32. An exchange sends as many
numbers to another process over a TCP connection of this machine and waits for as many, which is
less than two machines need. Prints the medians of several repetitions in microseconds.
"""

from __future__ import annotations

import multiprocessing
import socket
import time
from typing import Any

import numpy as np

from bneuralt import NeuralTree, TrainingSettings
from bneuralt.training import train

N_WEIGHTS, BATCH, N_ROWS, N_INPUTS = 2_000, 64, 64_000, 20


def _received(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = connection.recv(size - len(content))
        if not part:
            return b""
        content += part
    return content


def _answer(port: int, size: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while content := _received(connection, size):
            connection.sendall(content)


def exchange_seconds(n_times: int = 2_000) -> float:
    """Return the median time of an exchange of a gradient."""
    gradient = np.zeros(N_WEIGHTS, dtype=np.float32).tobytes()
    times = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        other = multiprocessing.Process(target=_answer, args=(port, len(gradient)))
        other.start()
        connection, _ = server.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(n_times):
                started = time.perf_counter()
                connection.sendall(gradient)
                _received(connection, len(gradient))
                times.append(time.perf_counter() - started)
        other.join()
    return float(np.median(times))


def update_seconds(n_times: int = 7) -> float:
    """Return the median time of an update."""
    rng = np.random.default_rng(0)
    X: Any = rng.standard_normal((N_ROWS, N_INPUTS), dtype=np.float32)
    tree = NeuralTree.random(N_INPUTS, n_weights=N_WEIGHTS, dtype="float32", random_state=0)
    settings = TrainingSettings(loss="squared_error", max_epochs=1, batch_size=BATCH)
    times = []
    for _ in range(n_times):
        started = time.process_time()
        train(tree, X, X[:, 0], settings=settings, seed=0)
        times.append((time.process_time() - started) / (N_ROWS / BATCH))
    return float(np.median(times))


def main() -> None:
    """Print both times."""
    print(f"update   {1e6 * update_seconds():7.1f} us")
    print(f"exchange {1e6 * exchange_seconds():7.1f} us")


if __name__ == "__main__":
    main()
