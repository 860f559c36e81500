"""Rows per second of processor time of the ways to predict many rows.

    python -m benchmarks.bulk_speed FOLDER --rows 100000

Predicts rows of the last file of a folder of `benchmarks.large_tables` with one tree of default
size and with one of 100 weights: in memory, from blocks, by `map_partitions` of Dask, by DuckDB
over the Parquet file, and by PostgreSQL, where there is a server. One thread each. The processor
time of PostgreSQL is that of the process of the connection.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.large_tables import KEY, TARGET, split_paths


def own_time() -> float:
    """Return the processor time of this process."""
    return time.process_time()


def measure(
    name: str, n_weights: int, predict: Callable[[], Any], n_rows: int, clock: Any = own_time
) -> None:
    """Print the rows per second of the best of three runs."""
    seconds = []
    for _ in range(3):
        before = clock()
        predict()
        seconds.append(clock() - before)
    line = {"route": name, "weights": n_weights, "rows_per_second": n_rows / min(seconds)}
    print(json.dumps(line), flush=True)


def in_postgresql(models: list[Any], frame: Any) -> None:
    """Measure queries over a table of PostgreSQL."""
    from tests.helpers.databases import TABLE, PostgreSQL

    database = PostgreSQL()
    if (reason := database.why_not()) is not None:
        print(json.dumps({"route": "PostgreSQL", "left out": reason}))
        return
    with database:
        (pid,) = database.execute("SELECT pg_backend_pid()").fetchone()

        def clock() -> float:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        database.fill(frame)
        for model in models:
            sql, table = model.to_sql(dialect="postgresql"), database.quoted(TABLE)
            query = f"SELECT sum(p) FROM (SELECT {sql} AS p FROM {table}) t"
            measure(
                "PostgreSQL",
                model.n_parameters_,
                lambda query=query: database.execute(query).fetchall(),  # type: ignore[misc]
                len(frame),
                clock,
            )


def main() -> None:
    """Print a line for each route and model."""
    import dask.dataframe as dd
    import duckdb
    import pandas as pd

    from bneuralt import BNeuralTRegressor, open_table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    args = parser.parse_args()
    frame = pd.read_parquet(split_paths(args.folder)[1])
    models = [
        BNeuralTRegressor(random_state=0, n_weights=size, n_jobs=1).fit(
            frame.drop(columns=[TARGET, KEY])[:20_000], frame[TARGET][:20_000]
        )
        for size in ("auto", 100)
    ]
    frame = frame[-args.rows :].reset_index(drop=True)
    X, n_rows = frame.drop(columns=[TARGET, KEY]), len(frame)
    parts = dd.from_pandas(X, npartitions=4)
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        frame.to_parquet(path, index=False)
        table = open_table(path, max_memory="20MB").without([TARGET, KEY])
        for model in models:
            size, sql = model.n_parameters_, model.to_sql(dialect="duckdb")
            query = f"SELECT sum(p) FROM (SELECT {sql} AS p FROM read_parquet('{path}'))"
            routes: dict[str, Callable[[], Any]] = {
                "data frame in memory": lambda m=model: m.predict(X),  # type: ignore[misc]
                "Parquet in blocks": lambda m=model: m.predict(table),  # type: ignore[misc]
                "map_partitions": lambda m=model: parts.map_partitions(  # type: ignore[misc]
                    m.predict, meta=("prediction", float)
                ).compute(scheduler="synchronous"),
                "DuckDB over Parquet": lambda q=query: connection.execute(q).fetchall(),  # type: ignore[misc]
            }
            for name, route in routes.items():
                measure(name, size, route, n_rows)
    in_postgresql(models, X)


if __name__ == "__main__":
    main()
