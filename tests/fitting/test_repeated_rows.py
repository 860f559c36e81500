"""Tables with equal rows: whatever holds rows out takes them one by one."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bneuralt import (
    BNeuralForestClassifier,
    BNeuralForestRegressor,
    BNeuralTClassifier,
    BNeuralTRegressor,
    EvolvedTreeClassifier,
)
from bneuralt.fitting.canonical import canonical_rows
from bneuralt.fitting.splits import hold_out, hold_out_for_calibration
from bneuralt.fitting.weights import RowWeights

SMALL = {"n_weights": 40, "max_epochs": 10, "random_state": 0}


def survey(n=2000, seed=0):
    """Return rows of four yes/no columns, of which there are 16, and two targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 4)).astype(np.float64)
    score = X.sum(axis=1) + rng.normal(size=n)
    return X, (score > 2).astype(int), np.round(score)


def total(rows):
    """Return the total weight of each different row."""
    weights = {}
    for x, y, weight in zip(rows.X.tolist(), rows.y.tolist(), rows.weight.tolist(), strict=True):
        assert (*x, y) not in weights  # equal rows are merged
        weights[(*x, y)] = weight
    return weights


@st.composite
def repeated(draw):
    n_rows = draw(st.integers(60, 90))
    X = draw(arrays(np.float64, (n_rows, 2), elements=st.integers(0, 1)))
    y = draw(arrays(np.int32, n_rows, elements=st.integers(0, 1)))
    y[:20] = np.arange(20) % 2  # no class is so small that a row must be given back
    return X, y, draw(arrays(np.float64, n_rows, elements=st.integers(1, 3)))


@given(repeated(), st.integers(0, 99))
def test_parts_have_all_rows_and_equal_rows_are_merged_in_each(table, seed):
    X, y, weight = table
    rows = canonical_rows(X, y, RowWeights.of(weight))
    assert rows.n_separate == weight.sum()
    parts = [
        hold_out(rows, 0.3, np.random.default_rng(seed)),
        hold_out_for_calibration(rows, 0.3, seed),
    ]
    for training, held in parts:
        assert held.n_separate == round(0.3 * rows.n_separate)
        both = total(training)
        for row, part in total(held).items():
            both[row] = both.get(row, 0.0) + part
        assert both == total(rows)
        assert training.n_examples == pytest.approx(training.n_separate, rel=0.5)
        assert training.separate.merged().weight.tolist() == training.weight.tolist()


@given(repeated(), st.randoms(use_true_random=False))
def test_splits_depend_neither_on_the_order_nor_on_the_form_of_rows(table, random):
    X, y, weight = table
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    random.shuffle(order := copies.tolist())
    weighted = hold_out(canonical_rows(X, y, RowWeights.of(weight)), 0.2, np.random.default_rng(0))
    again = hold_out(
        canonical_rows(X[order], y[order], RowWeights.ones(len(order))),
        0.2,
        np.random.default_rng(0),
    )
    for part, same in zip(weighted, again, strict=True):
        assert total(part) == total(same)
        assert (part.times, part.X.tolist()) == (same.times, same.X.tolist())


def test_weights_that_are_no_counts_are_relative():
    X, y, _ = survey(100)
    weight = np.where(np.arange(100) % 2, 0.5, 0.75)
    rows = canonical_rows(X, y.astype(np.int32), RowWeights.of(weight))
    assert rows.n_separate == 100 and rows.weight.sum() == pytest.approx(100)
    large = RowWeights.of(np.full(3, 1e9))
    large = canonical_rows(np.arange(3.0)[:, None], np.zeros(3), large)
    assert large.n_separate == 3 and large.separate is large and set(large.weight) == {1.0}


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (BNeuralTClassifier, {"early_stopping": True}),
        (BNeuralTClassifier, {"early_stopping": "refit", "class_weight": "balanced"}),
        (BNeuralTRegressor, {"conformal": 0.3}),
        (BNeuralTRegressor, {"conformal": 50, "early_stopping": True}),
        (BNeuralForestRegressor, {"bootstrap": True, "n_estimators": 3}),
        (BNeuralForestClassifier, {"max_samples": 0.5, "n_estimators": 3}),
        (EvolvedTreeClassifier, {"n_generations": 1, "population_size": 4}),
    ],
)
def test_a_row_of_weight_2_is_two_rows(estimator, parameters):
    X, y, score = survey(150)
    target = y if estimator.__name__.endswith("Classifier") else score
    weight = np.random.default_rng(1).integers(0, 4, 150)
    model = estimator(random_state=0, max_epochs=5, **parameters)
    weighted = model.fit(X, target, sample_weight=weight).predict(X)
    repeated = model.fit(X.repeat(weight, axis=0), target.repeat(weight)).predict(X)
    np.testing.assert_array_equal(weighted, repeated)
    order = np.random.default_rng(2).permutation(150)
    shuffled = model.fit(X[order], target[order], sample_weight=weight[order]).predict(X)
    np.testing.assert_array_equal(shuffled, weighted)


@pytest.mark.parametrize(
    "model",
    [
        BNeuralTRegressor(conformal=0.3, **SMALL),
        BNeuralForestRegressor(bootstrap=True, n_estimators=20, **SMALL),
    ],
)
def test_intervals_of_repeated_rows_cover_what_they_promise(model):
    X, _, y = survey()
    y = y + np.random.default_rng(3).normal(scale=0.1, size=y.size).round(1)
    X_new, _, y_new = survey(20_000, seed=1)
    y_new = y_new + np.random.default_rng(4).normal(scale=0.1, size=y_new.size).round(1)
    low, high = model.fit(X, y).predict_interval(X_new, coverage=0.8).T
    assert np.mean((low <= y_new) & (y_new <= high)) == pytest.approx(0.8, abs=0.03)


def test_early_stopping_works_on_repeated_rows():
    X, y, _ = survey()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BNeuralTClassifier(early_stopping=True, random_state=0).fit(X, y)
    X_new, y_new, _ = survey(seed=1)
    assert model.best_epoch_ is not None
    best = max(np.mean(y_new == (X_new.sum(axis=1) > limit)) for limit in range(4))
    assert model.score(X_new, y_new) > best - 0.02


def test_sizes_are_judged_on_repeated_rows_as_on_jittered_ones():
    X, y, _ = survey(600)
    jittered = X + np.random.default_rng(0).normal(scale=1e-9, size=X.shape)
    curves = [
        BNeuralTClassifier(**SMALL).fit(table, y).compact(table, y, cv=3).compaction_.score
        for table in (X, jittered)
    ]
    assert curves[0][0] == pytest.approx(curves[1][0], abs=0.03)


def test_evolved_trees_are_judged_on_repeated_rows():
    X, y, _ = survey()
    model = EvolvedTreeClassifier(n_generations=2, population_size=8, random_state=0).fit(X, y)
    X_new, y_new, _ = survey(seed=1)
    chosen = next(entry for entry in model.pareto_front_ if entry.model.tree_ == model.tree_)
    assert chosen.score == pytest.approx(model.score(X_new, y_new), abs=0.03)


def test_the_decay_of_forests_is_chosen_on_repeated_rows_as_on_jittered_ones():
    rng = np.random.default_rng(0)
    answers = rng.choice(["yes", "no", "maybe"], (400, 3))
    y = rng.random(400) < np.where(answers[:, 0] == "yes", 0.6, 0.4)  # mostly noise
    table = pd.DataFrame(answers).add_prefix("question ").assign(constant=1.0)
    jittered = table.assign(constant=rng.normal(1.0, 1e-9, 400))
    decays = [
        BNeuralForestClassifier(n_estimators=1, random_state=0).fit(X, y).recipe_.weight_decay
        for X in (table, jittered)
    ]
    assert decays[0] == pytest.approx(decays[1], rel=0.2)


def surveys(n_tables, n=2000, n_new=20_000):
    """Yield tables of four yes/no columns with a class and a number, and new rows of each."""
    for seed in range(n_tables):
        rng = np.random.default_rng([seed, 1])
        effects, interaction = rng.normal(scale=1.2, size=4), rng.normal(scale=3)
        X = rng.integers(0, 2, (n + n_new, 4)).astype(np.float64)
        score = (X - 0.5) @ effects + interaction * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
        y = (score + rng.logistic(size=n + n_new) > 0).astype(int)
        number = np.round(2 * score + rng.normal(size=n + n_new), 1)
        yield tuple((X[part], y[part], number[part]) for part in (slice(n), slice(n, None)))


@pytest.mark.parametrize(
    "model",
    [
        BNeuralTRegressor(conformal=0.3, **SMALL),
        BNeuralForestRegressor(bootstrap=True, n_estimators=20, **SMALL),
    ],
    ids=["conformal", "out-of-bag"],
)
def test_the_mean_coverage_over_surveys_is_the_nominal_one(model):
    shares = []
    for (X, _, y), (X_new, _, y_new) in surveys(8):
        low, high = model.fit(X, y).predict_interval(X_new, coverage=0.8).T
        shares.append(np.mean((low <= y_new) & (y_new <= high)))
    assert np.mean(shares) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    "choose",
    [
        lambda X, y: BNeuralTClassifier(**SMALL).fit(X, y).compact(X, y, cv=3),
        lambda X, y: EvolvedTreeClassifier(n_generations=4, population_size=12, random_state=0).fit(
            X, y
        ),
    ],
    ids=["compact", "evolved"],
)
def test_small_trees_are_chosen_on_repeated_rows_as_on_jittered_ones(choose):
    differences = []
    for i, ((X, y, _), (X_new, y_new, _)) in enumerate(surveys(5)):
        jitter = np.random.default_rng(i).normal(scale=1e-9, size=X.shape)
        scores = [choose(table, y).score(X_new, y_new) for table in (X, X + jitter)]
        differences.append(scores[0] - scores[1])
    # 0.0037 and 0.0004 over 20 tables with the default settings
    assert np.mean(differences) == pytest.approx(0, abs=0.015)


@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("has_weights", [False, True])
def test_sizes_follow_rows_that_differ(noise, has_weights):
    rng = np.random.default_rng(0)
    values, effect = rng.normal(size=(12, 3)), rng.normal(size=12)
    which = np.arange(12) if has_weights else rng.integers(12, size=2000)
    y = effect[which] + noise * rng.normal(size=which.size)
    weight = np.full(12, 170.0) if has_weights else None
    settings = {"max_epochs": 1, "random_state": 0}
    tree = BNeuralTRegressor(**settings).fit(values[which], y, sample_weight=weight)
    forest = BNeuralForestRegressor(**settings).fit(values[which], y, sample_weight=weight)
    assert tree.n_parameters_ <= 5 * 12
    assert forest.n_parameters_ <= forest.n_estimators * 5 * 12


def test_rows_that_differ_are_counted_on_a_part_of_many():
    X = np.repeat(np.arange(50.0), 300)[:, np.newaxis]
    target = np.random.default_rng(0).normal(size=len(X))
    assert canonical_rows(X, target, RowWeights.ones(len(X))).n_different == 50
    unique = np.arange(float(len(X)))[:, np.newaxis]
    assert canonical_rows(unique, target, RowWeights.ones(len(X))).n_different == len(X)
    few = canonical_rows(np.floor(unique[:900] / 3), target[:900], RowWeights.ones(900))
    assert few.n_different == 300
