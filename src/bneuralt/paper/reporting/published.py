"""The figures that the paper prints, as tables to set results beside.

The numbers are those of "Backpropagation Neural Tree" (V. Ojha and G. Nicosia, Neural Networks,
2022), copied from its tables as they stand, with the names of `bneuralt.paper.experiments.grid` for
algorithms and of `bneuralt.datasets.loading` for data sets. Scores are accuracies (classification) and r2
(regression).

Known oddities of the printed numbers, kept here and pointed out where they matter:

- Table 2's rows of weights run through the classification sets alphabetically, not in the order of
  its columns (an MLP on 33 inputs and 2 classes has 3602 weights, which stands under Pima);
  `weights` puts them where they belong.
- HFNT-M has a classification mean of .724 in Table 2 and .779 in Table A3.
- The means over the group "Trees" do not follow from its rows for regression.
- Table 3 compares with 14 algorithms (13 for regression), but its p-values were multiplied by 10
  (9) in most rows and by 13 (12) in those of RF and of dropout; the corrected values of HFNT-M
  belong to no p-value beside them.
- The text speaks of 110 experiments; Tables A2 and A3 have 109 rows.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import pandas as pd

from bneuralt.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS

__all__ = [
    "DIGITS_BY_DIFFICULTY",
    "best_trees",
    "experiments",
    "microseconds",
    "mnist",
    "score",
    "settings",
    "significance",
    "table2",
    "weights",
]

#: The digits as the paper orders them by its ROC curves, the hardest first.
DIGITS_BY_DIFFICULTY = (8, 3, 2, 9, 4, 5, 7, 0, 6, 1)


@cache
def _read(name: str) -> pd.DataFrame:
    with (resources.files("bneuralt.paper.reporting") / "published" / name).open(
        encoding="utf-8"
    ) as file:
        return pd.read_csv(file)


def _table2_part(wanted: bool, groups: tuple[str, ...]) -> pd.DataFrame:
    table = _read("table2.csv")
    rows = table[table["group"].isin(groups) == wanted]
    return rows[rows["experiment"].notna()].set_index("experiment")


def table2() -> pd.DataFrame:
    """Table 2: mean test scores of 30 runs, one row per algorithm, indexed by experiment.

    Columns: ``group``, ``algorithm``, the data sets in the paper's order, and
    ``classification_mean`` and ``regression_mean`` as printed.

    Examples
    --------
    >>> from bneuralt.paper import published
    >>> float(published.table2().loc["B-S-ESy-p4-R", "iris"])
    0.992
    """
    return _table2_part(False, ("weights", "microseconds per example")).copy()


def weights() -> pd.DataFrame:
    """Table 2's numbers of weights, each under the data set that it belongs to.

    Examples
    --------
    >>> from bneuralt.paper import published
    >>> int(published.weights().loc["M-S-ESy-Rn-L-D", "ionosphere"])
    3602
    """
    rows = _table2_part(True, ("weights",)).copy()
    # Printed in the alphabetical order of the authors' names ("wisconsin" for wdbc).
    alphabetical = sorted(PAPER_CLASSIFICATION, key=lambda n: "wisconsin" if n == "wdbc" else n)
    printed = rows[list(PAPER_CLASSIFICATION)].to_numpy()
    rows[alphabetical] = printed
    return rows


def microseconds() -> pd.DataFrame:
    """Table 2's times of one forward pass, in microseconds.

    Examples
    --------
    >>> from bneuralt.paper import published
    >>> float(published.microseconds().loc["RF", "iris"])
    890.6
    """
    return _table2_part(True, ("microseconds per example",)).copy()


def experiments() -> pd.DataFrame:
    """Tables A2 and A3: means, deviations and weights of each experiment, indexed by its name.

    Examples
    --------
    >>> from bneuralt.paper import published
    >>> published.experiments().loc["B-S-ESy-p4-R"].tolist()[:3]
    [0.832, 0.15, 222.0]
    """
    return _read("experiments.csv").set_index("experiment")


def significance() -> pd.DataFrame:
    """Tables 3, A4 and A5: BNeuralT's RMSprop against the others on each data set.

    Indexed by ``test`` ("ks", "wilcoxon", "t"), ``against`` and ``quantity`` ("stat", "pval",
    "post": the statistic, its p-value, the p-value after Bonferroni's correction).

    Examples
    --------
    >>> from bneuralt.paper import published
    >>> published.significance().loc[("ks", "GP"), "glass"].to_dict()
    {'post': 1.0, 'pval': 0.14, 'stat': 0.3}
    """
    return _read("tests.csv").set_index(["test", "against", "quantity"]).sort_index()


def mnist() -> pd.DataFrame:
    """Table 4: test errors on MNIST in percent.

    Examples
    --------
    >>> from bneuralt.paper import published
    >>> float(published.mnist().loc["BNeuralT-20K", "error_percent"])
    6.08
    """
    return _read("mnist.csv").set_index("algorithm")


def settings() -> pd.DataFrame:
    """Table A1: the settings of each algorithm, in other words."""
    return _read("settings.csv").fillna("")


def best_trees() -> pd.DataFrame:
    """Scores and sizes of the trees that the paper draws, indexed by data set."""
    return _read("best_trees.csv").set_index("dataset")


def score(experiment: str, dataset: str) -> float | None:
    """Return the paper's mean test score, if it prints one for this data set.

    Examples
    --------
    >>> from bneuralt.paper import published
    >>> published.score("SVM", "wine")
    0.978
    >>> published.score("NBC", "dee") is None
    True
    """
    if dataset not in PAPER_DATASETS:
        return None
    table = _table2_part(False, ("weights", "microseconds per example"))
    value = table[dataset].get(experiment)
    return None if value is None or pd.isna(value) else float(value)
