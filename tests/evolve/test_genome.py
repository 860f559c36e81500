"""Genomes: the order of children, sizes and depths, and the first random ones."""

import numpy as np

from bneuralt.evolve.genome import FunctionNode, Genome, Leaf, genome_of
from bneuralt.evolve.operators import Space, change_all_leaves, change_leaf, random_genome


def _first_node(space, seed=0):
    return random_genome(space, np.random.default_rng(seed)).outputs[0]


def test_function_nodes_come_before_leaves_whatever_the_order_of_children():
    space = Space(n_inputs=3, n_outputs=1, max_depth=4, leaf_probability=0.5)
    nodes = [node for seed in range(20) for node in _nodes(_first_node(space, seed))]
    mixed = [n for n in nodes if len({isinstance(child, Leaf) for child in n.children}) == 2]
    assert mixed
    for node in mixed:
        for children in (node.children, node.children[::-1]):
            leaves = [isinstance(child, Leaf) for child in node.with_children(children).children]
            assert leaves == sorted(leaves)


def _nodes(node):
    yield node
    for child in node.children:
        if isinstance(child, FunctionNode):
            yield from _nodes(child)


def test_parameters_of_activations_are_no_weights_unless_they_are_trained():
    space = Space(n_inputs=3, n_outputs=2, activation="gaussian", output_activation="gaussian")
    genome = random_genome(space, np.random.default_rng(1))
    n_nodes = len(list(genome.nodes()))
    plain = Genome(genome.outputs, genome.n_inputs)
    trained = Genome(genome.outputs, genome.n_inputs, True)
    assert not plain.trains_activations
    n_numbers = len(genome.outputs[0].numbers) - 2
    assert n_numbers > 0
    assert trained.n_weights - plain.n_weights == n_nodes * n_numbers
    (tree,) = plain.trees(np.float64)
    assert tree.n_parameters == plain.n_weights
    assert genome_of(tree).n_weights == plain.n_weights


def test_first_trees_that_are_too_large_are_drawn_again_with_fewer_levels():
    """Between the deepest trees, which do not fit, and the smallest ones there are others."""
    space = Space(
        n_inputs=4, n_outputs=1, max_depth=6, min_children=2, max_children=2,
        leaf_probability=0.0, max_size=8,
    )  # fmt: skip
    depths = {random_genome(space, np.random.default_rng(seed)).depth for seed in range(40)}
    assert depths == {0, 1}  # 3 and 7 nodes; 15 are too many


def _leaves(genome):
    return [part for _, part in genome.places() if isinstance(part, Leaf)]


def test_redrawing_all_leaves_keeps_the_function_nodes_and_no_weight_of_a_leaf():
    space = Space(n_inputs=50, n_outputs=2, max_depth=4)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        genome = random_genome(space, rng)
        changed = change_all_leaves(genome, space, rng)
        assert [n.activation for n in changed.nodes()] == [n.activation for n in genome.nodes()]
        assert changed.size == genome.size
        before, after = _leaves(genome), _leaves(changed)
        assert not any(
            np.array_equal(a.numbers, b.numbers) for a, b in zip(before, after, strict=True)
        )
        assert [leaf.feature for leaf in before] != [leaf.feature for leaf in after]


def test_changing_a_leaf_changes_the_input_of_one_and_no_weight():
    space = Space(n_inputs=50, n_outputs=2, max_depth=4)
    rng = np.random.default_rng(0)
    genome = random_genome(space, rng)
    n_changed = 0
    for _ in range(20):
        changed = change_leaf(genome, space, rng)
        pairs = list(zip(_leaves(genome), _leaves(changed), strict=True))
        assert all(np.array_equal(a.numbers, b.numbers) for a, b in pairs)
        n_changed += sum(a.feature != b.feature for a, b in pairs)
    assert 15 <= n_changed <= 20
