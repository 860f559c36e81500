"""The sizes of models that `bneuralt compare` prints."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from bneuralt.cli import contenders

X = np.array([[0.0], [1.0], [2.0], [3.0]])


def test_a_stump_has_a_feature_and_a_threshold_and_a_number_for_each_class_and_leaf():
    settings = {"n_estimators": 3, "max_depth": 1, "bootstrap": False, "random_state": 0}
    for n_classes in (2, 3, 4):
        labels = np.arange(4) % n_classes
        forest = RandomForestClassifier(**settings).fit(X, labels)
        assert contenders._forest_numbers(forest) == 3 * (2 + 2 * n_classes)
    forest = RandomForestRegressor(**settings).fit(X, X[:, 0])
    assert contenders._forest_numbers(forest) == 3 * (2 + 2)


def test_other_models_get_the_seed():
    for estimator in (RandomForestClassifier, RandomForestRegressor):
        assert contenders._seeded(estimator)(3).random_state == 3
