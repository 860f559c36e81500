"""Accuracy lost by rounding weights to 8 and 16 bits, on the nine classification sets of the paper.

python -m benchmarks.quantized [--data FOLDER] [--splits 10]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.timing import table
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier, load_dataset, quantize

SETS = ("australian", "glass", "heart", "ionosphere", "iris", "pima", "vehicle", "wdbc", "wine")
DTYPES = ("int16", "int8")


def main(data_home: str | None = None, n_splits: int = 10) -> None:
    models = {
        "tree": BNeuralTClassifier(),
        "forest of 10": BNeuralForestClassifier(n_estimators=10),
    }
    for name, model in models.items():
        rows = [(data, *losses(model, data, data_home, n_splits)) for data in SETS]
        means = np.array([row[1:] for row in rows]).mean(axis=0)
        header = ("data", "accuracy", *(f"{d}, points lost" for d in DTYPES))
        header += tuple(f"{d}, same class" for d in DTYPES)
        shown = [*rows, ("mean", *means.tolist())]
        table(f"{name}, {n_splits} splits of 80 to 20 %", header, shown)


def losses(model, data, data_home, n_splits):
    """Mean accuracy, points lost by each dtype, and share of test rows of the same class."""
    loaded = load_dataset(data, data_home=data_home)
    found = []
    for seed in range(n_splits):
        X, X_test, y, y_test = train_test_split(
            loaded.X, loaded.y, test_size=0.2, random_state=seed, stratify=loaded.y
        )
        fitted = model.set_params(random_state=seed).fit(X, y)
        score, predicted = fitted.score(X_test, y_test), fitted.predict(X_test)
        rounded = [quantize(fitted, dtype) for dtype in DTYPES]
        lost = [100 * (score - other.score(X_test, y_test)) for other in rounded]
        same = [float(np.mean(other.predict(X_test) == predicted)) for other in rounded]
        found.append([score, *lost, *same])
    return np.mean(found, axis=0).tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--splits", type=int, default=10)
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(args.data, args.splits)
