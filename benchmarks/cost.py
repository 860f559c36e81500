"""Measure the processor time and, where possible, the energy of fitting and predicting.

    python -m benchmarks.cost --data-home ../shared

codecarbon reads the energy counters of the processor (RAPL). Where it finds none, as in most
virtual machines, it would multiply the time with the nominal power of the processor: such a number
has no more information than the time, so the table then has no energy.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.targets import print_table, splits
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt_paper import load_dataset

N_PREDICTIONS, BLOCK = 1_000_000, 100_000
COUNTERS = Path("/sys/class/powercap")


def has_counters() -> bool:
    """Return whether the processor has energy counters."""
    return any(COUNTERS.glob("*rapl*/energy_uj"))


def measured(call: Callable[[], Any]) -> tuple[Any, float, float | None]:
    """Return the result of a call, its processor time in seconds, and its energy in joules."""
    tracker = None
    if has_counters():
        from codecarbon import OfflineEmissionsTracker

        tracker = OfflineEmissionsTracker(
            country_iso_code="DEU", save_to_file=False, log_level="error", measure_power_secs=1
        )
        tracker.start()
    begin = time.process_time()
    result = call()
    seconds = time.process_time() - begin
    if tracker is None:
        return result, seconds, None
    tracker.stop()
    return result, seconds, 3.6e6 * tracker.final_emissions_data.cpu_energy


def contenders(seed: int) -> dict[str, Any]:
    """Return the models, with the defaults of their libraries and one thread each."""
    mlp = MLPClassifier((100,), max_iter=500, random_state=seed)
    return {
        "tree": BNeuralTClassifier(random_state=seed),
        "compact tree": None,  # of the tree
        "forest of 10 trees": BNeuralForestClassifier(random_state=seed),
        "MLP, 100 hidden units": make_pipeline(StandardScaler(), mlp),
        "random forest of 100": RandomForestClassifier(random_state=seed),
        "boosting": HistGradientBoostingClassifier(random_state=seed),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data-home")
    parser.add_argument("--set", default="vehicle")
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args()
    data = load_dataset(args.set, data_home=args.data_home)
    figures_of_models: dict[str, list[list[float]]] = {}
    for split in splits(data.X, data.y, args.splits):
        many = np.tile(split.X_test, (BLOCK // len(split.X_test) + 1, 1))[:BLOCK]
        tree: Any = None
        for name, model in contenders(split.seed % 2**31).items():
            X, y = split.X, split.y
            if name == "compact tree":
                model, fit_s, fit_j = measured(
                    lambda tree=tree, X=X, y=y: tree.compact(X, y)  # the scores included
                )
            else:
                _, fit_s, fit_j = measured(lambda model=model, X=X, y=y: model.fit(X, y))
            tree = model if name == "tree" else tree
            _, predict_s, predict_j = measured(
                lambda model=model, many=many: [
                    model.predict(many) for _ in range(N_PREDICTIONS // BLOCK)
                ]
            )
            score = model.score(split.X_test, split.y_test)
            figures = [score, fit_s, predict_s]
            figures += [np.nan if j is None else j for j in (fit_j, predict_j)]
            figures.append(getattr(model, "n_parameters_", np.nan))
            figures_of_models.setdefault(name, []).append(figures)
    rows: list[list[Any]] = []
    for name, results in figures_of_models.items():
        score, fit_s, predict_s, fit_j, predict_j, n = np.mean(results, axis=0)
        joules = ["-" if np.isnan(j) else f"{j:.3g}" for j in (fit_j, predict_j)]
        size = "" if np.isnan(n) else f"{n:.0f}"
        rows.append([name, size, f"{score:.3f}", f"{fit_s:.3g}", f"{predict_s:.3g}", *joules])
    header = ["model", "weights", "accuracy", "fit, s", "10^6 predictions, s", "fit, J"]
    print_table([*header, "10^6 predictions, J"], rows)
    if not has_counters():
        print("\nNo energy counters on this machine: energy is not measured.")


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
