"""Memory and time of fits on a table in a file: `python -m benchmarks.memory --gb 6`.

Each model is fitted in a separate process, whose private memory is limited (RLIMIT_DATA), so that
a fit that copies the table fails. Pages of the file are not counted: the system drops them when it
needs the memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import table

N_COLUMNS = 50
BLOCK = 100_000  # rows that are drawn at a time
MODELS = (
    "BNeuralTClassifier",
    "BNeuralTRegressor",
    "BNeuralForestClassifier",
    "BNeuralForestRegressor",
)
MB = 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=6.0, help="size of the table")
    parser.add_argument("--limit", type=float, default=1.5, help="limit of private memory in GB")
    parser.add_argument("--folder", help="where the files go; they are deleted at the end")
    parser.add_argument("--source", choices=["memmap", "arrow"], default="memmap")
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)  # a model, in its own process
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(fit(*options.fit, options.source, options.limit)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        n_rows = int(options.gb * 1e9 / (4 * N_COLUMNS))
        write(Path(folder), n_rows, options.source)
        rows = [measure(name, folder, options) for name in options.models]
    title = f"{n_rows:,} rows, {N_COLUMNS} float32 columns, {options.gb:g} GB ({options.source})"
    table(title, ("", "fit, s", "peak private memory, MB", "score"), rows)


def write(folder: Path, n_rows: int, source: str) -> None:
    """Write the table and two targets, a block of rows at a time."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n_rows, N_COLUMNS))
    number = np.lib.format.open_memmap(folder / "number.npy", "w+", np.float64, (n_rows,))
    label = np.lib.format.open_memmap(folder / "label.npy", "w+", np.int64, (n_rows,))
    for start in range(0, n_rows, BLOCK):
        rows = slice(start, min(start + BLOCK, n_rows))
        part = rng.standard_normal((rows.stop - start, N_COLUMNS), dtype=np.float32)
        s = part[:, 0] * part[:, 1] + np.sin(2 * part[:, 2]) + part[:, 3]
        X[rows], number[rows] = part, s
        label[rows] = s + 0.3 * rng.standard_normal(s.size) > 0
    if source == "arrow":
        import pyarrow as pa

        names = [f"x{j}" for j in range(N_COLUMNS)]
        schema = pa.schema([(name, pa.float32()) for name in names])
        with pa.OSFile(str(folder / "X.arrow"), "wb") as file, pa.ipc.new_file(file, schema) as out:
            for start in range(0, n_rows, BLOCK):
                columns = [pa.array(column) for column in np.ascontiguousarray(X[start:][:BLOCK].T)]
                out.write_batch(pa.record_batch(columns, schema=schema))
        (folder / "X.npy").unlink()


def measure(name: str, folder: str, options: argparse.Namespace) -> tuple[str, float, float, float]:
    """Fit a model in a separate process."""
    call = [sys.executable, "-m", "benchmarks.memory", "--fit", name, folder]
    call += ["--source", options.source, "--limit", str(options.limit)]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(done.stdout)
    print(name, result, file=sys.stderr, flush=True)
    return name, result["seconds"], result["peak"] / MB, result["score"]


def fit(name: str, folder: str, source: str, limit: float) -> dict[str, float]:
    """Fit a model to the table in a file, and return time and memory."""
    import bneuralt

    target = "label" if "Classifier" in name else "number"
    y = np.load(Path(folder) / f"{target}.npy", mmap_mode="r")
    if source == "arrow":
        import pyarrow as pa

        X = pa.ipc.open_file(pa.memory_map(str(Path(folder) / "X.arrow"))).read_all()
        first = X.slice(0, BLOCK)
    else:
        X = np.load(Path(folder) / "X.npy", mmap_mode="r")
        first = X[:BLOCK]
    resource.setrlimit(resource.RLIMIT_DATA, (int(limit * 1e9), int(limit * 1e9)))
    model = getattr(bneuralt, name)(random_state=0)
    with PeakMemory() as memory:
        started = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - started
    return {"seconds": seconds, "peak": memory.peak, "score": model.score(first, y[:BLOCK])}


class PeakMemory:
    """Sample the memory of this process every hundredth of a second, without pages of files."""

    def __init__(self) -> None:
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self.peak = max(self.peak, private_memory())


def private_memory() -> int:
    """Return the memory of this process in bytes, without pages of files (Linux)."""
    fields = ("RssAnon:", "RssShmem:", "VmSwap:")
    with open("/proc/self/status") as status:
        return sum(int(line.split()[1]) * 1024 for line in status if line.startswith(fields))


if __name__ == "__main__":
    main()
