"""Fit tables of Parquet files that are larger than the memory that is allowed.

    python -m benchmarks.large_tables make FOLDER --gigabytes 20
    python -m benchmarks.large_tables fit FOLDER --forest
    python -m benchmarks.large_tables epoch FOLDER
    python -m benchmarks.large_tables predict FOLDER

`make` writes rows with text, gaps, dates and numbers. Their size is that of a data frame of pandas
with texts as Python objects. The other commands print one line of JSON: seconds of each step, rows
per second, the largest resident memory of the process (mapped files included), and scores on the
last file, which is not trained on. `epoch` compares the processor time of an epoch from blocks with
that of an epoch from an array in memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

ROWS_PER_FILE = 500_000
TARGET, KEY = "price", "key"


def make_rows(seed: int, n_rows: int) -> Any:
    """Return a frame of made sales: the price depends on most columns, with noise."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=n_rows).round(4) for i in range(8)}
    columns |= {f"n{i}": rng.integers(0, 10 ** (i + 1), n_rows) for i in range(4)}
    columns["income"] = np.exp(rng.normal(10, 1, n_rows)).round(2)
    shops = np.array([f"shop {i:02d} of the region" for i in range(20)])
    shop, colour = rng.integers(0, 20, n_rows), rng.integers(0, 6, n_rows)
    columns["shop"] = shops[shop]
    columns["colour"] = np.array(["red", "green", "blue", "white", "black", "grey"])[colour]
    minutes = rng.integers(0, 5 * 365 * 24 * 60, n_rows)
    columns["sold"] = np.datetime64("2019-01-01T00:00") + minutes.astype("timedelta64[m]")
    x = columns
    price = (
        np.sin(2 * x["x0"]) * 2
        + x["x1"] * x["x2"]
        + np.maximum(x["x3"], 0)
        + 0.5 * np.log(columns["income"])
        + 0.1 * shop
        + (colour == 2) * x["x4"]
        + 0.3 * (minutes // (24 * 60) % 7 >= 5)
        + rng.normal(size=n_rows) * 0.5
    )
    frame = pd.DataFrame(columns)
    for name in ("x1", "income"):
        frame.loc[rng.random(n_rows) < 0.1, name] = np.nan
    frame.loc[rng.random(n_rows) < 0.02, "colour"] = None
    frame[TARGET] = price.round(4)
    frame[KEY] = np.arange(n_rows) + seed * n_rows
    return frame


def make(folder: Path, gigabytes: float) -> dict[str, Any]:
    """Write as many files as a data frame of this size has rows."""
    folder.mkdir(parents=True, exist_ok=True)
    row = make_rows(0, 10_000).astype({"shop": object, "colour": object})
    row_bytes = row.memory_usage(deep=True, index=False).sum() / len(row)
    n_files = max(2, round(gigabytes * 1e9 / row_bytes / ROWS_PER_FILE) + 1)
    for i in range(n_files):
        make_rows(i, ROWS_PER_FILE).to_parquet(folder / f"part{i:04d}.parquet", index=False)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {"files": n_files, "row_bytes": row_bytes, "rows": n_files * ROWS_PER_FILE, "disk": size}


def split_paths(folder: Path, n_files: int | None = None) -> tuple[list[str], str]:
    """Return the files to train on, all or the first ones, and the last file."""
    *training, last = sorted(map(str, folder.glob("*.parquet")))
    return training[:n_files], last


def _used() -> dict[str, Any]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"peak_rss_gb": peak, "cpu_seconds": time.process_time()}


def fit(
    folder: Path, n_files: int | None, forest: bool, max_memory: str, trees: int, jobs: int
) -> dict[str, Any]:
    """Fit a tree or a forest."""
    from bneuralt import BNeuralForestRegressor, BNeuralTRegressor, open_table

    training, last = split_paths(folder, n_files)
    table = open_table(training, TARGET, max_memory=max_memory).without([KEY])
    model = BNeuralTRegressor(random_state=0)
    if forest:
        model = BNeuralForestRegressor(n_estimators=trees, random_state=0, n_jobs=jobs)
    started = time.perf_counter()
    model.fit(table)
    seconds = time.perf_counter() - started
    used = _used()
    test = open_table(last, TARGET, max_memory=max_memory)
    n_rows = len(training) * ROWS_PER_FILE
    return {
        "rows": n_rows,
        "seconds": seconds,
        "rows_per_second": n_rows / seconds,
        "epochs": model.n_iter_,
        "weights": model.n_parameters_,
        "r2": model.score(test),
        **used,
    }


def epoch(folder: Path, n_files: int | None) -> dict[str, Any]:
    """Compare epochs from a file and from memory, interleaved."""
    from dataclasses import replace

    from bneuralt import BNeuralTRegressor, open_table
    from bneuralt.fitting.plan import plan_tree
    from bneuralt.fitting.problem import read_problem
    from bneuralt.fitting.recipe import resolve
    from bneuralt.fitting.train import train_fits

    training, _ = split_paths(folder, n_files)
    table = open_table(training, TARGET).without([KEY])
    model = BNeuralTRegressor(random_state=0, max_epochs=1)
    problem = read_problem(model._options(), table, None)
    on_disk, recipe = problem.rows, resolve(problem)
    in_memory = replace(on_disk, table=np.array(on_disk.table))
    ratios = []
    for _ in range(5):
        times = []
        for rows in (on_disk, in_memory):
            started = time.process_time()
            fit = plan_tree(replace(problem, rows=rows), recipe, seed=0)
            train_fits([fit], rows, problem.options.n_threads)
            times.append(time.process_time() - started)
        ratios.append(times[1] / times[0])
    return {"rows": len(on_disk), "of_memory": sorted(ratios), **_used()}


def predict(folder: Path, max_memory: str) -> dict[str, Any]:
    """Compare predictions from blocks with those from a frame in memory, by processor time."""
    import pandas as pd

    from bneuralt import BNeuralTRegressor, open_table

    _, last = split_paths(folder)
    table = open_table(last, TARGET, max_memory=max_memory).without([KEY])
    frame = pd.read_parquet(last)
    features = frame.drop(columns=[TARGET, KEY])
    model = BNeuralTRegressor(random_state=0).fit(features.head(20_000), frame[TARGET][:20_000])
    ratios = []
    for _ in range(5):
        times = []
        for rows in (table, features):
            started = time.process_time()
            model.predict(rows)
            times.append(time.process_time() - started)
        ratios.append(times[1] / times[0])
    return {"rows": len(frame), "of_memory": sorted(ratios)}


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["make", "fit", "epoch", "predict"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--files", type=int, help="number of files to train on, by default all")
    parser.add_argument("--forest", action="store_true")
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-memory", default="1GB")
    args = parser.parse_args()
    if args.command == "make":
        result = make(args.folder, args.gigabytes)
    elif args.command == "fit":
        numbers = args.trees, args.jobs
        result = fit(args.folder, args.files, args.forest, args.max_memory, *numbers)
    elif args.command == "epoch":
        result = epoch(args.folder, args.files)
    else:
        result = predict(args.folder, "100MB")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
