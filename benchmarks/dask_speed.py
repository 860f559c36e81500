"""Fit a forest over the workers of local Dask clusters, with one worker and with more.

    python -m benchmarks.dask_speed --workers 1 2 --seeds 5
    python -m benchmarks.dask_speed --workers 1 2 4 --seeds 20 --weights 500

The clusters take turns, and so does an ordinary forest in this process (0 workers). A line of JSON
for each: medians of the seconds of a fit, of the processor time of the client and of the busiest
worker, which together are what a fit takes if each process has a processor of its own; the bytes
that workers got from each other in a fit; and the scores on rows that were not trained on.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.large_tables import KEY, TARGET, make_rows


class LocalFits:
    """Fits in this process."""

    def __init__(self, frame: Any) -> None:
        self.X, self.y = frame.drop(columns=TARGET), frame[TARGET]
        self.results: list[dict[str, float]] = []

    def _times(self) -> dict[str, float]:
        return {}

    def _transferred(self) -> int:
        return 0

    def _new(self, **parameters: Any) -> Any:
        from bneuralt import BNeuralForestRegressor

        return BNeuralForestRegressor(**parameters)

    def fit(self, test: Any, **parameters: Any) -> None:
        """Fit once, and note times, bytes and score."""
        before, moved = self._times(), self._transferred()
        own, clock = time.process_time(), time.perf_counter()
        model = self._new(**parameters).fit(self.X, self.y)
        seconds, own = time.perf_counter() - clock, time.process_time() - own
        spent = [after - before[worker] for worker, after in self._times().items()]
        self.results.append(
            {
                "seconds": seconds,
                "client": own,
                "busiest": max(spent, default=0.0),
                "apart": own + max(spent, default=0.0),
                "total": own + sum(spent),
                "moved": self._transferred() - moved,
                "r2": model.score(test.drop(columns=[TARGET, KEY]), test[TARGET]),
            }
        )


class ClusterFits(LocalFits):
    """Fits over a local cluster."""

    def __init__(self, frame: Any, n_workers: int, n_parts: int, stack: ExitStack) -> None:
        import dask.dataframe as dd
        from distributed import Client, LocalCluster, wait

        options = {"threads_per_worker": 1, "dashboard_address": None}
        cluster = stack.enter_context(LocalCluster(n_workers=n_workers, **options))
        self._client = stack.enter_context(Client(cluster, set_as_default=False))
        table = self._client.persist(dd.from_pandas(frame, npartitions=n_parts))
        with self._client.as_current():
            wait(table)
        self._client.run(__import__, "bneuralt.dask")
        super().__init__(table)
        self.X = table.drop(columns=TARGET)

    def _times(self) -> dict[str, float]:
        times: dict[str, float] = self._client.run(time.process_time)
        return times

    def _transferred(self) -> int:
        logs = self._client.run(lambda dask_worker: list(dask_worker.transfer_incoming_log))
        return sum(entry["total"] for log in logs.values() for entry in log)

    def _new(self, **parameters: Any) -> Any:
        from bneuralt.dask import BNeuralForestRegressor

        return BNeuralForestRegressor(**parameters, client=self._client)


def main() -> None:
    """Print a line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--partitions", type=int, default=32)
    parser.add_argument("--trees", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--weights", type=int)
    args = parser.parse_args()
    frame, test = make_rows(0, args.rows).drop(columns=KEY), make_rows(1, 50_000)
    parameters = {"n_estimators": args.trees, "n_weights": args.weights or "auto"}
    with ExitStack() as stack:
        fits: dict[int, LocalFits] = {
            n: ClusterFits(frame, n, args.partitions, stack) for n in args.workers
        }
        fits[0] = LocalFits(frame)
        for seed in range(args.seeds):
            for n_workers in fits:
                fits[n_workers].fit(test, **parameters, random_state=seed)
    table = int(frame.memory_usage(deep=True).sum())
    local = np.array([result["r2"] for result in fits[0].results])
    for n_workers, each in fits.items():
        names = each.results[0]
        result = {name: float(np.median([r[name] for r in each.results])) for name in names}
        difference = np.array([r["r2"] for r in each.results]) - local
        error = difference.std(ddof=1) / len(local) ** 0.5 if len(local) > 1 else None
        result |= {"minus_local": difference.mean(), "standard_error": error}
        print(json.dumps({"workers": n_workers, "table": table} | result), flush=True)


if __name__ == "__main__":
    main()
