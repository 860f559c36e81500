"""NeuralTree: what it accepts, what it refuses, and what it says about itself."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.tree.activations import NAMES, LeakyReLU, activation_code
from bneuralt.tree.forward import OutputOverflow, mean_forward
from tests import reference
from tests.helpers.strategies import neural_trees

DTYPES = (np.float64, np.float32)
LEAKY, GAUSSIAN = NAMES.index("leaky_relu"), NAMES.index("gaussian")

#        outputs 0 and 1, node 2 below 0, nodes 3 and 4 below 2; 7 leaves
VALID = {
    "n_inputs": 3,
    "n_outputs": 2,
    "parent": [-1, -1, 0, 2, 2],
    "activation": [1, 1, 2, 2, 2],
    "leaf_parent": [0, 1, 1, 3, 3, 4, 4],
    "leaf_input": [0, 1, 2, 0, 0, 1, 2],
    "parameters": np.arange(15.0),
}


def with_change(name, index, value):
    values = np.array(VALID[name])
    values[index] = value
    return {**VALID, name: values}


def test_properties_of_a_small_classification_tree():
    tree = NeuralTree(**VALID)
    assert (tree.n_function_nodes, tree.n_leaves, tree.size) == (5, 7, 13)
    assert (tree.n_parameters, tree.paper_parameter_count, tree.depth) == (15, 17, 3)
    assert tree.bias.tolist() == [0, 1, 2, 3, 4]
    assert tree.edge.tolist() == [5, 6, 7]
    assert tree.leaf_weight.tolist() == [8, 9, 10, 11, 12, 13, 14]
    assert tree.child_start.tolist() == [2, 3, 3, 5, 5, 5]
    assert tree.leaf_start.tolist() == [0, 1, 3, 3, 5, 7]
    assert tree.level_start.tolist() == [0, 2, 3, 5]
    assert tree.input_counts.tolist() == [3, 2, 2]
    assert (tree.output_activation, tree.hidden_activation) == ("sigmoid", "tanh")
    assert tree.dtype == np.float64


def test_properties_of_a_small_regression_tree():
    tree = NeuralTree(2, 1, [-1, 0, 0], [0, 1, 2], [0, 1, 2], [0, 1, 1], np.ones(8, np.float32))
    assert (tree.n_function_nodes, tree.n_leaves, tree.size) == (2, 3, 6)
    assert (tree.n_parameters, tree.paper_parameter_count, tree.depth) == (8, 7, 1)
    assert (tree.output_activation, tree.hidden_activation) == ("linear", "mixed")
    assert tree.dtype == np.float32


def test_a_root_with_leaves_only_has_no_depth():
    tree = NeuralTree(1, 1, [-1], [0], [0], [0], [0.0, 1.0])
    assert (tree.depth, tree.size, tree.hidden_activation) == (0, 2, "linear")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_inputs": 0}, "n_inputs=0"),
        ({"n_outputs": -1}, "n_outputs=-1"),
        ({"n_outputs": 6}, "5 nodes, fewer than n_outputs=6"),
        ({"parent": [[-1]]}, r"parent must have one dimension, not shape \(1, 1\)"),
        ({"activation": [1, 1]}, "activation has 2 nodes, parent has 5"),
        ({"leaf_input": [1, 1]}, "leaf_input has 2 leaves, leaf_parent has 7"),
        (with_change("parent", 1, 0), r"parent\[1\] is 0, .* the outputs"),
        (with_change("parent", 2, -1), r"parent\[2\] is -1"),
        (with_change("parent", 3, 3), r"parent\[3\] is 3, .* 0 to 2"),
        (with_change("parent", 3, 2**40), r"parent\[3\] is 1099511627776, .* int32"),
        (with_change("parent", 4, 1), r"parent\[4\] is 1 after 2: .*breadth-first"),
        (
            with_change("activation", 4, 99),
            r"activation\[4\] is 99, codes go from 0 to \d+: linear",
        ),
        (with_change("activation", 4, -1), r"activation\[4\] is -1"),
        (with_change("leaf_parent", 6, 5), r"leaf_parent\[6\] is 5, nodes go from 0 to 4"),
        (with_change("leaf_parent", 0, -1), r"leaf_parent\[0\] is -1"),
        (with_change("leaf_parent", 2, 0), r"leaf_parent\[2\] is 0 after 1: .*grouped"),
        (with_change("leaf_parent", slice(5, 7), 3), "function node 4 has no child"),
        (with_change("leaf_input", 3, 3), r"leaf_input\[3\] is 3, inputs go from 0 to 2"),
        (with_change("leaf_input", 3, -2), r"leaf_input\[3\] is -2"),
        (with_change("parameters", 1, np.nan), r"parameters\[1\] is nan, the bias of node 1"),
        (with_change("parameters", 7, np.inf), r"parameters\[7\] is inf, the edge above node 4"),
        (with_change("parameters", 8, -np.inf), r"parameters\[8\] is -inf, the weight of leaf 0"),
        ({"parameters": np.ones(14)}, r"shape \(14,\), .*\(15,\): 5 biases, 3 edges, 7 leaf"),
        ({"parameters": np.ones((15, 1))}, r"shape \(15, 1\)"),
        ({"activation_parameters": [0.1]}, r"shape \(1,\), .* have \(0,\)"),
        (with_change("activation", 4, LEAKY) | {"activation_parameters": []}, r"have \(1,\)"),
        (
            with_change("activation", 4, GAUSSIAN) | {"activation_parameters": [0.5, 0.0]},
            "Gaussian: width=0.0 is not a finite number other than 0",
        ),
        (
            with_change("activation", 4, LEAKY) | {"activation_parameters": [np.nan]},
            "LeakyReLU: slope=nan is not a finite number",
        ),
        (
            with_change("activation", 4, LEAKY) | {"trains_activations": True},
            r"needs \(16,\): .* 1 parameters of activations",
        ),
        (
            with_change("activation", 4, LEAKY)
            | {"trains_activations": True, "parameters": np.append(np.arange(15.0), np.inf)},
            r"parameters\[15\] is inf, parameter 0 of the activations",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(change, message):
    with pytest.raises(ValueError, match=message):
        NeuralTree(**{**VALID, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_inputs": 2.0}, "n_inputs must be an int, not float"),
        ({"n_outputs": True}, "n_outputs must be an int, not bool"),
        ({"parent": [-1.0, -1, 0, 2, 2]}, "parent must hold integers, not float64"),
        ({"leaf_input": ["0"] * 7}, "leaf_input must hold integers"),
        ({"parameters": np.ones(15, np.float16)}, "float64 or float32, not float16"),
        ({"parameters": np.ones(15, complex)}, "float64 or float32, not complex128"),
        ({"parameters": ["1"] * 15}, "float64 or float32"),
    ],
)
def test_a_wrong_type_is_refused(change, message):
    with pytest.raises(TypeError, match=message):
        NeuralTree(**{**VALID, **change})


def test_a_function_node_without_child_is_refused():
    with pytest.raises(ValueError, match="function node 1 has no child"):
        NeuralTree(1, 2, [-1, -1], [1, 1], [0], [0], np.zeros(3))


def test_the_tree_is_a_read_only_copy():
    given_arrays = {
        key: np.array(value) for key, value in VALID.items() if not isinstance(value, int)
    }
    tree = NeuralTree(3, 2, **given_arrays)
    given_arrays["parameters"][:] = 7.0
    assert tree.parameters[1] == 1.0
    for name in (*given_arrays, "bias", "edge", "leaf_weight", "child_start", "level_start"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 1
    with pytest.raises(AttributeError):
        tree.parameters = np.zeros(15)


@given(neural_trees(dtypes=DTYPES))
def test_derived_arrays_describe_the_structure(tree):
    k = tree.n_outputs
    depth = np.zeros(tree.parent.size, dtype=int)
    for i in range(tree.parent.size):
        children = np.flatnonzero(tree.parent == i)
        assert children.tolist() == list(range(tree.child_start[i], tree.child_start[i + 1]))
        leaves = np.flatnonzero(tree.leaf_parent == i)
        assert leaves.tolist() == list(range(tree.leaf_start[i], tree.leaf_start[i + 1]))
        depth[i] = 0 if i < k else depth[tree.parent[i]] + 1
    levels = np.searchsorted(depth, np.arange(depth.max() + 2))
    assert tree.level_start.tolist() == levels.tolist()
    assert tree.depth == depth.max() + (k > 1)
    assert tree.activation_parameter_start[-1] == tree.activation_parameters.size
    n_trained = tree.activation_parameters.size if tree.trains_activations else 0
    parts = [tree.bias, tree.edge, tree.leaf_weight, tree.activation_parameters[:n_trained]]
    np.testing.assert_array_equal(np.concatenate(parts), tree.parameters)


@given(neural_trees(dtypes=DTYPES))
def test_copies_are_equal(tree):
    for twin in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), copy.copy(tree)):
        assert twin == tree
        assert twin.dtype == tree.dtype
    other = tree.with_parameters(tree.parameters + 1)
    assert other != tree
    if tree.trains_activations:
        n_trained = tree.activation_parameters.size
        np.testing.assert_array_equal(other.activation_parameters, other.parameters[-n_trained:])
    assert other.with_parameters(tree.parameters) == tree
    assert tree != "a tree"


def test_trees_differ_by_dtype():
    tree = NeuralTree(**VALID)
    assert tree.astype(np.float32) != tree
    assert tree.astype(np.float32).astype(np.float64) == tree
    assert tree.astype(np.float64) is tree


def test_a_weight_too_large_for_float32_is_refused():
    tree = NeuralTree(**with_change("parameters", 3, 1e300))
    with pytest.raises(ValueError, match=r"parameters\[3\] is inf, the bias of node 3"):
        tree.astype(np.float32)


def test_with_parameters_checks_them():
    tree = NeuralTree(**VALID)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        tree.with_parameters([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="nan"):
        tree.with_parameters(np.full(15, np.nan))


@given(neural_trees(), st.integers(0, 2**32 - 1))
def test_input_scaling_can_go_into_the_weights(tree, seed):
    rng = np.random.default_rng(seed)
    offset, factor = rng.normal(size=tree.n_inputs), rng.uniform(0.1, 3, size=tree.n_inputs)
    x = rng.normal(size=tree.n_inputs)
    folded = tree.with_input_scaling(offset, factor)
    expected = reference.forward(tree, (x - offset) * factor)
    np.testing.assert_allclose(reference.forward(folded, x), expected, rtol=1e-9, atol=1e-9)


@given(neural_trees(output_activations=("linear",)), st.integers(0, 2**32 - 1))
def test_output_scaling_can_go_into_the_weights(tree, seed):
    rng = np.random.default_rng(seed)
    k, x = tree.n_outputs, rng.normal(size=tree.n_inputs)
    offset, factor = rng.normal(size=k), rng.uniform(0.1, 100, size=k)
    scaled = tree.with_output_scaling(offset, factor)
    expected = reference.forward(tree, x) * factor + offset
    np.testing.assert_allclose(reference.forward(scaled, x), expected, rtol=1e-9, atol=1e-9)


def test_output_scaling_needs_linear_outputs():
    with pytest.raises(ValueError, match=r"output_activation='sigmoid'"):
        NeuralTree(**VALID).with_output_scaling(0.0, 2.0)


def test_repr_says_what_it_is():
    assert repr(NeuralTree(**VALID)) == (
        "NeuralTree(n_inputs=3, n_outputs=2, size=13, depth=3, n_parameters=15, "
        "hidden_activation='tanh', output_activation='sigmoid', dtype=float64)"
    )


def test_a_chain_of_100_000_nodes_is_a_tree():
    n = 100_000
    parent = np.arange(-1, n - 1)
    tree = NeuralTree(1, 1, parent, np.zeros(n, int), [n - 1], [0], np.ones(2 * n))
    assert tree.depth == n - 1
    assert NeuralTree.from_json(tree.to_json()) == tree


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((5, 4)), "X has 4 features, but the tree has 3 inputs"),
        (np.zeros(2), "X has 2 features"),
        (np.zeros((1, 1, 3)), "X must have one or two dimensions, it has 3"),
        (np.float64(1.0), "X must have one or two dimensions, it has 0"),
        (np.array([[0.0, 1.0, 2.0], [0.0, np.nan, 2.0]]), "X has the value nan in row 1, column 1"),
        (
            np.array([0.0, 1.0, -np.inf], dtype=np.float32),
            "X has the value -inf in row 0, column 2",
        ),
    ],
)
def test_forward_refuses_bad_rows(X, message):
    with pytest.raises(ValueError, match=message):
        NeuralTree(**VALID).forward(X)


@pytest.mark.parametrize("X", [[["a", "b", "c"]], np.zeros((1, 3), complex), [[None, 1, 2]]])
def test_forward_refuses_what_is_no_number(X):
    with pytest.raises(TypeError, match="X must hold numbers"):
        NeuralTree(**VALID).forward(X)


@given(neural_trees(), st.integers(0, 2**32 - 1))
def test_forward_computes_what_the_reference_does(tree, seed):
    X = np.random.default_rng(seed).normal(size=(5, tree.n_inputs))
    expected = [reference.forward(tree, x) for x in X]
    np.testing.assert_allclose(tree.forward(X), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(tree.forward(X[0]), expected[0], rtol=1e-11, atol=1e-11)


def test_activation_codes():
    assert [activation_code(name) for name in NAMES] == list(range(len(NAMES)))
    with pytest.raises(ValueError, match=r"activation='relU' is not known: .*leaky_relu"):
        activation_code("relU")


def test_outputs_may_have_any_activations():
    tree = NeuralTree(**with_change("activation", 0, GAUSSIAN))
    assert tree.output_activation == "mixed"
    assert tree.activation_parameters.tolist() == [0.0, 1.0]
    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(tree.forward(x), reference.forward(tree, x), rtol=1e-13)


def test_parameters_of_activations_that_are_trained_are_weights():
    options = with_change("activation", 4, LEAKY)
    fixed = NeuralTree(**options, activation_parameters=[0.25])
    weights = np.append(options["parameters"], 0.25)
    trained = NeuralTree(**{**options, "parameters": weights}, trains_activations=True)
    assert (fixed.n_parameters, trained.n_parameters) == (15, 16)
    assert trained.activation_parameters.tolist() == [0.25]
    x = np.array([-3.0, 2.0, 1.0])
    np.testing.assert_array_equal(fixed.forward(x), trained.forward(x))
    assert fixed != trained
    # without any parameters there is nothing to train
    assert not NeuralTree(**VALID, trains_activations=True).trains_activations


def test_training_may_move_parameters_of_activations_out_of_their_range():
    # the file and the pickle of such a tree must be readable
    options = with_change("activation", 4, GAUSSIAN)
    weights = np.append(options["parameters"], [0.5, 1.0])
    tree = NeuralTree(**{**options, "parameters": weights}, trains_activations=True)
    moved = tree.with_parameters(np.append(options["parameters"], [0.5, 0.0]))
    assert NeuralTree.from_json(moved.to_json()) == moved
    assert pickle.loads(pickle.dumps(moved)) == moved


def test_random_trees_with_mixtures_of_activations():
    tree = NeuralTree.random(
        4, 3, 6, 5, 0.2, activation={"tanh": 3, LeakyReLU(slope=0.2): 1}, train_activations=True,
        random_state=0,
    )  # fmt: skip
    share = (tree.activation[3:] == LEAKY).mean()
    assert 0.15 < share < 0.35
    assert (tree.activation_parameters == 0.2).all() and tree.trains_activations
    assert tree.activation_parameters.size == (tree.activation == LEAKY).sum()
    for wrong in ([], {}, {"tanh": -1.0}, {"tanh": 0.0}, {"tanh": np.nan}, ["tanh", "relU"]):
        with pytest.raises(ValueError, match="activation="):
            NeuralTree.random(4, activation=wrong)


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("row", [0, 5, 100, 1500])
def test_an_overflow_names_its_row(row, softmax):
    tree = NeuralTree(1, 2, [-1, -1], [0, 0], [0, 1], [0, 0], np.float32([0, 0, 1e30, 1]))
    X = np.zeros((2000, 1), np.float32)
    X[row:] = 1e30
    with pytest.raises(OutputOverflow, match=f"row {row} of X") as caught:
        mean_forward([tree, tree], X, softmax=softmax)
    assert caught.value.row == row
