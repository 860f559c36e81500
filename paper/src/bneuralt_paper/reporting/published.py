"""The published results, as tables.

The numbers are copied from the tables of "Backpropagation Neural Tree" (V. Ojha and G. Nicosia,
Neural Networks, 2022). Algorithms have the names of `bneuralt_paper.experiments.definitions`, data
sets those of `load_dataset`. Scores are accuracies (classification) and r2 (regression).

Known inconsistencies of the published numbers:

- The numbers of weights in Table 2 are in the alphabetical order of the classification sets, not in
  the order of its columns (an MLP with 33 inputs and 2 classes has 3602 weights, which is the value
  for Pima); `weights` returns them in the right columns.
- HFNT-M has a classification mean of .724 in Table 2 and .779 in Table A3.
- The regression means of the group "Trees" do not follow from its rows.
- Table 3 compares with 14 algorithms (13 for regression), but its p-values were multiplied by 10
  (9) in most rows and by 13 (12) in those of RF and dropout; the corrected p-values of HFNT-M do
  not match its p-values.
- The text mentions 110 experiments; Tables A2 and A3 have 109 rows.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import pandas as pd

from bneuralt_paper.datasets.catalogue import PAPER_CLASSIFICATION, PAPER_DATASETS

__all__ = [
    "DIGITS_BY_DIFFICULTY",
    "best_trees",
    "data_facts",
    "experiments",
    "microseconds",
    "mnist",
    "score",
    "settings",
    "significance",
    "table2",
    "weights",
]

#: The digits in the order of the paper's ROC curves, the hardest first.
DIGITS_BY_DIFFICULTY = (8, 3, 2, 9, 4, 5, 7, 0, 6, 1)


@cache
def _read(name: str) -> pd.DataFrame:
    folder = resources.files("bneuralt_paper.reporting") / "published_tables"
    with (folder / name).open(encoding="utf-8") as file:
        return pd.read_csv(file)


def _table2_part(are_in_groups: bool, groups: tuple[str, ...]) -> pd.DataFrame:
    table = _read("table2.csv")
    rows = table[table["group"].isin(groups) == are_in_groups]
    return rows[rows["experiment"].notna()].set_index("experiment")


def table2() -> pd.DataFrame:
    """Return Table 2: mean test scores of 30 runs, one row per algorithm, indexed by experiment.

    Columns: ``group``, ``algorithm``, the data sets in the paper's order, and
    ``classification_mean`` and ``regression_mean`` as printed.

    Examples
    --------
    >>> from bneuralt_paper.reporting import published
    >>> float(published.table2().loc["B-S-ESy-p4-R", "iris"])
    0.992
    """
    return _table2_part(False, ("weights", "microseconds per example")).copy()


def weights() -> pd.DataFrame:
    """Return the numbers of weights of Table 2, in the columns of the right data sets.

    Examples
    --------
    >>> from bneuralt_paper.reporting import published
    >>> int(published.weights().loc["M-S-ESy-Rn-L-D", "ionosphere"])
    3602
    """
    rows = _table2_part(True, ("weights",)).copy()
    # In the alphabetical order of the authors' names ("wisconsin" for wdbc).
    alphabetical = sorted(PAPER_CLASSIFICATION, key=lambda n: "wisconsin" if n == "wdbc" else n)
    printed = rows[list(PAPER_CLASSIFICATION)].to_numpy()
    rows[alphabetical] = printed
    return rows


def microseconds() -> pd.DataFrame:
    """Return the times of one forward pass of Table 2, in microseconds.

    Examples
    --------
    >>> from bneuralt_paper.reporting import published
    >>> float(published.microseconds().loc["RF", "iris"])
    890.6
    """
    return _table2_part(True, ("microseconds per example",)).copy()


def experiments() -> pd.DataFrame:
    """Return Tables A2 and A3: means, standard deviations and weights, indexed by experiment.

    Examples
    --------
    >>> from bneuralt_paper.reporting import published
    >>> published.experiments().loc["B-S-ESy-p4-R"].tolist()[:3]
    [0.832, 0.15, 222.0]
    """
    return _read("experiments.csv").set_index("experiment")


def significance() -> pd.DataFrame:
    """Return Tables 3, A4 and A5: BNeuralT with RMSprop against the others on each data set.

    Indexed by ``test`` ("ks", "wilcoxon", "t"), ``against`` and ``quantity`` ("stat", "pval",
    "post": the statistic, its p-value, and the p-value after Bonferroni's correction).

    Examples
    --------
    >>> from bneuralt_paper.reporting import published
    >>> published.significance().loc[("ks", "GP"), "glass"].to_dict()
    {'post': 1.0, 'pval': 0.14, 'stat': 0.3}
    """
    return _read("tests.csv").set_index(["test", "against", "quantity"]).sort_index()


def mnist() -> pd.DataFrame:
    """Return Table 4: test errors on MNIST in percent.

    Examples
    --------
    >>> from bneuralt_paper.reporting import published
    >>> float(published.mnist().loc["BNeuralT-20K", "error_percent"])
    6.08
    """
    return _read("mnist.csv").set_index("algorithm")


def settings() -> pd.DataFrame:
    """Return Table A1, paraphrased: the settings of each algorithm."""
    return _read("settings.csv").fillna("")


def best_trees() -> pd.DataFrame:
    """Return the scores and sizes of the trees that the paper shows, indexed by data set."""
    return _read("best_trees.csv").set_index("dataset")


def data_facts() -> pd.DataFrame:
    """Return the numbers of inputs, classes and rows of the data sets, as the text states them."""
    return _read("data.csv").set_index("dataset")


def score(experiment: str, dataset: str) -> float | None:
    """Return a mean test score of Table 2, or None if the table does not contain it.

    Examples
    --------
    >>> from bneuralt_paper.reporting import published
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
