"""Scores that estimators compute themselves: out of the bag, and of rows held out."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from bneuralt import BNeuralForestClassifier, BNeuralTRegressor
from bneuralt.model.tasks import Labels


@pytest.mark.parametrize("multilabel", [False, True])
def test_out_of_bag_scores_are_better_than_chance_and_below_those_of_training(multilabel):
    X, y = make_multilabel_classification(
        n_samples=120, n_features=8, n_classes=3, n_labels=1, random_state=0
    )
    y = y if multilabel else y[:, 0]
    forest = BNeuralForestClassifier(
        n_estimators=8, max_samples=0.6, max_epochs=20, random_state=0
    ).fit(X, y)
    right = np.mean(forest.predict(X) == y)
    chance = np.mean([max(np.mean(column), 1 - np.mean(column)) for column in np.atleast_2d(y.T)])
    assert chance < forest.oob_score_ <= right + 0.01


def test_the_row_of_two_right_labels_of_three_is_two_thirds_right():
    task = Labels.learn(np.eye(3, dtype=int), None, "BNeuralForestClassifier")
    target = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    shares = np.array([[0.9, 0.1, 0.6], [0.4, 0.5, 0.51]])
    assert task.row_scores(shares, target, 1.0) == pytest.approx([2 / 3, 1 / 3])


def test_early_stopping_has_a_patience_of_its_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.normal(size=200)  # nothing to learn
    model = BNeuralTRegressor(
        early_stopping=True, max_epochs=2000, learning_rate=0.05, random_state=0
    )
    assert model.fit(X, y).n_iter_ < 500
