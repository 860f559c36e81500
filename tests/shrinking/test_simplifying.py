"""Simplification: the same outputs with fewer weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
)
from bneuralt.model import Model
from bneuralt.shrinking import saturated_nodes, simplify_trees
from bneuralt.tree.node_values import node_values
from bneuralt.tree.simplify import simplify
from tests.helpers.strategies import draw_tree, neural_trees, seeds
from tests.helpers.tables import DIABETES, IRIS

LINEAR, SIGMOID = 0, 1


def with_zeros(tree, rng, share=0.3):
    """The tree with some of its weights set to 0."""
    weights = tree.parameters.copy()
    n_weights = 2 * tree.parent.size - tree.n_outputs + tree.n_leaves
    zero = rng.random(n_weights) < share
    weights[:n_weights][zero] = 0.0
    return tree.with_parameters(weights)


def assert_same_outputs(small, tree, X):
    # intermediate sums may be much larger than the output: compare with the size of the terms
    expected = tree.forward(X)
    scale = np.abs(node_values(tree, X)).max() + np.abs(tree.parameters).max() + 1
    np.testing.assert_allclose(small.forward(X), expected, rtol=1e-10, atol=1e-12 * scale**2)


@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_1000_random_trees_keep_their_outputs(first):
    for seed in range(first, first + 250):
        rng = np.random.default_rng(seed)
        tree = with_zeros(draw_tree(rng, int(rng.integers(1, 4)), mixed=True), rng)
        small = simplify(tree)
        assert small.n_parameters <= tree.n_parameters
        assert_same_outputs(small, tree, rng.normal(size=(20, tree.n_inputs)))
        assert simplify(small) is small


@settings(max_examples=100)
@given(neural_trees(), seeds, st.floats(0, 1))
def test_any_tree_keeps_its_outputs(tree, seed, share):
    rng = np.random.default_rng(seed)
    tree = with_zeros(tree, rng, share)
    assert_same_outputs(simplify(tree), tree, rng.normal(size=(5, tree.n_inputs)))


def test_equal_inputs_under_one_parent_are_merged():
    tree = NeuralTree(2, 1, [-1], [SIGMOID], [0, 0, 0], [1, 0, 1], [0.5, 1.0, 2.0, 3.0])
    small = simplify(tree)
    assert small.leaf_input.tolist() == [1, 0]
    assert small.leaf_weight.tolist() == [4.0, 2.0]


def test_leaves_that_cancel_are_dropped():
    tree = NeuralTree(2, 1, [-1], [SIGMOID], [0, 0, 0], [1, 0, 1], [0.5, 1.0, 2.0, -1.0])
    assert simplify(tree).leaf_input.tolist() == [0]


def test_constant_subtrees_go_into_the_bias():
    # sigmoid(0) = 0.5 below a zero leaf, on an edge of weight 4
    tree = NeuralTree(2, 1, [-1, 0], [LINEAR, SIGMOID], [0, 1], [0, 1], [1.0, 0.0, 4.0, 2.0, 0.0])
    small = simplify(tree)
    assert small.parent.size == 1
    assert small.parameters.tolist() == [3.0, 2.0]


def test_a_constant_output_keeps_a_leaf_of_weight_0():
    tree = NeuralTree(2, 1, [-1, 0], [LINEAR, SIGMOID], [1], [1], [1.0, 0.0, 0.0, 2.0])
    small = simplify(tree)
    assert small.parameters.tolist() == [1.0, 0.0]
    assert small.forward([[3.0, 4.0]]).tolist() == [[1.0]]


def test_chains_of_linear_nodes_are_contracted():
    rng = np.random.default_rng(0)
    tree = NeuralTree.random(
        3, 1, max_depth=6, activation="linear", output_activation="tanh", random_state=rng
    )
    small = simplify(tree)
    assert small.parent.size == 1
    assert small.n_leaves <= 3
    assert_same_outputs(small, tree, rng.normal(size=(50, 3)))


def test_a_product_that_would_overflow_is_not_made():
    tree = NeuralTree(1, 1, [-1, 0], [SIGMOID, LINEAR], [1], [0], [0.0, 0.0, 1e200, 1e200])
    assert simplify(tree) is tree


def test_float32_trees_stay_float32():
    rng = np.random.default_rng(0)
    tree = NeuralTree.random(3, 2, activation="linear", dtype=np.float32, random_state=0)
    small = simplify(tree)
    assert small.dtype == np.float32
    X = rng.normal(size=(50, 3))
    np.testing.assert_allclose(small.forward(X), tree.forward(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [BNeuralTClassifier, BNeuralForestClassifier])
def test_classifiers_keep_their_predictions(kind):
    X, y = IRIS
    size = {"n_estimators": 4} if kind is BNeuralForestClassifier else {}
    model = kind(max_epochs=5, dtype="float64", random_state=0, **size).fit(X, y)
    small = model.simplify()
    assert type(small) is kind
    assert small.n_parameters_ < model.n_parameters_
    np.testing.assert_allclose(small.predict_proba(X), model.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("kind", [BNeuralTRegressor, BNeuralForestRegressor])
def test_regressors_keep_their_predictions(kind):
    X, y = DIABETES
    size = {"n_estimators": 4} if kind is BNeuralForestRegressor else {}
    model = kind(max_epochs=5, dtype="float64", random_state=0, **size).fit(X, y)
    small = model.simplify()
    assert small.n_parameters_ < model.n_parameters_
    np.testing.assert_allclose(small.predict(X), model.predict(X), rtol=1e-9)


def test_a_simplified_model_can_be_trained_further():
    X, y = IRIS
    model = BNeuralTClassifier(max_epochs=5, warm_start=True, random_state=0).fit(X, y)
    small = model.simplify()
    n_weights = small.n_parameters_
    small.set_params(max_epochs=3).fit(X, y)
    assert small.n_parameters_ == n_weights


def saturated_tree():
    """A linear output over two sigmoids, of which the second is 1 for inputs in [0, 1]."""
    return NeuralTree(
        1,
        1,
        [-1, 0, 0],
        [LINEAR, SIGMOID, SIGMOID],
        [1, 2],
        [0, 0],
        [0.0, 0.0, 50.0, 1.0, 2.0, 1.0, 1.0],
    )


def test_saturated_nodes_are_reported_and_folded_only_if_asked():
    tree, X = saturated_tree(), np.linspace(0, 1, 9)[:, np.newaxis]
    model = Model.of_tree(tree)
    (node,) = saturated_nodes(model, X)
    assert (node.node, node.value, node.n_weights) == (2, 1.0, 3)
    assert simplify_trees(model).trees == (tree,)
    (small,) = simplify_trees(model, [node]).trees
    assert small.n_parameters == tree.n_parameters - 3
    np.testing.assert_allclose(small.forward(X), tree.forward(X), atol=1e-12)


def test_saturated_nodes_of_an_estimator():
    X, y = IRIS
    model = BNeuralTClassifier(max_epochs=20, random_state=0).fit(X, y)
    assert all(node.span <= 0.05 for node in model.saturated_nodes(X, tolerance=0.05))
    small = model.simplify(saturated_on=X, tolerance=0.05)
    assert np.mean(small.predict(X) == model.predict(X)) > 0.95


def test_node_values_are_those_of_the_outputs_and_of_subtrees():
    rng = np.random.default_rng(0)
    tree = draw_tree(rng, 3, mixed=True)
    X = rng.normal(size=(7, tree.n_inputs))
    np.testing.assert_allclose(node_values(tree, X)[:, :3], tree.forward(X), rtol=1e-12)


def test_what_is_not_a_fitted_model_is_refused():
    with pytest.raises(NotFittedError):
        BNeuralTClassifier().simplify()
    with pytest.raises(ValueError, match="tolerance=-1 must be 0 or more"):
        saturated_nodes(Model.of_tree(saturated_tree()), [[0.0]], tolerance=-1)


def test_a_constant_output_keeps_an_input_of_its_own():
    tree = NeuralTree(4, 2, [-1, -1, 1], [0, 0, 1], [0, 2, 2], [1, 3, 2], [0, 0, 0, 0, 1, 1, 1])
    assert simplify(tree).leaf_input.tolist() == [1, 3]
