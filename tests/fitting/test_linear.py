"""The linear part of models: what it is fitted to, what it must keep, and where it is."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
)
from bneuralt.fitting.linear import _Models, refitted
from bneuralt.fitting.options import Options
from bneuralt.fitting.problem import read_problem
from bneuralt.fitting.row_losses import RowLoss

#: A linear part alone, with a penalty of 1.
ALONE = Growth(linear_share=1.0, linear_penalty=1.0)


def alone(cls, **parameters):
    return cls(
        growth=ALONE, output_factor=0.0, ramps=0, scale="standard", random_state=0, **parameters
    )


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_it_is_logistic_regression(load):
    X, y = load(return_X_y=True)
    Z = scaled(X)
    n_classes = y.max() + 1
    other = LogisticRegression(C=2.0 if n_classes == 2 else 1.0, max_iter=2000).fit(Z, y)
    model = alone(BNeuralTClassifier).fit(X, y)
    difference = np.abs(model.predict_proba(X) - other.predict_proba(Z))  # of few iterations
    assert difference.mean() < 0.02


def test_it_is_ridge_regression():
    X, y = load_diabetes(return_X_y=True)
    other = Ridge(alpha=1.0).fit(scaled(X), y)
    model = alone(BNeuralTRegressor).fit(X, y)
    expected = other.predict(scaled(X))
    assert np.abs(model.predict(X) - expected).max() < 0.02 * y.std()


def test_it_is_poisson_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1]))
    other = PoissonRegressor(alpha=1.0 / y.sum(), max_iter=1000).fit(scaled(X), y)
    model = alone(BNeuralTRegressor, loss="poisson").fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(scaled(X)), rtol=0.05)


@pytest.mark.parametrize(
    "loss",
    [
        RowLoss("classes", np.eye(3)[:, [0, 2, 1, 1]]),
        RowLoss("two classes", np.array([[0.0, 1.0, 1.0, 0.2]])),
        RowLoss("counts", np.array([[0.0, 3.0, 1.0, 2.0]])),
        RowLoss("numbers", np.array([[0.0, 3.0, 1.0, 2.0]])),
        RowLoss("numbers", np.array([[0.0, 3.0, 1.0, 2.0]]), -0.5, 0.5),
        RowLoss(
            "numbers", np.zeros((2, 4)), -np.array([[0.1], [0.9]]), np.array([[0.9], [0.1]]), 20.0
        ),
    ],
)
def test_slopes_are_derivatives(loss):
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(2, *loss.target.shape))
    _, slopes = loss(outputs)
    step = 1e-6
    for place in np.ndindex(outputs.shape):
        change = np.zeros_like(outputs)
        change[place] = step
        difference = loss(outputs + change)[0] - loss(outputs - change)[0]
        assert difference.sum() / (2 * step) == pytest.approx(slopes[place], abs=1e-4)


@pytest.mark.parametrize("cls", [BNeuralTRegressor, BNeuralForestRegressor])
def test_monotone_constraints_hold(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + X[:, 1] - X[:, 2] + 0.1 * rng.normal(size=200)
    model = cls(monotonic_cst=[1, -1, 0, 1], random_state=0).fit(X, y)
    assert model.recipe_.growth.linear_share > 0.0
    for column, sign in ((0, 1), (1, -1), (3, 1)):
        line = np.repeat(X[:5], 40, axis=0)
        line[:, column] = np.tile(np.linspace(-4, 4, 40), 5)
        change = np.diff(model.predict(line).reshape(5, 40), axis=1)
        assert np.all(sign * change >= -1e-6)


def test_a_sum_does_not_interact():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=200)
    model = BNeuralTRegressor(interaction_cst="no_interactions", random_state=0).fit(X, y)
    assert model.recipe_.growth.linear_share > 0.0
    corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    base, one, two, both = model.predict(corners)
    assert both - one - two + base == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("n_columns", [5, 100])
@pytest.mark.parametrize("cls", [BNeuralTClassifier, BNeuralForestClassifier])
def test_the_size_is_at_most_a_tenth_larger(cls, n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, n_columns))
    y = np.digitize(X[:, 0] + X[:, 1], [-1.0, 0.0, 1.0])
    model = cls(random_state=0, max_epochs=30).fit(X, y)
    n_trees = len(model.model_.trees)
    assert model.recipe_.growth.linear_share > 0.0
    assert model.n_parameters_ <= 1.1 * n_trees * model.recipe_.n_weights + 1


def test_it_can_be_switched_off():
    X, y = load_iris(return_X_y=True)
    growth = Growth(linear_share=0.0)
    model = BNeuralTClassifier(growth=growth, random_state=0).fit(X, y)
    assert model.recipe_.growth.linear_share == 0.0
    assert model.recipe_.reasons["linear_share"] == "set"
    usual = BNeuralTClassifier(random_state=0).fit(X, y)
    assert np.abs(usual.predict_proba(X) - model.predict_proba(X)).max() > 1e-3


def test_out_of_bag_scores_are_of_rows_that_the_linear_part_has_not_seen():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 40)), rng.normal(size=80)
    growth = Growth(linear_share=1.0, linear_penalty=1.0)
    forest = BNeuralForestRegressor(
        bootstrap=True, growth=growth, output_factor=0.0, n_estimators=5, random_state=0
    )
    assert forest.fit(X, y).oob_score_ < 0.0 < 0.2 < forest.score(X, y)


def test_coefficients_of_rotated_and_plain_directions_agree():
    X, y = load_diabetes(return_X_y=True)
    options = BNeuralTRegressor(random_state=0)._options()
    assert isinstance(options, Options)
    problem = read_problem(options, X, y)
    weight = np.ones((1, len(problem.rows)))
    rotated = _Models(problem, problem.rows)
    plain = _Models(problem, problem.rows, kept=np.ones((1, rotated.inputs.size), dtype=bool))
    parts = []
    for models in (rotated, plain):
        start = models.at(models.constants(weight), weight)
        found = models.minimised(start, weight, 10.0, 200)
        parts.append(models.part(found.coefficients[0], 10.0))
    np.testing.assert_allclose(parts[0].weight, parts[1].weight, atol=1e-3)
    again = refitted(problem, parts[0], 10.0)
    np.testing.assert_allclose(again.weight, parts[0].weight, atol=1e-2)
