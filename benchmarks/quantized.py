"""Accuracy lost by rounding weights to 8 and 16 bits, on the nine classification sets of the paper.

A second table compares the bounds on the outputs of the trees with the largest errors on the
training rows, and on these and random rows of their range. Errors are those of probabilities.

python -m benchmarks.quantized [--data FOLDER] [--splits 10]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.timing import table
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt_paper import load_dataset

SETS = ("australian", "glass", "heart", "ionosphere", "iris", "pima", "vehicle", "wdbc", "wine")
DTYPES = ("int16", "int8")


def main(data_home: str | None = None, n_splits: int = 10) -> None:
    models = {
        "tree": BNeuralTClassifier(),
        "forest of 10": BNeuralForestClassifier(n_estimators=10),
    }
    for name, model in models.items():
        measurements = [measured(model, data, data_home, n_splits) for data in SETS]
        rows = [(data, *losses) for data, (losses, _) in zip(SETS, measurements, strict=True)]
        means = np.array([row[1:] for row in rows]).mean(axis=0)
        header = ("data", "accuracy", *(f"{d}, points lost" for d in DTYPES))
        header += tuple(f"{d}, same class" for d in DTYPES)
        shown = [*rows, ("mean", *means.tolist())]
        table(f"{name}, {n_splits} splits of 80 to 20 %", header, shown)
        rows = [(data, *excess) for data, (_, excess) in zip(SETS, measurements, strict=True)]
        medians = np.median([row[1:] for row in rows], axis=0)
        columns = ("bound / error", "with random rows", "largest error")
        header = ("data", *(f"{d}, {column}" for d in DTYPES for column in columns))
        table(f"{name}, bounds", header, [*rows, ("median", *medians.tolist())])


def measured(model, data, data_home, n_splits):
    """Return mean accuracy, points lost and share of equal classes; and `excess` of each dtype."""
    loaded = load_dataset(data, data_home=data_home)
    figures, excesses = [], []
    for seed in range(n_splits):
        X, X_test, y, y_test = train_test_split(
            loaded.X, loaded.y, test_size=0.2, random_state=seed, stratify=loaded.y
        )
        fitted = model.set_params(random_state=seed).fit(X, y)
        score, predicted = fitted.score(X_test, y_test), fitted.predict(X_test)
        rounded = [fitted.quantize(dtype) for dtype in DTYPES]
        lost = [100 * (score - other.score(X_test, y_test)) for other in rounded]
        same = [float(np.mean(other.predict(X_test) == predicted)) for other in rounded]
        figures.append([score, *lost, *same])
        excesses.append([excess(other, X) for other in rounded])
    return np.mean(figures, axis=0).tolist(), np.median(excesses, axis=0).ravel().tolist()


def excess(rounded, X):
    """Return the ratio of bound and largest error, and the largest error of a probability.

    The first is the median over trees and outputs, for the training rows and with 1,000 random rows
    of their range.
    """
    integer = rounded.integer_model_
    low, high = np.array(integer.model.encoder.ranges).T
    some = np.random.default_rng(0).uniform(low, high, (1000, low.size))
    bounds = np.array([tree.bound for tree in integer.trees])
    largest = [errors(integer, rows) for rows in (np.asarray(X, dtype=np.float64), some)]
    exact = integer.model.predictions(integer.model.outputs(integer.model.encode(X)))
    most = np.abs(rounded.predict_proba(X) - exact).max()
    return [np.median(bounds / largest[0]), np.median(bounds / np.maximum(*largest)), most]


def errors(integer, rows):
    """Return the largest error of each output of each tree."""
    outputs = integer.outputs(integer.encode_rows(rows))
    real = np.array(
        [
            tree.offset + tree.unit * integers
            for tree, integers in zip(integer.trees, outputs, strict=True)
        ]
    )
    exact = integer.model.outputs(integer.model.encode(rows))
    return np.abs(real - exact).max(axis=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="folder with the data sets")
    parser.add_argument("--splits", type=int, default=10)
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(args.data, args.splits)
