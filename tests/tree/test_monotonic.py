"""Monotone effects of trees: constraints, proofs, and what the proofs claim."""

import numpy as np
import pytest

from bneuralt import (
    NeuralTree,
    TrainingJob,
    TrainingSettings,
    train_many,
)
from bneuralt.training import epoch_order
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt.tree.activations import NAMES, get_activation
from bneuralt.tree.monotonic import (
    UNKNOWN,
    Signs,
    is_increasing,
    leaf_effects,
    node_signs,
    reflected,
    weight_signs,
)
from tests import reference
from tests.helpers.monotonic import X, rises, y
from tests.reference.signs import weight_signs as weight_signs_of_nodes
from tests.reference.tree_nodes import build

INCREASING = [name for name in NAMES if name != "gaussian"]


def random_signs(seed, n_inputs=4):
    return np.random.default_rng(seed).integers(-1, 2, n_inputs).astype(np.int8)


def test_a_thousand_trained_trees_keep_their_promise():
    jobs, constraints = [], []
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        name = INCREASING[seed % len(INCREASING)]
        n_outputs = 1 + seed % 2
        tree = NeuralTree.random(
            4, n_outputs, int(rng.integers(1, 5)), 4, 0.4, activation=name,
            output_activation=rng.choice(["linear", "sigmoid"]), random_state=seed,
        )  # fmt: skip
        signs = Signs(node_signs(tree, [-1, 1][-n_outputs:]), random_signs(seed))
        how = TrainingSettings(
            loss="squared_error",
            optimizer=list(OPTIMIZERS)[seed % len(OPTIMIZERS)],
            learning_rate=0.05,
            clip_norm=1.0,
            batch_size=[1, 16, 40][seed % 3],
            max_epochs=3,
        )
        start = reflected(tree, signs) if seed % 4 else tree  # the core sees to it as well
        jobs.append(TrainingJob(start, how, seed, signs=signs, rows=np.arange(60)))
        constraints.append(signs)
    targets = np.stack([y, X[:, 3] ** 2], axis=1)
    results = []
    for n_outputs in (1, 2):
        group = [job for job in jobs if job.tree.n_outputs == n_outputs]
        results += train_many(group, X, targets[:, :n_outputs].squeeze(), n_threads=2)
    order = [signs for k in (1, 0) for signs in constraints[1 - k :: 2]]
    n_moved = n_constrained = 0
    for seed, (result, signs) in enumerate(zip(results, order, strict=True)):
        tree, direction = result.tree, [[-1, 1], [1]][result.tree.n_outputs == 1]
        effects = leaf_effects(tree, direction)
        bound = signs.input[tree.leaf_input] != 0
        assert (effects[bound] * signs.input[tree.leaf_input][bound] >= 0).all()
        n_constrained += bound.any()
        n_moved += (effects[bound] != 0).any()

        def predict(rows, tree=tree, direction=direction):
            return tree.forward(rows) @ np.array(direction, dtype=float)

        size = 1 + np.abs(tree.forward(X)).max()
        assert rises(predict, signs.input, seed) >= -1e-9 * size
    assert n_constrained > 900 and n_moved > 0.95 * n_constrained


def test_what_is_not_constrained_is_not_monotone():
    """The test above can fail."""
    worst = 0.0
    for seed in range(20):
        tree = NeuralTree.random(4, 1, 3, output_activation="linear", random_state=seed)
        worst = min(worst, rises(lambda rows, t=tree: t.forward(rows)[:, 0], [1, 1, 1, 1], seed))
    assert worst < -0.1


@pytest.mark.parametrize("batch_size", [1, 5])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_constrained_training_is_that_of_the_twin(optimizer, batch_size):
    n_stopped = 0
    for seed in range(3):
        tree = NeuralTree.random(4, 2, 3, output_activation="linear", random_state=seed)
        free = node_signs(tree, [-1, 1])
        free[2::3] = 0  # edges may be free as well
        signs = Signs(free, random_signs(seed))
        how = {"loss": "squared_error", "optimizer": optimizer, "learning_rate": 0.05}
        settings = TrainingSettings(
            **how, schedule="constant", batch_size=batch_size, max_epochs=2, weight_decay=0.1
        )
        targets = np.stack([y, X[:, 1]], axis=1)[:13]
        (result,) = train_many([TrainingJob(tree, settings, 7, signs=signs)], X[:13], targets)
        expected = reference.train(
            tree, X[:13], targets, **how, batch_size=batch_size, weight_decay=0.1, signs=signs,
            order=[epoch_order(7, epoch, 13).tolist() for epoch in range(2)],
        )  # fmt: skip
        np.testing.assert_allclose(
            result.tree.parameters, expected.parameters, rtol=1e-7, atol=1e-9
        )
        n_stopped += np.sum(result.tree.leaf_weight == 0)
    assert n_stopped > 0


@pytest.mark.parametrize("name", NAMES)
def test_activations_are_increasing_if_they_are_said_to_be(name):
    z = np.linspace(-6, 6, 400)
    for sign in (-1.0, 1.0):
        numbers = [sign * (number or 0.5) for number in get_activation(name).numbers]
        node = type(get_activation(name))(*numbers)
        tree = NeuralTree.random(1, 1, 1, activation=node, random_state=0)
        said = bool(is_increasing(tree)[-1])
        values = [reference.VALUE[name](float(x), *numbers) for x in z]
        assert said == bool((np.diff(values) >= 0).all())


@pytest.mark.parametrize("wrong", [np.array([2, 0, 0, 0]), np.zeros(3), np.zeros(4)])
def test_signs_that_do_not_fit_the_tree(wrong):
    tree = NeuralTree.random(4, 1, 2, random_state=0)
    signs = Signs(node_signs(tree), wrong if wrong.dtype == float else wrong.astype(np.int8))
    job = TrainingJob(tree, TrainingSettings(loss="squared_error"), signs=signs)
    with pytest.raises((ValueError, TypeError), match="sign"):
        train_many([job], X, y)


def test_effects_below_activations_that_may_fall_are_unknown():
    tree = NeuralTree.random(2, 1, 2, activation="gaussian", random_state=0)
    below = tree.leaf_parent > 0
    assert (leaf_effects(tree)[below] == UNKNOWN).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_signs_of_all_weights_are_those_of_the_twin(seed):
    tree = NeuralTree.random(
        4, 2, 4, 4, 0.4, activation="unipolar", train_activations=True, random_state=seed
    )
    signs = Signs(node_signs(tree, [-1, 1]), random_signs(seed))
    expected = weight_signs_of_nodes(build(tree), tree.n_parameters, signs)
    assert np.array_equal(weight_signs(tree, signs), expected)


@pytest.mark.parametrize(
    ("activation", "trains", "message"),
    [
        ("gaussian", False, "'gaussian' may decrease: use one of"),
        ("gaussian", True, "'gaussian' may decrease: use one of"),
        ("leaky_relu", True, "may decrease with parameters such as train_activations=True changes"),
    ],
)
def test_activations_that_may_decrease_are_named_with_the_reason(activation, trains, message):
    tree = NeuralTree.random(
        2, 1, n_weights=10, activation=activation, train_activations=trains, random_state=0
    )
    with pytest.raises(ValueError, match=message):
        node_signs(tree, 1)
