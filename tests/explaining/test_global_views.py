"""Views of whole models, and agreement with Shapley values."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes, load_iris

from bneuralt import (
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
    importance_stability,
)
from bneuralt.explaining import explain, feature_use
from bneuralt.model import Model
from tests.helpers.tables import IRIS
from tests.reference.shapley import shapley_values


def test_unused_features_are_listed():
    tree = NeuralTree(4, 1, [-1], [0], [0, 0, 0], [0, 2, 3], [0.5, 2.0, -1.0, 0.0])
    use = feature_use(Model.of_tree(tree))
    assert use.used == ["x0", "x2"]
    assert use.unused == ["x1", "x3"]
    assert str(use) == "2 of 4 features are used; not used: x1, x3"


def test_use_in_a_forest_counts_trees():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = BNeuralForestRegressor(n_estimators=3, max_features=4, max_epochs=3, random_state=0)
    use = forest.fit(X, y).feature_use()
    assert use.n_trees.max() <= 3
    columns = [set(forest.model_.column_of_input[tree.leaf_input]) for tree in forest.model_.trees]
    assert use.n_trees.tolist() == [sum(j in each for each in columns) for j in range(X.shape[1])]
    assert min(use.n_trees) < 3
    assert set(use.used) | set(use.unused) == set(X.columns)


def test_seeds_agree_on_what_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = 3 * X[:, 0] + X[:, 1]
    importances = importance_stability(BNeuralTRegressor(max_epochs=30), X, y, n_seeds=3)
    assert importances.mean.argmax() == 0
    assert importances.rank_correlation > 0.5
    assert "x0: 0." in str(importances)
    with pytest.raises(ValueError, match="n_seeds=1 must be"):
        importance_stability(BNeuralTRegressor(), X, y, n_seeds=1)


def test_shapley_values_of_a_product():
    values = shapley_values(lambda X: X[:, :1] * X[:, 1:2] + X[:, 2:], np.ones(3), np.zeros(3))
    np.testing.assert_allclose(values[:, 0], [0.5, 0.5, 1.0])


def test_additive_models_have_their_shapley_values():
    tree = NeuralTree(
        2, 1, [-1, 0, 0], [0, 2, 1], [1, 2], [0, 1], [0.1, 0.2, 0.3, 2.0, -1.0, 1.5, 0.5]
    )
    x, baseline = np.array([1.0, -2.0]), np.array([0.2, 0.4])
    exact = shapley_values(tree.forward, x, baseline)
    explanation = explain(Model.of_tree(tree), x[np.newaxis], baseline)
    np.testing.assert_allclose(explanation.values[0], exact[:, 0])


@pytest.mark.parametrize("how", [{}, {"scale": "standard"}], ids=["bent", "straight"])
def test_ranks_agree_with_shapley_values(how):
    X, y = IRIS
    model = BNeuralTClassifier(dtype="float64", random_state=0, **how).fit(X, y)
    start = X.mean(axis=0)
    explanation = model.explain(X[::10], baseline=start)
    agreement = []
    for i, x in enumerate(X[::10]):
        exact = shapley_values(model.decision_function, x, start)
        agreement += [spearmanr(explanation.values[i, :, k], exact[:, k])[0] for k in range(3)]
    assert np.mean(agreement) > 0.9


def test_the_exact_explainer_of_shap_agrees():
    shap = pytest.importorskip("shap")
    X, y = IRIS
    model = BNeuralTRegressor(dtype="float64", max_epochs=50, random_state=0).fit(X, y)
    explanation = model.explain(X, baseline=X[0])
    explainer = shap.explainers.Exact(model.predict, X[:1])
    exact = explainer(X[::10])
    np.testing.assert_allclose(exact.base_values, explanation.baseline)
    for row, values in zip(X[::10], exact.values, strict=True):
        ours = shapley_values(lambda Z: model.predict(Z)[:, np.newaxis], row, X[0])
        np.testing.assert_allclose(values, ours[:, 0], atol=1e-9)
    assert spearmanr(explanation.values[::10].ravel(), exact.values.ravel())[0] > 0.9


def test_explanations_for_the_plots_of_shap():
    shap = pytest.importorskip("shap")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = BNeuralTClassifier(max_epochs=5, random_state=0).fit(X, y)
    explanation = model.explain(X)
    theirs = explanation.to_shap()
    assert isinstance(theirs, shap.Explanation)
    assert theirs.shape == (150, 4, 3)
    assert theirs.feature_names == list(X.columns)
    np.testing.assert_allclose(theirs.base_values[0], explanation.baseline)
