"""Random trees: the rules of growth, the limits, the first weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import NeuralTree
from bneuralt.tree.growth import GrowthRule
from tests.helpers.quick import cases

N_TREES = cases(10_000)


def n_children(tree):
    k, n_nodes = tree.n_outputs, tree.parent.size
    return np.bincount(np.concatenate([tree.parent[k:], tree.leaf_parent]), minlength=n_nodes)


def node_depths(tree):
    """Edge-depth of every function node; class nodes are at 1, a regression root at 0."""
    levels = np.repeat(np.arange(tree.level_start.size - 1), np.diff(tree.level_start))
    return levels + (tree.n_outputs > 1)


@pytest.mark.parametrize(("n_outputs", "mean_size"), [(3, 1 + 3 * 68.11), (1, 124.8)])
def test_mean_size_of_the_papers_trees(n_outputs, mean_size):
    rng = np.random.default_rng(20240)
    sizes = [
        NeuralTree.random(4, n_outputs, 5, 5, 0.4, rule="paper", random_state=rng).size
        for _ in range(N_TREES)
    ]
    standard_error = np.std(sizes) / np.sqrt(N_TREES)
    assert abs(np.mean(sizes) - mean_size) < 3 * standard_error
    rule = GrowthRule(n_outputs, rule="paper")
    assert rule.expected_size() == pytest.approx(mean_size, abs=0.02)


def test_expected_size_of_other_rules():
    rng = np.random.default_rng(7)
    for rule in ((2, 3, 4, 0.25), (1, 4, 2, 0.5), (5, 1, 3, 0.9)):
        sizes = [NeuralTree.random(3, *rule, random_state=rng).size for _ in range(2000)]
        standard_error = np.std(sizes) / np.sqrt(len(sizes))
        assert abs(np.mean(sizes) - GrowthRule(*rule).expected_size()) < 4 * standard_error


@given(
    n_outputs=st.integers(1, 5),
    max_depth=st.integers(1, 4),
    max_children=st.integers(3, 6),
    leaf_probability=st.floats(0, 1),
    rule=st.sampled_from(["inclusive", "paper"]),
    seed=st.integers(0, 2**63),
)
def test_every_tree_follows_the_rules(
    n_outputs, max_depth, max_children, leaf_probability, rule, seed
):
    settings = (3, n_outputs, max_depth, max_children, leaf_probability)
    tree = NeuralTree.random(*settings, rule=rule, random_state=seed)
    counts, most = n_children(tree), max_children - (rule == "paper")
    assert counts.min() >= 2
    assert counts.max() <= most
    assert tree.depth <= max_depth
    assert tree == NeuralTree.random(*settings, rule=rule, random_state=seed)


@pytest.mark.parametrize(("rule", "expected"), [("inclusive", [2, 3, 4, 5]), ("paper", [2, 3, 4])])
def test_number_of_children_is_uniform(rule, expected):
    tree = NeuralTree.random(4, 3, 8, 5, 0.3, rule=rule, min_size=3000, random_state=1)
    values, counts = np.unique(n_children(tree), return_counts=True)
    assert values.tolist() == expected
    share = 1 / len(expected)
    spread = np.sqrt(share * (1 - share) / counts.sum())
    assert np.abs(counts / counts.sum() - share).max() < 4 * spread


def test_share_of_leaves_above_the_deepest_level():
    tree = NeuralTree.random(4, 3, 8, 5, 0.3, min_size=3000, random_state=2)
    shallow = node_depths(tree) < 8
    n_leaves = np.bincount(tree.leaf_parent, minlength=shallow.size)[shallow].sum()
    n_all = n_children(tree)[shallow].sum()
    assert abs(n_leaves / n_all - 0.3) < 4 * np.sqrt(0.3 * 0.7 / n_all)


def test_without_early_leaves_the_tree_is_full():
    tree = NeuralTree.random(2, 2, max_depth=3, max_children=2, leaf_probability=0.0)
    assert np.diff(tree.level_start).tolist() == [2, 4, 8]
    assert set(node_depths(tree)[tree.leaf_parent]) == {3}


def test_with_leaves_only_there_is_one_level():
    tree = NeuralTree.random(2, 3, max_depth=1_000_000_000, leaf_probability=1.0, random_state=0)
    assert (tree.depth, tree.n_function_nodes) == (1, 3)


def test_regression_root_alone():
    tree = NeuralTree.random(2, 1, max_depth=0, random_state=0)
    assert (tree.depth, tree.n_function_nodes) == (0, 0)


def test_sizes_are_met_by_drawing_again():
    rng = np.random.default_rng(3)
    for _ in range(50):
        tree = NeuralTree.random(4, 3, rule="paper", min_size=150, max_size=200, random_state=rng)
        assert 150 <= tree.size <= 200


def test_least_size_as_a_share_of_the_mean():
    mean = GrowthRule(1, 5, 4, 0.35).expected_size()
    shape = {"max_depth": 5, "max_children": 4, "leaf_probability": 0.35}
    sizes = [NeuralTree.random(4, 1, **shape, min_size=0.8, random_state=i).size for i in range(50)]
    assert 0.8 * mean - 1 <= min(sizes) < mean


def test_a_size_out_of_reach_ends_with_what_was_seen():
    message = "no tree of size 5000 to .* in 1000 draws: the typical size drawn was .* 153.5; "
    with pytest.raises(ValueError, match=message):
        NeuralTree.random(4, 10, max_depth=3, max_children=4, leaf_probability=0.5, min_size=5000)
    with pytest.raises(ValueError, match="typical size drawn was above 10"):
        NeuralTree.random(4, 10, max_size=10)


def test_a_tree_that_never_stops_growing_is_refused():
    with pytest.raises(ValueError, match="typical size drawn was above 20000000"):
        NeuralTree.random(4, 10, max_depth=1000, max_children=12, leaf_probability=0.0)


def test_a_tree_of_a_quarter_million_weights():
    tree = NeuralTree.random(784, 10, 7, 12, 0.5, min_size=220_000, random_state=0)
    assert tree.n_parameters > 250_000


def test_uniform_weights():
    theta = NeuralTree.random(4, 3, init="uniform", min_size=300, random_state=0).parameters
    assert 0 <= theta.min() < 0.05
    assert 0.95 < theta.max() <= 1


def test_normal_weights_shrink_with_the_number_of_siblings():
    tree = NeuralTree.random(4, 2, 7, 6, 0.2, init_scale=2.0, min_size=5000, random_state=0)
    assert not tree.bias.any()
    siblings = n_children(tree)[np.concatenate([tree.parent[2:], tree.leaf_parent])]
    weights = np.concatenate([tree.edge, tree.leaf_weight])
    for n in range(2, 7):
        group = weights[siblings == n]
        expected = 2.0 / np.sqrt(n)
        assert abs(np.std(group) - expected) < 5 * expected / np.sqrt(2 * group.size)


def test_inputs_are_equally_likely_by_default():
    tree = NeuralTree.random(5, 2, 7, 6, 0.2, min_size=5000, random_state=1)
    share = tree.input_counts / tree.n_leaves
    assert np.abs(share - 0.2).max() < 4 * np.sqrt(0.2 * 0.8 / tree.n_leaves)


def test_inputs_follow_given_probabilities():
    tree = NeuralTree.random(3, 2, 7, 6, 0.2, feature_sampling=[3, 0, 1], random_state=1)
    assert tree.input_counts[1] == 0
    share = tree.input_counts[0] / tree.n_leaves
    assert abs(share - 0.75) < 4 * np.sqrt(0.75 * 0.25 / tree.n_leaves)


def test_inputs_may_come_from_a_sampler():
    def by_parent(rng, leaf_parent, parent, n_inputs):
        return leaf_parent % n_inputs

    tree = NeuralTree.random(7, 2, feature_sampling=by_parent, random_state=0)
    assert np.array_equal(tree.leaf_input, tree.leaf_parent % 7)


def test_a_sampler_that_leaves_the_range_is_refused():
    with pytest.raises(ValueError, match=r"feature_sampling chose the input 7, .* 0 to 6"):
        NeuralTree.random(7, 2, feature_sampling=lambda rng, leaves, *_: np.full(leaves.size, 7))


def test_activations_and_dtype():
    tree = NeuralTree.random(
        4, 3, activation="tanh", output_activation="linear", dtype="float32", random_state=0
    )
    assert (tree.hidden_activation, tree.output_activation) == ("tanh", "linear")
    assert tree.dtype == np.float32


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    assert NeuralTree.random(4, random_state=rng) != NeuralTree.random(4, random_state=rng)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_inputs": 0}, "n_inputs=0 must be 1 or more"),
        ({"n_outputs": 0}, "n_outputs=0 must be 1 or more"),
        ({"max_depth": -1}, "max_depth=-1 must be 0 or more"),
        ({"max_depth": 0, "n_outputs": 2}, "max_depth=0 must be 1 or more"),
        ({"max_children": 1}, "max_children=1 must be 2 or more"),
        ({"max_children": 2, "rule": "paper"}, "max_children=2 must be 3 or more"),
        ({"leaf_probability": 1.5}, "leaf_probability=1.5"),
        ({"leaf_probability": float("nan")}, "leaf_probability=nan"),
        ({"rule": "other"}, "rule='other' is not known"),
        ({"init": "zeros"}, "init='zeros' is not known"),
        ({"init_scale": -1.0}, "init_scale=-1.0"),
        ({"activation": "softplus"}, "activation='softplus' is not known"),
        ({"output_activation": "relU"}, "output_activation='relU' is not known"),
        ({"min_size": 10, "max_size": 5}, "min_size=10 is above"),
        ({"feature_sampling": [0.5, 0.5]}, r"shape \(2,\), .* n_inputs=3"),
        ({"feature_sampling": [1, -1, 1]}, r"feature_sampling\[1\] is -1.0"),
        ({"feature_sampling": [1, 1, np.nan]}, r"feature_sampling\[2\] is nan"),
        ({"feature_sampling": [0, 0, 0]}, "adds up to 0"),
    ],
)
def test_wrong_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        NeuralTree.random(**{"n_inputs": 3, **change})


@pytest.mark.parametrize("name", ["n_inputs", "n_outputs", "max_depth", "max_children", "min_size"])
def test_counts_must_be_whole(name):
    with pytest.raises(TypeError, match=f"{name} must be an int, not float"):
        NeuralTree.random(**{"n_inputs": 3, name: 2.5})


def full(n_outputs=1, max_depth=1):
    """The rule that draws one tree only: every node has two children, down to `max_depth`."""
    return GrowthRule(n_outputs, max_depth, max_children=2, leaf_probability=0.0)


def test_expected_numbers_of_a_full_tree_are_its_numbers():
    # three nodes with two children each
    assert full().expected_nodes() == 3
    assert full().expected_size() == 7
    # four class nodes with their children, and the root above them
    assert full(4).expected_size() == 1 + 4 + 8
    # on average each node has one child that is a node: one node per level
    critical = GrowthRule(1, 3, max_children=3, leaf_probability=0.5, min_children=1)
    assert critical.expected_nodes() == 4
    assert GrowthRule(2, 3, 3, 0.5, min_children=1).expected_nodes() == 2 * 3


def test_the_least_and_the_most_that_rules_allow():
    assert GrowthRule(1, max_depth=0).expected_nodes() == 1
    assert GrowthRule(2, max_depth=1).expected_nodes() == 2
    assert GrowthRule(max_children=3, rule="paper").most_children == 2
    one_child = GrowthRule(1, 2, max_children=1, leaf_probability=0.0, min_children=1)
    assert one_child.expected_size() == 4
    with pytest.raises(ValueError, match="min_children=0"):
        GrowthRule(min_children=0)


@pytest.mark.parametrize(("n_outputs", "size"), [(1, 7), (4, 13)])
def test_a_tree_may_be_as_large_as_allowed_and_no_larger(n_outputs, size):
    common = {"n_outputs": n_outputs, "max_depth": 1, "max_children": 2, "leaf_probability": 0.0}
    assert NeuralTree.random(3, **common, min_size=size, max_size=size).size == size
    with pytest.raises(ValueError, match=f"no tree of size {size + 1} to"):
        NeuralTree.random(3, **common, min_size=size + 1)
    with pytest.raises(ValueError, match=f"in 1000 draws: .* was above {size - 1}"):
        NeuralTree.random(3, **common, max_size=size - 1)


def test_a_share_of_the_mean_size_may_be_nothing_or_all():
    common = {"max_depth": 1, "max_children": 2, "leaf_probability": 0.0}
    assert NeuralTree.random(3, **common, min_size=1.0).size == 7
    assert NeuralTree.random(3, **common, min_size=0.0).size == 7
    assert NeuralTree.random(3, max_depth=0, min_size=1, random_state=0).size > 1


def test_every_reachable_number_of_weights_is_accepted():
    tree = NeuralTree.random(3, max_depth=1, max_children=2, n_weights=3, random_state=0)
    assert tree.n_parameters == 3
    with pytest.raises(ValueError, match="n_weights=2 must be 3 or more"):
        NeuralTree.random(3, max_depth=1, max_children=2, n_weights=2)
    for limit in ({"min_size": 3}, {"max_size": 30}):
        with pytest.raises(ValueError, match="cannot be combined"):
            NeuralTree.random(3, n_weights=30, **limit)


def test_a_scale_of_zero_makes_weights_of_zero():
    assert not NeuralTree.random(3, init_scale=0.0, random_state=0).parameters.any()
    with pytest.raises(ValueError, match="init_scale=inf"):
        NeuralTree.random(3, init_scale=np.inf)


def test_a_mixture_of_one_activation_is_that_activation():
    alone = NeuralTree.random(4, 2, activation="tanh", random_state=5)
    assert NeuralTree.random(4, 2, activation=["tanh"], random_state=5) == alone


def test_an_input_of_probability_zero_is_never_drawn():
    tree = NeuralTree.random(3, feature_sampling=[0, 1, 1], random_state=0)
    assert set(tree.leaf_input.tolist()) == {1, 2}
    with pytest.raises(ValueError, match="adds up to inf"), np.errstate(over="ignore"):
        NeuralTree.random(3, feature_sampling=[1e308] * 3)


def test_a_number_of_weights_may_be_missed_by_less_than_a_node():
    sizes = {
        NeuralTree.random(3, n_weights=20, max_children=4, random_state=seed).n_parameters
        for seed in range(100)
    }
    assert sizes == {18, 19, 20}  # the smallest node has three weights


def test_a_generator_gives_the_same_trees_in_all_releases():
    rng = np.random.default_rng(0)
    sizes = [NeuralTree.random(4, 3, random_state=rng).size for _ in range(6)]
    assert sizes == [477, 445, 315, 351, 360, 565]
