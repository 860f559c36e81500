"""Compare forests without interactions with explainable boosting machines (EBM).

    python -m benchmarks.additive --tables build/tables --out additive.csv

Measured are the tables of up to 2,000 rows of the half that settings are chosen on, by default one
split each: score (accuracy or r2), log-loss, and processor time of a fit. EBM has the defaults of
its library, with interactions, and one thread; it is measured without interactions, too. Each
result is written at once; a table that is in the file already is not measured again. EBM takes
minutes on some tables, which `--without` leaves out.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.quality.models import MODELS
from benchmarks.tables import TABLES, Table, read_table
from bneuralt import BNeuralForestClassifier, BNeuralForestRegressor

MOST_ROWS = 2_000
FOREST, EBM, CURVES = "forest, no interactions", "EBM", "EBM, no interactions"
NAMES = (FOREST, EBM, CURVES)
FIELDS = ("table", "task", "split", "model", "score", "log_loss", "seconds")


def make(name: str, is_classifier: bool, n_classes: int, seed: int) -> Any:
    """Return an unfitted model."""
    if name != FOREST:
        model = MODELS["EBM"]
        ebm = (model.classifier if is_classifier else model.regressor)(seed, n_classes)
        return ebm.set_params(interactions=0) if name == CURVES else ebm
    kind = BNeuralForestClassifier if is_classifier else BNeuralForestRegressor
    return kind(interaction_cst="no_interactions", random_state=seed)


def measure(table: Table, name: str, split: int) -> dict[str, Any]:
    """Fit a model on three quarters of the rows, and score it on the others."""
    is_classifier = table.task == "classification"
    rare = is_classifier and np.unique(table.y, return_counts=True)[1].min() < 2
    X, X_test, y, y_test = train_test_split(
        table.X,
        table.y,
        test_size=0.25,
        random_state=split,
        stratify=table.y if is_classifier and not rare else None,
    )
    model = make(name, is_classifier, len(np.unique(y)), split)
    started = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - started
    loss = ""
    if is_classifier:
        shares = np.asarray(model.predict_proba(X_test), dtype=np.float64)
        loss = f"{log_loss(y_test, shares, labels=model.classes_):.5f}"
    score = model.score(X_test, y_test)
    numbers = (f"{score:.5f}", loss, f"{seconds:.3f}")
    return dict(zip(FIELDS, (table.name, table.task, split, name, *numbers), strict=True))


def report(path: Path) -> None:
    """Print means of the forest and of each other model over the tables that both have."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for task, other in product(("classification", "regression"), NAMES[1:]):
        by_key = {(r["table"], r["split"], r["model"]): r for r in rows if r["task"] == task}
        keys = sorted({key[:2] for key in by_key})
        keys = [key for key in keys if all((*key, name) in by_key for name in (FOREST, other))]
        print(f"{task}, {other}: {len({key[0] for key in keys})} tables")
        for field in FIELDS[4:]:
            if field == "log_loss" and task == "regression":
                continue
            values = [
                np.array([float(by_key[*key, name][field]) for key in keys])
                for name in (FOREST, other)
            ]
            if field == "score" and task == "regression":
                values = [np.maximum(numbers, 0.0) for numbers in values]
            gap = values[0] - values[1]
            means = " and ".join(f"{x.mean():.4f} (median {np.median(x):.4f})" for x in values)
            error = gap.std(ddof=1) / len(gap) ** 0.5
            print(f"  {field}: {means}; difference {gap.mean():+.4f} ± {error:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--without", nargs="*", default=[], help="names of tables to leave out")
    args = parser.parse_args()
    done = set()
    if args.out.exists():
        with args.out.open(newline="", encoding="utf-8") as file:
            done = {(r["table"], int(r["split"]), r["model"]) for r in csv.DictReader(file)}
    else:
        args.out.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    chosen = [
        f
        for f in TABLES.values()
        if f.half == "chosen on" and f.n_rows <= MOST_ROWS and f.name not in args.without
    ]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for split in range(args.splits):
            for facts in sorted(chosen, key=lambda f: f.n_rows):
                table = read_table(facts.name, args.tables)
                for name in NAMES:
                    if (facts.name, split, name) in done:
                        continue
                    result = measure(table, name, split)
                    with args.out.open("a", newline="", encoding="utf-8") as file:
                        csv.DictWriter(file, FIELDS).writerow(result)
    report(args.out)


if __name__ == "__main__":
    main()
