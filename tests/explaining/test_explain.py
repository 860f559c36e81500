"""Explanations of models: sums, features, results and messages."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris, load_wine, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence, permutation_importance

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
    load_model,
)
from bneuralt.explaining import explain
from bneuralt.explaining.links import mean_slopes
from bneuralt.expressions import (
    OUTPUTS,
    exp,
    largest,
    maximum,
    ordered,
    sigmoid,
    square,
    total,
)
from bneuralt.model import Model
from bneuralt.training.losses import SOFTMAX, shares
from bneuralt.tree.activations import NAMES
from tests.helpers.flat import flat
from tests.helpers.tables import DIABETES

FAST = {"max_epochs": 15, "random_state": 0, "dtype": "float64"}


def added_up(explanation):
    return explanation.baseline + explanation.values.sum(axis=1)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def iris_model(iris):
    return BNeuralTClassifier(**FAST).fit(*iris)


@pytest.mark.parametrize(
    "settings", [{}, {"output_activation": "sigmoid", "loss": "squared_error"}]
)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_trees", [1, 4])
def test_classifiers_add_up(settings, n_classes, n_trees):
    X, y = load_wine(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    if n_trees == 1:
        model = flat(BNeuralTClassifier, **FAST, **settings).fit(X, y)
    else:
        model = flat(BNeuralForestClassifier, n_estimators=n_trees, **FAST, **settings).fit(X, y)
    scores = model.explain(X, output="score")
    np.testing.assert_allclose(added_up(scores), model.decision_function(X), atol=1e-9)
    explanation = model.explain(X, output="probability")
    expected = model.predict_proba(X)
    expected = expected[:, 1] if n_classes == 2 else expected
    np.testing.assert_allclose(added_up(explanation), expected, atol=1e-10)
    np.testing.assert_allclose(explanation.predictions, expected, atol=1e-10)
    default = model.explain(X)
    assert default.explains == ("score" if n_trees == 1 else "probability")


@pytest.mark.parametrize("kind", [BNeuralTClassifier, BNeuralForestClassifier])
def test_labels_add_up(kind):
    X, y = make_multilabel_classification(n_samples=100, random_state=0)
    size = {"n_estimators": 3} if kind is BNeuralForestClassifier else {}
    model = kind(**FAST, **size).fit(X, y)
    explanation = model.explain(X, output="probability")
    np.testing.assert_allclose(added_up(explanation), model.predict_proba(X), atol=1e-10)
    explanation = model.explain(X, output="score")
    np.testing.assert_allclose(added_up(explanation), model.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("settings", [{}, {"loss": "poisson"}])
@pytest.mark.parametrize("kind", [BNeuralTRegressor, BNeuralForestRegressor])
def test_regressors_add_up(kind, settings):
    X, y = DIABETES
    size = {"n_estimators": 3} if kind is BNeuralForestRegressor else {}
    model = kind(**FAST, **size, **settings).fit(X, y)
    explanation = model.explain(X)
    assert explanation.values.shape == X.shape
    np.testing.assert_allclose(added_up(explanation), model.predict(X), rtol=1e-10)


def test_forests_of_all_activations_add_up():
    X, y = DIABETES
    settings = {"activation": list(NAMES), "train_activations": True}
    model = flat(BNeuralForestRegressor, n_estimators=5, **FAST, **settings).fit(X, y)
    explanation = model.explain(X)
    np.testing.assert_allclose(added_up(explanation), model.predict(X), rtol=1e-10)


def test_several_targets_add_up():
    X, y = DIABETES
    model = BNeuralTRegressor(**FAST).fit(X, np.column_stack([y, -y]))
    explanation = model.explain(X[:20])
    assert explanation.values.shape == (20, 10, 2)
    np.testing.assert_allclose(added_up(explanation), model.predict(X[:20]), rtol=1e-9)


def test_effects_of_additive_data_are_recovered():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 4))  # the last feature has no effect
    effects = np.column_stack([2 * X[:, 0], np.sin(3 * X[:, 1]), -np.square(X[:, 2])])
    model = BNeuralForestRegressor(n_estimators=4, random_state=0).fit(X, effects.sum(axis=1))
    explanation = model.explain(X, baseline=X[:200])
    for i in range(3):
        centred = effects[:, i] - effects[:, i].mean()
        assert np.corrcoef(explanation.values[:, i], centred)[0, 1] > 0.98
    assert explanation.importances[3] < 0.1 * explanation.importances[:3].min()


def test_a_feature_without_a_leaf_contributes_0():
    tree = NeuralTree(3, 1, [-1], [2], [0, 0], [0, 2], [0.5, 2.0, -1.0])
    explanation = explain(Model.of_tree(tree), np.random.default_rng(0).normal(size=(50, 3)))
    assert not explanation.values[:, 1].any()
    assert explanation.importances[1] == 0


def messy_table():
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "height": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "colour": rng.choice(["red", "green", "blue"], n),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 600, n), "D"),
        }
    )
    y = np.where(table["height"].isna(), 2.0, table["height"]) + 2 * (table["colour"] == "red")
    return table, y


def test_categories_dates_and_gaps_count_for_their_column():
    table, y = messy_table()
    model = BNeuralTRegressor(**FAST).fit(table, y)
    explanation = model.explain(table)
    assert explanation.values.shape == (300, 3)
    assert explanation.feature_names == ["height", "colour", "day"]
    np.testing.assert_allclose(added_up(explanation), model.predict(table), rtol=1e-9)
    row = int(np.flatnonzero(table["height"].isna())[0])
    assert "height is missing on" in explanation.sentence(row, n_features=3)
    assert f"colour = {table['colour'][row]} on" in explanation.sentence(row, n_features=3)
    baseline = model.explain(table.iloc[:5], baseline=table.iloc[[7]])
    assert baseline.baseline == pytest.approx(model.predict(table.iloc[[7]])[0])
    listed = model.explain(table.iloc[:5], baseline=table.iloc[7].tolist())
    np.testing.assert_allclose(listed.values, baseline.values)


def test_several_baselines_are_averaged(iris, iris_model):
    X, _ = iris
    one, two, both = (iris_model.explain(X, baseline=X.iloc[i]) for i in ([0], [90], [0, 90]))
    np.testing.assert_allclose(both.values, (one.values + two.values) / 2)


def test_the_mean_is_known_after_loading(iris, iris_model, tmp_path):
    X, _ = iris
    iris_model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.explain(X).values, iris_model.explain(X).values)
    np.testing.assert_allclose(loaded.feature_importances_, iris_model.feature_importances_)


def test_the_sentence_names_value_paths_and_class(iris, iris_model):
    X, _ = iris
    sentence = iris_model.explain(X).sentence(120, output="2")
    assert " path" in sentence
    assert sentence.endswith(" for 2")
    assert " = " in sentence


def test_a_data_frame_of_contributions(iris, iris_model):
    X, _ = iris
    explanation = iris_model.explain(X)
    frame = explanation.to_frame()
    assert frame.shape == (150, 12)
    np.testing.assert_array_equal(frame["1"]["petal length (cm)"], explanation.values[:, 2, 1])
    probabilities = iris_model.explain(X.iloc[:3], output="probability")
    assert probabilities.to_frame().shape == (3, 12)


@pytest.mark.parametrize("kind", ["bar", "waterfall", "beeswarm"])
def test_plots(iris, iris_model, kind):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    X, _ = iris
    explanation = iris_model.explain(X)
    for row in (None, 70):
        ax = explanation.plot(kind, row=row, ax=Figure().subplots(), max_features=3)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert len(labels) == (4 if kind == "waterfall" else 3)
    with pytest.raises(ValueError, match="kind='pie' must be one of"):
        explanation.plot("pie", ax=ax)
    with pytest.raises(IndexError, match="row=150 must be 0 to 149"):
        explanation.plot(kind, row=150, ax=ax)


def test_importances_are_those_of_the_training_rows(iris, iris_model):
    X, _ = iris
    share = iris_model.feature_importances_
    assert share.shape == (4,)
    assert share.sum() == pytest.approx(1)
    of_rows = iris_model.explain(X).importances
    np.testing.assert_allclose(share, of_rows / of_rows.sum(), atol=0.02)
    forest = BNeuralForestClassifier(n_estimators=3, **FAST).fit(*iris)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    with pytest.raises(AttributeError):
        BNeuralTClassifier().feature_importances_  # noqa: B018


def test_scikit_learns_inspection_takes_models(iris, iris_model):
    X, y = iris
    importances = permutation_importance(iris_model, X, y, n_repeats=2, random_state=0)
    assert importances.importances_mean.shape == (4,)
    curves = partial_dependence(iris_model, X, [2], grid_resolution=5)
    assert curves["average"].shape == (3, 5)


def test_mean_slopes_of_a_softmax_are_exact_sums():
    rng = np.random.default_rng(0)
    start, end = rng.normal(size=4), 30 * rng.normal(size=(20, 4))
    slopes = mean_slopes(SOFTMAX, start, end)
    change = np.einsum("nij,nj->ni", slopes, end - start)
    np.testing.assert_allclose(change, softmax(end, axis=1) - softmax(start), atol=1e-12)


POWERS = exp(OUTPUTS - largest(OUTPUTS))


@pytest.mark.parametrize("averages", ["outputs", "predictions"])
@pytest.mark.parametrize(
    "link",
    [
        OUTPUTS,
        square(OUTPUTS),
        sigmoid(2 * OUTPUTS) - 1,
        SOFTMAX,
        shares(1e-3),
        square(POWERS) / (1 + total(POWERS)),
        maximum(OUTPUTS, 0.0) - largest(OUTPUTS),
    ],
    ids=lambda link: link.operation,
)
def test_any_link_adds_up(link, averages):
    trees = tuple(NeuralTree.random(4, 3, random_state=seed) for seed in range(3))
    model = replace(Model.of_tree(trees[0]), trees=trees, link=link, averages=averages)
    X = np.random.default_rng(0).normal(size=(20, 4))
    explanation = explain(model, X, baseline=np.zeros(4))
    expected = model.predictions(model.outputs(X))
    np.testing.assert_allclose(explanation.predictions, expected, atol=1e-12)
    np.testing.assert_allclose(added_up(explanation), expected, atol=1e-9)


def test_quantiles_are_explained_before_they_are_sorted():
    tree = NeuralTree.random(4, 3, random_state=0)
    X = np.random.default_rng(0).normal(size=(20, 4))
    model = replace(Model.of_tree(tree), link=ordered(OUTPUTS, [0, 2, 1]))
    explanation = explain(model, X)
    np.testing.assert_allclose(explanation.predictions, tree.forward(X))


def test_data_frames_are_found_by_names(iris, iris_model):
    X, _ = iris
    turned = X[X.columns[::-1]]
    inputs = iris_model.encoder_.encode(X.to_numpy())
    np.testing.assert_array_equal(iris_model.model_.encode(turned), inputs)
    baseline = iris_model.explain(X, baseline=turned.iloc[[3]])
    assert baseline.baseline == pytest.approx(iris_model.decision_function(X.iloc[[3]])[0])
    with pytest.raises(ValueError, match="baseline cannot be used: X has no column 'sepal length"):
        iris_model.explain(X, baseline=X.iloc[[3], 1:])


def test_what_cannot_be_explained_is_refused(iris, iris_model):
    X, _ = iris
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().explain(X)
    with pytest.raises(ValueError, match=r"baseline has shape \(3,\).*4 features"):
        iris_model.explain(X, baseline=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="baseline='median' must be 'mean'"):
        iris_model.explain(X, baseline="median")
    with pytest.raises(ValueError, match=r"baseline cannot be used: .*infinity"):
        iris_model.explain(X, baseline=[1.0, 2.0, 3.0, np.inf])
    with pytest.raises(ValueError, match="output='logit' must be one of"):
        iris_model.explain(X, output="logit")
    with pytest.raises(ValueError, match="method='lime' must be one of"):
        iris_model.explain(X, method="lime")
    with pytest.raises(ValueError, match="feature names"):
        iris_model.explain(X.iloc[:, :3])
    with pytest.raises(ValueError, match="output='score' is for classifiers"):
        inputs = iris_model.encoder_.encode(X.to_numpy())
        explain(Model.of_tree(iris_model.tree_), inputs, output="score")
    n_inputs = iris_model.encoder_.n_inputs
    with pytest.raises(ValueError, match=f"5 columns, the model has {n_inputs} features"):
        explain(Model.of_tree(iris_model.tree_), np.zeros((2, 5)))
    explanation = iris_model.explain(X)
    with pytest.raises(ValueError, match="output='9' is not one of the outputs: '0', '1', '2'"):
        explanation.sentence(output="9")
