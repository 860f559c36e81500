"""Monotone effects: constraints, proofs, and what the proofs claim."""

import numpy as np
import pandas as pd
import pytest
from flat import flat
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    NeuralTree,
    TrainingJob,
    TrainingSettings,
    load_model,
    reference,
    train_many,
)
from bneuralt.training import epoch_order
from bneuralt.training.optimizers import OPTIMIZERS
from bneuralt.tree.activations import NAMES, LeakyReLU, LinearTanh, get_activation
from bneuralt.tree.monotonic import (
    UNKNOWN,
    Signs,
    is_increasing,
    leaf_effects,
    node_signs,
    reflected,
)

INCREASING = [name for name in NAMES if name != "gaussian"]
FAST = {"max_epochs": 15, "random_state": 0}
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (300, 4))
y = np.exp(X[:, 0]) - X[:, 1] + np.sin(4 * X[:, 2]) + rng.normal(0, 0.3, 300)
CONSTRAINTS = [1, -1, 0, 0]


def random_signs(seed, n_inputs=4):
    return np.random.default_rng(seed).integers(-1, 2, n_inputs).astype(np.int8)


def rises(predict, signs, seed, n_rows=40, spread=3.0):
    """The least step of a prediction along each constraint, from random rows to random heights."""
    rng = np.random.default_rng(seed)
    low = rng.normal(0, spread, (n_rows, len(signs)))
    steps = []
    for feature in np.flatnonzero(signs):
        high = low.copy()
        high[:, feature] += rng.exponential(spread, n_rows) * rng.choice([1e-3, 1.0], n_rows)
        steps.append(signs[feature] * (predict(high) - predict(low)))
    return np.min(steps, initial=0.0)


# -- the property -------------------------------------------------------------------------


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
        own = [job for job in jobs if job.tree.n_outputs == n_outputs]
        results += train_many(own, X, targets[:, :n_outputs].squeeze(), n_threads=2)
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
        (found,) = train_many([TrainingJob(tree, settings, 7, signs=signs)], X[:13], targets)
        expected = reference.train(
            tree, X[:13], targets, **how, batch_size=batch_size, weight_decay=0.1, signs=signs,
            order=[epoch_order(7, epoch, 13).tolist() for epoch in range(2)],
        )  # fmt: skip
        np.testing.assert_allclose(found.tree.parameters, expected.parameters, rtol=1e-7, atol=1e-9)
        n_stopped += np.sum(found.tree.leaf_weight == 0)
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


# -- estimators ---------------------------------------------------------------------------

MODELS = [
    flat(BNeuralTRegressor, **FAST, n_init=2),
    BNeuralForestRegressor(n_estimators=3, **FAST),
    flat(BNeuralTRegressor, early_stopping="refit", **FAST, output_activation="sigmoid"),
    BNeuralTRegressor(loss="quantile", **FAST),
    BNeuralTRegressor(loss="poisson", **FAST),
    BNeuralForestRegressor(n_estimators=2, bootstrap=True, loss="huber", dtype="float64", **FAST),
    BNeuralTClassifier(**FAST),
    BNeuralForestClassifier(n_estimators=3, **FAST),
    flat(
        BNeuralTClassifier,
        loss="squared_error",
        scale="minmax",
        **FAST,
        output_activation="sigmoid",
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_estimators_keep_their_promise(model, tmp_path):
    is_classifier = hasattr(model, "predict_proba")
    target = y > np.median(y) if is_classifier else np.maximum(y, 0)
    model = clone(model).set_params(monotonic_cst=CONSTRAINTS).fit(X, target)
    proof = model.check_monotonic()
    assert proof.holds and [f.constraint for f in proof.features] == CONSTRAINTS
    assert [f.direction for f in proof.constrained] == [1, -1]

    def predict(rows):
        if is_classifier:
            return model.predict_proba(rows)[:, 1]
        return model.predict(rows).T

    assert rises(predict, CONSTRAINTS, 0, n_rows=500, spread=0.7) >= -1e-5 * np.ptp(target * 1.0)
    assert model.score(X, target) > (0.7 if is_classifier else 0.3)
    model.save(tmp_path / "model.json")
    assert str(load_model(tmp_path / "model.json").check_monotonic()) == str(proof)


def test_names_of_features():
    table = pd.DataFrame(X, columns=["up", "down", "wave", "noise"])
    by_name = BNeuralTRegressor(monotonic_cst={"up": 1, "down": -1}, **FAST).fit(table, y)
    by_place = BNeuralTRegressor(monotonic_cst=np.array(CONSTRAINTS), **FAST).fit(table, y)
    np.testing.assert_array_equal(by_name.predict(table), by_place.predict(table))
    assert by_name.check_monotonic()["down"].direction == -1
    with pytest.raises(KeyError, match="'sideways' is not a feature; they are up, down"):
        by_name.check_monotonic()["sideways"]


def test_no_constraint_changes_nothing():
    free = BNeuralTRegressor(**FAST).fit(X, y)
    zero = BNeuralTRegressor(monotonic_cst=[0, 0, 0, 0], **FAST).fit(X, y)
    np.testing.assert_array_equal(free.predict(X), zero.predict(X))


@pytest.mark.parametrize("how", ["warm_start", "partial_fit"])
def test_training_further_keeps_the_promise(how):
    model = BNeuralTRegressor(monotonic_cst=CONSTRAINTS, warm_start=True, **FAST)
    scores = []
    for _ in range(4):
        model = model.fit(X, y) if how == "warm_start" else model.partial_fit(X, y)
        assert model.check_monotonic().holds
        scores.append(model.score(X, y))
    assert scores[-1] > scores[0]


def test_a_constraint_against_the_data_leaves_no_effect():
    model = BNeuralTRegressor(monotonic_cst=[-1, 0, 0, 0], random_state=0).fit(X, y)
    assert model.check_monotonic().holds
    low, high = X.copy(), X.copy()
    low[:, 0], high[:, 0] = -1, 1
    assert np.abs(model.predict(high) - model.predict(low)).max() < 0.3


def test_effects_below_activations_that_may_fall_are_unknown():
    tree = NeuralTree.random(2, 1, 2, activation="gaussian", random_state=0)
    below = tree.leaf_parent > 0
    assert (leaf_effects(tree)[below] == UNKNOWN).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"activation": "gaussian"}, "activation='gaussian' may decrease: use one of linear, sig"),
        (
            {"activation": LeakyReLU(slope=-0.1)},
            "'leaky_relu' may decrease with parameters such as it has",
        ),
        (
            {"activation": LinearTanh(), "train_activations": True},
            "such as train_activations=True changes",
        ),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\) but .* 4 features"),
        ({"monotonic_cst": [2, 0, 0, 0]}, r"-1, 0 or 1. Observed values: \[2\]"),
        ({"monotonic_cst": {"up": 1}}, "was not fitted on data with feature names"),
        ({"monotonic_cst": [[1, 0, 0, 0]] * 4}, "monotonic_cst must have one dimension"),
    ],
)
def test_constraints_that_cannot_be_met(parameters, message):
    model = flat(BNeuralTRegressor, **{**FAST, "monotonic_cst": CONSTRAINTS, **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_targets_without_a_direction():
    with pytest.raises(ValueError, match="monotonic_cst needs two classes, y has 3 classes"):
        BNeuralTClassifier(monotonic_cst=CONSTRAINTS).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="monotonic_cst needs a single target, y has 2 columns"):
        BNeuralTRegressor(monotonic_cst=CONSTRAINTS).fit(X, np.c_[y, y])
    three = BNeuralTClassifier(**FAST).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="needs two classes, y has 3"):
        three.check_monotonic()
    table = load_diabetes(as_frame=True).data.assign(text="a")
    with pytest.raises(ValueError, match="column 'text', which is a category: only numbers"):
        BNeuralTRegressor(monotonic_cst={"text": 1}).fit(table, load_diabetes().target)
