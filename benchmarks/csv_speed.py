"""Measure processor time and memory of reading a large CSV file, compared with pandas.

Run as ``python -m benchmarks.csv_speed [MEGABYTES]``; each reader runs in a separate process. The
time is that of the processor, which other programs hardly change, for a million cells.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np

MAKE = """
import numpy as np, sys
rng = np.random.default_rng(0)
n = int(sys.argv[2])
words = np.array(["red", "green", "blue", "dark brown"])
with open(sys.argv[1], "w") as file:
    file.write(",".join([*(f"x{i}" for i in range(10)), "colour", "count", "day", "y"]) + "\\n")
    for start in range(0, n, 10_000):
        X = rng.normal(size=(10_000, 10))
        for i, x in enumerate(X.tolist()):
            day = f"2024-{1 + i % 12:02}-{1 + i % 28:02}"
            colour, count = words[i % 4], i % 97
            cells = [*map(repr, x), colour, str(count), day, repr(x[0] + count)]
            if i % 10 == 0:
                cells[3] = ""
            file.write(",".join(cells) + "\\n")
"""

N_COLUMNS = 14

READ = {
    "pandas": "import pandas as pd; read = lambda path: pd.read_csv(path)",
    "bneuralt": (
        "from bneuralt.tables import read_csv\n"
        "from bneuralt.tables.table_layout import learn_layout\n"
        "def read(path):\n"
        "    table = read_csv(path)\n"
        "    layout = learn_layout(table, 'y')\n"
        "    return layout.frame(table).typed(), layout.labels(table)"
    ),
}
MEASURE = """
import resource, sys, time
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.process_time()
kept = read(sys.argv[1])
seconds = time.process_time() - started
print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def main() -> None:
    """Make a file, read it with both, and print time and memory."""
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 64.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        n_rows = round(megabytes * 1e6 / 242 / 10_000) * 10_000
        subprocess.run([sys.executable, "-c", MAKE, path, str(n_rows)], check=True)
        size = os.path.getsize(path) / 2**20
        print(f"{size:.0f} MiB, {n_rows:,} rows, {N_COLUMNS} columns; medians of 5 runs")
        for name, code in READ.items():
            runs = []
            for _ in range(5):
                command = [sys.executable, "-c", f"{code}\n{MEASURE}", path]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                runs.append([float(figure) for figure in done.stdout.split()])
            seconds, memory = np.median(runs, axis=0)
            times = f"{memory / size:.1f} times the file"
            per_million = seconds / (n_rows * N_COLUMNS) * 1e6
            print(f"{name:<10} {per_million:6.3f} s/million cells  {memory:6.0f} MiB  ({times})")


if __name__ == "__main__":
    main()
