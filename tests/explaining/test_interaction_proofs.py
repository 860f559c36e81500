"""Tests of interactions: constraints by construction, proofs, and parts of contributions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeRegressor,
    Growth,
    NeuralTree,
    load_model,
)
from bneuralt.explaining import check_interactions, explain
from bneuralt.model import Model
from bneuralt.tree.interactions import InteractionSets
from tests.helpers.interactions import constrained_model, largest_second_difference

KINDS = [
    BNeuralTClassifier,
    BNeuralTRegressor,
    BNeuralForestClassifier,
    BNeuralForestRegressor,
]


@pytest.mark.parametrize("seed", range(100))
def test_excluded_pairs_never_interact(seed):
    model, X = constrained_model(seed)
    proof = model.check_interactions()
    assert proof.holds
    rng = np.random.default_rng(seed)
    assert largest_second_difference(model.model_, ~proof.is_allowed, X, rng) <= 1e-12
    explanation = model.explain(X[:5], interactions=True)
    pairs = explanation.interactions
    np.testing.assert_array_equal(pairs, np.swapaxes(pairs, 1, 2))
    np.testing.assert_allclose(pairs.sum(axis=2), explanation.values, rtol=0, atol=1e-10)
    assert not pairs[:, ~proof.can_interact].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("constraint", ["no_interactions", "pairwise", [{0, 1}], [(0, 2), [1, 2]]])
def test_leaves_stay_within_the_set_of_their_subtree(kind, constraint):
    X, y = load_iris(return_X_y=True)
    model = kind(interaction_cst=constraint, max_epochs=30, random_state=0).fit(X, y)
    proof = model.check_interactions()
    assert proof.holds
    assert proof.is_additive == (constraint == "no_interactions")


def test_moved_leaves_of_categories_and_dates_stay_within_their_set():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "a": rng.normal(size=200), "b": rng.choice(list("xyz"), 200),
        "c": np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200)),
        "d": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 200), "D"),
    })  # fmt: skip
    y = X["a"] * (X["b"] == "x") + X["d"].dt.month
    model = BNeuralTRegressor(interaction_cst=[{0, 1}, {2, 3}], n_weights=120, random_state=0)
    model.fit(X, y)
    assert model.moved_leaves_["tried"].sum() > 0
    assert model.check_interactions().holds


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_proof_excludes_only_pairs_without_interactions(seed):
    tree = NeuralTree.random(
        4, 2, 3, activation=["tanh", "linear"], output_activation="linear", random_state=seed
    )
    model, rng = Model.of_tree(tree), np.random.default_rng(seed)
    proof = check_interactions(model)
    X = rng.normal(size=(30, 4))
    assert largest_second_difference(model, ~proof.can_interact, X, rng) <= 1e-12
    for i, j in proof.meetings:  # those of the proof do interact
        only = np.zeros((4, 4), dtype=bool)
        only[i, j] = True
        assert largest_second_difference(model, only, X, rng) > 0


def test_a_proof_names_the_nodes():
    # 0: x0 + node 1 (linear: x1 + node 2 (tanh: x2, x3)) + node 3 (tanh: x0, x0)
    tree = NeuralTree(
        4, 1, [-1, 0, 0, 1], [0, 0, 2, 2], [0, 1, 2, 2, 3, 3], [0, 1, 0, 0, 2, 3], [1.0] * 13
    )
    proof = check_interactions(Model.of_tree(tree))
    assert proof.meetings == {(2, 3): ((0, 3),)}
    assert proof["x3", "x2"] == proof[2, 3] and proof["x0", "x1"] == ()
    assert str(proof).splitlines()[1] == "x2, x3: at node 3 of tree 0"
    with pytest.raises(KeyError, match="'x9' is not a column"):
        proof["x9", "x0"]


@pytest.mark.parametrize(("n_nodes", "ending"), [(2, "node 2 of tree 0"), (3, "node 3 of tree 0"),
                                                 (4, "node 3 of tree 0, 1 more")])  # fmt: skip
def test_a_proof_names_up_to_three_nodes(n_nodes, ending):
    nodes = np.arange(1, n_nodes + 1)
    tree = NeuralTree(
        2, 1, [-1, *[0] * n_nodes], [0, *[2] * n_nodes], np.repeat(nodes, 2),
        [0, 1] * n_nodes, np.ones(1 + 4 * n_nodes),
    )  # fmt: skip
    line = str(check_interactions(Model.of_tree(tree))).splitlines()[1]
    assert line.startswith("x0, x1: at node 1 of tree 0, node 2") and line.endswith(ending)


def test_nonlinear_outputs_and_means_of_probabilities_mix_all_columns():
    tree = NeuralTree.random(3, 1, 0, min_children=3, random_state=1)
    assert len(check_interactions(Model.of_tree(tree)).meetings) == len(
        set(map(tuple, np.argwhere(np.triu(np.outer(*[tree.input_counts > 0] * 2), 1))))
    )
    X, y = load_iris(return_X_y=True)
    forest = BNeuralForestClassifier(n_estimators=2, max_epochs=2, random_state=0).fit(X, y)
    assert forest.check_interactions().can_interact.all()


def test_evolved_and_loaded_models_have_proofs(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    evolved = EvolvedTreeRegressor(n_generations=1, random_state=0).fit(X, y)
    assert evolved.check_interactions().holds
    for constraint in ("pairwise", [{0, 1}, (2, 3)]):
        model = BNeuralForestRegressor(
            interaction_cst=constraint, n_estimators=2, max_epochs=2, random_state=0
        ).fit(X, y)
        model.save(tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert loaded.check_interactions().meetings == model.check_interactions().meetings
        assert loaded.check_interactions().is_allowed is not None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_constrained_forests_average_scores(n_classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = BNeuralForestClassifier(
        interaction_cst="pairwise", n_estimators=3, max_epochs=5, bootstrap=True, random_state=0
    ).fit(X, y)
    inputs = model.encoder_.encode(X)
    scores = np.mean([member.tree_.forward(inputs) for member in model.estimators_], axis=0)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    decision = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    np.testing.assert_allclose(model.decision_function(X), decision, atol=1e-5)
    assert model.oob_score_ > 0.5
    model.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json").predict_proba(X)
    np.testing.assert_array_equal(loaded, model.predict_proba(X))
    explanation = model.explain(X[:4], interactions=True)
    assert explanation.explains == "score"
    total = explanation.baseline + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.decision_function(X[:4]), atol=1e-4)


@given(st.integers(0, 10**6), st.sampled_from(["score", "probability"]))
@settings(max_examples=20)
def test_interactions_are_parts_of_contributions(seed, output):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    kind = KINDS[2 * int(rng.integers(2))]
    model = kind(max_epochs=2, n_weights=30, dtype="float64", random_state=seed).fit(X, y)
    explanation = model.explain(X[:6], interactions=True, output=output)
    pairs = explanation.interactions
    assert pairs.shape == (6, 3, 3, 3)
    np.testing.assert_array_equal(pairs, np.swapaxes(pairs, 1, 2))
    np.testing.assert_allclose(pairs.sum(axis=2), explanation.values, atol=1e-10)
    np.testing.assert_array_equal(explanation.values, model.explain(X[:6], output=output).values)


def test_an_interaction_is_what_is_gone_without_the_other_column():
    model = Model.of_tree(NeuralTree.random(2, 1, 2, output_activation="linear", random_state=3))
    one = explain(model, [[1.0, 2.0]], baseline=[0.0, 0.0], interactions=True)
    alone = explain(model, [[1.0, 0.0]], baseline=[0.0, 0.0]).values[0]
    other = explain(model, [[0.0, 2.0]], baseline=[0.0, 0.0]).values[0]
    change = (one.values[0, 0] - alone[0] + one.values[0, 1] - other[1]) / 2
    assert one.interactions[0, 0, 1] == pytest.approx(change)


def test_the_strongest_pair_is_found_and_drawn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = 3 * X[:, 1] * X[:, 3] + X[:, 0]
    model = BNeuralTRegressor(random_state=0).fit(X, y)
    explanation = model.explain(X[:50], interactions=True)
    assert explanation.strongest_pairs(1) == [("x1", "x3")]
    axes = explanation.plot("interactions")
    assert [text.get_text() for text in axes.get_xticklabels()][:2] in (["x1", "x3"], ["x3", "x1"])
    assert explanation.plot("interactions", row=3, max_features=2).get_xlim() == (-0.5, 1.5)
    with pytest.raises(ValueError, match="there are no interactions: use explain"):
        model.explain(X[:2]).plot("interactions")


def test_too_many_interactions_are_refused():
    model = Model.of_tree(NeuralTree.random(200, 10, random_state=0))
    with pytest.raises(ValueError, match="do not fit into memory: pass at most 335 rows"):
        explain(model, np.zeros((1000, 200)), interactions=True)


def test_sets_are_those_of_scikit_learn():
    assert InteractionSets.of([{0, 1}], 5).sets == ((0, 1), (2, 3, 4))
    assert InteractionSets.of("no_interactions", 3).sets == ((0,), (1,), (2,))
    assert InteractionSets.of("pairwise", 1).sets == ((0,),)
    assert InteractionSets.of([], 2).sets == ((0, 1),)


def test_sets_may_have_the_names_of_columns():
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=list("abcd"))
    settings = {"max_epochs": 2, "random_state": 0}
    by_name = BNeuralTRegressor(interaction_cst=[{"a", "c"}], **settings).fit(table, y)
    by_position = BNeuralTRegressor(interaction_cst=[{0, 2}], **settings).fit(table, y)
    assert by_name.model_.interaction_sets == by_position.model_.interaction_sets
    assert by_name.tree_ == by_position.tree_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"interaction_cst": [{0, 9}]}, "column 9, which does not exist: positions are 0 to 3"),
        ({"interaction_cst": [{-1}]}, "column -1, which does not exist"),
        ({"interaction_cst": ["a"]}, "has 'a', which must be a set, tuple or list"),
        ({"interaction_cst": [{"a"}]}, "has 'a', which must be the name of a column, or its pos"),
        ({"interaction_cst": [{0.5}]}, "has 0.5, which must be the name of a column, or its pos"),
        ({"interaction_cst": [set()]}, "has an empty set: a set needs at least one column"),
        ({"interaction_cst": "none"}, "'interaction_cst' parameter"),
        ({"interaction_cst": 3}, "'interaction_cst' parameter"),
        (
            {"interaction_cst": "pairwise", "growth": Growth(output_activation="sigmoid")},
            "needs linear outputs, in which subtrees are added, and output_activation is 'sigmoid'",
        ),
        (
            {"interaction_cst": "pairwise", "growth": Growth(feature_sampling=lambda *_: [0])},
            "cannot be combined with a callable feature_sampling",
        ),
    ],
)
def test_wrong_constraints_are_refused(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match=message):
        BNeuralTRegressor(**parameters).fit(X, y)
