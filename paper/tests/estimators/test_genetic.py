"""HFNT and MONT as scikit-learn's users meet them."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bneuralt import load_model
from bneuralt_paper import HFNTClassifier, HFNTRegressor, MONTClassifier, estimators
from tests.helpers.pages import check_page
from tests.helpers.searched_estimators import DIABETES, IRIS, SearchedEstimatorTests

SMALL = {
    getattr(estimators, name): {
        "population_size": 10,
        "n_generations": 10,
        "n_tuning": 30,
        "tuning_size": 16,
        "max_size": 30,
    }
    for name in estimators.__all__
}


def small(cls, **parameters):
    return cls(**{**SMALL[cls], "random_state": 0, **parameters})


@parametrize_with_checks([small(cls) for cls in SMALL])
def test_estimator_checks(estimator, check):
    check(estimator)


class TestGeneticEstimators(SearchedEstimatorTests):
    SMALL = SMALL


def test_scores_of_genetic_fronts_are_those_of_the_rows_judged():
    X, y = IRIS
    model = small(MONTClassifier).fit(X, y)
    for entry in model.pareto_front_:
        assert entry.score == pytest.approx(entry.model.score(X, y))
    held = small(MONTClassifier).fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2])
    for entry in held.pareto_front_:
        assert entry.score == pytest.approx(entry.model.score(X[1::2], y[1::2]))


@pytest.mark.parametrize("cls", [HFNTClassifier, MONTClassifier])
def test_several_labels_are_refused(cls):
    X, y = IRIS
    with pytest.raises(ValueError, match="predicts one label"):
        small(cls).fit(X, np.column_stack([y == 0, y > 0]).astype(int))


def test_an_ensemble_is_the_mean_of_its_trees(tmp_path):
    X, y = DIABETES
    model = small(HFNTRegressor, n_ensemble=4, n_generations=10).fit(X, y)
    assert len(model.trees_) == 4 and model.trees_[0] == model.tree_
    mean = np.mean([tree.forward(X.astype(np.float32)) for tree in model.trees_], axis=0)[:, 0]
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-4)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("cls", "parameters", "message"),
    [
        (HFNTClassifier, {"n_generations": 0, "n_tuning": 0}, "leave nothing to search"),
        (HFNTClassifier, {"population_size": 1}, "population_size"),
        (MONTClassifier, {"max_size": 9}, "3 outputs has 10 nodes or more"),
        (HFNTClassifier, {"objectives": ("error", "sice")}, "'sice' is not known"),
    ],
)
def test_bad_parameters_say_what_is_wrong(cls, parameters, message):
    with pytest.raises(ValueError, match=message):
        small(cls, **parameters).fit(*IRIS)


@pytest.mark.parametrize("n_ensemble", [1, 3])
def test_explanations_and_exports_have_the_probabilities_of_hfnt(n_ensemble):
    X, y = IRIS
    model = HFNTClassifier(
        population_size=10, n_generations=5, n_tuning=5, n_ensemble=n_ensemble, random_state=0
    ).fit(X, y)
    probabilities = model.predict_proba(X)
    explanation = model.explain(X, output="probability")
    explained = explanation.baseline + explanation.values.sum(axis=1)
    np.testing.assert_allclose(explained, probabilities, atol=1e-6)
    outputs = model.model_.outputs(X)
    np.testing.assert_allclose(model.model_.predictions(outputs), probabilities, atol=1e-6)
    decisions = model.model_.decisions(outputs)
    np.testing.assert_array_equal(model.classes_[decisions], model.predict(X))


@pytest.mark.parametrize("cls", [HFNTClassifier, HFNTRegressor])
def test_the_page_of_an_ensemble_predicts_what_the_model_predicts(browser, cls, tmp_path):
    X, y = IRIS
    model = small(cls, n_ensemble=3).fit(X, y)
    check_page(browser, model, X[::15], tmp_path)


def test_all_trees_of_an_ensemble_are_simplified():
    X, y = IRIS
    model = HFNTRegressor(n_generations=2, n_tuning=2, n_ensemble=3, random_state=0).fit(X, y)
    small = model.simplify()
    assert len(small.trees_) == len(model.trees_) and small.tree_ is small.trees_[0]
    assert small.n_parameters_ < model.n_parameters_
    np.testing.assert_allclose(small.predict(X), model.predict(X), rtol=1e-4)
