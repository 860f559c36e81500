"""Genomes, and the operators that vary them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bneuralt import NeuralTree, _core
from bneuralt.evolve.genome import FunctionNode, Genome, Leaf, genome_of
from bneuralt.evolve.operators import MUTATIONS, Space, crossover, mutate, random_genome
from bneuralt.tree.activations import NAMES
from tests.helpers.quick import cases

N_OPERATIONS = cases(10_000)

HFNT = ("gaussian", "tanh", "sigmoid", "linear_tanh", "linear_sigmoid", "bipolar", "unipolar")


def spaces():
    return st.builds(
        Space,
        n_inputs=st.integers(1, 6),
        n_outputs=st.sampled_from([1, 2, 3, 5]),
        max_depth=st.integers(1, 5),
        min_children=st.sampled_from([1, 2]),
        max_children=st.integers(2, 5),
        leaf_probability=st.sampled_from([0.3, 0.6, 1.0]),
        max_size=st.sampled_from([None, 20, 60]),
        max_weights=st.sampled_from([None, 30]),
        activation=st.sampled_from(["tanh", HFNT]),
        output_activation=st.sampled_from(["linear", HFNT]),
        trains_activations=st.booleans(),
        scale=st.sampled_from([None, 1.0]),
        n_copies=st.sampled_from([1, 3]),
    )


def assert_valid(genome: Genome, space: Space):
    """NeuralTree checks the structure itself."""
    trees = genome.trees(np.float64)
    assert len(trees) == space.n_copies
    tree = trees[0]
    assert tree.n_outputs == space.n_outputs and tree.n_inputs == space.n_inputs
    assert (tree.size, tree.depth, tree.n_parameters) == (
        genome.size,
        genome.depth,
        genome.n_weights,
    )
    assert tree.depth <= space.max_depth
    assert space.max_size is None or tree.size <= space.max_size
    assert space.max_weights is None or tree.n_parameters <= space.max_weights
    n_children = np.diff(tree.child_start) + np.diff(tree.leaf_start)
    assert n_children.min() >= space.min_children
    assert n_children.max() <= space.max_children


def test_every_operation_keeps_trees_valid():
    """Thousands of operations on trees of all tasks, one after the other."""
    rng = np.random.default_rng(0)
    names = tuple(MUTATIONS)
    made = 0
    for n_outputs in (1, 2, 3, 6):
        for trains in (False, True):
            space = Space(
                5,
                n_outputs,
                max_depth=4,
                min_children=1,
                max_children=4,
                max_size=80,
                activation=HFNT,
                output_activation=HFNT if trains else "linear",
                trains_activations=trains,
                n_copies=2,
            )
            population = [random_genome(space, rng) for _ in range(8)]
            for genome in population:
                assert_valid(genome, space)
            for _ in range(N_OPERATIONS // 8):
                i, j = rng.integers(len(population), size=2)
                if rng.random() < 0.5:
                    child = crossover(population[i], population[j], space, rng)
                else:
                    child = mutate(population[i], space, rng, names)
                assert_valid(child, space)
                population[i] = child
                made += 1
    assert made == N_OPERATIONS // 8 * 8


@given(spaces(), st.integers(0, 2**32 - 1), st.sampled_from(sorted(MUTATIONS)))
def test_operations_stay_within_their_space(space, seed, name):
    rng = np.random.default_rng(seed)
    one, other = random_genome(space, rng), random_genome(space, rng)
    assert_valid(one, space)
    before = [tree.to_dict() for tree in one.trees()]
    assert_valid(crossover(one, other, space, rng), space)
    assert_valid(mutate(one, space, rng, (name,)), space)
    assert [tree.to_dict() for tree in one.trees()] == before  # parents stay as they are


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("trains", [False, True])
def test_a_tree_survives_the_way_to_a_genome_and_back(n_outputs, trains):
    tree = NeuralTree.random(
        4, n_outputs, activation=HFNT, train_activations=trains, random_state=0
    )
    assert genome_of(tree).trees(np.float64) == [tree]
    weights = np.stack([tree.parameters, 2 * tree.parameters])
    copies = genome_of(tree, weights).trees(np.float64)
    assert [copy.parameters.tolist() for copy in copies] == weights.tolist()
    assert copies[0].structure is copies[1].structure


@given(spaces(), st.integers(0, 2**32 - 1))
def test_compiled_genomes_compute_what_their_trees_compute(space, seed):
    rng = np.random.default_rng(seed)
    genome = random_genome(space, rng)
    X = rng.normal(size=(7, space.n_inputs)).astype(np.float32)
    outputs, _ = _core.forward([genome.compiled()], X, 1, False, False)
    np.testing.assert_array_equal(outputs[0], genome.trees()[0].forward(X))


def numbers_of(genome):
    return {id(node): node.numbers.tobytes() for node in genome.nodes()}


def test_children_inherit_the_weights_of_what_they_take_over():
    rng, space = np.random.default_rng(1), Space(5, 3, n_copies=2)
    one, other = random_genome(space, rng), random_genome(space, rng)
    child = crossover(one, other, space, rng)
    numbers = {**numbers_of(one), **numbers_of(other)}
    parents = set(numbers.values())
    assert all(node.numbers.tobytes() in parents for node in child.nodes())


def test_what_each_mutation_does():
    rng, space = np.random.default_rng(2), Space(20, 3, min_children=1, activation=HFNT)
    genome = random_genome(space, rng)

    def leaves(genome):
        return [leaf for _, leaf in genome.places() if isinstance(leaf, Leaf)]

    def applied(name):
        return MUTATIONS[name](genome, space, rng)

    features = [leaf.feature for leaf in leaves(genome)]
    changed = [leaf.feature for leaf in leaves(applied("change_leaf"))]
    assert sum(a != b for a, b in zip(features, changed, strict=True)) <= 1
    assert applied("change_all_leaves").size == genome.size
    assert applied("grow_leaf").size > genome.size
    assert applied("add_leaf").size == genome.size + 1
    assert applied("drop_child").size < genome.size
    assert applied("shrink").size < genome.size
    recoded = applied("change_activation")
    assert recoded.size == genome.size
    assert {NAMES[node.activation] for node in recoded.nodes()} <= {*HFNT, "linear"}


def test_leaves_have_only_inputs_that_have_a_chance():
    rng = np.random.default_rng(3)
    space = Space(4, 1, feature_chances=np.array([0.0, 1.0, 0.0, 3.0]))
    features = {space.draw_feature(rng) for _ in range(100)}
    assert features == {1, 3}


def test_a_leaf_of_weight_0_changes_nothing():
    rng, space = np.random.default_rng(4), Space(3, 2, scale=1.0, activation="tanh")
    genome = random_genome(space, rng)
    X = rng.normal(size=(10, 3))
    larger = MUTATIONS["add_leaf"](genome, space, rng)
    np.testing.assert_allclose(
        larger.trees(np.float64)[0].forward(X), genome.trees(np.float64)[0].forward(X)
    )


def test_where_nothing_can_be_changed_the_parent_comes_back():
    rng, space = np.random.default_rng(5), Space(3, 1, max_depth=0, min_children=2, max_children=2)
    genome = random_genome(space, rng)
    assert mutate(genome, space, rng, ("shrink", "drop_child", "grow_leaf", "add_leaf")) is genome
    assert isinstance(genome.at((0,)), FunctionNode)


@pytest.mark.parametrize("more", [0, 1, 2])
def test_drawn_trees_keep_to_limits_that_leave_no_room(more):
    limits = {"n_inputs": 3, "n_outputs": 4, "min_children": 2, "max_children": 3}
    least = Space(**limits).least_weights
    space = Space(**limits, max_weights=least + more)
    sizes = set()
    for seed in range(40):
        genome = random_genome(space, np.random.default_rng(seed))
        assert space.holds(genome)
        sizes.add(genome.n_weights)
    assert sizes == set(range(least, least + more + 1))
