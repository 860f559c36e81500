"""Fit the table of `benchmarks.large_tables` with other libraries that read it in parts.

    python -m benchmarks.large_others FOLDER lightgbm|xgboost|sgd [--files 20]

LightGBM bins the rows of one file after the other (`Sequence`) and keeps the bins in memory.
XGBoost keeps them in a file (`ExtMemQuantileDMatrix`). `SGDRegressor.partial_fit` goes over the
files once. Texts become codes (categories of LightGBM and XGBoost, indicators for SGD), and dates
become a number, an hour and a day of the week. All use one thread and their defaults, with 100
rounds of boosting. Prints one line of JSON: seconds, rows per second, resident memory, and r2 on
the last file.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large_tables import KEY, ROWS_PER_FILE, TARGET, split_paths
from bneuralt._typing import Array, FloatArray

TEXTS = ("shop", "colour")
ROUNDS = 100


class Reader:
    """Files as arrays of numbers; the codes of texts are those of the first file."""

    def __init__(self, first: str) -> None:
        import pyarrow.parquet as pq

        table = pq.read_table(first, columns=list(TEXTS))
        self._codes = {name: sorted(set(table[name].drop_null().to_pylist())) for name in TEXTS}
        self.n_codes = [len(codes) for codes in self._codes.values()]

    def read(self, path: str) -> tuple[Array, FloatArray]:
        """Return numbers, of which the first two columns are codes, and targets."""
        import pandas as pd

        frame = pd.read_parquet(path)
        y = frame.pop(TARGET).to_numpy()
        sold = frame.pop("sold")
        columns = [
            pd.Categorical(frame.pop(name), categories=codes).codes.astype(np.float32)
            for name, codes in self._codes.items()
        ]
        for column in columns:
            column[column < 0] = np.nan
        day = sold.to_numpy().astype("datetime64[s]").astype(np.int64) / 86400
        columns += [day.astype(np.float32), sold.dt.hour, sold.dt.day_of_week]
        columns += [frame[name] for name in frame.columns if name != KEY]
        return np.column_stack([np.asarray(c, dtype=np.float32) for c in columns]), y


def lightgbm(reader: Reader, training: list[str]) -> Any:
    """Return a function that predicts."""
    import lightgbm as lgb

    class File(lgb.Sequence):  # type: ignore[misc]
        batch_size = ROWS_PER_FILE
        current: tuple[str, Array] | None = None

        def __init__(self, path: str) -> None:
            self.path = path

        def __len__(self) -> int:
            return ROWS_PER_FILE

        def __getitem__(self, index: Any) -> Array:
            if File.current is None or File.current[0] != self.path:
                File.current = self.path, reader.read(self.path)[0].astype(np.float64)
            return File.current[1][index]

    import pyarrow.parquet as pq

    y = np.concatenate(
        [pq.read_table(p, columns=[TARGET])[TARGET].to_numpy().astype(np.float32) for p in training]
    )
    data = lgb.Dataset([File(p) for p in training], y, categorical_feature=[0, 1])
    parameters = {"objective": "regression", "num_threads": 1, "verbose": -1}
    return lgb.train(parameters, data, ROUNDS).predict


def xgboost(reader: Reader, training: list[str]) -> Any:
    """Return a function that predicts."""
    import xgboost as xgb

    kinds: list[str] = []

    class Files(xgb.DataIter):  # type: ignore[misc]
        def __init__(self, folder: str) -> None:
            self.position = 0
            super().__init__(cache_prefix=f"{folder}/cache")

        def next(self, input_data: Any) -> bool:
            if self.position == len(training):
                return False
            X, y = reader.read(training[self.position])
            kinds[:] = ["c", "c"] + ["q"] * (X.shape[1] - 2)
            input_data(data=X, label=y, feature_types=kinds)
            self.position += 1
            return True

        def reset(self) -> None:
            self.position = 0

    with tempfile.TemporaryDirectory() as folder:
        data = xgb.ExtMemQuantileDMatrix(Files(folder), enable_categorical=True)
        model = xgb.train({"tree_method": "hist", "nthread": 1}, data, ROUNDS)
        del data
    return lambda X: model.predict(xgb.DMatrix(X, feature_types=kinds, enable_categorical=True))


def sgd(reader: Reader, training: list[str]) -> Any:
    """Return a function that predicts."""
    from sklearn.linear_model import SGDRegressor

    first, y_first = reader.read(training[0])
    mean, deviation = np.nanmean(first, axis=0), np.nanstd(first, axis=0)
    middle, spread = y_first.mean(), y_first.std()

    def inputs(X: Array) -> Array:
        codes = [X[:, [j]] == np.arange(n) for j, n in enumerate(reader.n_codes)]
        numbers = np.nan_to_num((X - mean) / deviation)[:, 2:]
        return np.hstack([numbers, np.isnan(X), *codes]).astype(np.float64)

    model = SGDRegressor(random_state=0)
    for path in training:
        X, y = reader.read(path)
        model.partial_fit(inputs(X), (y - middle) / spread)
    return lambda X: model.predict(inputs(X)) * spread + middle


LIBRARIES = {"lightgbm": lightgbm, "xgboost": xgboost, "sgd": sgd}


def main() -> None:
    """Fit a model and print a line."""
    from sklearn.metrics import r2_score

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--files", type=int)
    args = parser.parse_args()
    training, last = split_paths(args.folder, args.files)
    reader = Reader(training[0])
    started, clock = time.process_time(), time.perf_counter()
    predict = LIBRARIES[args.library](reader, training)
    seconds, clock = time.process_time() - started, time.perf_counter() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    X, y = reader.read(last)
    n_rows = len(training) * ROWS_PER_FILE
    result = {
        "library": args.library,
        "rows": n_rows,
        "cpu_seconds": seconds,
        "seconds": clock,
        "rows_per_cpu_second": n_rows / seconds,
        "peak_rss_gb": peak,
        "r2": r2_score(y, predict(X)),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
