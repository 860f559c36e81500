"""The published results: values checked by eye, and consistency of the tables."""

import numpy as np
import pytest
from scipy import stats

from bneuralt_paper.datasets.catalogue import (
    CATALOGUE,
    PAPER_CLASSIFICATION,
    PAPER_DATASETS,
    PAPER_REGRESSION,
)
from bneuralt_paper.experiments.definitions import ALL_EXPERIMENTS, GROUPS
from bneuralt_paper.reporting import published

CLASSES, REGRESSION = list(PAPER_CLASSIFICATION), list(PAPER_REGRESSION)


@pytest.mark.parametrize(
    ("experiment", "dataset", "value"),
    [
        ("B-S-ESy-p4-R", "glass", 0.732),
        ("B-S-ESy-p4-R", "friedman", 0.776),
        ("B-S-ESy-p4-D", "vehicle", 0.599),
        ("B-S-ESy-p4-A", "mpg6", 0.851),
        ("M-S-ESy-Rn-L-M", "vehicle", 0.853),
        ("M-S-ESy-Rn-L-D", "friedman", 0.943),
        ("M-S-ESn-Rn-L-Dr-D", "australian", 0.871),
        ("HFNT-M", "heart", 0.77),
        ("MONT3", "iris", 0.989),
        ("DT", "diabetese", -0.12),
        ("RF", "glass", 0.768),
        ("GP", "dee", 0.820),
        ("NBC", "glass", 0.457),
        ("SVM", "friedman", 0.912),
    ],
)
def test_scores_read_by_eye(experiment, dataset, value):
    assert published.score(experiment, dataset) == value


def test_other_tables_read_by_eye():
    experiments = published.experiments()
    assert experiments.loc["M-S-ESy-Rn-N"].tolist() == [
        0.832, 0.14, 1638, 0.865, 0.12, 1970, 0.775, 0.16, 1041,
    ]  # fmt: skip
    assert (experiments["overall_mean"].diff().dropna() <= 0.0005).all(), "best first, as printed"
    assert experiments.loc["M-S-ESy-Rn-D", "regression_mean"] == -4.316
    assert experiments.loc["B-R-ESy-p5-A", "classification_weights"] == 150
    tests = published.significance()
    assert tests.loc[("wilcoxon", "SVM", "stat"), "wdbc"] == 67.5
    assert tests.loc[("t", "NBC", "stat"), "vehicle"] == 28.51
    assert tests.loc[("t", "DT", "post"), "friedman"] == 0.03
    assert tests.loc[("ks", "M-S-ESy-Rn-L-N", "post"), "wine"] == 0.71
    assert np.isnan(tests.loc[("ks", "HFNT-S", "stat"), "diabetese"])
    assert published.microseconds().loc["SVM", "mpg6"] == 12.2
    assert published.mnist().loc["BNeuralT-200K"].tolist() == ["BNeuralT", 241999, 25, 5.19]
    assert published.best_trees().loc["glass"].tolist() == [0.88, 466]
    settings = published.settings().set_index(["algorithm", "setting"])["used"]
    assert settings["Optimizers", "epochs"] == "500"


def test_names_are_those_of_the_experiments():
    named = set(published.experiments().index) | set(published.table2().index)
    assert named == set(ALL_EXPERIMENTS)
    assert len(published.experiments()) == 109
    assert set(GROUPS["table2"]) == set(published.table2().index)
    assert list(published.table2().columns[2:-1]) == [
        *CLASSES, "classification_mean", *REGRESSION,
    ]  # fmt: skip
    assert published.score("SVM", "mnist") is None


def test_printed_means_follow_from_the_rows():
    table = published.table2()
    for columns, mean in ((CLASSES, "classification_mean"), (REGRESSION, "regression_mean")):
        expected = table[columns].mean(axis=1, skipna=False)
        off = (expected - table[mean]).abs() > 0.00105
        assert table.index[off].tolist() == (["DT"] if mean == "regression_mean" else [])
    for table in (published.microseconds(), published.weights()):
        for columns, mean in ((CLASSES, "classification_mean"), (REGRESSION, "regression_mean")):
            expected = table[columns].mean(axis=1, skipna=False)
            np.testing.assert_allclose(expected, table[mean], rtol=0.003, atol=0.1)


def test_table_2_agrees_with_tables_a2_and_a3():
    table, experiments = published.table2(), published.experiments()
    for column in ("classification_mean", "regression_mean"):
        both = table.index.intersection(experiments.index)
        left, right = table.loc[both, column], experiments.loc[both, column]
        differing = both[(left - right).abs() > 1e-9].tolist()
        assert differing == (["HFNT-M"] if column == "classification_mean" else [])
    overall = (9 * experiments.classification_mean + 5 * experiments.regression_mean) / 14
    off = experiments.index[(overall - experiments.overall_mean).abs() > 0.0016]
    assert off.str.match("M-R-ESn-Rn-L-").all() and len(off) == 6


def test_weights_of_the_mlp_are_in_the_columns_of_their_data_sets():
    row = published.weights().loc["M-S-ESy-Rn-L-D"]
    for name in PAPER_DATASETS:
        entry = CATALOGUE[name]
        outputs = len(entry.class_names) or 1
        assert row[name] == 100 * (entry.n_features + 1) + 101 * outputs, name


def test_p_values_follow_from_the_kolmogorov_smirnov_statistics():
    """With 30 runs each, the statistic determines the p-value: all 189 published values agree."""
    table = published.significance().loc["ks"]
    statistic = table.xs("stat", level="quantity").stack().dropna()
    printed = table.xs("pval", level="quantity").stack().dropna()
    a = np.arange(30.0)
    expected = [stats.ks_2samp(a, a + round(30 * d)).pvalue for d in statistic]
    assert (statistic.index == printed.index).all() and len(printed) == 14 * 14 - 5 - 2
    np.testing.assert_allclose(printed, expected, atol=0.0055)
