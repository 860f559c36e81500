"""Tests of effects: compared with means of predictions, and with scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EffectDisplay,
    EvolvedTreeRegressor,
    NeuralTree,
    load_model,
)
from bneuralt.explaining import effect, surface
from bneuralt.explaining.effects import TOLERANCE
from bneuralt.model import Model

FAST = {"max_epochs": 5, "dtype": "float64", "random_state": 0}


def mixed_table(n_rows=120):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "height": np.where(rng.random(n_rows) < 0.3, np.nan, rng.normal(170, 10, n_rows)),
            "colour": rng.choice(["red", "green", "blue", None], n_rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n_rows), "D"),
            "width": rng.random(n_rows),
        }
    )
    target = table["height"].isna() * 5 + (table["colour"] == "red") * 2 + table["width"]
    return table, target + table["day"].dt.month


MIXED, MIXED_TARGET = mixed_table()


@pytest.fixture(scope="module")
def mixed():
    return BNeuralTRegressor(**FAST).fit(MIXED, MIXED_TARGET)


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("kind", [BNeuralTRegressor, BNeuralForestRegressor, EvolvedTreeRegressor])
def test_effects_on_values_are_those_of_scikit_learn(kind, column):
    X, y = load_diabetes(return_X_y=True)
    options = {"n_generations": 2, "random_state": 0} if kind is EvolvedTreeRegressor else FAST
    model = kind(**options).fit(X, y)
    expected = partial_dependence(model, X, [column], method="brute", grid_resolution=20)
    curve = model.effect(column, X, at=expected["grid_values"][0])
    np.testing.assert_allclose(curve.y.T, expected["average"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [BNeuralTClassifier, BNeuralForestClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("output", ["probability", "score"])
def test_effects_on_classes_are_those_of_scikit_learn(kind, n_classes, output):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = kind(**FAST).fit(X, y)
    method = {"probability": "predict_proba", "score": "decision_function"}[output]
    expected = partial_dependence(
        model, X, [2], method="brute", response_method=method, grid_resolution=20
    )
    curve = model.effect(2, X, at=expected["grid_values"][0], output=output)
    np.testing.assert_allclose(curve.y.T, expected["average"], rtol=1e-6, atol=1e-6)
    assert curve.output_names == (["1"] if n_classes == 2 else ["0", "1", "2"])
    assert curve.explains == output


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_lines_between_points_are_as_exact_as_stated(seed):
    rng = np.random.default_rng(seed)
    tree = NeuralTree.random(2, 2, n_weights=40, init_scale=3.0, random_state=seed)
    model = Model.of_tree(tree.astype(np.float64))
    X = rng.normal(size=(8, 2)) * 2
    curve = effect(model, 0, X)
    x = np.linspace(curve.x[0], curve.x[-1], 2001)
    exact = effect(model, 0, X, at=x).y
    span = np.ptp(exact, axis=0).max()
    for k in range(2):
        lines = np.interp(x, curve.x, curve.y[:, k])
        # the middle of an interval is not always its worst place
        assert np.abs(lines - exact[:, k]).max() <= 2 * TOLERANCE * span + 1e-12


@pytest.mark.parametrize("column", ["colour", "height", "day"])
def test_each_point_is_a_mean_of_predictions(mixed, column):
    curve = mixed.effect(column, MIXED)
    for i in np.linspace(0, len(curve.x) - 1, 7).astype(int):
        changed = MIXED.copy()
        changed[column] = curve.x[i]
        assert curve.y[i, 0] == pytest.approx(mixed.predict(changed).mean(), abs=1e-9)


@pytest.mark.parametrize("column", ["colour", "height"])
def test_missing_values_have_their_own_point(mixed, column):
    changed = MIXED.copy()
    changed[column] = None if column == "colour" else np.nan
    expected = mixed.predict(changed).mean()
    assert mixed.effect(column, MIXED).missing == pytest.approx([expected], abs=1e-9)
    assert mixed.effect("width", MIXED).missing is None


def test_points_of_each_kind(mixed):
    colour, day = mixed.effect("colour", MIXED), mixed.effect("day", MIXED)
    assert colour.x.tolist() == ["blue", "green", "red"]
    assert (colour.kind, day.kind, mixed.effect("height").kind) == ("category", "date", "number")
    assert day.x[0] == MIXED["day"].min() and day.x[-1] == MIXED["day"].max()
    assert np.diff(day.x).max() == np.timedelta64(1, "D")
    assert sorted(colour.rows) == sorted(MIXED["colour"].dropna())


def test_reference_rows_are_in_model_files(mixed, tmp_path):
    mixed.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    for column in MIXED:
        np.testing.assert_array_equal(loaded.effect(column).y, mixed.effect(column).y)
    assert loaded.effect("width").rows is None


def test_reference_rows_stand_for_the_training_rows():
    X, y = load_diabetes(return_X_y=True)
    model = BNeuralTRegressor(dtype="float64", random_state=0).fit(X, y)
    reference, inputs = model.model_.reference, model.encoder_.encode(X)
    assert reference.shape == (16, inputs.shape[1])
    assert not {tuple(row) for row in reference} & {tuple(row) for row in inputs}
    difference = np.abs(reference.mean(axis=0) - inputs.mean(axis=0))
    assert (difference <= 0.05 * inputs.std(axis=0)).all()
    whole, few = model.effect(2, X), model.effect(2)
    at = np.linspace(-0.08, 0.15, 20)
    change = [
        model.effect(2, rows, at=at).y - model.effect(2, rows, at=[0.0]).y for rows in (X, None)
    ]
    assert np.abs(change[0] - change[1]).max() < 0.25 * np.ptp(whole.y)
    assert few.x[0] == X[:, 2].min()


def test_few_rows_are_never_stored():
    X = np.arange(8.0)[:, np.newaxis]
    model = BNeuralTRegressor(max_epochs=1, random_state=0).fit(X, X[:, 0])
    (row,) = model.model_.reference
    np.testing.assert_allclose(row, model.encoder_.encode(X).mean(axis=0), atol=1e-3)
    assert row[0] == 3.5


def test_rows_outside_of_the_training_range_are_marked(mixed):
    X = MIXED.assign(width=np.linspace(-1, 3, len(MIXED)))
    curve = mixed.effect("width", X)
    low, high = MIXED["width"].min(), MIXED["width"].max()
    np.testing.assert_array_equal(curve.is_extrapolated, (curve.x < low) | (curve.x > high))
    axes = curve.plot()
    assert "outside of the training rows" in axes.get_title(loc="right")


def test_a_constant_column_has_one_point():
    X, y = load_diabetes(return_X_y=True)
    X[:, 3] = 1.0
    model = BNeuralTRegressor(**FAST).fit(X, y)
    curve = model.effect(3, X)
    assert curve.is_constant and curve.x.tolist() == [1.0]
    assert "constant" in curve.plot().get_xlabel()


def test_a_surface_is_a_mean_of_predictions(mixed):
    both = surface(mixed.model_, ("height", "colour"), MIXED)
    assert both.y.shape == (both.x[0].size, 3, 1)
    bends = mixed.effect("height", MIXED).knots
    assert bends.size > 2 and np.isin(bends, both.x[0]).all()
    assert np.diff(bends).min() > 1e-9  # the end of a ramp and the start of the next are one knot
    changed = MIXED.assign(height=both.x[0][4], colour=both.x[1][1])
    assert both.y[4, 1, 0] == pytest.approx(mixed.predict(changed).mean(), abs=1e-9)


def test_a_display_shares_the_vertical_axes(mixed):
    display = EffectDisplay.from_estimator(
        mixed, MIXED, ["height", "colour", "day", ("height", "width"), ("colour", "day")]
    )
    limits = {axes.get_ylim() for axes in display.axes_[:3]}
    assert len(limits) == 1 and len(display.axes_) == 5
    low, high = limits.pop()
    heights = [y for axes in display.axes_[:3] for line in axes.lines for y in line.get_ydata()]
    assert heights and low <= min(heights) and max(heights) <= high
    assert [axes.get_xlabel() for axes in display.axes_[:2]] == ["height", "colour"]
    again = display.plot(display.axes_[:5])
    assert again.figure_ is display.figure_


def test_a_display_of_many_classes_has_one_curve_for_each():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = BNeuralTClassifier(**FAST).fit(X, y)
    display = EffectDisplay.from_estimator(model)
    assert [text.get_text() for text in display.axes_[0].get_legend().get_texts()] == list("012")
    single = EffectDisplay.from_estimator(model, features=[0], target="2")
    assert single.axes_[0].get_ylabel() == "probability of 2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"column": "age"}, "column='age' is not a column; they are height, colour, day, width"),
        ({"column": 4}, "column=4 must be 0 to 3"),
        ({"column": 1.5}, "column=1.5 must be the name or the position of a column"),
        ({"column": ("height", "height")}, "two different columns"),
        ({"column": ("height",)}, "must be one column, or a pair"),
        ({"column": "width", "at": [np.inf]}, "must be finite numbers for column 'width'"),
        ({"column": "colour", "at": ["pink"]}, "must be values of training for column 'colour'"),
        ({"column": "day", "at": ["soon"]}, "must be dates for column 'day'"),
        ({"column": "width", "output": "score"}, "output='score' is for classifiers"),
        ({"column": "width", "X": MIXED[:0]}, "0 sample|no rows"),
    ],
)
def test_wrong_arguments_are_refused(mixed, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mixed.effect(**arguments)


def test_a_model_without_reference_rows_asks_for_rows():
    X, y = load_iris(return_X_y=True)
    model = BNeuralTClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="has no reference rows, which fit computes"):
        model.effect(0)
    assert model.effect(0, X).y.shape[1] == 3


def test_an_effect_without_any_value_of_its_column_has_no_marks_of_rows():
    table = MIXED.assign(height=np.nan)
    model = BNeuralTRegressor(**FAST).fit(MIXED, MIXED_TARGET)
    effect_of_height = model.effect("height", table)
    assert effect_of_height.rows.size == 0
    axes = [EffectDisplay([e]).plot().axes_.ravel()[0] for e in
            (effect_of_height, model.effect("height", MIXED))]  # fmt: skip
    assert len(axes[0].collections) < len(axes[1].collections)


@pytest.mark.parametrize("features", ["height", [], ()])
def test_plots_need_a_list_of_columns(features):
    model = BNeuralTRegressor(**FAST).fit(MIXED, MIXED_TARGET)
    with pytest.raises(ValueError, match="must be a list of at least one column"):
        EffectDisplay.from_estimator(model, MIXED, features)


def test_plots_of_many_categories_have_the_smallest_and_the_largest_effects():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 90, 900)
    X = pd.DataFrame({"shop": [f"s{i:02}" for i in shop], "size": rng.normal(size=900)})
    reg = BNeuralTRegressor(**FAST, categorical_features={"shop": "means"}).fit(X, shop / 30)
    curve = reg.effect("shop")
    assert len(curve.x) == 90
    short = curve.shortened()
    order = np.argsort(curve.y[:, 0], kind="stable")
    assert short.x.tolist() == curve.x[np.append(order[:20], order[-20:])].tolist()
    assert (np.diff(short.y[:, 0]) >= 0).all()
    ax = curve.plot()
    assert len(ax.get_xticks()) == 40
    assert ax.get_xlabel() == "shop (40 of 90 values)"
    number = reg.effect("size")
    assert number.shortened() is number
