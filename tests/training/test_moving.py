"""Leaves that move: the compiled loop against the reference, and what moving is for."""

import time
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralTClassifier,
    NeuralTree,
    TrainingSettings,
)
from bneuralt.arrays import CheckedTable
from bneuralt.lines import IDENTITY, ClampedLine, InputLines
from bneuralt.training import TrainingJob, epoch_order, train, train_many
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt.tree.monotonic import Signs, node_signs
from tests import reference


def table(n_rows, n_inputs, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_inputs)).astype(dtype)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


def assert_as_reference(X, y, tree, max_epochs, **settings):
    common = {
        "learning_rate": 0.01, "leaf_moves": 3, "moving_share": 0.6, "schedule": "cosine",
        "loss": "cross_entropy", **settings,
    }  # fmt: skip
    result = train(tree, X, y, settings=TrainingSettings(max_epochs=max_epochs, **common), seed=5)
    order = [epoch_order(5, epoch, len(X)) for epoch in range(max_epochs)]
    expected = reference.train(tree, X, y, order=order, seed=5, **common)
    assert len(result.moves) > 0
    np.testing.assert_array_equal(result.tree.leaf_input, expected.leaf_input)
    np.testing.assert_allclose(result.tree.parameters, expected.parameters, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("batch_size", [1, 7, None])
def test_moves_are_those_of_the_reference(optimizer, batch_size):
    assert_as_reference(
        *table(24, 6), NeuralTree.random(6, 2, 3, output_activation="linear", random_state=1),
        max_epochs=4, optimizer=optimizer, batch_size=batch_size, weight_decay=0.1,
    )  # fmt: skip


def test_moves_of_raw_weighted_rows_and_forbidden_inputs():
    X, y = table(40, 5, dtype=np.float32)
    X = X * [1, 10, 0.1, 3, 0] + [5, -3, 0, 1, 2]  # the last one never varies
    weight = np.random.default_rng(2).random(40)
    tree = NeuralTree.random(5, 1, 3, random_state=3)
    common = {
        "optimizer": "adam", "learning_rate": 0.02, "batch_size": 8, "leaf_moves": 2,
        "moving_share": 1.0,
    }  # fmt: skip
    allowed = np.array([1, 1, 1, 0, 1], dtype=bool)
    settings = TrainingSettings(loss="squared_error", max_epochs=6, schedule="constant", **common)
    job = TrainingJob(tree, settings, 4, sample_weight=weight, may_move_to=allowed)
    (result,) = train_many([job], X, y.astype(float))
    expected = reference.train(
        tree, X, y, order=[epoch_order(4, epoch, 40) for epoch in range(6)], seed=4,
        loss="squared_error", sample_weight=weight, may_move_to=allowed, **common,
    )  # fmt: skip
    np.testing.assert_array_equal(result.tree.leaf_input, expected.leaf_input)
    assert not set(result.moves[:, 3].tolist()) & {3, 4}


@pytest.mark.parametrize("seed", range(5))
def test_moves_to_the_inputs_that_each_node_allows(seed):
    X, y = table(60, 6)
    tree = NeuralTree.random(6, 2, 3, output_activation="linear", random_state=seed)
    allowed = np.random.default_rng(seed).random((tree.parent.size, 6)) < 0.5
    common = {
        "optimizer": "adam", "learning_rate": 0.02, "batch_size": 8, "leaf_moves": 3,
        "moving_share": 1.0,
    }  # fmt: skip
    settings = TrainingSettings(max_epochs=6, schedule="constant", **common)
    (result,) = train_many([TrainingJob(tree, settings, 4, may_move_to=allowed)], X, y)
    expected = reference.train(
        tree, X, y, order=[epoch_order(4, epoch, 60) for epoch in range(6)], seed=4,
        loss="cross_entropy", may_move_to=allowed, **common,
    )  # fmt: skip
    np.testing.assert_array_equal(result.tree.leaf_input, expected.leaf_input)
    for _, leaf, _, to in result.moves.tolist():
        assert allowed[tree.leaf_parent[leaf], to]


def test_few_leaves_are_judged_by_fewer_rows():
    assert_as_reference(
        *table(400, 3), NeuralTree.random(3, 2, 2, output_activation="linear", random_state=1),
        max_epochs=2, optimizer="adam", batch_size=64,
    )  # fmt: skip


@pytest.mark.parametrize("n_rows", [200, 10_000])
def test_ramps_share_a_chance_where_there_are_many_rows(n_rows):
    X, y = table(n_rows, 3)
    ends = [-1.0, -0.3, 0.3, 1.0]
    ramps = [ClampedLine.ramp(*pair) for pair in pairwise(ends)]
    lines = InputLines.of([[IDENTITY, *ramps], [IDENTITY, *ramps[:1]], [IDENTITY]])
    tree = NeuralTree.random(7, 2, 2, output_activation="linear", random_state=1)
    common = {
        "optimizer": "adam", "learning_rate": 0.02, "batch_size": 100, "leaf_moves": 3,
        "moving_share": 1.0, "loss": "cross_entropy", "schedule": "constant",
    }  # fmt: skip
    settings = TrainingSettings(max_epochs=1, **common)
    result = train(tree, CheckedTable(X, lines), y, settings=settings, seed=4)
    naive = partial(
        reference.train, tree, reference.inputs_of_rows(lines, X), y,
        order=[epoch_order(4, 0, n_rows)], seed=4, **common,
    )  # fmt: skip
    alike = naive().leaf_input.tolist() == result.tree.leaf_input.tolist()
    assert alike == (n_rows < 10_000)
    expected = naive(first_inputs=[0, 4, 6])
    np.testing.assert_array_equal(result.tree.leaf_input, expected.leaf_input)
    np.testing.assert_allclose(result.tree.parameters, expected.parameters, rtol=1e-6, atol=1e-9)


def test_moves_tell_where_each_leaf_went():
    X, y = table(300, 12)
    tree = NeuralTree.random(12, 2, n_weights=80, output_activation="linear", random_state=0)
    settings = TrainingSettings(leaf_moves=6, max_epochs=12)
    result = train(tree, X, y, settings=settings)
    leaf_input = tree.leaf_input.copy()
    for epoch, leaf, before, after in result.moves:
        assert leaf_input[leaf] == before != after
        assert epoch <= 6  # the first half
        leaf_input[leaf] = after
    np.testing.assert_array_equal(leaf_input, result.tree.leaf_input)
    assert result.tree.n_parameters == tree.n_parameters


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_threads_change_no_move(dtype):
    X, y = table(2000, 30)
    X = (X * 20 + 100).clip(0, 255).astype(dtype)
    tree = NeuralTree.random(
        30, 2, n_weights=300, output_activation="linear", dtype=np.float32, random_state=0
    )
    settings = TrainingSettings(leaf_moves=5, max_epochs=4, batch_size=256)
    scaling = np.full(30, 100.0), np.full(30, 0.05)
    one, four = (
        train(tree, X, y, settings=settings, input_scaling=scaling, n_threads=n) for n in (1, 4)
    )
    np.testing.assert_array_equal(one.moves, four.moves)
    np.testing.assert_array_equal(one.tree.parameters, four.tree.parameters)


def test_selected_weights_come_with_their_inputs():
    X, y = table(400, 20)
    tree = NeuralTree.random(20, 2, n_weights=100, output_activation="linear", random_state=0)
    seen = []
    settings = TrainingSettings(leaf_moves=8, max_epochs=10, select="epoch", learning_rate=0.05)
    result = train(
        tree, X[:300], y[:300], settings=settings, validation=(X[300:], y[300:]),
        callback=lambda state: seen.append(state.tree),
    )  # fmt: skip
    best = seen[result.best_epoch]
    np.testing.assert_array_equal(result.tree.leaf_input, best.leaf_input)
    np.testing.assert_array_equal(result.tree.parameters, best.parameters)


def test_a_tree_finds_an_interaction_among_noise():
    X, y = table(20_000, 48, dtype=np.float32)
    X_test, y_test = table(4000, 48, seed=1, dtype=np.float32)
    forest = BNeuralForestClassifier(n_estimators=2, random_state=0)
    for model in (BNeuralTClassifier(random_state=0), forest):
        assert model.fit(X, y).score(X_test, y_test) > 0.97


def test_signs_hold_where_leaves_move():
    X, y = table(60, 6)
    tree = NeuralTree.random(6, 1, 3, activation="tanh", output_activation="linear", random_state=2)
    signs = Signs(node_signs(tree, [1]), np.array([1, -1, 0, 1, 0, -1], dtype=np.int8))
    common = {
        "optimizer": "adam", "learning_rate": 0.05, "batch_size": 10, "leaf_moves": 4,
        "moving_share": 0.8,
    }  # fmt: skip
    settings = TrainingSettings(loss="squared_error", max_epochs=6, schedule="constant", **common)
    (result,) = train_many([TrainingJob(tree, settings, 1, signs=signs)], X, y.astype(float))
    expected = reference.train(
        tree, X, y, order=[epoch_order(1, epoch, 60) for epoch in range(6)], seed=1,
        loss="squared_error", signs=signs, **common,
    )  # fmt: skip
    assert len(result.moves) > 0
    np.testing.assert_array_equal(result.tree.leaf_input, expected.leaf_input)
    np.testing.assert_allclose(result.tree.parameters, expected.parameters, rtol=1e-6, atol=1e-9)


# -- reports ------------------------------------------------------------------------------


def test_features_that_leaves_tried_and_stayed_at_are_counted():
    X, y = table(600, 40)
    model = BNeuralTClassifier(n_weights=150, max_epochs=20, random_state=0).fit(X, y)
    tried, stayed = model.moved_leaves_["tried"], model.moved_leaves_["stayed"]
    assert tried.shape == stayed.shape == (40,)
    assert (stayed <= tried).all() and 0 < stayed.sum() < tried.sum()
    counts = np.bincount(model.encoder_.groups, model.tree_.input_counts)
    assert (stayed <= counts).all()
    assert tried[:3].min() > np.median(tried)
    still = BNeuralTClassifier(
        max_epochs=2, random_state=0, training=TrainingSettings(leaf_moves=0)
    ).fit(X, y)
    assert still.moved_leaves_ is None


def test_features_and_not_inputs_are_counted():
    pd = pytest.importorskip("pandas")
    X, y = table(300, 3)
    frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "x", "y"), "b": X[:, 2]})
    frame["kind"] = frame["kind"].where(X[:, 2] > -1, "z")
    model = BNeuralTClassifier(max_epochs=10, random_state=0).fit(frame, y)
    assert model.tree_.n_inputs == 21  # two numbers with eight ramps each, and three categories
    assert model.moved_leaves_["tried"].shape == model.moved_leaves_["stayed"].shape == (3,)


def test_verbose_names_the_features_that_are_not_used(capsys):
    pd = pytest.importorskip("pandas")
    X, y = table(200, 30)
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(30)])
    model = BNeuralTClassifier(n_weights=20, max_epochs=3, verbose=1, random_state=0)
    model.fit(frame, y)
    used = set(model.encoder_.groups[model.tree_.leaf_input].tolist())
    unused = [f"feature {j}" for j in range(30) if j not in used]
    assert len(unused) > 20
    last = capsys.readouterr().err.splitlines()[-1]
    shown = ", ".join(unused[:20])
    assert last == f"{len(unused)} features are not used: {shown} and {len(unused) - 20} more"
    forest = BNeuralForestClassifier(n_estimators=10, max_epochs=3, verbose=1, random_state=0)
    forest.fit(X[:, :3], y)
    assert "not used" not in capsys.readouterr().err  # each is in one of the trees


def test_moving_most_often_ends_at_once_when_asked_to():
    X, y = table(20_000, 400, dtype=np.float32)
    tree = NeuralTree.random(400, 2, n_weights=20_000, output_activation="linear", random_state=0)
    settings = TrainingSettings(leaf_moves=10**6, max_epochs=1000, moving_share=1.0)
    started = time.process_time()
    result = train(tree, X, y, settings=settings, stop=lambda: time.process_time() > started + 0.2)
    assert result.status == "interrupted" and time.process_time() < started + 5


@pytest.mark.parametrize("leaf_moves", [7, 10**6])
def test_more_moves_than_updates_are_those_of_the_reference(leaf_moves):
    assert_as_reference(
        *table(24, 6), NeuralTree.random(6, 2, 3, output_activation="linear", random_state=1),
        max_epochs=2, optimizer="adam", batch_size=8, leaf_moves=leaf_moves,
    )  # fmt: skip
