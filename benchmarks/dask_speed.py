"""Fit a forest over the workers of a local Dask cluster, with one worker and with more.

    python -m benchmarks.dask_speed --workers 1 2 --seeds 3

For each number of workers: the processor time of the busiest worker and of all workers, the bytes
that workers got from each other, and the score on rows that were not trained on, beside that of an
ordinary forest. The processor time of the busiest worker is what a fit takes if each worker has a
processor of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.large_tables import KEY, TARGET, make_rows


def _times(client: Any) -> dict[str, float]:
    times: dict[str, float] = client.run(time.process_time)
    return times


def _transferred(client: Any) -> int:
    logs = client.run(lambda dask_worker: list(dask_worker.transfer_incoming_log))
    return sum(entry["total"] for log in logs.values() for entry in log)


def measure(n_workers: int, n_rows: int, n_parts: int, seeds: list[int]) -> dict[str, Any]:
    """Return times, bytes and scores of fits over this many workers."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    from bneuralt.dask import BNeuralForestRegressor

    frame, test = make_rows(0, n_rows).drop(columns=KEY), make_rows(1, 50_000)
    options = {"threads_per_worker": 1, "dashboard_address": None}
    result: dict[str, Any] = {"workers": n_workers, "busiest": [], "total": [], "r2": []}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
        table = dd.from_pandas(frame, npartitions=n_parts).persist()
        wait(table)
        X, y = table.drop(columns=TARGET), table[TARGET]
        client.run(__import__, "bneuralt.dask")
        before_all = _transferred(client)
        for seed in seeds:
            before = _times(client)
            model = BNeuralForestRegressor(n_estimators=8, random_state=seed).fit(X, y)
            spent = [after - before[w] for w, after in _times(client).items()]
            result["busiest"].append(max(spent))
            result["total"].append(sum(spent))
            result["r2"].append(model.score(test.drop(columns=[TARGET, KEY]), test[TARGET]))
        result["moved"] = (_transferred(client) - before_all) / len(seeds)
    result["table"] = int(frame.memory_usage(deep=True).sum())
    return result


def main() -> None:
    """Print a line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    seeds = list(range(args.seeds))
    for n_workers in args.workers:
        print(json.dumps(measure(n_workers, args.rows, args.partitions, seeds)), flush=True)
    from bneuralt import BNeuralForestRegressor

    frame, test = make_rows(0, args.rows).drop(columns=KEY), make_rows(1, 50_000)
    scores = []
    for seed in seeds:
        model = BNeuralForestRegressor(n_estimators=8, random_state=seed)
        model.fit(frame.drop(columns=TARGET), frame[TARGET])
        scores.append(model.score(test.drop(columns=[TARGET, KEY]), test[TARGET]))
    print(json.dumps({"workers": 0, "r2": scores, "mean": float(np.mean(scores))}))


if __name__ == "__main__":
    main()
