"""Speed of the compiled core, compared with the minimal cost of its arithmetic (floor.cpp).

All instruction sets of the processor are measured side by side.
"""

from __future__ import annotations

import ctypes
import gzip
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import SHARED, interleaved, processor_time, table
from bneuralt import NeuralTree, TrainingSettings, _core, show_config, train
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt_paper import read_authors_tree

N_ROWS, N_EPOCHS = 552, 10  # rows of the Australian training set; short runs, many of them
FLAGS = {
    "baseline": ["-DBNT_VECTOR_BYTES=16"],
    "avx2": ["-DBNT_VECTOR_BYTES=32", "-mavx2", "-mfma"],
    "avx512": [
        "-DBNT_VECTOR_BYTES=64", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma",
    ],
}  # fmt: skip
PARTS = ("forward", "backward", "adam")  # of an update with a batch
N_BATCH = 32


def main() -> None:
    print(show_config())
    tree = australian_tree()
    floors = {name: compile_floor(name) for name in _core.engines()}
    optimizers(tree, floors)
    sets(tree, floors)
    batches(tree, floors)
    selection(tree)
    images()
    import_time()


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Use one instruction set for everything."""
    _core.use_engine(name)
    try:
        yield
    finally:
        _core.use_engine("auto")


def with_engine(name: str, call: Callable[[], Any]) -> Callable[[], None]:
    """Return the call, made with one instruction set."""

    def run() -> None:
        with engine(name):
            call()

    return run


def australian_tree() -> NeuralTree:
    """Return the authors' tree of the paper's timings, or a random one of its shape."""
    path = SHARED / "authors_models/australian/3/rmsprop.json"
    if path.exists():
        return read_authors_tree(path, n_inputs=14)
    print(f"({path.name} not found: a random tree of that shape instead)")
    for seed in range(100_000):
        tree = NeuralTree.random(14, 2, rule="paper", init="uniform", random_state=seed)
        if abs(tree.n_function_nodes - 48) <= 1 and abs(tree.n_leaves - 100) <= 2:
            return tree
    raise RuntimeError("no such tree was drawn")


def compile_floor(isa: str) -> ctypes.CDLL:
    """Return the floor kernels, compiled as those of an instruction set are."""
    source = Path(__file__).with_name("floor.cpp")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "floor.so"
        command = [os.environ.get("CXX", "c++"), "-std=c++20", "-O3", "-fno-math-errno"]
        command += ["-fno-trapping-math", "-Wno-psabi", f"-DBNT_ISA={isa}", *FLAGS[isa]]
        subprocess.run([*command, "-shared", "-fPIC", "-o", library, source], check=True)
        return ctypes.CDLL(str(library))


def online(tree: NeuralTree, X: np.ndarray, y: np.ndarray, optimizer: str, n_epochs: int):
    rate = 1e-6 if "adam" in optimizer else 1e-4
    settings = TrainingSettings(
        loss="squared_error", optimizer=optimizer, learning_rate=rate, schedule="constant",
        batch_size=1, max_epochs=n_epochs,
    )  # fmt: skip
    return lambda: train(tree, X, y, settings=settings)


def update_rows(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.random((N_ROWS, 14)).astype(dtype), rng.integers(0, 2, N_ROWS)


def update_counts(tree: NeuralTree) -> tuple[int, int, int]:
    """Return the counts of the floor of an update: weights, exponentials, edges."""
    return tree.n_parameters, tree.n_function_nodes, tree.n_leaves + tree.n_function_nodes - 2


def optimizers(tree: NeuralTree, floors: dict[str, ctypes.CDLL]) -> None:
    """Measure one online update of each optimizer."""
    rows = []
    counts = update_counts(tree)
    for dtype in ("float32", "float64"):
        chosen = _core.engine()
        kernel = getattr(floors[chosen], f"update_floor_{dtype}")
        calls = {"floor": partial(kernel, N_ROWS * N_EPOCHS, *counts)}
        # the cost of a call without updates is subtracted
        cast, (X, y) = tree.astype(dtype), update_rows(dtype)
        for name in OPTIMIZERS:
            calls[name] = online(cast, X, y, name, N_EPOCHS)
        calls["nothing"] = online(cast, X, y, "gd", 0)
        seconds = interleaved(calls, 40)
        least, nothing = seconds.pop("floor"), seconds.pop("nothing")
        rows.append((f"{dtype} {chosen} floor (RMSprop)", least / (N_ROWS * N_EPOCHS) * 1e9, 1.0))
        for name, value in seconds.items():
            updates = value - nothing
            rows.append((f"{dtype} {name}", updates / (N_ROWS * N_EPOCHS) * 1e9, updates / least))
    table("one online update (48 function nodes, 100 leaves)", ("", "ns", "x floor"), rows)


def sets(tree: NeuralTree, floors: dict[str, ctypes.CDLL]) -> None:
    """Measure forward pass, online update and batches by every instruction set, per row."""
    rows = [row for dtype in ("float32", "float64") for row in sets_in(dtype, tree, floors)]
    title = "per row, by instruction set (online: RMSprop; batch: 32 rows, Adam)"
    table(title, ("", "ns", "x floor of the set"), rows)


def sets_in(dtype: str, tree: NeuralTree, floors: dict[str, ctypes.CDLL]) -> list[tuple[Any, ...]]:
    cast, (X, y) = tree.astype(dtype), update_rows(dtype)
    many = np.random.default_rng(0).random((8192, 14)).astype(dtype)
    block = 64 // many.itemsize // 2  # rows that keep the floor's arrays in the first cache
    batch = TrainingSettings(loss="squared_error", batch_size=32, max_epochs=N_EPOCHS)
    n_updates, counts = N_ROWS * N_EPOCHS, update_counts(tree)
    work = {
        "forward": (lambda: cast.forward(many), 8192),
        "online": (online(cast, X, y, "rmsprop", N_EPOCHS), n_updates),
        "batch": (lambda: train(cast, X, y, settings=batch), n_updates),
    }
    calls: dict[str, Callable[[], Any]] = {}
    for name, floor in floors.items():
        forward_floor = getattr(floor, f"forward_floor_{dtype}")
        update_floor = getattr(floor, f"update_floor_{dtype}")
        calls[f"{name} forward floor"] = partial(forward_floor, 8192 // block, block, *counts[1:])
        calls[f"{name} online floor"] = partial(update_floor, n_updates, *counts)
        for operation, (call, _) in work.items():
            calls[f"{name} {operation}"] = with_engine(name, call)
    seconds = interleaved(calls, 40)
    rows = []
    for operation, (_, n_rows) in work.items():
        for name in floors:
            value = seconds[f"{name} {operation}"]
            least = seconds.get(f"{name} {operation} floor", float("nan"))
            mark = " (in use)" if name == _core.engine() else ""
            rows.append((f"{dtype} {operation} {name}{mark}", value / n_rows * 1e9, value / least))
    one = many[0].copy()
    single = processor_time(lambda: [cast.forward(one) for _ in range(1000)]) / 1000
    return [*rows, (f"{dtype} one call of forward(row)", single * 1e9, float("nan"))]


def batches(tree: NeuralTree, floors: dict[str, ctypes.CDLL]) -> None:
    """Measure the parts of an update with a batch of rows: forward, backward, Adam step."""
    rows = [row for dtype in ("float32", "float64") for row in batches_in(dtype, tree, floors)]
    title = f"an update with a batch of {N_BATCH} rows"
    table(title, ("", "ns", "floor, ns", "x floor"), rows)


def batches_in(
    dtype: str, tree: NeuralTree, floors: dict[str, ctypes.CDLL]
) -> list[tuple[str, float, float, float]]:
    """Return name, time, floor and their quotient for the parts and the whole of an update.

    Forward is a pass over many rows, backward what the gradient of as many rows takes in addition
    (loss included), and the step is what an update of a training takes in addition.
    """
    n_rows, n_batches = 256 * N_BATCH, 256
    rng, cast = np.random.default_rng(0), tree.astype(dtype)
    X, y = rng.random((n_rows, 14)).astype(dtype), rng.integers(0, 2, n_rows).astype(np.int32)
    n_weights, *counts = update_counts(tree)
    block = 64 // X.itemsize // 2  # rows that keep the floor's arrays in the first cache
    data = _core.Data(X, y)
    settings = TrainingSettings(
        loss="squared_error", batch_size=N_BATCH, max_epochs=N_EPOCHS, learning_rate=1e-6
    )
    none = settings.set_params(max_epochs=0)
    floor = {part: getattr(floors[_core.engine()], f"{part}_floor_{dtype}") for part in PARTS}
    seconds = interleaved(
        {
            "forward": lambda: cast.forward(X),
            "gradient": lambda: _core.gradient(cast.core, data, None, "squared_error", [], 1),
            "training": lambda: train(cast, X, y, settings=settings),
            "nothing": lambda: train(cast, X, y, settings=none),
            "forward floor": partial(floor["forward"], n_rows // block, block, *counts),
            "backward floor": partial(floor["backward"], n_rows // block, block, counts[1]),
            "adam floor": partial(floor["adam"], n_batches, n_weights),
        },
        40,
    )
    whole = (seconds["training"] - seconds["nothing"]) / N_EPOCHS
    forward, gradient = seconds["forward"], seconds["gradient"]
    parts = {"forward": forward, "backward": gradient - forward, "adam": whole - gradient}
    least = {part: seconds[f"{part} floor"] for part in PARTS}
    parts["whole"], least["whole"] = whole, sum(least.values())
    per = 1e9 / n_batches
    return [
        (f"{dtype} {part}", value * per, least[part] * per, value / least[part])
        for part, value in parts.items()
    ]


def selection(tree: NeuralTree) -> None:
    """Measure the paper's selection: 138 rows are scored after every update, for 500 epochs."""
    X, y = australian_rows()
    order = np.random.default_rng(0).permutation(len(X))
    fit, held_out = order[:N_ROWS], order[N_ROWS:]
    fresh = tree.with_parameters(np.random.default_rng(0).random(tree.n_parameters))
    rows = []
    for dtype in ("float32", "float64"):
        cast = fresh.astype(dtype)
        calls = {}
        for select in (None, "update"):
            settings = TrainingSettings(
                loss="squared_error", optimizer="rmsprop", learning_rate=0.1, batch_size=1,
                schedule="constant", max_epochs=500, select=select, monitor="error",
            )  # fmt: skip
            calls[str(select)] = lambda s=settings, t=cast: train(
                t, X[fit], y[fit], settings=s, validation=(X[held_out], y[held_out])
            )
        seconds = interleaved(calls, 3)
        per = 1e9 / (500 * N_ROWS)
        alone, both = seconds["None"], seconds["update"]
        rows += [
            (f"{dtype} update", alone * per, 1.0),
            (f"{dtype} update + scoring", both * per, both / alone),
        ]
    title = "selection after every update, 500 epochs of RMSprop on the Australian data"
    table(title, ("", "ns per update", "x update"), rows)


def australian_rows() -> tuple[np.ndarray, np.ndarray]:
    path = SHARED / "data/australian.csv"
    if not path.exists():
        print(f"({path.name} not found: random rows instead)")
        rng = np.random.default_rng(0)
        X = rng.random((690, 14))
        return X, (X[:, 0] + X[:, 1] + rng.normal(0, 0.4, 690) > 1).astype(int)
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = rows[:, :-1], rows[:, -1].astype(int)
    return (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)), y


def images() -> None:
    """Measure one epoch on MNIST, and scikit-learn's MLP with as many weights."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from threadpoolctl import threadpool_limits

    X, y = image_rows()
    tree = image_tree(X)
    settings = TrainingSettings(batch_size=128, max_epochs=1, learning_rate=0.01)
    pixels = (0.0, 1 / 255)

    def epoch(n_threads: int):
        return lambda: train(
            tree, X, y, settings=settings, input_scaling=pixels, n_threads=n_threads
        )

    scaled = X.astype(np.float32) / np.float32(255)
    mlp = MLPClassifier((30,), batch_size=128, max_iter=1, random_state=0)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        calls = {
            "MLPClassifier((30,))": lambda: mlp.fit(scaled, y),
            "tree, one thread": epoch(1),
            "tree, two threads": epoch(2),
        }
        for name in _core.engines():
            calls[f"tree, one thread, {name}"] = with_engine(name, epoch(1))
        seconds = interleaved(calls, 5, clock=time.perf_counter_ns)
    mlp_seconds = seconds["MLPClassifier((30,))"]
    rows = [(name, value, value / mlp_seconds) for name, value in seconds.items()]
    gain = seconds["tree, one thread"] / seconds["tree, two threads"]
    title = f"one epoch of {len(X):,} x 784 uint8, batches of 128, {tree.n_parameters:,} weights"
    table(title, ("", "s", "x MLP"), rows)
    print(f"  two threads are {gain:.2f} times as fast as one")


def image_rows() -> tuple[np.ndarray, np.ndarray]:
    folder = SHARED / "mnist"
    if not folder.is_dir():
        print("(MNIST not found: random bytes instead)")
        rng = np.random.default_rng(0)
        return rng.integers(0, 256, (60_000, 784), dtype=np.uint8), rng.integers(0, 10, 60_000)
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    return X, y


def image_tree(X: np.ndarray) -> NeuralTree:
    """Return a tree of about 24,000 weights whose leaves are pixels that vary."""
    varies = (np.ptp(X, axis=0) > 0).astype(float)
    for seed in range(1000):
        tree = NeuralTree.random(
            784, 10, max_depth=5, max_children=11, leaf_probability=0.45, dtype=np.float32,
            output_activation="linear", feature_sampling=varies, random_state=seed,
        )  # fmt: skip
        if abs(tree.n_parameters / 24_000 - 1) < 0.02:
            return tree
    raise RuntimeError("no such tree was drawn")


def import_time() -> None:
    """Measure `import bneuralt` and its tree, and NumPy alone, in milliseconds."""
    code = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"

    def fresh(statement: str) -> float:
        out = subprocess.run(
            [sys.executable, "-c", code.format(statement)], capture_output=True, check=True
        )
        return float(out.stdout)

    alone = min(fresh("import numpy") for _ in range(10))
    both = min(fresh("import bneuralt; bneuralt.NeuralTree, bneuralt.train") for _ in range(10))
    rows = [("numpy", alone * 1e3), ("bneuralt (numpy included)", both * 1e3),
            ("difference", (both - alone) * 1e3)]  # fmt: skip
    table("import", ("", "ms"), rows)


if __name__ == "__main__":
    main()
