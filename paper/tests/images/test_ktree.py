"""Dendritic k-trees: their structure, the equivalence with a sigmoid unit, and learning."""

import numpy as np
import pytest

from bneuralt.training import TrainingSettings, train
from bneuralt.training.optimizers import Adam
from bneuralt_paper.datasets import load_dataset
from bneuralt_paper.images.k_trees import (
    KTreeTrial,
    KTreeTrials,
    k_tree,
    pad_images,
    run_k_tree,
    run_trials,
    two_classes,
)
from bneuralt_paper.images.k_trees import _frozen_bias as frozen_bias
from bneuralt_paper.reporting.image_tables import k_tree_table
from paper.tests.helpers.spots import spots


@pytest.mark.parametrize(("k", "n_weights"), [(1, 2_047), (32, 65_504)])
def test_number_of_weights_as_published(k, n_weights):
    tree = k_tree(k)
    assert tree.n_leaves - 1 + tree.edge.size == n_weights
    assert np.diff(tree.level_start).tolist() == [2] + [k * 2**i for i in range(10)]


def test_neighbouring_pixels_meet_first():
    tree = k_tree(2, side=4)
    pairs = tree.leaf_input[1:].reshape(-1, 2)
    assert np.array_equal(pairs[:, 0] + 1, pairs[:, 1])
    assert np.array_equal(tree.input_counts[1:], np.full(15, 2))
    assert tree.hidden_activation == "leaky_relu"


def test_weights_start_as_published():
    tree = k_tree(32, random_state=0)
    assert not tree.bias[2:].any()
    assert tree.bias[0] == 0
    assert np.abs(tree.edge[:32]).max() <= 1 / np.sqrt(32)
    inner = np.concatenate([tree.edge[32:], tree.leaf_weight])
    assert abs(inner.std() - 1.0) < 0.01


@pytest.mark.parametrize(("k", "side"), [(0, 32), (1, 28), (1, 1)])
def test_impossible_trees_are_refused(k, side):
    with pytest.raises(ValueError, match=r"k=0|side="):
        k_tree(k, side)


def bars(n, rng):
    """Return noisy images of 6 x 6 pixels with a horizontal or vertical bar."""
    y = rng.integers(0, 2, n).astype(np.int32)
    X = rng.integers(0, 60, (n, 6, 6))
    at = rng.integers(0, 6, n)
    for i in range(n):
        bar = X[i] if y[i] else X[i].T
        bar[at[i]] += 180
    return pad_images(X.reshape(n, 36).astype(np.uint8), (6, 6), 8), y


def one_sigmoid_unit(tree, X, y, n_steps, rate):
    """Train the second output as a sigmoid unit with binary cross-entropy, in plain numpy."""
    n_nodes = tree.parent.size
    theta = tree.parameters.astype(np.float64)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    slope = np.where(tree.activation == 0, 1.0, 0.01)
    edge_of = n_nodes + np.arange(n_nodes) - 2
    leaf_of = 2 * n_nodes - 2 + np.arange(tree.n_leaves)
    for step in range(1, n_steps + 1):
        value = np.zeros((n_nodes, len(X)))
        np.add.at(value, tree.leaf_parent, (theta[leaf_of] * X[:, tree.leaf_input]).T)
        gain = np.ones((n_nodes, len(X)))
        for node in range(n_nodes - 1, 0, -1):
            value[node] += theta[node]
            gain[node] = np.where(value[node] > 0, 1.0, slope[node])
            value[node] *= gain[node]
            if node > 1:
                value[tree.parent[node]] += theta[edge_of[node]] * value[node]
        delta = np.zeros((n_nodes, len(X)))
        delta[1] = (1 / (1 + np.exp(-value[1])) - y) / len(X)
        for node in range(2, n_nodes):
            delta[node] = gain[node] * theta[edge_of[node]] * delta[tree.parent[node]]
        gradient = np.zeros_like(theta)
        gradient[1:n_nodes] = delta[1:].sum(axis=1)
        above = tree.parent[2:]
        gradient[edge_of[2:]] = (delta[above] * value[2:]).sum(axis=1)
        gradient[leaf_of] = (delta[tree.leaf_parent] * X[:, tree.leaf_input].T).sum(axis=1)
        gradient[leaf_of[0]] = 0.0
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        theta -= rate * (first / (1 - 0.9**step)) / np.sqrt(second / (1 - 0.999**step) + 1e-16)
    return theta


def test_two_class_nodes_are_one_sigmoid_unit():
    X, y = bars(40, np.random.default_rng(0))
    tree = k_tree(2, side=8, dtype="float64", random_state=1)
    scaled = X / 255.0
    settings = TrainingSettings(
        optimizer=Adam(epsilon=1e-16), learning_rate=1e-3, schedule="constant",
        batch_size=None, max_epochs=20,
    )  # fmt: skip
    result = train(tree, scaled, y, settings=settings, optimizer_state=frozen_bias(tree))
    expected = one_sigmoid_unit(tree, scaled, y, 20, 1e-3)
    assert abs(result.tree.bias[0]) < 1e-12
    np.testing.assert_allclose(result.tree.parameters[1:], expected[1:], atol=1e-9)


def test_k_trees_learn():
    rng = np.random.default_rng(0)
    train_rows, test_rows = bars(1500, rng), bars(300, rng)
    runs = [
        run_k_tree(8, train_rows, test_rows, trial=trial, n_trials=2, max_epochs=150)
        for trial in range(2)
    ]
    assert max(run.accuracy for run in runs) > 0.75
    assert runs[0].accuracy != runs[1].accuracy
    again = run_k_tree(8, train_rows, test_rows, trial=0, n_trials=2, max_epochs=150)
    assert again.tree == runs[0].tree


def test_the_published_rule_stops_early():
    rng = np.random.default_rng(0)
    rows = bars(300, rng)
    run = run_k_tree(1, rows, bars(50, rng), n_trials=1, max_epochs=400, patience=2)
    assert run.n_epochs < 400


def test_trials_on_images():
    result = run_trials(2, spots(), trials=2, max_epochs=2)
    assert (result.k, result.weights, result.max_epochs) == (2, 4094, 2)
    assert [trial.trial for trial in result.trials] == [0, 1]
    assert all(
        trial.epochs == 2 and trial.stuck == (trial.accuracy < 0.6) for trial in result.trials
    )


def test_the_table_counts_all_trials():
    trials = [
        KTreeTrial(i, accuracy, 9, 1.0, accuracy < 0.6) for i, accuracy in enumerate([0.5, 0.9])
    ]
    table = k_tree_table([KTreeTrials(32, 65504, 9, 0, trials), KTreeTrials(3, 6141, 9, 0, trials)])
    rows = [[cell.text for cell in row] for row in table.rows]
    accuracies = [".7000 ± .2828", ".5000", ".9000"]
    assert rows[0] == ["3-tree", "6,141", "9", "2", "", *accuracies, "1 (50 %)"]
    assert rows[1][4] == ".9635" and table.rows[1][4].kind == "quoted"


def test_three_against_five(shared):
    images = load_dataset("mnist", data_home=shared)
    X = pad_images(images.X)
    train_rows = two_classes(X[:60_000], images.y[:60_000])
    test_rows = two_classes(X[60_000:], images.y[60_000:])
    assert (len(train_rows[1]), len(test_rows[1])) == (11_552, 1_902)
    run = run_k_tree(8, train_rows, test_rows, trial=0, max_epochs=60)
    assert run.accuracy > 0.7  # early in a training that ends at about .95
    assert not run.is_stuck
