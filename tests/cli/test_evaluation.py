"""Scores that the program reports: folds, and importances of columns."""

import json
import statistics

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

from bneuralt import BNeuralTRegressor
from bneuralt.cli.evaluation import feature_usage
from bneuralt.tables.columns import Column, Frame
from tests.helpers.tables import write_flowers


def test_folds_are_summed_up_by_mean_and_deviation(tmp_path, run_here):
    table = write_flowers(tmp_path / "t.csv")
    out = ("--out", tmp_path / "m.json", "--json")
    done = run_here("train", table, "--target", "kind", "--cv", 4, *out)
    summary = json.loads(done.stdout)["cross_validation"]
    assert summary["folds"] == 4
    for name, scores in summary.items():
        if name != "folds":
            assert len(scores["each"]) == 4
            assert scores["mean"] == pytest.approx(statistics.mean(scores["each"]))
            assert scores["sd"] == pytest.approx(statistics.stdev(scores["each"]))


def test_importances_of_columns_are_those_of_scikit_learn():
    """Each column is shuffled alone: the ones before it are in order again."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, 0.7, 0.5]
    model = BNeuralTRegressor(random_state=0, max_epochs=30).fit(X, y)
    expected = permutation_importance(model, X, y, n_repeats=5, random_state=0).importances_mean
    table = Frame([Column("number", column) for column in X.T.copy()], ["a", "b", "c"])
    usage = feature_usage(model, table, y, seed=0)
    found = {entry["feature"]: entry["importance"] for entry in usage}
    importances = [found[name] for name in sorted(found)]
    np.testing.assert_allclose(importances, expected, rtol=0.15)
    assert importances == sorted(importances, reverse=True)
