"""The interactive page computes what the model predicts, in a real browser."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeClassifier,
    load_model,
)
from bneuralt.expressions.operations import DATE_PARTS
from tests.helpers.flat import flat
from tests.helpers.pages import (
    SMALL,
    as_rows,
    check_page,
    decision,
    iris,
    open_page,
    predictions,
    table,
)
from tests.helpers.tables import DIABETES, IRIS

ODD = ["gaussian", "leaky_relu", "bipolar", "unipolar", "linear_tanh", "linear_sigmoid", "relu"]
SQUARES = {"loss": "squared_error", "output_activation": "sigmoid"}


def diabetes(estimator, target, **options):
    X, y = DIABETES
    targets = {
        "one": y,
        "several": np.stack([y, -2 * y, X[:, 0]], axis=1),
        "counts": np.round(y / 50),
        "labels": (X[:, 2:4] > 0).astype(int),
    }
    return flat(estimator, **{**SMALL, **options}).fit(X, targets[target]), X


def bent(model, X):
    """The model with bent leaves."""
    smaller = model.simplify()
    assert any(getattr(feature, "curves", ()) for feature in smaller.encoder_.features)
    return smaller, X


MODELS = {
    "iris": iris,
    "bent leaves": lambda: bent(*diabetes(BNeuralTRegressor, "one", n_weights=300)),
    "bent leaves, forest": lambda: bent(*iris(BNeuralForestClassifier, n_estimators=4, ramps=4)),
    "forest": lambda: iris(BNeuralForestClassifier, n_estimators=4),
    "sigmoid outputs": lambda: iris(**SQUARES),
    "activations": lambda: iris(activation=ODD, train_activations=True),
    "table": table,
    "table, forest": lambda: table(BNeuralForestClassifier, n_estimators=3),
    "regression": lambda: diabetes(BNeuralTRegressor, "one"),
    "several": lambda: diabetes(BNeuralForestRegressor, "several", n_estimators=3),
    "counts": lambda: diabetes(BNeuralForestRegressor, "counts", loss="poisson", n_estimators=3),
    "quantiles": lambda: diabetes(
        BNeuralForestRegressor, "one", loss="quantile", quantiles=(0.9, 0.1, 0.5), n_estimators=3
    ),
    "labels": lambda: diabetes(BNeuralTClassifier, "labels"),
    "labels, sigmoid": lambda: diabetes(
        BNeuralForestClassifier, "labels", n_estimators=2, **SQUARES
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_the_page_predicts_what_the_model_predicts(browser, kind, tmp_path):
    model, X = MODELS[kind]()
    open_page(browser, model, tmp_path)
    rows = X[:12] if isinstance(X, np.ndarray) else X.iloc[::11].head(12)
    expected = getattr(model, "predict_proba", model.predict)(rows).reshape(len(rows), -1)
    numbers = np.array(predictions(browser, as_rows(rows)))
    np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", [BNeuralTClassifier, BNeuralForestClassifier])
def test_trees_in_single_precision(browser, estimator, tmp_path):
    model, X = iris(estimator, dtype="float32")
    open_page(browser, model, tmp_path)
    numbers = np.array(predictions(browser, as_rows(X[::10])))
    np.testing.assert_allclose(numbers, model.predict_proba(X[::10]), rtol=0, atol=1e-6)


def test_trees_found_by_evolution(browser, tmp_path):
    X, y = IRIS
    model = EvolvedTreeClassifier(population_size=8, n_generations=2, random_state=0).fit(X, y)
    check_page(browser, model, X[::15], tmp_path)


def test_a_model_from_a_file_has_the_same_page(browser, tmp_path):
    model, X = table()
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.encoder_.ranges == model.encoder_.ranges
    np.testing.assert_allclose(loaded.history_["train_loss"], model.history_["train_loss"], 1e-5)
    open_page(browser, loaded, tmp_path)
    numbers = np.array(predictions(browser, as_rows(X[:5])))
    np.testing.assert_allclose(numbers, model.predict_proba(X[:5]), rtol=1e-9)
    assert "epochs" in browser.run("return document.querySelector('#history svg').ariaLabel")


def test_unseen_and_missing_values_are_treated_as_in_python(browser, tmp_path):
    frame = pd.DataFrame({"x": list("aabbbbbbcd"), "y": list("uuvvwwwwuu"), "z": np.arange(10.0)})
    model = BNeuralTClassifier(**SMALL).fit(frame, np.arange(10) % 2)
    later = pd.DataFrame({"x": ["z", None], "y": ["z", "u"], "z": [np.nan, 3.0]})
    open_page(browser, model, tmp_path)
    numbers = np.array(predictions(browser, as_rows(later)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.predict_proba(later)
    np.testing.assert_allclose(numbers, expected, rtol=1e-9)


def test_dates_with_hours_and_in_local_formats(browser, tmp_path):
    days = pd.date_range("1999-12-28 05:00", periods=60, freq="31h").strftime("%d.%m.%Y %H:%M")
    frame = pd.DataFrame({"when": days})
    model = BNeuralTRegressor(**SMALL).fit(frame, np.arange(60.0) % 24)
    assert model.encoder_.features[0].parts == tuple(DATE_PARTS)
    open_page(browser, model, tmp_path)
    numbers = np.array(predictions(browser, as_rows(frame[::9]))).ravel()
    np.testing.assert_allclose(numbers, model.predict(frame[::9]), rtol=1e-9)


def test_categories_that_are_numbers(browser, tmp_path):
    X = pd.DataFrame({"code": [1.0, 2.0, 30.0] * 20, "size": np.arange(60.0)})
    model = BNeuralTClassifier(**SMALL, categorical_features=["code"]).fit(X, X.code == 2)
    open_page(browser, model, tmp_path, examples=X[:3])
    for code, row in zip(X.code[:3], range(3), strict=True):
        assert browser.run("return document.querySelector('#fields select').value") == f"={code:g}"
        expected = model.predict_proba(X[row : row + 1]).max()
        assert decision(browser)[1] == pytest.approx(expected, rel=1e-9)
        browser.run("document.getElementById('next').click()")


def test_the_typical_row_has_the_most_frequent_category(browser, tmp_path):
    X = pd.DataFrame({"colour": list("rrgrrb") * 10, "member": list("nnnnny") * 10})
    X["size"], X["when"] = np.arange(60.0), pd.date_range("2024-01-01", periods=60)
    open_page(browser, BNeuralTRegressor(**SMALL).fit(X, np.arange(60.0)), tmp_path)
    values = "return [...document.querySelectorAll('#fields [id]')].map((field) => field.value)"
    assert browser.run(values) == ["=r", "=n", "29.5", "2024-01-30"]


def test_numbers_outside_of_limits_and_on_ramps(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.standard_cauchy(200), "age": rng.uniform(18, 90, 200)})
    X.loc[:20, "age"] = np.nan
    y = X["income"].clip(-2, 2) + (X["age"] > 65)
    model = BNeuralTRegressor(**SMALL, n_weights=40).fit(X, y)
    used = [model.model_.inputs[i] for i in model.model_.used_inputs]
    assert any(not entry.is_drawn for entry in used)  # ramps
    (low, high), (youngest, oldest) = (feature.limits for feature in model.encoder_.features)
    assert X["income"].min() < low and high < X["income"].max()
    incomes = [-1e6, low - 1, low, low / 2, 0.1, high, high + 1, 1e6]
    ages = [youngest - 1, 30.0, np.nan, 55.5, 66.6, 70.0, oldest, oldest + 1]
    rows = pd.DataFrame([(a, b) for a in incomes for b in ages], columns=X.columns)
    open_page(browser, model, tmp_path)
    numbers = np.array(predictions(browser, as_rows(rows)))[:, 0]
    np.testing.assert_allclose(numbers, model.predict(rows), rtol=1e-9, atol=1e-9)
    names = "return [...document.querySelectorAll('#fields label')].map((x) => x.textContent)"
    assert browser.run(names) == ["income", "age"]  # one field per column, whatever its inputs
