"""Rust, Go and Java compute what the model computes."""

from functools import reduce

import numpy as np
import pandas as pd
import pytest

from bneuralt import BNeuralForestRegressor, NeuralTree
from bneuralt.expressions import tanh
from bneuralt.tree.activations import NAMES, get_activation
from tests.export.test_translation import VECTORS, assert_agrees, described, identity, normal_rows
from tests.helpers.compiled import COMPILED
from tests.helpers.fitted_models import random_model
from tests.helpers.runners import available, compare, compare_contributions


@pytest.fixture(scope="module", params=[runner.name for runner in COMPILED])
def runner(request):
    return available(request.param)


@pytest.mark.parametrize("seed", [0, 2, 3, 6, 7, 17, 24, 27])
def test_programs_equal_the_model(runner, seed):
    drawn = random_model(seed, 40)
    compare(runner, drawn)
    compare_contributions(runner.contributions, drawn)


def test_long_forests_are_tables(runner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    forest = BNeuralForestRegressor(
        n_estimators=60, n_weights=200, max_epochs=1, dtype="float64", random_state=0
    ).fit(X, X[:, 0])
    model = forest.model_
    rows = pd.DataFrame(X, columns=[column.name for column in model.columns])
    values = runner.predict(model, rows)[1][:, 0]
    np.testing.assert_allclose(values, forest.predict(X), rtol=1e-9, atol=1e-9)


def test_every_operation(runner):
    """One model has all of them; each is limited, so that all count."""
    link = reduce(lambda a, b: a + b, (tanh(0.1 * vector) for vector in VECTORS.values()))
    assert_agrees(runner, described(identity(3), link), normal_rows(0), rtol=1e-9)


def test_every_activation(runner):
    k = len(NAMES)
    activations = [get_activation(name) for name in NAMES]
    tree = NeuralTree(
        k,
        k,
        [-1] * k,
        [activation.code for activation in activations],
        range(k),
        range(k),
        [0.0] * k + [1.0] * k,
        activation_parameters=[x for activation in activations for x in activation.values],
    )
    rows = [*normal_rows(1, k=k), [1e100] * k, [-1e100] * k, [1e-9] * k, [800.0] * k]
    assert_agrees(runner, described(tree), rows, rtol=1e-9)
