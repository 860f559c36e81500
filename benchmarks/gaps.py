"""Compare trees with imputation and boosting on missing values.

    python -m benchmarks.gaps --data-home ../shared
    python -m benchmarks.gaps --tables build/tables

Cells are removed from training and test rows alike: *at random*, every cell with the same
probability, or *not at random*, with a probability in proportion to the rank of its value in the
column, so that large values are missing most often. The first command measures on the nine
classification sets of the paper and prints tables for docs/quality.md; the second one, on tables
that settings are chosen on (of which larger ones give 1,500 rows), prints the means only.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.tables import TABLES, read_table
from benchmarks.targets import print_table, splits, with_mean
from bneuralt import BNeuralForestClassifier, BNeuralTClassifier
from bneuralt_paper import load_dataset
from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION

SHARES = (0.1, 0.3, 0.5)
MOST_ROWS = 1500

#: Tables of the half that settings are chosen on, most of whose columns are numbers.
CHOSEN = (
    *("bands", "sonar", "tae", "wisconsin", "haberman", "balance", "ecoli", "yeast", "pc1", "kc1"),
    *("led7digit", "dermatology", "phoneme", "satimage", "page_blocks", "spambase", "german"),
)


def imputed(model: Any) -> Any:
    """Return a model that gets medians and indicators in place of missing values."""
    return make_pipeline(SimpleImputer(strategy="median", add_indicator=True), model)


MODELS = {
    "forest": lambda seed: BNeuralForestClassifier(random_state=seed),
    "forest, median + indicator": lambda seed: imputed(BNeuralForestClassifier(random_state=seed)),
    "tree": lambda seed: BNeuralTClassifier(random_state=seed),
    "tree, median + indicator": lambda seed: imputed(BNeuralTClassifier(random_state=seed)),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
}


def without(X: np.ndarray, share: float, at_random: bool, seed: int) -> np.ndarray:
    """Return a copy of a table with missing cells."""
    draws = np.random.default_rng(seed).random(X.shape)
    rank = (rankdata(X, axis=0) - 0.5) / len(X)
    return np.where(draws < (share if at_random else 2 * share * rank), np.nan, X)


def measure(
    sets: Iterator[tuple[str, np.ndarray, np.ndarray]], models: list[str], n_splits: int
) -> dict[tuple[str, bool, float], np.ndarray]:
    """Return the accuracy of each model on each split, by set and by how cells are removed."""
    scores = {}
    for name, X, y in sets:
        for at_random in (True, False):
            for share in SHARES:
                gappy = without(X, share, at_random, seed=int(100 * share))
                scores[name, at_random, share] = np.array(
                    [
                        [MODELS[m](s.seed).fit(s.X, s.y).score(s.X_test, s.y_test) for m in models]
                        for s in splits(gappy, y, n_splits)
                    ]
                )
    return scores


def report(scores: dict[tuple[str, bool, float], np.ndarray], models: list[str]) -> None:
    """Print means over splits by set and by case, and differences to the first model."""
    sets = list(dict.fromkeys(name for name, _, _ in scores))
    by_set = [
        [name, *np.mean([v.mean(axis=0) for k, v in scores.items() if k[0] == name], axis=0)]
        for name in sets
    ]
    print_table(["data set", *models], with_mean(by_set))
    print()
    cases = [
        [
            f"{share:.0%} {'at random' if at_random else 'not at random'}",
            *np.mean([scores[name, at_random, share].mean(axis=0) for name in sets], axis=0),
        ]
        for at_random in (True, False)
        for share in SHARES
    ]
    print_table(["cells removed", *models], with_mean(cases))
    print()
    # Splits of one set share their rows: the error of a mean is that over sets and splits.
    for j, model in enumerate(models[1:], 1):
        n_splits = len(next(iter(scores.values())))
        lead = [
            np.mean([scores[k][i, 0] - scores[k][i, j] for k in scores]) for i in range(n_splits)
        ]
        error = np.std(lead, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.nan
        print(f"{models[0]} - {model}: {np.mean(lead):+.4f} ± {error:.4f}")


def paper_sets(data_home: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Return the nine classification sets."""
    for name in PAPER_CLASSIFICATION:
        data = load_dataset(name, data_home)
        yield name, np.asarray(data.X, dtype=np.float64), data.y


def chosen_sets(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Return tables of the half that settings are chosen on."""
    for name in CHOSEN:
        assert TABLES[name].half == "chosen on"
        table = read_table(name, folder)
        rows = np.random.default_rng(0).permutation(len(table.y))[:MOST_ROWS]
        yield name, table.X[rows].astype(np.float64), table.y[rows]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-home", help="folder with the data sets of the paper")
    parser.add_argument("--tables", type=Path, help="folder that `make tables` wrote")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    arguments = parser.parse_args()
    sets = chosen_sets(arguments.tables) if arguments.tables else paper_sets(arguments.data_home)
    with threadpool_limits(1):
        scores = measure(sets, arguments.models, arguments.splits)
    report(scores, arguments.models)


if __name__ == "__main__":
    main()
