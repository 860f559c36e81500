"""Leaves and branches that contribute nothing are removed at the end of `fit`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bneuralt import (
    PAPER_SETTINGS,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    Growth,
    NeuralTree,
    _core,
)
from bneuralt.fitting import tree as fitting_of_trees
from bneuralt.shrinking import without_idle_branches
from bneuralt.training import TrainingDiverged
from tests import reference
from tests.helpers.strategies import neural_trees, seeds


def table(n_rows=4000, n_columns=8, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module")
def fitted():
    """An estimator with the tree before the removal."""
    X, y = table()
    settings = {"random_state": 0, "max_epochs": 40, "weight_decay": 0.5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting_of_trees, "without_idle_branches", lambda tree, *ends: tree)
        before = BNeuralTRegressor(**settings).fit(X, y).tree_
    return BNeuralTRegressor(**settings).fit(X, y), before, X, y


@settings(max_examples=150)
@given(neural_trees(), seeds, st.floats(0, 1))
def test_outputs_stay_the_same(tree, seed, share):
    rng = np.random.default_rng(seed)
    n_nodes, k = tree.parent.size, tree.n_outputs
    weights = tree.parameters.astype(float)
    links = slice(n_nodes, 2 * n_nodes - k + tree.n_leaves)
    small = rng.random(weights[links].size) < share
    weights[links][small] *= 1e-9
    tree = tree.astype(np.float64).with_parameters(weights)
    X = rng.uniform(-1, 1, size=(50, tree.n_inputs))
    pruned = without_idle_branches(tree, X.min(axis=0), X.max(axis=0))
    assert pruned.n_parameters <= tree.n_parameters
    # every removed unit changes a sum by the tolerance at most; edges above multiply the change
    size = (1.0 + np.abs(weights).max()) ** (tree.depth + 2)
    error = 1e-7 * tree.n_parameters**2 * size
    np.testing.assert_allclose(pruned.forward(X), tree.forward(X), rtol=0, atol=error)


@settings(max_examples=150)
@given(neural_trees(), seeds, st.floats(0, 0.5))
def test_idle_branches_are_those_of_the_reference(tree, seed, tolerance):
    low, high = np.sort(np.random.default_rng(seed).normal(size=(2, tree.n_inputs)), axis=0)
    place, middle = _core.idle_branches(tree.core, low, high, tolerance)
    least, most = reference.contribution_bounds(tree, low, high)
    parent = np.concatenate([tree.parent[tree.n_outputs :], tree.leaf_parent])
    span = most - least
    of_sum = np.bincount(parent, span, minlength=tree.parent.size)[parent]
    margin = 1e-9 * (1 + of_sum)  # values of activations differ in their last digits
    is_idle = np.isin(np.arange(span.size), place)
    assert not np.any(is_idle & (span > tolerance * of_sum + margin))
    assert not np.any(~is_idle & (span < tolerance * of_sum - margin))
    np.testing.assert_allclose(middle, ((least + most) / 2)[place], rtol=1e-9, atol=1e-9)


def test_only_what_varies_less_than_rounding_is_removed():
    structure = 2, 1, [-1], [0], [0, 0], [0, 1]
    ends = np.zeros(2), np.ones(2)
    kept = NeuralTree(*structure, [0.0, 1.0, 1e-6])
    assert without_idle_branches(kept, *ends) is kept
    removed = without_idle_branches(NeuralTree(*structure, [0.0, 1.0, 1e-8]), *ends)
    np.testing.assert_allclose(removed.parameters, [5e-9, 1.0])


def test_a_default_tree_is_smaller_and_predicts_the_same(fitted):
    model, before, X, y = fitted
    assert model.n_parameters_ < before.n_parameters
    expected = before.forward(model.encoder_.encode(X)).ravel()
    assert np.abs(model.predict(X) - expected).max() < 1e-5 * y.std()
    assert model.model_.trees[0].n_parameters == model.n_parameters_


def test_later_training_continues_from_the_smaller_tree(fitted):
    model, _, X, y = fitted
    score, size = model.score(X, y), model.n_parameters_
    model.partial_fit(X, y)
    assert model.n_parameters_ == size
    assert model.score(X, y) > score - 0.1


def test_trees_that_are_trained_further_or_limited_by_growth_keep_their_branches():
    X, y = table(300, 3)
    X[:, 2] = 0.0
    settings = {"random_state": 0, "max_epochs": 3}
    for change in (
        {"warm_start": True},
        {"growth": Growth(max_size=40)},
        {key: value for key, value in PAPER_SETTINGS.items() if key != "max_epochs"},
    ):
        calls = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                fitting_of_trees,
                "without_idle_branches",
                lambda tree, *ends, calls=calls: calls.append(ends) or tree,
            )
            BNeuralTRegressor(**(settings | change)).fit(X, y)
        assert not calls, change


def test_trees_of_a_forest_have_fewer_weights_too(fitted):
    _, _, X, y = fitted
    settings = {"n_estimators": 2, "max_epochs": 40, "weight_decay": 0.5, "random_state": 0}
    forest = BNeuralForestRegressor(**settings).fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting_of_trees, "without_idle_branches", lambda tree, *ends: tree)
        drawn = BNeuralForestRegressor(n_weights=3200, **settings).fit(X, y)
    assert forest.n_parameters_ < drawn.n_parameters_
    np.testing.assert_allclose(forest.predict(X), drawn.predict(X), atol=1e-4 * y.std())
    explicit = BNeuralForestRegressor(n_weights=3200, **settings).fit(X, y)
    assert explicit.model_.trees == forest.model_.trees


def test_monotonic_effects_stay_proven():
    X, y = table(3000, 6)
    labels = (y > 0).astype(int)
    model = BNeuralTClassifier(monotonic_cst=[0, 1, 0, 0, 0, 0], random_state=0, max_epochs=30)
    model.fit(X, labels)
    assert model.check_monotonic()


def test_a_training_that_diverged_ends_with_its_warning():
    with pytest.warns(TrainingDiverged):
        BNeuralTRegressor(learning_rate=1e30, random_state=0).fit(*table(60, 2))
