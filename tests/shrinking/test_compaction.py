"""Scores of models of several sizes, their standard errors, and the size that is chosen."""

import numpy as np
import pytest
from scipy.stats import sem

from bneuralt import BNeuralTClassifier
from bneuralt.shrinking.compaction import mean_scores, smallest_good_size
from tests.helpers.tables import IRIS


def test_standard_errors_are_those_of_scipy():
    by_row = np.random.default_rng(0).random((4, 50))
    mean, error = mean_scores(by_row, np.ones(50))
    np.testing.assert_allclose(mean, by_row.mean(axis=1))
    np.testing.assert_allclose(error, sem(by_row, axis=1, ddof=0))


def test_weights_are_weights_of_means():
    by_row, weight = np.array([[1.0, 0.0, 0.0]]), np.array([3.0, 1.0, 0.0])
    mean, error = mean_scores(by_row, weight)
    assert mean == pytest.approx(0.75) and error == pytest.approx(np.sqrt(0.75 * 0.25 / 3))


def test_the_smallest_size_within_one_standard_error_of_the_best_is_chosen():
    size, score = np.array([100, 80, 60, 40, 20]), np.array([0.90, 0.95, 0.93, 0.92, 0.80])
    errors = np.array([0.5, 0.03, 0.5, 0.5, 0.5])  # that of the best counts
    assert smallest_good_size(size, score, errors) == 40
    assert smallest_good_size(size, score, np.full(5, 0.02)) == 60  # 0.93 is just within
    assert smallest_good_size(size, score, np.full(5, 0.019)) == 80
    assert smallest_good_size(size, score, np.full(5, 0.15)) == 20


def test_errors_of_an_accuracy_are_those_of_a_share():
    X, y = IRIS
    model = BNeuralTClassifier(n_weights=60, max_epochs=5, random_state=0).fit(X, y)
    report = model.compact(X, y, cv=3).compaction_
    share = report.score
    np.testing.assert_allclose(report.standard_error, np.sqrt(share * (1 - share) / len(y)))
    best = share.argmax()
    good = report.size[share >= share[best] - report.standard_error[best]]
    assert report.chosen == good.min()
