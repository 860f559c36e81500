"""Evolved trees as scikit-learn's users meet them."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bneuralt import EvolvedTreeClassifier, EvolvedTreeRegressor
from tests.helpers.flat import flat
from tests.helpers.searched_estimators import DIABETES, IRIS, SearchedEstimatorTests
from tests.helpers.tables import BREAST_CANCER

SMALL = {
    cls: {"population_size": 6, "n_generations": 1, "n_folds": 2, "max_epochs": 10}
    for cls in (EvolvedTreeClassifier, EvolvedTreeRegressor)
}


def small(cls, **parameters):
    return flat(cls, **{**SMALL[cls], "random_state": 0, **parameters})


@parametrize_with_checks([small(cls) for cls in SMALL])
def test_estimator_checks(estimator, check):
    check(estimator)


class TestEvolvedTrees(SearchedEstimatorTests):
    SMALL = SMALL


@pytest.mark.parametrize(("X", "y"), [IRIS, DIABETES], ids=["classes", "numbers"])
def test_evolved_trees_learn_with_few_weights(X, y):
    cls = EvolvedTreeClassifier if y.dtype.kind == "i" else EvolvedTreeRegressor
    model = cls(n_generations=3, population_size=20, max_weights=25, random_state=0)
    model.fit(X[::2], y[::2])
    assert model.n_parameters_ <= 25
    assert all(entry.n_weights <= 25 for entry in model.pareto_front_)
    assert model.score(X[1::2], y[1::2]) > (0.9 if cls is EvolvedTreeClassifier else 0.3)


def test_nodes_can_be_limited_too():
    X, y = BREAST_CANCER
    model = small(EvolvedTreeClassifier, max_size=8).fit(X, y)
    assert model.tree_.size <= 8 and model.score(X, y) > 0.85


def test_evolved_trees_take_validation_rows():
    X, y = IRIS
    model = small(EvolvedTreeClassifier).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    best = max(model.pareto_front_, key=lambda entry: entry.n_weights)
    assert best.score == pytest.approx(best.model.score(X[1::2], y[1::2]))


def test_several_labels():
    X, y = IRIS
    labels = np.column_stack([y == 0, y > 0, X[:, 0] > 6]).astype(int)
    model = small(EvolvedTreeClassifier, n_generations=3).fit(X, labels)
    assert model.predict(X).shape == labels.shape


def test_progress_is_shown(capsys):
    X, y = IRIS
    small(EvolvedTreeClassifier, verbose=1).fit(X, y)
    line = capsys.readouterr().err.splitlines()[-1]
    assert "generation 2/2" in line and "weights" in line and "s left" in line


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_generations": 0}, "n_generations=0 is too small"),
        ({"max_weights": 5}, "3 outputs has 6 weights or more"),
        ({"max_size": 6}, "3 outputs has 7 nodes or more"),
    ],
)
def test_bad_parameters_say_what_is_wrong(parameters, message):
    with pytest.raises(ValueError, match=message):
        small(EvolvedTreeClassifier, **parameters).fit(*IRIS)
